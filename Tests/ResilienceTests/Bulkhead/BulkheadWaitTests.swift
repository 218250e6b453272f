import ResilienceTesting
import Synchronization
import TestSupport
import Testing

@testable import Resilience

@Suite(.timeLimit(.minutes(20))) struct BulkheadWaitTests {
    let clock = ManualClock()
    let recorder = EventRecorder()
    let operation = ScriptedOperation<Int, Void>(fallback: .success(()))

    @Test("a call whose turn would probably come after its deadline is rejected at once, with the expected wait (P23)")
    func tooLate() async throws {
        let bulkhead = bulkhead()
        var stays = Stays(bulkhead, clock)
        stays.serviceTime(for: .seconds(10), thenQueue: 2)
        let late = RunOptions(deadline: clock.now + .seconds(19))
        await #expect(
            throws: BulkheadFull(policy: "bulkhead", reason: .turnTooLate, retryAfter: .seconds(30))
        ) {
            try await bulkhead.run(options: late) { try await operation(1) }
        }
        #expect(operation.callCount == 0 && bulkhead.queued == 2 && clock.sleepers.isEmpty)
        #expect(recorder.events(of: Bulkhead.Event.self).last == .rejected(.turnTooLate))
        let queues = stays.queues(RunOptions(deadline: clock.now + .seconds(20)))
        #expect(queues)
        #expect(bulkhead.status.estimatedWait == .seconds(40))
    }

    @Test("a call that would probably wait longer than maxWait is rejected at once (P23)")
    func maxWait() {
        let bulkhead = bulkhead(maxWait: .seconds(11))
        var stays = Stays(bulkhead, clock)
        stays.serviceTime(for: .seconds(10), thenQueue: 1)
        let first = stays.queues(RunOptions())
        let second = stays.queues(RunOptions())
        #expect(first && !second)
        #expect(stays.rejection?.reason == .turnTooLate)
    }

    @Test(
        "a call that waited leaves nothing behind, whether it was cancelled or timed out",
        arguments: [false, true])
    func leavesNothing(isCancelled: Bool) throws {
        /// - Returns: The waiter that the bulkhead parks the call with. Nothing else holds it.
        func park(_ call: inout PolicyCall, _ slot: inout PolicySlot) throws -> WeakWaiter {
            guard case .park(let waiter, _) = bulkhead.enter(&call, &slot) else { throw Outage() }
            return WeakWaiter(waiter)
        }
        let bulkhead = bulkhead()
        let core = PipelineCore.bare(on: clock)
        var call = PolicyCall(core)
        let permit = try bulkhead.tryAcquire()
        var slot = PolicySlot()
        let parked = try park(&call, &slot)
        #expect(parked.waiter != nil)
        if isCancelled {
            _ = bulkhead.exit(&call, &slot, PolicyOutcome(.cancelled))
        } else {
            guard case .reject = bulkhead.enter(&call, &slot) else { throw Outage() }
        }
        #expect(parked.waiter == nil)
        permit.complete(.success)
        withExtendedLifetime(core) {}
    }

    @Test("without predictions nothing is measured, and a call waits up to its deadline")
    func withoutPredictions() {
        let bulkhead = bulkhead(predictsWait: false)
        var stays = Stays(bulkhead, clock)
        stays.serviceTime(for: .seconds(10), thenQueue: 5)
        #expect(bulkhead.status.estimatedWait == nil)
        let queues = stays.queues(RunOptions(deadline: clock.now + .nanoseconds(1)))
        #expect(queues)
    }

    @Test("a call that found a free permit is not measured, and a permit that becomes free clears the estimate")
    func forgets() throws {
        let bulkhead = bulkhead()
        var stays = Stays(bulkhead, clock)
        stays.serviceTime(for: .seconds(10), thenQueue: 0)
        #expect(bulkhead.status.estimatedWait == .seconds(10))
        stays.leave(1)
        #expect(bulkhead.status.estimatedWait == nil)
        let permit = try bulkhead.tryAcquire()
        let queues = stays.queues(RunOptions())
        #expect(queues)
        clock.advance(by: .seconds(7))
        permit.complete(.success)
        #expect(bulkhead.status.estimatedWait == nil)
    }

    @Test("with maxWait zero a call is rejected at once, even if the queue has room, and no alarm is set")
    func zero() async throws {
        let bulkhead = bulkhead(maxWait: .zero)
        let inside = try bulkhead.tryAcquire()
        await #expect(throws: BulkheadFull(policy: "bulkhead", reason: .turnTooLate)) { try await bulkhead.run {} }
        #expect(bulkhead.queued == 0 && clock.sleepers.isEmpty)
        inside.complete(.success)
        try await bulkhead.run {}
    }

    @Test("a call whose deadline has passed is neither queued nor admitted (P23)")
    func passed() async throws {
        let bulkhead = bulkhead()
        let passed = RunOptions(deadline: clock.now)
        await #expect(throws: DeadlinePassed.self) { try await bulkhead.run(options: passed) {} }
        let inside = try bulkhead.tryAcquire()
        await #expect(throws: DeadlinePassed.self) {
            try await bulkhead.acquire(options: passed).complete(.success)
        }
        inside.complete(.success)
    }

    @Test(
        "a maxWait beyond the end of time does not limit waits",
        arguments: [nil, .infinite, .seconds(Int64.max), .nanoseconds(Int64.max)] as [Duration?])
    func endless(maxWait: Duration?) async throws {
        let bulkhead = bulkhead(maxWait: maxWait)
        #expect(bulkhead.description == "bulkhead: 1 at a time, 100 queued")
        let inside = try bulkhead.tryAcquire()
        let queued = Task { try await bulkhead.run { try await operation(1) } }
        await recorder.waitForEvents(1)
        #expect(clock.sleepers.isEmpty)
        inside.complete(.success)
        try await queued.value
        #expect(operation.callCount == 1)
    }

    @Test("a call that finds a free permit reads no clock; only the first rejection since a permit's return reads it")
    func noClock() throws {
        let counting = CountingClock()
        let bulkhead = Bulkhead(limit: 1, timeBase: counting)
        let inside = try bulkhead.tryAcquire()
        #expect(counting.readings.load(ordering: .relaxed) == 0)
        for _ in 0..<3 { #expect(throws: BulkheadFull.self) { _ = try bulkhead.tryAcquire() } }
        #expect(counting.readings.load(ordering: .relaxed) == 1)
        // The time until a permit came back is now known.
        inside.complete(.success)
        try bulkhead.tryAcquire().complete(.success)
        #expect(counting.readings.load(ordering: .relaxed) == 2)
    }

    private func bulkhead(maxWait: Duration? = nil, predictsWait: Bool = true) -> Bulkhead {
        Bulkhead(
            limit: 1, queue: 100, maxWait: maxWait, predictsWait: predictsWait, timeBase: clock,
            observers: PolicyObservers(recorder))
    }
}

