import Resilience
import Testing

@testable import ResilienceTesting

/// A script after a cancellation, after a reset, or the second time.
@Suite(.timeLimit(.minutes(20))) struct ScriptedSecondUseTests {
    private let clock = ManualClock()
    private let operation = ScriptedOperation<Int, Int>(fallback: .success(7))

    @Test("a release after a held call's cancellation goes to the next call, even before the cancelled one continues")
    func releaseAfterCancellation() throws {
        operation.hold()
        let operation = operation
        try clock.run { [clock] in
            let first = Task { try await operation(1) }
            await clock.runUntilIdle()
            let second = Task { try await operation(2) }
            await clock.runUntilIdle()
            first.cancel()
            operation.release(1)
            let value = try await second.value
            #expect(value == 7)
            await #expect(throws: CancellationError.self) { try await first.value }
        }
        #expect(operation.running == 0)
    }

    @Test("a call is held as it begins: a release after waitForCalls is never lost")
    func heldAsItBegins() async throws {
        operation.hold()
        let operation = operation
        for number in 1...2000 {
            let call = Task { try await operation(number) }
            await operation.waitForCalls(number)
            try #require(operation.state.withLock { $0.held.count } == 1)
            operation.release(1)
            _ = try await call.value
        }
    }

    @Test("a release before the cancellation counts: the call plays its result")
    func cancellationAfterRelease() throws {
        operation.hold()
        let operation = operation
        let value = try clock.run { [clock] in
            let call = Task { try await operation(1) }
            await clock.runUntilIdle()
            operation.release(1)
            call.cancel()
            return try await call.value
        }
        #expect(value == 7)
    }

    @Test("a call that is cancelled before it begins is not held, and takes no other call's release")
    func cancelledBefore() throws {
        operation.hold()
        let operation = operation
        let value = try clock.run { [clock] in
            let dead = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await operation(1)
            }
            await #expect(throws: CancellationError.self) { try await dead.value }
            let call = Task { try await operation(2) }
            await clock.runUntilIdle()
            operation.release(1)
            return try await call.value
        }
        #expect(value == 7 && operation.inputs == [1, 2])
    }

    @Test("a release of one lets one call go, each time, even after an earlier release of all")
    func releases() throws {
        let operation = operation
        try clock.run { [clock] in
            for _ in 0..<2 {
                operation.hold()
                let calls = (1...4).map { number in Task { try await operation(number) } }
                await clock.runUntilIdle()
                for left in [3, 2] {
                    operation.release(1)
                    await clock.runUntilIdle()
                    #expect(operation.running == left)
                }
                operation.release()
                for call in calls { _ = try await call.value }
            }
        }
        #expect(operation.callCount == 8 && operation.mostRunning == 4)
    }

    @Test("a release of zero or less releases nobody", arguments: [0, -1, .min])
    func releaseOfNone(count: Int) throws {
        operation.hold()
        let operation = operation
        try clock.run { [clock] in
            let call = Task { try await operation(1) }
            await clock.runUntilIdle()
            operation.release(count)
            await clock.runUntilIdle()
            #expect(operation.running == 1)
            operation.release()
            _ = try await call.value
        }
    }

    @Test("after a reset with calls inside, the highest concurrency equals the number of these calls")
    func resetWithCallsInside() throws {
        operation.hold()
        let operation = operation
        try clock.run { [clock] in
            let calls = (1...3).map { number in Task { try await operation(number) } }
            await clock.runUntilIdle()
            operation.reset()
            #expect(operation.running == 3 && operation.mostRunning == 3)
            for call in calls { _ = try await call.value }
            #expect(operation.running == 0 && operation.mostRunning == 3)
            operation.reset()
            #expect(operation.mostRunning == 0)
        }
    }

    @Test("after a reset an operation can be scripted, held and released again, without traces of earlier use")
    func secondScript() throws {
        operation.hold()
        let operation = operation
        try clock.run { [clock] in
            let old = Task { try await operation(1) }
            await clock.runUntilIdle()
            operation.reset()
            operation.enqueue(.success(1), .success(2))
            operation.hold()
            let calls = (2...3).map { number in Task { try await operation(number) } }
            await clock.runUntilIdle()
            operation.release(1)
            let first = try await calls[0].value
            #expect(first == 1 && operation.inputs == [2, 3])
            operation.release()
            let values = (try await calls[1].value, try await old.value)
            #expect(values == (2, 7))
            await #expect(throws: ScriptEnded(call: 3)) { try await operation(4) }
        }
    }

    @Test("after a reset, waiting for calls counts only new calls")
    func waitAfterReset() throws {
        let (operation, order) = (operation, Notes<String>())
        try clock.run { [clock] in
            _ = try await operation(1)
            operation.reset()
            async let waited: Void = {
                await operation.waitForCalls(1)
                order.note("waited")
            }()
            await clock.runUntilIdle()
            order.note("calling")
            operation.fallback = .success(7)
            _ = try await operation(2)
            await waited
        }
        #expect(order.all == ["calling", "waited"])
    }

    @Test("after a reset of a recorder, waiting for events counts only new events")
    func recorderAfterReset() throws {
        struct Ring: PolicyEventDetail {
            var description: String { "ring" }
        }
        let (recorder, order) = (EventRecorder(), Notes<String>())
        try clock.run { [clock] in
            let event = PolicyEvent(policy: "door", pipeline: nil, time: clock.now, detail: Ring())
            recorder.receive(event)
            recorder.reset()
            async let waited: Void = {
                await recorder.waitForEvents(1)
                order.note("waited")
            }()
            await clock.runUntilIdle()
            order.note("ringing")
            recorder.receive(event)
            await waited
        }
        #expect(order.all == ["ringing", "waited"])
    }

    @Test("a cancelled waiter for calls, events or sleepers leaves nothing behind, and the others stay")
    func cancelledWaits() throws {
        let (operation, recorder) = (operation, EventRecorder())
        try clock.run { [clock] in
            let kept = [
                Task { await operation.waitForCalls(1) }, Task { await recorder.waitForEvents(1) },
                Task { await clock.waitForSleepers(1) }, Task { _ = try? await clock.waitForSleeper { _ in true } },
            ]
            let waits = [
                Task { await operation.waitForCalls(1) }, Task { await recorder.waitForEvents(1) },
                Task { await clock.waitForSleepers(1) }, Task { _ = try? await clock.waitForSleeper { _ in true } },
            ]
            await clock.runUntilIdle()
            for wait in waits { wait.cancel() }
            for wait in waits { await wait.value }
            let left = [
                operation.state.withLock { $0.watchers.count }, recorder.state.withLock { $0.watchers.count },
                clock.state.withLock { $0.watchers.count }, clock.state.withLock { $0.changeWatchers.count },
            ]
            #expect(left == [1, 1, 1, 1])
            for wait in kept { wait.cancel() }
        }
    }
}
