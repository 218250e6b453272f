import Resilience
import ResilienceSimulation
import TestSupport
import Testing

@Suite struct LatencyTests {
    private static let all: [(LatencyModel, mean: Double, p50: Double, p99: Double)] = [
        (.constant(.milliseconds(20)), 20, 20, 20),
        (.uniform(.milliseconds(10)...(.milliseconds(30))), 20, 20, 29.8),
        (.exponential(mean: .milliseconds(20)), 20, 13.86, 92.1),
        (.logNormal(p50: .milliseconds(20), p99: .milliseconds(100)), 25.4, 20, 100),
        (LatencyModel.constant(.milliseconds(10)).mixed(with: 0.1, of: .constant(.seconds(1))), 109, 10, 1000),
        (LatencyModel.exponential(mean: .milliseconds(10)).scaled(by: 2), 20, 13.86, 92.1),
    ]

    @Test("a model's times have the mean and the quantiles that were asked for, within 4 %", arguments: 0..<6)
    func models(index: Int) throws {
        let (model, mean, p50, p99) = Self.all[index]
        let generator = SplitMix64(seed: 1)
        var (histogram, sum) = (LatencyHistogram(), Duration.zero)
        for _ in 0..<200_000 {
            let time = model.draw(using: generator)
            histogram.add(time)
            sum += time
        }
        func isNear(_ time: Duration?, _ expected: Double) -> Bool {
            time.map { abs($0 / .milliseconds(1) - expected) < 0.04 * expected } == true
        }
        #expect(isNear(sum / 200_000, mean) && isNear(model.mean, mean))
        #expect(isNear(histogram.quantile(0.5), p50) && isNear(histogram.quantile(0.99), p99))
    }

    @Test("a histogram keeps each time to 1.6 %, from nothing to centuries")
    func histogram() throws {
        for time in [0, 1, 63, 64, 65, 127, 128, 1000, 4095, 4096, 123_456_789, Int64.max / 2, Int64.max] {
            var histogram = LatencyHistogram()
            histogram.add(.nanoseconds(time))
            let kept = try #require(histogram.quantile(0.5)).saturatedNanoseconds
            #expect(abs(Double(kept) - Double(time)) <= 0.016 * Double(time), "\(kept) for \(time)")
        }
        var histogram = LatencyHistogram()
        #expect(histogram.quantile(0.5) == nil)
        histogram.add(.seconds(-1))
        #expect(histogram.quantile(0) == .zero)
    }

    @Test("quantiles count from the lowest time, and histograms add up")
    func quantiles() {
        var (low, high) = (LatencyHistogram(), LatencyHistogram())
        for _ in 0..<99 { low.add(.nanoseconds(10)) }
        high.add(.nanoseconds(50))
        low.add(high)
        #expect(low.count == 100)
        #expect(low.quantile(0) == .nanoseconds(10) && low.quantile(0.99) == .nanoseconds(10))
        #expect(low.quantile(0.991) == .nanoseconds(50) && low.quantile(1) == .nanoseconds(50))
    }
}