/// Takes calls in and out of a bulkhead step by step.
private struct Stays {
    private let bulkhead: Bulkhead
    private let clock: ManualClock
    private let core: PipelineCore
    private var slots: [PolicySlot] = []
    private(set) var rejection: BulkheadFull?

    init(_ bulkhead: Bulkhead, _ clock: ManualClock) {
        self.bulkhead = bulkhead
        self.clock = clock
        core = PipelineCore.bare(on: clock)
    }

    /// One call waits, gets the permit, holds it for `duration`, and hands it on to another waiting call. Then `queued`
    /// calls still wait.
    mutating func serviceTime(for duration: Duration, thenQueue queued: Int) {
        for _ in 0...2 + queued { _ = queues(RunOptions()) }
        leave(0)
        comeInside(1)
        clock.advance(by: duration)
        leave(1)
        comeInside(2)
        slots.removeFirst()
    }

    /// Whether a new call queues.
    mutating func queues(_ options: RunOptions) -> Bool {
        var call = PolicyCall(core, options)
        var slot = PolicySlot()
        switch bulkhead.enter(&call, &slot) {
        case .park:
            slots.append(slot)
            return true
        case .reject(let error):
            rejection = error as? BulkheadFull
            return false
        case .proceed, .sleep, .fail, .cancel:
            slots.append(slot)
            return false
        }
    }

    private mutating func comeInside(_ number: Int) {
        var call = PolicyCall(core)
        if case .proceed = bulkhead.enter(&call, &slots[number]) { return }
        Issue.record("call \(number) is not handed a permit")
    }

    mutating func leave(_ number: Int) {
        var call = PolicyCall(core)
        _ = bulkhead.exit(&call, &slots[number], .success)
    }
}

private struct WeakWaiter {
    weak var waiter: PolicyWaiter?

    init(_ waiter: PolicyWaiter) { self.waiter = waiter }
}

/// Counts how often the time is read.
private final class CountingClock: TimeBase {
    let readings = Atomic(0)

    var now: MonotonicInstant {
        readings.add(1, ordering: .relaxed)
        return MonotonicInstant(nanoseconds: 0)
    }

    func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> TimeBaseAlarm {
        TimeBaseAlarm(id: 0)
    }

    func cancel(_ alarm: TimeBaseAlarm) {}
}
