import ResilienceTesting
import Testing

@testable import Resilience
@testable import ResilienceTraffic

@Suite struct LatencyWindowTests {
    /// The percentile of the latest thousand, by sorting.
    private func sorted(_ latencies: [Int64], _ share: Double) -> Int64? {
        let latest = latencies.suffix(LatencyWindow.capacity).map { max(0, $0) }.sorted()
        guard !latest.isEmpty else { return nil }
        return latest[max(1, Int((share * Double(latest.count)).rounded(.up))) - 1]
    }

    @Test("without a latency there is no percentile")
    func empty() {
        let window = LatencyWindow(percentile: 0.5)
        #expect(window.count == 0 && window.percentile == nil)
    }

    @Test(
        "the percentile exceeds the exact one of the latest thousand latencies by at most a sixteenth or a microsecond",
        arguments: [0.01, 0.5, 0.9, 0.95, 0.99, 0.999], [UInt64](1...4))
    func percentile(share: Double, seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var window = LatencyWindow(percentile: share)
        var latencies: [Int64] = []
        for number in 0..<3_000 {
            // All magnitudes, in runs that rise and fall.
            let magnitude = Int64.random(in: 0...(number / 500 % 2 == 0 ? 34 : 62), using: &generator)
            let latency = Int64.random(in: -3...(1 << magnitude), using: &generator)
            latencies.append(latency)
            window.add(latency)
            // Sorting is slow.
            guard number < 50 || number % 41 == 0 else { continue }
            let exact = try #require(sorted(latencies, share))
            let found = try #require(window.percentile)
            let most = max(exact.saturatingAdding(exact / 16), exact.saturatingAdding(1_024))
            guard exact < found || found == .max, found <= most || most == .max else {
                Issue.record("\(found) for \(exact) after \(number)")
                return
            }
        }
        #expect(window.count == 1_000)
    }

    @Test(
        "the longest and the shortest latencies have buckets",
        arguments: [Int64.max, Int64.max - 1, 1 << 62, 0, 1, -1, .min])
    func extremes(latency: Int64) {
        var window = LatencyWindow(percentile: 0.95)
        for _ in 0..<2_500 { window.add(latency) }
        #expect(window.percentile.map { $0 >= latency } == true)
    }

    @Test("another percentile of the same latencies applies at once")
    func otherPercentile() {
        var window = LatencyWindow(percentile: 0.99)
        for number in 1...1_500 { window.add(Int64(number) * 1_000_000) }
        for share in [0.01, 0.5, 0.999] {
            let exact = Double(501 + Int((share * 1_000).rounded(.up)) - 1) * 1e6
            let found = Double(window.with(percentile: share).percentile ?? 0)
            #expect((exact...exact * 17 / 16).contains(found), "\(share): \(found) for \(exact)")
        }
        #expect(window.with(percentile: 0.5).count == 1_000)
    }

    @Test("the delay is the percentile; if more calls are slow, it is a multiple of a lower percentile")
    func delay() throws {
        var window = LatencyWindow(percentile: 0.95)
        #expect(window.delay == nil)
        for _ in 0..<920 { window.add(1_000_000) }
        #expect(window.delay == window.percentile)
        for _ in 0..<80 { window.add(1_000_000_000) }
        #expect(window.percentile.map { $0 > 1_000_000_000 } == true)
        // Two slow calls in twenty, instead of one: the delay is twice the usual latency.
        #expect(window.delay.map { (2_000_000...2_130_000).contains($0) } == true)
        for _ in 0..<200 { window.add(1_000_000_000) }
        #expect(window.delay.map { (8_000_000...8_500_000).contains($0) } == true)
        // Only slow calls: then they are usual.
        for _ in 0..<1_000 { window.add(1_000_000_000) }
        #expect(window.delay == window.percentile)
    }

    @Test(
        "losing copies are at most three quarters of the samples, so they alone never lengthen the delay (P59)")
    func lost() throws {
        var window = LatencyWindow(percentile: 0.95)
        window.add(1_000_000, isLost: true)
        #expect(window.count == 0)
        for _ in 0..<100 { window.add(10_000_000) }
        for _ in 0..<100_000 { window.add((window.delay ?? 0) + 10_000_000, isLost: true) }
        #expect(window.count == 400)
        #expect(window.delay.map { $0 < 15 * 11_000_000 } == true)
        for _ in 0..<10_000 {
            window.add((window.delay ?? 0) + 10_000_000, isLost: true)
            window.add(10_000_000)
        }
        #expect(window.count == 1_000 && window.delay.map { $0 < 15 * 11_000_000 } == true)
    }

    @Test("latencies before the latest thousand are dropped")
    func forgets() {
        var window = LatencyWindow(percentile: 0.5)
        for _ in 0..<1_000 { window.add(1_000_000_000) }
        for _ in 0..<501 { window.add(1_000_000) }
        #expect((window.percentile ?? 0) < 2_000_000)
    }
}
