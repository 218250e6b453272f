@testable import Resilience
import ResilienceTesting
import TestSupport
import Testing

/// One 429 holds all calls; then one probe tests whether all may go again.
@Suite(.timeLimit(.minutes(20))) struct ThrottleGateTests {
    let clock = ManualClock()
    let recorder = EventRecorder()
    let operation = ScriptedOperation<Int, Void>(fallback: .success(()))

    @Test("a 429 holds all calls for the server's Retry-After")
    func serverWait() async throws {
        let gate = gate()
        await throttled(gate, after: .seconds(7))
        #expect(gate.heldUntil == clock.now + .seconds(7))
        await #expect(throws: ThrottleExceeded(policy: "gate", retryAfter: .seconds(7))) { try await gate.run {} }
        clock.advance(by: .seconds(7))
        try await gate.run {}
        #expect(gate.heldUntil == nil)
        #expect(recorder.count { $0 == Throttle.Event.held(for: .seconds(7)) } == 1)
    }

    @Test(
        "a wait of zero or less does not count: the backoff holds, and one probe goes first (P44)", arguments: [0, -5])
    func waitOfNothing(seconds: Int) async throws {
        let gate = gate()
        for held in [1, 2, 4] {
            await throttled(gate, after: .seconds(seconds))
            #expect(gate.heldUntil == clock.now + .seconds(held))
            clock.advance(by: .seconds(held))
        }
    }

    @Test("a 429 without a wait holds for the backoff, longer with each 429 in a row; a good probe resets the backoff")
    func backoff() async throws {
        let gate = gate()
        for seconds in [1, 2, 4] {
            await throttled(gate)
            #expect(gate.heldUntil == clock.now + .seconds(seconds))
            clock.advance(by: .seconds(seconds))
        }
        try await gate.run {}
        await throttled(gate)
        #expect(gate.heldUntil == clock.now + .seconds(1))
    }

    @Test("a jittered backoff holds no longer than its delay, and does not hang")
    func jittered() async {
        let gate = Throttle(
            "gate", limit: .unlimited, holdOnThrottled: true,
            holdBackoff: .exponential(from: .seconds(5), cap: .seconds(60), jitter: .equal), timeBase: clock)
        await throttled(gate)
        let hold = gate.heldUntil.map { clock.now.duration(to: $0) } ?? .zero
        #expect(hold >= .milliseconds(2500) && hold <= .seconds(5))
    }

    @Test("after the hold one call probes, while other calls wait or throw")
    func oneProbe() async throws {
        let gate = gate(maxWait: .seconds(30))
        await throttled(gate, after: .seconds(5))
        clock.advance(by: .seconds(5))
        operation.hold()
        async let probe: Void = gate.run { try await operation(1) }
        await operation.waitForCalls(1)
        async let second: Void = gate.run { try await operation(2) }
        await clock.waitForSleepers(1)
        #expect(throws: WouldWait.self) { _ = try gate.tryAcquire() }
        #expect(operation.callCount == 1 && gate.queued == 1)
        operation.release()
        _ = try await (probe, second)
        #expect(operation.callCount == 2 && gate.queued == 0 && clock.sleepers.isEmpty)
    }

    @Test("a probe that gets a 429 holds all calls again, for longer, and waiting calls keep waiting")
    func throttledProbe() async throws {
        let gate = gate(maxWait: .seconds(30))
        await throttled(gate)
        clock.advance(by: .seconds(1))
        let core = PipelineCore(name: nil, timeBase: clock)
        defer { withExtendedLifetime(core) {} }
        var call = PolicyCall(core)
        let probe = try gate.tryAcquire()
        var slot = PolicySlot()
        guard case .park(let waiter, _) = gate.enter(&call, &slot) else {
            Issue.record("not parked")
            return
        }
        probe.complete(.throttled)
        #expect(await waiter.wait(until: .distantFuture, on: clock) == .resumed)
        guard case .park(_, let end) = gate.enter(&call, &slot) else {
            Issue.record("not parked again")
            return
        }
        #expect(end == clock.now + .seconds(2) && gate.heldUntil == end)
    }

    @Test("a cancelled probe decides nothing: another call probes")
    func cancelledProbe() async throws {
        let gate = gate(maxWait: .seconds(30))
        await throttled(gate)
        clock.advance(by: .seconds(1))
        operation.hold()
        let probe = Task { try await gate.run { try await operation(1) } }
        await operation.waitForCalls(1)
        let second = Task { try await gate.run { try await operation(2) } }
        await clock.waitForSleepers(1)
        probe.cancel()
        await #expect(throws: CancellationError.self) { try await probe.value }
        await operation.waitForCalls(2)
        #expect(gate.heldUntil == clock.now + .seconds(60))
        operation.release()
        try await second.value
        #expect(gate.heldUntil == nil)
    }

    @Test("a probe that fails without a 429 opens the gate: the service no longer asks for fewer calls")
    func failedProbe() async {
        let gate = gate()
        await throttled(gate)
        clock.advance(by: .seconds(1))
        await #expect(throws: Outage()) { try await gate.run { throw Outage() } }
        #expect(gate.heldUntil == nil)
    }

    @Test("a probe rejected by an inner policy decides nothing")
    func rejectedProbe() async throws {
        let gate = gate()
        let bulkhead = Bulkhead(limit: 1, timeBase: clock)
        await throttled(gate)
        clock.advance(by: .seconds(1))
        let inside = try bulkhead.tryAcquire()
        await #expect(throws: BulkheadFull.self) {
            try await Pipeline {
                gate; bulkhead
            }.run {}
        }
        #expect(gate.heldUntil == clock.now)
        inside.complete(.success)
        try await gate.run {}
        #expect(gate.heldUntil == nil)
    }

    @Test("a waiting call is rejected if the gate is still shut after maxWait")
    func patience() async throws {
        let gate = gate(maxWait: .seconds(30))
        gate.hold(for: .seconds(1))
        clock.advance(by: .seconds(1))
        let probe = try gate.tryAcquire()
        let waiting = Task { try await gate.run { try await operation(1) } }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(30))
        // The probe may keep its place for another 30 s, but may end at any moment (P64).
        await #expect(throws: ThrottleExceeded(policy: "gate", retryAfter: .seconds(1))) { try await waiting.value }
        #expect(gate.queued == 0 && operation.callCount == 0)
        probe.complete(.success)
    }

    @Test("calls can be held by hand, and a shorter hold does not replace a longer hold")
    func byHand() async throws {
        let gate = gate(maxWait: .seconds(60))
        gate.hold(for: .seconds(9))
        gate.hold(for: .seconds(3))
        #expect(gate.heldUntil == clock.now + .seconds(9))
        async let turn: Void = gate.run {}
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(9))
        try await turn
        #expect(gate.heldUntil == nil)
    }

    @Test("a call that waited before a hold also waits for the gate")
    func reservedBeforeHold() async throws {
        let throttle = Throttle(limit: .perSecond(1), maxWait: .seconds(60), timeBase: clock)
        try await throttle.run {}
        async let turn: Void = throttle.run { try await operation(1) }
        await clock.waitForSleepers(1)
        throttle.hold(for: .seconds(10))
        let held = clock.now + .seconds(10)
        clock.advance(by: .seconds(1))
        await clock.waitForSleepers(1)
        #expect(clock.sleepers == [held] && operation.callCount == 0 && throttle.queued == 1)
        clock.advance(to: held)
        try await turn
    }

    @Test("in a gate used by many tasks, only one call probes for each hold, however many calls wait")
    func threads() async throws {
        let gate = Throttle("gate", limit: .unlimited, maxWait: .seconds(60), holdOnThrottled: true, timeBase: clock)
        gate.hold(for: .seconds(5))
        operation.hold()
        let tasks = (0..<200).map { number in Task { try await gate.run { try await operation(number) } } }
        await clock.waitForSleepers(200)
        clock.advance(by: .seconds(5))
        await clock.waitForSleepers(199)
        await operation.waitForCalls(1)
        #expect(operation.callCount == 1)
        operation.release()
        for task in tasks { try await task.value }
        #expect(operation.callCount == 200 && gate.queued == 0)
    }

    @Test("a call that gives up waiting for a probe leaves nothing behind, while the probe is in flight")
    func nothingLeft() async throws {
        let gate = gate(maxWait: .seconds(30))
        gate.hold(for: .seconds(0))
        let core = PipelineCore(name: nil, timeBase: clock)
        defer { withExtendedLifetime(core) {} }
        var call = PolicyCall(core)
        let probe = try gate.tryAcquire()
        var slot = PolicySlot()
        weak var parked: PolicyWaiter?
        if case .park(let waiter, _) = gate.enter(&call, &slot) { parked = waiter }
        #expect(parked != nil && gate.queued == 1)
        _ = gate.exit(&call, &slot, PolicyOutcome(.cancelled))
        #expect(parked == nil && gate.queued == 0)
        probe.complete(.success)
    }

    private func gate(maxWait: Duration = .zero) -> Throttle {
        Throttle(
            "gate", limit: .unlimited, maxWait: maxWait, holdOnThrottled: true, timeBase: clock,
            observers: PolicyObservers(recorder))
    }

    /// Makes a call that gets a 429.
    private func throttled(_ throttle: Throttle, after wait: Duration? = nil) async {
        await #expect(throws: Judged.self) {
            try await throttle.run { throw Judged(verdict: .throttled(retryAfter: wait)) }
        }
    }

    @Test("a call rejected during a gate's probe gets a wait of a second at most, never the probe's lease (P64)")
    func rejectedByProbe() throws {
        let throttle = Throttle("gate", limit: .unlimited, holdOnThrottled: true, timeBase: clock)
        func told() -> Duration? {
            let error = #expect(throws: ThrottleExceeded.self) { _ = try throttle.tryAcquire() }
            #expect(throttle.forecast().outcome == .isRejected(retryAfter: error?.retryAfter))
            #expect(throttle.status.timeUntilNext == error?.retryAfter)
            return error?.retryAfter
        }
        try throttle.tryAcquire().complete(.throttled(retryAfter: .seconds(7)))
        clock.advance(by: .seconds(7))
        var probe = try throttle.tryAcquire()
        #expect(told() == .seconds(1))
        clock.advance(by: .milliseconds(1_200))
        #expect(told() == .milliseconds(800))
        // A probe's 429 measures the duration of a probe, as its success does.
        clock.advance(by: .milliseconds(50))
        probe.complete(.success)
        try throttle.tryAcquire().complete(.throttled(retryAfter: .milliseconds(300)))
        clock.advance(by: .milliseconds(300))
        probe = try throttle.tryAcquire()
        #expect(told() == .milliseconds(300))
        clock.advance(by: .milliseconds(20))
        probe.complete(.throttled(retryAfter: .seconds(5)))
        clock.advance(by: .seconds(5))
        probe = try throttle.tryAcquire()
        #expect(told() == .milliseconds(20))
        probe.complete(.success)
    }

    @Test("a call that waited for a probe in vain, or that a slow start rejects, also gets a wait of a second at most")
    func lineAndSlowStart() throws {
        let clock = clock
        try clock.run {
            let gate = Throttle(
                limit: .unlimited, maxWait: .milliseconds(2_500), holdOnThrottled: true, timeBase: clock)
            gate.hold(for: .seconds(1))
            clock.advance(by: .seconds(1))
            let probe = try gate.tryAcquire()
            let late = await #expect(throws: ThrottleExceeded.self) { try await gate.run {} }
            #expect(late?.retryAfter == .milliseconds(500))
            probe.complete(.success)

            let ramp = Throttle(limit: .unlimited, holdOnThrottled: true, ramp: .seconds(30), timeBase: clock)
            ramp.hold(for: .seconds(1))
            clock.advance(by: .seconds(1))
            try ramp.tryAcquire().complete(.success)
            let first = try ramp.tryAcquire()
            let second = try ramp.tryAcquire()
            let third = #expect(throws: ThrottleExceeded.self) { _ = try ramp.tryAcquire() }
            // The probe took zero time.
            #expect(third?.retryAfter == .milliseconds(1))
            #expect(ramp.status.timeUntilNext == .milliseconds(1))
            first.complete(.success)
            second.complete(.success)
        }
    }

    @Test("the end of a hold by hand is reported, but only if there was a hold")
    func holdEnded() {
        let recorder = EventRecorder()
        let throttle = Throttle(limit: .unlimited, timeBase: clock, observers: PolicyObservers(recorder))
        #expect(!throttle.endHold())
        throttle.hold(for: .seconds(60))
        let ended = [throttle.endHold(), throttle.endHold()]
        #expect(ended == [true, false])
        #expect(recorder.events(of: Throttle.Event.self) == [.holdEnded])
    }
}
