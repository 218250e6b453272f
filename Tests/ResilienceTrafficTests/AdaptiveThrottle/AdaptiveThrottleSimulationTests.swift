import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// An adaptive throttle before a service that fails a lasting share of its calls, at any load.
@Suite(.heavy) struct AdaptiveThrottleSimulationTests {
    /// Ten calls per second for two hours.
    /// - Returns: The rejected share of calls in each half hour, and the most in any minute.
    private func rejected(failing share: Double, as verdict: Verdict, seed: UInt64) -> (halves: [Double], most: Double)
    {
        var generator = SeededGenerator(seed: seed)
        var machine = AdaptiveThrottleStateMachine(
            .init(
                multiplier: 2, over: .seconds(120), minimumCalls: 10, maxRejection: 0.9,
                failing: [.throttled, .transient, .uncertain]))
        var minutes: [Double] = []
        for minute in 0..<120 {
            var count = 0
            for number in 0..<600 {
                let now = MonotonicInstant(nanoseconds: Int64(minute * 600 + number) * 100_000_000)
                guard machine.admits(at: now, using: &generator).isAdmitted else {
                    count += 1
                    continue
                }
                let fails = Double.random(in: 0..<1, using: &generator) < share
                _ = machine.ended(fails ? verdict : .success, at: now)
            }
            minutes.append(Double(count) / 600)
        }
        let halves = (0..<4).map { half in minutes[half * 30..<(half + 1) * 30].reduce(0, +) / 30 }
        return (halves, minutes.max() ?? 0)
    }

    @Test(
        "if x % of calls fail for hours, the throttle keeps rejecting twice the share by which x exceeds 50 % (P59)",
        arguments: [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.49, 0.51, 0.55, 0.6, 0.75], [Verdict.transient, .uncertain])
    func ownReasons(share: Double, verdict: Verdict) {
        let (halves, most) = rejected(failing: share, as: verdict, seed: 5)
        print("\(share * 100) % \(verdict): \(halves.map { ($0 * 1000).rounded() / 10 }) % in each half hour")
        let expected = max(0, 2 * share - 1)
        for half in halves { #expect(abs(half - expected) < 0.03, "\(halves)") }
        #expect(most < expected + 0.15)
    }

    @Test(
        "429s mean an overload: then the throttle's own rejections also count, up to nine in ten",
        arguments: [0.4, 0.45, 0.49, 0.51, 0.55, 0.6, 0.75])
    func throttled(share: Double) {
        let (halves, _) = rejected(failing: share, as: .throttled, seed: 5)
        print("\(share * 100) % throttled: \(halves.map { ($0 * 1000).rounded() / 10 }) % in each half hour")
        switch share {
        case ..<0.46: #expect(halves.allSatisfy { $0 == 0 })
        // While few calls are known, more than half of them have failed by chance.
        case ..<0.5: #expect(halves[0] < 0.2 && halves.dropFirst().allSatisfy { $0 < 0.03 })
        case ..<0.55: #expect(halves[0] > 0.5 && halves[3] > 0.85)
        default: #expect(halves.dropFirst().allSatisfy { $0 > 0.85 && $0 < 0.92 })
        }
    }

    @Test(
        "if overload shows as failures, the service gets the geometric mean of its capacity and the demand"
    )
    func overload() {
        for load in [30, 100, 200] {
            var generator = SeededGenerator(seed: 6)
            var machine = AdaptiveThrottleStateMachine(
                .init(multiplier: 2, over: .nanoseconds(100), minimumCalls: 10, maxRejection: 0.9, failing: .transient))
            var sent = 0
            for tick in 0..<1_000 {
                let now = MonotonicInstant(nanoseconds: Int64(tick))
                var arrived = 0
                for _ in 0..<load where machine.admits(at: now, using: &generator).isAdmitted {
                    arrived += 1
                    _ = machine.ended(arrived <= 10 ? .success : .transient, at: now)
                }
                if tick >= 200 { sent += arrived }
            }
            let (found, expected) = (Double(sent) / 800, (2 * 10 * Double(load)).squareRoot())
            print("\(load) of 10 wanted: \(found) sent")
            #expect(abs(found / expected - 1) < 0.06)
        }
    }
}
