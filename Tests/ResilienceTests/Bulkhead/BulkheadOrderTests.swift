import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite(.timeLimit(.minutes(20))) struct BulkheadOrderTests {
    let clock = ManualClock()
    let recorder = EventRecorder()
    let journal = Journal()
    let operation = ScriptedOperation<Int, Void>(fallback: .success(()))

    @Test(
        "queued calls run in the chosen order",
        arguments: [
            (Bulkhead.Order.firstInFirstOut, ["1", "2", "3", "4"]), (.lastInFirstOut, ["4", "3", "2", "1"]),
            (.byPriority, ["2", "4", "3", "1"]),
        ])
    func order(order: Bulkhead.Order, expected: [String]) async throws {
        let bulkhead = bulkhead(queue: 9, order)
        let inside = try bulkhead.tryAcquire()
        var tasks: [Task<Void, any Error>] = []
        for (number, priority) in [(1, CallPriority.low), (2, .high), (3, .normal), (4, .high)] {
            tasks.append(
                Task { try await bulkhead.run(options: RunOptions(priority: priority)) { journal.note("\(number)") } })
            await recorder.waitForEvents(number)
        }
        inside.complete(.success)
        for task in tasks { try await task.value }
        #expect(journal.lines == expected)
    }

    @Test("by priority, a full queue rejects the youngest call of the lowest priority, even if that is the newcomer")
    func byPriority() async throws {
        let bulkhead = bulkhead(queue: 1, .byPriority)
        let inside = try bulkhead.tryAcquire()
        let low = Task { try await bulkhead.run(options: RunOptions(priority: .low)) { try await operation(1) } }
        await recorder.waitForEvents(1)
        let high = Task { try await bulkhead.run(options: RunOptions(priority: .high)) { try await operation(2) } }
        await #expect(throws: BulkheadFull(policy: "bulkhead", reason: .displaced)) { try await low.value }
        await #expect(throws: BulkheadFull(policy: "bulkhead", reason: .full)) { try await bulkhead.run {} }
        inside.complete(.success)
        try await high.value
        #expect(operation.inputs == [2] && bulkhead.inUse == 0)
        #expect(recorder.events(of: Bulkhead.Event.self).contains(.rejected(.displaced)))
    }

    @Test("tryAcquire, which never waits, displaces no waiting call")
    func byHand() async throws {
        let bulkhead = bulkhead(queue: 1, .byPriority)
        let inside = try bulkhead.tryAcquire()
        let waiting = Task { try await bulkhead.run { try await operation(1) } }
        await recorder.waitForEvents(1)
        #expect(throws: BulkheadFull(policy: "bulkhead", reason: .full)) {
            _ = try bulkhead.tryAcquire(options: RunOptions(priority: .high))
        }
        inside.complete(.success)
        try await waiting.value
        #expect(operation.callCount == 1)
    }

    @Test("a caller waiting in acquire gets an error when it loses its place")
    func byHandWaiting() async throws {
        let bulkhead = bulkhead(queue: 1, .lastInFirstOut)
        let inside = try bulkhead.tryAcquire()
        let oldest = Task { try await bulkhead.acquire().complete(.success) }
        await recorder.waitForEvents(1)
        let newest = Task { try await bulkhead.acquire().complete(.success) }
        await #expect(throws: BulkheadFull(policy: "bulkhead", reason: .displaced)) { try await oldest.value }
        inside.complete(.success)
        try await newest.value
        #expect(bulkhead.inUse == 0)
    }

    @Test("a call cancelled before it learns that it was displaced returns no permit (P20)")
    func cancelledAfterDisplacement() {
        let bulkhead = bulkhead(queue: 1, .lastInFirstOut)
        let core = PipelineCore.bare(on: clock)
        defer { withExtendedLifetime(core) {} }
        var call = PolicyCall(core)
        var (first, second, third) = (PolicySlot(), PolicySlot(), PolicySlot())
        _ = bulkhead.enter(&call, &first)
        _ = bulkhead.enter(&call, &second)
        _ = bulkhead.enter(&call, &third)
        _ = bulkhead.exit(&call, &second, PolicyOutcome(.cancelled))
        #expect(bulkhead.inUse == 1 && bulkhead.queued == 1)
        _ = bulkhead.exit(&call, &first, .success)
        guard case .proceed = bulkhead.enter(&call, &third) else {
            Issue.record("not handed over")
            return
        }
        _ = bulkhead.exit(&call, &third, .success)
        #expect(bulkhead.inUse == 0 && bulkhead.queued == 0)
    }

    @Test("a bulkhead's description names every order except first come, first served")
    func description() {
        #expect("\(bulkhead(queue: 2, .firstInFirstOut))" == "bulkhead: 1 at a time, 2 queued")
        #expect("\(bulkhead(queue: 2, .lastInFirstOut))" == "bulkhead: 1 at a time, 2 queued, newest first")
        #expect("\(bulkhead(queue: 2, .byPriority))" == "bulkhead: 1 at a time, 2 queued, by priority")
        let limited = Bulkhead(limit: 1, queue: 2, order: .byPriority, maxWait: .seconds(3))
        #expect("\(limited)" == "bulkhead: 1 at a time, 2 queued for at most 3 s, by priority")
        #expect(limited.settings.order == .byPriority)
    }

    private func bulkhead(queue: Int, _ order: Bulkhead.Order) -> Bulkhead {
        Bulkhead(limit: 1, queue: queue, order: order, timeBase: clock, observers: PolicyObservers(recorder))
    }
}
