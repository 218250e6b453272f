import ResilienceTesting
import Testing

@testable import Resilience

/// Callers that wait for the probe's end instead of being rejected.
@Suite(.timeLimit(.minutes(20))) struct ExcessTests {
    let clock = ManualClock()
    let breaker: CircuitBreaker
    let recorder = EventRecorder()

    /// Opens on the 1st failure for 60 s; a call that finds the probe in flight waits for 5 s at most.
    init() throws {
        breaker = CircuitBreaker(
            circuit: ThreeStateCircuit(
                tripping: .consecutiveFailures(1), probeLease: .seconds(20), excess: .waits(upTo: .seconds(5))),
            timeBase: clock, observers: PolicyObservers(recorder))
        try breaker.tryAcquire().complete(.transient)
        clock.advance(by: .seconds(60))
    }

    private func callers(_ count: Int, deadline: MonotonicInstant = .distantFuture) async -> [Task<Int, any Error>] {
        let before = recorder.count { (event: CircuitBreaker.Event) in event == .waiting }
        var callers: [Task<Int, any Error>] = []
        for number in 0..<count {
            callers.append(
                Task { [breaker] in
                    try await breaker.run(options: RunOptions(deadline: deadline)) { number }
                })
            await clock.waitForSleepers(before + number + 1)
        }
        return callers
    }

    @Test("all waiting calls get through when the probe succeeds")
    func success() async throws {
        let probe = try breaker.tryAcquire()
        let callers = await callers(3)
        probe.complete(.success)
        for (number, caller) in callers.enumerated() { #expect(try await caller.value == number) }
        #expect(clock.sleepers.isEmpty)
    }

    @Test("10 000 calls may wait at the same time; the next call is rejected, until a waiting call gives up")
    func cap() throws {
        let probe = try breaker.tryAcquire()
        var call = PolicyCall(breaker.ownCore)
        var slots = Array(repeating: PolicySlot(), count: 10_001)
        func waits(_ number: Int) -> Bool {
            guard case .park = breaker.enter(&call, &slots[number]) else { return false }
            return true
        }
        #expect((0..<10_000).allSatisfy(waits))
        guard case .reject(let error) = breaker.enter(&call, &slots[10_000]) else {
            Issue.record("call 10 001 is not rejected")
            return
        }
        #expect((error as? CircuitOpen)?.reason == .probing && (error as? CircuitOpen)?.retryAfter == .seconds(1))
        _ = breaker.exit(&call, &slots[7], PolicyOutcome(.cancelled))
        #expect(waits(10_000) && !waits(7))
        probe.complete(.success)
    }

    @Test("all waiting calls are rejected when the probe fails, with the new break's length")
    func failure() async throws {
        let probe = try breaker.tryAcquire()
        let callers = await callers(3)
        probe.complete(.transient)
        for caller in callers {
            let error = await #expect(throws: CircuitOpen.self) { try await caller.value }
            #expect(error?.reason == .open && error?.retryAfter == .seconds(60))
        }
    }

    @Test("no call waits longer than allowed, even if it asks again")
    func tooLong() async throws {
        let probe = try breaker.tryAcquire()
        let callers = await callers(1)
        clock.advance(by: .milliseconds(4999))
        clock.advance(by: .milliseconds(1))
        let error = await #expect(throws: CircuitOpen.self) { try await callers[0].value }
        #expect(error?.reason == .probing)
        probe.complete(.success)
    }

    @Test("no call waits beyond its deadline")
    func deadline() async throws {
        let probe = try breaker.tryAcquire()
        let callers = await callers(1, deadline: clock.now + .seconds(2))
        clock.advance(by: .seconds(2))
        await #expect(throws: DeadlinePassed.self) { try await callers[0].value }
        await #expect(throws: DeadlinePassed.self) {
            try await breaker.run(options: RunOptions(deadline: clock.now)) {}
        }
        probe.complete(.success)
    }

    @Test("a call cancelled while waiting leaves at once, and leaves nothing behind")
    func cancelled() async throws {
        let probe = try breaker.tryAcquire()
        let callers = await callers(2)
        callers[0].cancel()
        await #expect(throws: CancellationError.self) { try await callers[0].value }
        #expect(breaker.inner.withLock { $0.extras?.line.count } == 1)
        probe.complete(.success)
        #expect(try await callers[1].value == 1)
    }

    @Test("tryAcquire never waits: it throws WouldWait")
    func byHand() throws {
        let probe = try breaker.tryAcquire()
        #expect(throws: WouldWait.self) { _ = try breaker.tryAcquire() }
        #expect(breaker.inner.withLock { $0.extras?.line.isEmpty != false })
        probe.complete(.success)
    }

    @Test("waiting calls go at once when the breaker is disabled")
    func disabled() async throws {
        let probe = try breaker.tryAcquire()
        let waiting = await callers(2)
        breaker.setMode(.disabled)
        for (number, caller) in waiting.enumerated() { #expect(try await caller.value == number) }
        probe.complete(.success)
    }

    @Test("a reset, or a mode set by hand, ends the wait")
    func byHandChange() async throws {
        var probe = try breaker.tryAcquire()
        let waiting = await callers(1)
        breaker.reset()
        #expect(try await waiting[0].value == 0)
        probe.complete(.success)
        try breaker.tryAcquire().complete(.transient)
        clock.advance(by: .seconds(60))
        probe = try breaker.tryAcquire()
        let task = Task { [breaker] in try await breaker.run { 7 } }
        await clock.waitForSleepers(1)
        breaker.setMode(.isolated)
        await #expect(throws: CircuitOpen(policy: "breaker", reason: .isolated, retryAfter: nil)) {
            try await task.value
        }
        probe.complete(.success)
    }
}
