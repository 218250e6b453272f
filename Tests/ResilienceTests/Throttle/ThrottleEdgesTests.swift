import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// Bugs that adversarial tests found.
@Suite struct ThrottleEdgesTests {
    private let clock = ManualClock()

    @Test("a call with cost zero that an inner policy rejects refunds nothing, for any limit")
    func nothingToGiveBack() throws {
        for throttle in [
            Throttle(limit: .perSecond(3, burst: 3), timeBase: clock),
            Throttle(limit: .slidingWindow(3, per: .seconds(1)), timeBase: clock),
            Throttle(limit: .fixedWindow(3, per: .seconds(1)), timeBase: clock),
        ] {
            try throttle.tryAcquire(options: RunOptions(cost: 0)).complete(.rejected)
            try throttle.tryAcquire(options: RunOptions(cost: 2)).complete(.success)
            try throttle.tryAcquire(options: RunOptions(cost: 0)).complete(.rejected)
            #expect(throttle.status.available == 1)
        }
    }

    @Test("options set later are also checked (P40)")
    func optionsLater() throws {
        let error = #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked {
                var options = RunOptions()
                options.cost = -5
                options.firstAttempt = 0
                #expect(options.cost == 0 && options.firstAttempt == 1)
            }
        }
        #expect(
            error?.problems.map(\.description) == [
                "RunOptions: cost is -5, and must not be negative",
                "RunOptions: firstAttempt is 0, and must be at least 1",
            ])
    }

    @Test("within a failing settings check a throttle can't take another throttle's settings, and stays at rest (P40)")
    func reconfiguredInCheck() {
        let throttle = Throttle(limit: .perSecond(1), timeBase: clock)
        #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked {
                #expect(throttle.reconfigured(like: Throttle(limit: .perSecond(1, burst: 0), timeBase: clock)) == nil)
            }
        }
        #expect(throttle.isAtRest)
    }

    @Test("setting a rate for a throttle without a rate is an invalid setting, which can be thrown (P40)")
    func rateWithoutOne() {
        let window = Throttle("window", limit: .slidingWindow(3, per: .seconds(60)), timeBase: clock)
        let error = #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked { window.setRate(.perSecond(1)) }
        }
        #expect(
            error?.problems.map(\.description) == [
                "Throttle: rate is 1 per 1 s, and can be set only if there is one: \"window\" has none"
            ])
    }

    @Test(
        "a burst of centuries is exact, and the bucket fills no faster than its rate",
        arguments: [
            (.perSecond(1), .max / 2 + 2), (.perSecond(1), .max), (ThrottleRate(1, per: .seconds(86_400)), 1_000_000),
            (.perSecond(1), 1_000_000_000_000), (ThrottleRate(1, per: .seconds(Int64.max)), 7),
        ] as [(ThrottleRate, Int)])
    func hugeBurst(rate: ThrottleRate, burst: Int) throws {
        let throttle = Throttle(limit: .rate(rate.calls, per: rate.period, burst: burst), timeBase: clock)
        #expect(throttle.status.available == burst)
        try throttle.tryAcquire(options: RunOptions(cost: burst)).complete(.success)
        #expect(throttle.status.available == 0)
        clock.advance(by: .seconds(86_400 * 3))
        // The longest of these clocks has steps of some seconds.
        let calls = Int(.seconds(86_400 * 3) / rate.period)
        #expect(throttle.status.available <= calls && throttle.status.available >= calls - 5)
        throttle.setRate(.perSecond(2), burst: 3)
        clock.advance(by: .seconds(2))
        #expect(throttle.status.available == 3)
    }

    @Test("a window without an anchor begins with the first call that is not refunded")
    func windowOfTheFirst() throws {
        let throttle = Throttle(limit: .fixedWindow(5, per: .seconds(10)), timeBase: clock)
        try throttle.tryAcquire().complete(.rejected)
        clock.advance(by: .seconds(9))
        for _ in 1...5 { try throttle.tryAcquire().complete(.success) }
        clock.advance(by: .seconds(1))
        #expect(throws: ThrottleExceeded(policy: "throttle", retryAfter: .seconds(9))) {
            try throttle.tryAcquire().complete(.success)
        }
    }

    @Test("permits can be refunded in any order")
    func manyComeBack() throws {
        for isReversed in [true, false] {
            let throttle = Throttle(limit: .perSecond(1, burst: 10), timeBase: clock)
            let permits = HeldPermits()
            for _ in 1...3 { permits.add(try throttle.tryAcquire()) }
            if isReversed { permits.reverse() }
            permits.completeAll(.rejected)
            #expect(throttle.status.available == 10)
        }
    }

    @Test("a late refund counts as if the call had never been there")
    func lateReturn() throws {
        let throttle = Throttle(limit: .perSecond(1, burst: 10), timeBase: clock)
        let early = try throttle.tryAcquire(options: RunOptions(cost: 5))
        try throttle.tryAcquire(options: RunOptions(cost: 5)).complete(.success)
        clock.advance(by: .seconds(5))
        early.complete(.rejected)
        #expect(throttle.status.available == 10)
    }

    @Test("a line behind a gate also waits only a moment for an absent head (P34)")
    func absentBehindGate() {
        let throttle = Throttle(
            "gate", limit: .unlimited, maxWait: .seconds(60), holdOnThrottled: true, timeBase: clock)
        throttle.hold(for: .seconds(1))
        var (head, second, third) = (PolicySlot(), PolicySlot(), PolicySlot())
        let end = clock.now + .seconds(1)
        #expect(throttle.enter(&head, on: clock) == end)
        #expect(throttle.enter(&second, on: clock) == end + ThrottleStateMachine.absence)
        #expect(throttle.enter(&third, on: clock) == clock.now + .seconds(60))
        // The head is woken, but its executor is busy.
        clock.advance(to: end + ThrottleStateMachine.absence)
        let moment = clock.now + ThrottleStateMachine.absence
        #expect(throttle.enter(&second, on: clock) == moment)
        clock.advance(to: moment)
        #expect(throttle.enter(&second, on: clock) == nil && throttle.status.isProbing)
        #expect(throttle.queued == 2)
    }

    @Test("once absent calls are passed over, their cost delays no other call")
    func absentCost() throws {
        let throttle = Throttle(limit: .perSecond(10, burst: 100), maxWait: .seconds(5), timeBase: clock)
        try throttle.tryAcquire(options: RunOptions(cost: 100)).complete(.success)
        var (first, second, large, small) = (PolicySlot(), PolicySlot(), PolicySlot(), PolicySlot())
        _ = (throttle.enter(&first, cost: 20, on: clock), throttle.enter(&second, cost: 20, on: clock))
        clock.advance(by: .seconds(11))
        let start = clock.now
        while let until = throttle.enter(&large, cost: 100, on: clock) { clock.advance(to: until) }
        #expect(clock.now <= start + .milliseconds(200))
        #expect(throttle.enter(&small, cost: 20, on: clock) == clock.now + .seconds(2))
    }

    @Test("a call that waits for other calls never asks again at once", arguments: 1...30)
    func noSpin(seed: UInt64) throws {
        let gate = Throttle(
            "gate", limit: .unlimited, maxWait: .seconds(100), holdOnThrottled: true, ramp: .seconds(10),
            timeBase: clock)
        gate.hold(for: .seconds(1))
        try clock.run(seed: seed, maxSteps: 20_000) { [clock] in
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<2 { try? await gate.run { try await clock.sleep(for: .seconds(1)) } }
                    }
                }
            }
        }
        #expect(gate.queued == 0)
    }
}
