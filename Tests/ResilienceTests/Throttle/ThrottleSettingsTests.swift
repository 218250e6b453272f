@testable import Resilience
import ResilienceTesting
import Testing

/// Costs, windows, ramps, rate changes and status, with time and tasks.
@Suite(.timeLimit(.minutes(20))) struct ThrottleSettingsTests {
    let clock = ManualClock()
    let operation = ScriptedOperation<Int, Void>(fallback: .success(()))

    @Test("a call takes its cost, and a call with cost zero goes at once")
    func costs() async throws {
        let throttle = Throttle(limit: .perSecond(1, burst: 5), timeBase: clock)
        try await throttle.run(options: RunOptions(cost: 4)) {}
        try await throttle.run(options: RunOptions(cost: 0)) {}
        await #expect(throws: ThrottleExceeded(policy: "throttle", retryAfter: .seconds(1))) {
            try await throttle.run(options: RunOptions(cost: 2)) {}
        }
        try await throttle.run {}
        try await throttle.run(options: RunOptions(cost: 0)) {}
    }

    @Test(
        "calls wait for their turn in a window, and no window admits more than its limit",
        arguments: [.slidingWindow(2, per: .seconds(10)), .fixedWindow(2, per: .seconds(10))] as [ThrottleLimit])
    func windows(window: ThrottleLimit) async throws {
        let throttle = Throttle("window", limit: window, maxWait: .seconds(60), timeBase: clock)
        let start = clock.now
        for number in 1...2 { try await throttle.run { try await operation(number) } }
        let waiting = (3...5).map { number in Task { try await throttle.run { try await operation(number) } } }
        await clock.waitForSleepers(3)
        #expect(clock.sleepers == [10, 10, 20].map { start + .seconds($0) })
        clock.advance(by: .seconds(10))
        await operation.waitForCalls(4)
        #expect(throttle.queued == 1 && throttle.status.available == 0)
        clock.advance(by: .seconds(10))
        for task in waiting { try await task.value }
        #expect(throttle.description == "window: \(window), waits up to 60 s")
    }

    @Test("after a change to a higher rate, waiting calls go sooner (P24)")
    func faster() throws {
        let throttle = Throttle(limit: .perMinute(1), maxWait: .seconds(600), timeBase: clock)
        let turns = try turns(of: [1, 1, 1, 1], through: throttle) { throttle.setRate(.perSecond(1), burst: 2) }
        #expect(turns == [.zero, .seconds(1), .seconds(2), .seconds(3)])
        #expect(throttle.description == "throttle: 1 per 1 s, burst 2, waits up to 600 s")
    }

    @Test("after a change to a lower rate, waiting calls go later, or are rejected if that is too late (P24)")
    func slower() throws {
        let throttle = Throttle(limit: .perSecond(1), maxWait: .seconds(10), timeBase: clock)
        let turns = try turns(of: [1, 1, 1], through: throttle) { throttle.setRate(ThrottleRate(1, per: .seconds(8))) }
        #expect(turns == [.zero, .seconds(8), nil] && throttle.queued == 0)
    }

    @Test("a waiting call whose cost exceeds a changed burst is rejected, and does not block the calls behind it (P24)")
    func sentAway() throws {
        let throttle = Throttle(limit: .perSecond(1, burst: 5), maxWait: .seconds(60), timeBase: clock)
        let turns = try turns(of: [5, 5, 1], through: throttle) { throttle.setRate(.perSecond(1), burst: 1) }
        #expect(turns == [.zero, nil, .seconds(1)])
    }

    /// Makes calls of these costs in order at one instant; then `change` runs.
    /// - Returns: When each call went; nil if it was rejected.
    private func turns(
        of costs: [Int], through throttle: Throttle, change: @escaping @Sendable () -> Void
    ) throws -> [Duration?] {
        let (clock, start) = (clock, clock.now)
        return try clock.run {
            await withTaskGroup(of: (Int, Duration?).self) { group in
                for (number, cost) in costs.enumerated() {
                    group.addTask {
                        let turn = try? await throttle.run(options: RunOptions(cost: cost)) {
                            start.duration(to: clock.now)
                        }
                        return (number, turn)
                    }
                    await clock.runUntilIdle()
                }
                change()
                return await group.reduce(into: Array(repeating: nil, count: costs.count)) { $0[$1.0] = $1.1 }
            }
        }
    }

    @Test("after a good probe a gate with a ramp admits two calls, and two more for each call that ends")
    func rampOfAGate() async throws {
        let gate = Throttle(
            "gate", limit: .unlimited, maxWait: .seconds(60), holdOnThrottled: true, ramp: .seconds(30), timeBase: clock
        )
        gate.hold(for: .seconds(1))
        operation.hold()
        let tasks = (0..<6).map { number in Task { try await gate.run { try await operation(number) } } }
        await clock.waitForSleepers(6)
        clock.advance(by: .seconds(1))
        await operation.waitForCalls(1)
        operation.release()
        for task in tasks { try await task.value }
        #expect(operation.callCount == 6 && gate.queued == 0)

        let one = try gate.tryAcquire()
        gate.hold(for: .zero)
        try gate.tryAcquire().complete(.success)
        let two = try gate.tryAcquire()
        let three = try gate.tryAcquire()
        #expect(throws: WouldWait(policy: "gate", retryAfter: nil)) { _ = try gate.tryAcquire() }
        one.complete(.success)
        #expect(throws: WouldWait.self) { _ = try gate.tryAcquire() }
        two.complete(.success)
        for _ in 0..<2 { try gate.tryAcquire().complete(.cancelled) }
        three.complete(.throttled(retryAfter: .seconds(9)))
        #expect(gate.heldUntil == clock.now + .seconds(9))
    }

    @Test("when a held throttle is reset, waiting calls go if there is room")
    func reset() throws {
        let throttle = Throttle(
            limit: .perSecond(1, burst: 2), maxWait: .seconds(60), holdOnThrottled: true, timeBase: clock)
        throttle.hold(for: .seconds(30))
        let turns = try turns(of: [1, 1, 1], through: throttle) {
            #expect(!throttle.isAtRest(at: MonotonicInstant.distantFuture))
            throttle.reset()
        }
        #expect(turns == [.zero, .zero, .seconds(1)] && throttle.heldUntil == nil)
        #expect(!throttle.isAtRest && throttle.isAtRest(at: clock.now + .seconds(2)))
    }

    @Test("a throttle that took another throttle's settings is at rest when that throttle would be, and can be evicted")
    func reconfiguredAtRest() {
        let throttle = Throttle(limit: .perSecond(1), timeBase: clock)
        #expect(throttle.reconfigured(like: Throttle(limit: .perSecond(5, burst: 3), timeBase: clock)) === throttle)
        #expect(!throttle.isAtRest)
        clock.advance(by: .milliseconds(400))
        #expect(throttle.status.available == 3 && throttle.isAtRest)
    }

    @Test("when a hold is ended by hand, the first waiting call probes")
    func endedByHand() async throws {
        let gate = Throttle("gate", limit: .unlimited, maxWait: .seconds(60), holdOnThrottled: true, timeBase: clock)
        gate.hold(for: .seconds(30))
        async let first: Void = gate.run { try await operation(1) }
        await clock.waitForSleepers(1)
        gate.endHold()
        try await first
        #expect(gate.heldUntil == nil)
    }

    @Test("a call in line that wakes at a shut gate keeps its place, and waits for the gate (P34)")
    func shutBeforeItWoke() throws {
        let throttle = Throttle(limit: .perSecond(1), maxWait: .seconds(60), timeBase: clock)
        try throttle.tryAcquire().complete(.success)
        let core = PipelineCore.bare(on: clock)
        defer { withExtendedLifetime(core) {} }
        var call = PolicyCall(core)
        var slot = PolicySlot()
        guard case .park(_, let turn) = throttle.enter(&call, &slot) else {
            Issue.record("not parked")
            return
        }
        clock.advance(to: turn)
        throttle.hold(for: .seconds(5))
        var later = PolicyCall(core)
        guard case .park(_, let end) = throttle.enter(&later, &slot) else {
            Issue.record("not parked for the hold")
            return
        }
        #expect(end == turn + .seconds(5) && throttle.queued == 1)
        _ = throttle.exit(&later, &slot, PolicyOutcome(.cancelled))
        #expect(throttle.queued == 0)
    }

    @Test("if the first in line is cancelled before it woke to probe, the next call probes (P34)")
    func cancelledBeforeItWoke() throws {
        let gate = Throttle("gate", limit: .unlimited, maxWait: .seconds(60), holdOnThrottled: true, timeBase: clock)
        gate.hold(for: .seconds(5))
        let core = PipelineCore.bare(on: clock)
        defer { withExtendedLifetime(core) {} }
        var call = PolicyCall(core)
        var slot = PolicySlot()
        _ = gate.enter(&call, &slot)
        clock.advance(by: .seconds(5))
        gate.endHold()
        #expect(!gate.status.isProbing && gate.queued == 1)
        var later = PolicyCall(core)
        _ = gate.exit(&later, &slot, PolicyOutcome(.cancelled))
        #expect(gate.queued == 0 && gate.status.available == 1)
        try gate.tryAcquire().complete(.success)
        #expect(gate.isAtRest)
    }

    @Test("the status shows the free permits, when the next call may go, and the hold")
    func status() async throws {
        let throttle = Throttle(limit: .perSecond(2, burst: 3), timeBase: clock)
        #expect(throttle.status.available == 3)
        try await throttle.run(options: RunOptions(cost: 3)) {}
        #expect(
            throttle.status
                == ThrottleStatus(
                    available: 0, timeUntilNext: .milliseconds(500), heldUntil: nil, isProbing: false, queued: 0))
        throttle.hold(for: .seconds(9))
        #expect(throttle.status.heldUntil == clock.now + .seconds(9) && throttle.status.timeUntilNext == .seconds(9))
    }
}
