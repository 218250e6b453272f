import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// The cost of giving each of several processes an equal part of a limit, instead of sharing the limit. The guide
/// quotes these figures.
@Suite(.heavy) struct LocalSharesSimulationTests {
    /// 8 processes, 100 calls per second, burst 20, for ten minutes: the rejected share of calls, with parts and with
    /// one shared limit.
    static func rejected(load: Double, weights: [Double], seed: UInt64) -> (parts: Double, together: Double) {
        var random = SeededGenerator(seed: seed)
        let count = weights.count
        var parts = (0..<count).map { _ in
            TokenBucket(ThrottleRate(100, per: .seconds(count)), burst: max(1, 20 / count))
        }
        var together = TokenBucket(ThrottleRate(100, per: .seconds(1)), burst: 20)
        let total = weights.reduce(0, +)
        var (now, calls, lost) = (0.0, 0, (parts: 0, together: 0))
        while now < 600 {
            // Random arrivals (Poisson).
            now += -Self.log(Double.random(in: 1e-12..<1, using: &random)) / (100 * load)
            var place = Double.random(in: 0..<total, using: &random)
            let process =
                weights.firstIndex { weight in
                    place -= weight
                    return place < 0
                } ?? count - 1
            let instant = Int64(now * 1e9)
            calls += 1
            if parts[process].take(1, at: instant) > instant { lost.parts += 1 }
            if together.take(1, at: instant) > instant { lost.together += 1 }
        }
        return (Double(lost.parts) / Double(calls), Double(lost.together) / Double(calls))
    }

    /// The natural logarithm, by its series about 1 after halving.
    private static func log(_ x: Double) -> Double {
        let (exponent, significand) = (x.exponent, x.significand)
        let y = (significand - 1) / (significand + 1)
        var (term, sum) = (y, 0.0)
        for n in 0..<40 {
            sum += term / Double(2 * n + 1)
            term *= y * y
        }
        return 2 * sum + Double(exponent) * 0.693_147_180_559_945_3
    }

    enum Load: String, CaseIterable {
        case even = "equal loads"
        case oneHot = "one process has three times the load of each other"
        case halfIdle = "half of the processes idle"

        /// The guide's figures.
        var rejected: [Double: Double] {
            switch self {
            case .even: [0.3: 0.040, 0.5: 0.097, 0.8: 0.200]
            case .oneHot: [0.3: 0.069, 0.5: 0.147, 0.8: 0.254]
            case .halfIdle: [0.3: 0.131, 0.5: 0.271, 0.8: 0.445]
            }
        }

        var weights: [Double] {
            switch self {
            case .even: Array(repeating: 1, count: 8)
            case .oneHot: [3, 1, 1, 1, 1, 1, 1, 1]
            case .halfIdle: [1, 1, 1, 1, 0, 0, 0, 0]
            }
        }
    }

    @Test(
        "equal parts of a limit reject calls that the whole limit would admit, and more of them if the loads are less equal",
        arguments: Load.allCases, [0.3, 0.5, 0.8])
    func parts(load: Load, share: Double) {
        let (parts, together) = Self.rejected(load: share, weights: load.weights, seed: 1)
        #expect(together < 0.001)
        #expect(abs(parts - load.rejected[share]!) < 0.0005)
    }
}
