import Testing

@testable import Resilience
@testable import ResilienceTraffic

@Suite struct AdaptiveThrottleStateMachineTests {
    /// Always draws the same number, of which `Double.random` takes the lowest 53 bits.
    private struct Fixed: RandomNumberGenerator {
        let share: Double

        func next() -> UInt64 { UInt64(share * 0x1p53) }
    }

    private static func machine(
        multiplier: Double = 2, window: Int64 = 100, minimumCalls: Int = 1, maxRejection: Double = 1
    ) -> AdaptiveThrottleStateMachine {
        AdaptiveThrottleStateMachine(
            .init(
                multiplier: multiplier, over: .nanoseconds(window), minimumCalls: minimumCalls,
                maxRejection: maxRejection,
                failing: [.transient, .throttled]))
    }

    private let start = MonotonicInstant(nanoseconds: 0)

    private struct Share: Sendable {
        let accepted: Int
        let refused: Int
        let multiplier: Double
        /// As a multiple of calls + 1.
        let parts: Double
    }

    private static let shares = [
        Share(accepted: 0, refused: 1, multiplier: 2, parts: 1),
        Share(accepted: 0, refused: 9, multiplier: 2, parts: 9),
        Share(accepted: 1, refused: 1, multiplier: 2, parts: 0),
        Share(accepted: 1, refused: 2, multiplier: 2, parts: 1),
        Share(accepted: 5, refused: 15, multiplier: 2, parts: 10),
        Share(accepted: 5, refused: 15, multiplier: 1, parts: 15),
        Share(accepted: 5, refused: 15, multiplier: 4, parts: 0),
        Share(accepted: 5, refused: 15, multiplier: 3, parts: 5),
        Share(accepted: 10, refused: 0, multiplier: 1, parts: 0),
        Share(accepted: 0, refused: 0, multiplier: 2, parts: 0),
    ]

    @Test("the share is (calls − multiplier × accepted) ÷ (calls + 1), and never below 0", arguments: shares.indices)
    func formula(index: Int) {
        let share = Self.shares[index]
        var machine = Self.machine(multiplier: share.multiplier)
        for _ in 0..<share.accepted { _ = machine.ended(.success, at: start) }
        for _ in 0..<share.refused { _ = machine.ended(.transient, at: start) }
        #expect(machine.rejection(at: start) == share.parts / Double(share.accepted + share.refused + 1))
    }

    @Test("changed settings apply from the change on; a changed window restarts the counts")
    func otherSettings() {
        var machine = Self.machine()
        _ = machine.ended(.transient, at: start)
        machine.change(
            to: .init(
                multiplier: 2, over: .nanoseconds(100), minimumCalls: 1, maxRejection: 0.1,
                failing: [.transient, .throttled]))
        #expect(machine.rejection(at: start) == 0.1 && machine.counts(at: start).calls == 1)
        machine.change(
            to: .init(
                multiplier: 2, over: .nanoseconds(200), minimumCalls: 1, maxRejection: 1,
                failing: [.transient, .throttled]))
        #expect(machine.rejection(at: start) == 0 && machine.counts(at: start).calls == 0)
        _ = machine.ended(.transient, at: start)
        machine.reset()
        #expect(machine.counts(at: start).calls == 0 && machine.isRejecting)
        var zero = Fixed(share: 0)
        #expect(machine.admits(at: start, using: &zero) == (true, .ended))
        #expect(machine == Self.machine(window: 200))
    }

    /// A service that accepts `capacity` calls per tick, and is offered `load`.
    private func sent(load: Int, capacity: Int, multiplier: Double, maxRejection: Double = 1) -> (
        perTick: Double, accepted: Double
    ) {
        var machine = Self.machine(
            multiplier: multiplier, window: 100, minimumCalls: 10, maxRejection: maxRejection)
        let generator = SplitMix64(seed: 15)
        var (sent, accepted) = (0, 0)
        for tick in 0..<1_000 {
            let now = MonotonicInstant(nanoseconds: Int64(tick))
            var arrived = 0
            for _ in 0..<load {
                var generator = generator
                guard machine.admits(at: now, using: &generator).isAdmitted else { continue }
                arrived += 1
                _ = machine.ended(arrived <= capacity ? .success : .throttled, at: now)
            }
            // The first window is for adaptation.
            if tick >= 200 {
                sent += arrived
                accepted += min(arrived, capacity)
            }
        }
        return (Double(sent) / 800, Double(accepted) / 800)
    }

    @Test(
        "under overload the service gets `multiplier` times the calls it accepts, at any load, if the largest share is 1",
        arguments: [10, 50], [1.5, 2, 3])
    func overload(times: Int, multiplier: Double) {
        let (sent, accepted) = sent(load: 10 * times, capacity: 10, multiplier: multiplier)
        #expect(abs(sent - multiplier * 10) < 10 * 0.05 * multiplier && accepted > 9)
    }

    /// How many windows pass after an outage until no call is rejected, at 100 calls per tick; 97 if more.
    /// - Parameter cancelled: How many of five admitted calls are cancelled.
    private func recovery(
        multiplier: Double, after failure: Verdict = .throttled, cancelled: Int, seed: UInt64
    ) -> Double {
        var machine = Self.machine(multiplier: multiplier, window: 100, minimumCalls: 10, maxRejection: 0.9)
        var generator = SplitMix64(seed: seed)
        for tick in 0..<10_000 {
            let now = MonotonicInstant(nanoseconds: Int64(tick))
            let isWell = tick >= 300
            if isWell, machine.rejection(at: now) == 0 { return Double(tick - 300) / 100 }
            for number in 0..<100 where machine.admits(at: now, using: &generator).isAdmitted {
                _ = machine.ended(isWell ? number % 5 < cancelled ? .cancelled : .success : failure, at: now)
            }
        }
        return 97
    }

    @Test(
        "after an outage all calls get through again, sooner with a larger multiplier",
        arguments: zip([1.1, 1.5, 2], [12.0, 3, 1.8]))
    func recovers(multiplier: Double, windows: Double) {
        #expect(abs(recovery(multiplier: multiplier, cancelled: 0, seed: 44) - windows) < windows * 0.15)
    }

    @Test(
        "after an outage without 429s all calls get through again within one window",
        arguments: [1.1, 1.5, 2])
    func recoversFromOtherFailures(multiplier: Double) {
        let windows = recovery(multiplier: multiplier, after: .transient, cancelled: 0, seed: 44)
        print("recovered with \(multiplier) after \(windows) windows")
        #expect(windows < 1)
    }

    @Test(
        "the throttle recovers although most admitted calls are cancelled, with any multiplier",
        arguments: [1.1, 1.5, 2])
    func recoversDespiteCancellations(multiplier: Double) {
        #expect(recovery(multiplier: multiplier, cancelled: 3, seed: 45) < 60)
    }

    @Test("with a largest share of 0.9 at least a tenth of the calls is admitted")
    func floor() {
        let (sent, _) = sent(load: 500, capacity: 10, multiplier: 2, maxRejection: 0.9)
        #expect(abs(sent - 50) < 2.5)
    }

    @Test("below the service's capacity nothing is rejected")
    func enough() {
        #expect(sent(load: 10, capacity: 10, multiplier: 1.5) == (10, 10))
    }
}
