import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite(.timeLimit(.minutes(20))) struct BulkheadLimitTests {
    let clock = ManualClock()
    let recorder = EventRecorder()
    let operation = ScriptedOperation<Int, Void>(fallback: .success(()))

    @Test("a raised limit admits waiting calls at once, and the next call stays in the queue (P24)")
    func raised() async throws {
        let bulkhead = bulkhead(limit: 1, queue: 9)
        let inside = try bulkhead.tryAcquire()
        operation.hold()
        var tasks: [Task<Void, any Error>] = []
        for number in 1...3 {
            tasks.append(Task { try await bulkhead.run { try await operation(number) } })
            await recorder.waitForEvents(number)
        }
        bulkhead.setLimit(3)
        await operation.waitForCalls(2)
        #expect(bulkhead.inUse == 3 && bulkhead.queued == 1 && Set(operation.inputs) == [1, 2])
        inside.complete(.success)
        operation.release()
        for task in tasks { try await task.value }
        #expect(bulkhead.inUse == 0)
    }

    @Test(
        "changing the limit while permits are free loses no permit, and creates none (P24)",
        arguments: [(1, 5), (5, 1), (5, 4), (3, 3), (2, 9)])
    func free(old: Int, new: Int) throws {
        let bulkhead = bulkhead(limit: old, queue: 0)
        let inside = try bulkhead.tryAcquire()
        bulkhead.setLimit(new)
        #expect(takeAll(of: bulkhead) == new - 1)
        inside.complete(.success)
        #expect(takeAll(of: bulkhead) == new)
        #expect(bulkhead.inUse == 0)
    }

    @Test("observers get an event for each change, and none if nothing changes")
    func events() {
        let bulkhead = bulkhead(limit: 1, queue: 0)
        bulkhead.setLimit(4)
        bulkhead.setLimit(4)
        bulkhead.setQueue(8)
        bulkhead.setQueue(8)
        #expect(
            recorder.events(of: Bulkhead.Event.self) == [.limitChanged(from: 1, to: 4), .queueChanged(from: 0, to: 8)])
        #expect(
            recorder.events.map { "\($0)" } == ["[bulkhead] limit 1 → 4", "[bulkhead] queue 0 → 8"])
    }

    @Test("an observer may change the limit during its event: nothing runs under the lock (P7)")
    func observerChanges() {
        let bulkhead = bulkhead(limit: 1, queue: 0)
        bulkhead.observers.add { event in
            if event.detail as? Bulkhead.Event == .limitChanged(from: 1, to: 2) { bulkhead.setLimit(3) }
        }
        bulkhead.setLimit(2)
        #expect(bulkhead.status.limit == 3)
    }

    @Test("the status shows the limits and the calls at one moment")
    func status() async throws {
        let bulkhead = bulkhead(limit: 2, queue: 3)
        #expect(bulkhead.status == BulkheadStatus(limit: 2, inUse: 0, queueLimit: 3, queued: 0))
        let first = try bulkhead.tryAcquire()
        let second = try bulkhead.tryAcquire()
        let queued = Task { try await bulkhead.run {} }
        await recorder.waitForEvents(1)
        bulkhead.setLimit(1)
        bulkhead.setQueue(0)
        #expect(bulkhead.status == BulkheadStatus(limit: 1, inUse: 2, queueLimit: 0, queued: 1))
        first.complete(.success)
        second.complete(.success)
        try await queued.value
    }

    @Test("a bulkhead's order, maxWait and predictsWait can't change: waiting calls rely on them")
    func otherKind() {
        let bulkhead = Bulkhead(limit: 1, queue: 9, timeBase: clock)
        for other in [
            Bulkhead(limit: 2, order: .byPriority, timeBase: clock),
            Bulkhead(limit: 2, maxWait: .seconds(1), timeBase: clock),
            Bulkhead(limit: 2, predictsWait: false, timeBase: clock),
        ] { #expect(bulkhead.reconfigured(like: other) == nil) }
        #expect(bulkhead.status.limit == 1)
        #expect(bulkhead.reconfigured(like: Bulkhead(limit: 2, queue: 5, timeBase: clock)) === bulkhead)
        #expect(bulkhead.status.limit == 2 && bulkhead.status.queueLimit == 5 && bulkhead.isAtRest)
    }

    @Test("a bulkhead is at rest when no call is inside and its limits are the original limits")
    func atRest() throws {
        let bulkhead = bulkhead(limit: 2, queue: 0)
        #expect(bulkhead.isAtRest)
        let inside = try bulkhead.tryAcquire()
        #expect(!bulkhead.isAtRest)
        inside.complete(.success)
        #expect(bulkhead.isAtRest)
        bulkhead.setLimit(3)
        #expect(!bulkhead.isAtRest)
        bulkhead.setLimit(2)
        #expect(bulkhead.isAtRest)
        bulkhead.setQueue(1)
        #expect(!bulkhead.isAtRest)
    }

    /// The number of free permits.
    private func takeAll(of bulkhead: Bulkhead) -> Int {
        guard let permit = try? bulkhead.tryAcquire() else { return 0 }
        let rest = takeAll(of: bulkhead)
        permit.complete(.success)
        return rest + 1
    }

    private func bulkhead(limit: Int, queue: Int) -> Bulkhead {
        Bulkhead(limit: limit, queue: queue, timeBase: clock, observers: PolicyObservers(recorder))
    }
}
