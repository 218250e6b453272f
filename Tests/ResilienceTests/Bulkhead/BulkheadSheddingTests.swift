import ResilienceTesting
import Testing

@testable import Resilience

@Suite(.timeLimit(.minutes(20))) struct BulkheadSheddingTests {
    let clock = ManualClock()
    let recorder = EventRecorder()
    let operation = ScriptedOperation<Int, Void>(fallback: .success(()))

    private func bulkhead(_ order: Bulkhead.Order = .firstInFirstOut, queue: Int = 9) -> Bulkhead {
        Bulkhead(
            limit: 1, queue: queue, order: order, shedding: LoadShedding(), timeBase: clock,
            observers: PolicyObservers(recorder))
    }

    private func shed(_ bulkhead: Bulkhead) -> BulkheadFull {
        BulkheadFull(policy: bulkhead.name, reason: .shed)
    }

    @Test(
        "under overload the newest call runs, earlier calls are rejected, and observers learn of the overload's end")
    func overload() async throws {
        let bulkhead = bulkhead()
        let inside = try bulkhead.tryAcquire()
        var tasks: [Task<Void, any Error>] = []
        for number in 1...4 {
            tasks.append(Task { try await bulkhead.run { try await operation(number) } })
            await recorder.waitForEvents(number)
        }
        clock.advance(by: .milliseconds(100))
        #expect(!bulkhead.status.isShedding)
        inside.complete(.success)
        try await tasks[3].value
        for task in tasks[..<2] {
            await #expect(throws: BulkheadFull.self) { try await task.value }
        }
        try await tasks[2].value
        #expect(operation.inputs == [4, 3] && bulkhead.inUse == 0 && !bulkhead.status.isShedding)
        let events = recorder.events(of: Bulkhead.Event.self)
        #expect(events.count { $0 == .sheddingBegan } == 1 && events.count { $0 == .sheddingEnded } == 1)
        #expect(events.count { $0 == .rejected(.shed) } == 2)
    }

    @Test("a call that arrives during an overload sheds earlier calls")
    func arrival() async throws {
        let bulkhead = bulkhead(queue: 2)
        let inside = try bulkhead.tryAcquire()
        let early = [1, 2].map { number in Task { try await bulkhead.run { try await operation(number) } } }
        await recorder.waitForEvents(2)
        clock.advance(by: .milliseconds(100))
        let late = Task { try await bulkhead.run { try await operation(3) } }
        await recorder.waitForEvents(5)
        #expect(bulkhead.status.isShedding && bulkhead.status.queued == 2 && !bulkhead.status.isAllowed)
        inside.complete(.success)
        try await late.value
        var outcomes: [BulkheadFull.Reason?] = []
        for task in early {
            do {
                try await task.value
                outcomes.append(nil)
            } catch {
                outcomes.append((error as? BulkheadFull)?.reason)
            }
        }
        #expect(Set(outcomes) == [nil, .shed])
        #expect(operation.inputs.first == 3 && bulkhead.inUse == 0)
    }

    @Test("a call that is cancelled while it is shed returns no permit")
    func cancelled() {
        let bulkhead = bulkhead()
        let core = PipelineCore.bare(on: clock)
        defer { withExtendedLifetime(core) {} }
        var call = PolicyCall(core)
        var (first, second, third, fourth) = (PolicySlot(), PolicySlot(), PolicySlot(), PolicySlot())
        _ = bulkhead.enter(&call, &first)
        _ = bulkhead.enter(&call, &second)
        clock.advance(by: .milliseconds(200))
        var later = PolicyCall(core)
        _ = bulkhead.enter(&later, &third)
        _ = bulkhead.enter(&later, &fourth)
        #expect(bulkhead.queued == 2)
        _ = bulkhead.exit(&later, &second, PolicyOutcome(.cancelled))
        #expect(bulkhead.inUse == 1 && bulkhead.queued == 2)
        _ = bulkhead.exit(&later, &third, PolicyOutcome(.cancelled))
        _ = bulkhead.exit(&later, &fourth, PolicyOutcome(.cancelled))
        _ = bulkhead.exit(&later, &first, .success)
        #expect(bulkhead.inUse == 0 && bulkhead.queued == 0 && !bulkhead.status.isShedding)
    }

    @Test("an overload ends when the limit is raised, or when the last waiting call gives up")
    func ends() async throws {
        for raises in [true, false] {
            let bulkhead = bulkhead()
            let seen = recorder.events(of: Bulkhead.Event.self).count
            let inside = try bulkhead.tryAcquire()
            let first = Task { try await bulkhead.run { try await operation(1) } }
            await recorder.waitForEvents(seen + 1)
            clock.advance(by: .milliseconds(100))
            let second = Task { try await bulkhead.run { try await operation(2) } }
            await recorder.waitForEvents(seen + 3)
            #expect(bulkhead.status.isShedding)
            if raises {
                bulkhead.setLimit(3)
                try await first.value
                try await second.value
            } else {
                first.cancel()
                second.cancel()
                _ = (await first.result, await second.result)
            }
            #expect(!bulkhead.status.isShedding)
            inside.complete(.success)
            let events = recorder.events(of: Bulkhead.Event.self).dropFirst(seen)
            #expect(events.filter { $0 == .sheddingBegan || $0 == .sheddingEnded } == [.sheddingBegan, .sheddingEnded])
        }
    }

    @Test("an overload ends when the last wait times out, and observers get an event")
    func waitsAreOver() async throws {
        let bulkhead = Bulkhead(
            limit: 1, queue: 9, maxWait: .seconds(1), shedding: LoadShedding(), timeBase: clock,
            observers: PolicyObservers(recorder))
        let inside = try bulkhead.tryAcquire()
        let first = Task { try await bulkhead.run { try await operation(1) } }
        await recorder.waitForEvents(1)
        clock.advance(by: .milliseconds(100))
        let second = Task { try await bulkhead.run { try await operation(2) } }
        await clock.waitForSleepers(2)
        #expect(bulkhead.status.isShedding)
        clock.advance(by: .seconds(1))
        for task in [first, second] { await #expect(throws: BulkheadFull.self) { try await task.value } }
        #expect(!bulkhead.status.isShedding)
        let events = recorder.events(of: Bulkhead.Event.self)
        #expect(events.filter { $0 == .sheddingBegan || $0 == .sheddingEnded } == [.sheddingBegan, .sheddingEnded])
        inside.complete(.success)
    }

    @Test(
        "a bulkhead's description names shedding, and settings with different shedding can't be taken over")
    func settings() {
        let bulkhead = bulkhead()
        #expect("\(bulkhead)" == "bulkhead: 1 at a time, 9 queued, shed after 5 ms if it is busy for 100 ms")
        #expect(bulkhead.settings.shedding == LoadShedding(target: .milliseconds(5), interval: .milliseconds(100)))
        let other = Bulkhead(limit: 1, queue: 9, shedding: LoadShedding(target: .zero), timeBase: clock)
        #expect(!bulkhead.canBeReconfigured(like: other) && other.canBeReconfigured(like: other))
        #expect(!bulkhead.canBeReconfigured(like: Bulkhead(limit: 1, queue: 9, timeBase: clock)))
    }
}
