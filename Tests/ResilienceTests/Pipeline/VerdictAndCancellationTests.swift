import Resilience
import ResilienceTesting
import TestSupport
import Testing

/// What an attempt's end means to the policies around it.
@Suite(.timeLimit(.minutes(20))) struct VerdictAndCancellationTests {
    let journal = Journal()
    let clock = ManualClock()

    @Test("a result is judged once, even with a deadline, observers, or a timeout")
    func judgedOnce() async throws {
        for deadline in [MonotonicInstant.distantFuture, clock.now + .seconds(3_600)] {
            for observers in [PolicyObservers(), PolicyObservers(EventRecorder())] {
                for timeout in [nil, Timeout(limit: .seconds(3_000))] {
                    let pipeline = Pipeline(timeBase: clock, observers: observers) {
                        Retry(maxRetries: 2, backoff: .none)
                        if let timeout { timeout }
                    }
                    var judged: [Int] = []
                    let last = try await pipeline.run(
                        options: RunOptions(deadline: deadline),
                        judging: { (number: Int) in
                            judged.append(number)
                            return .transient
                        }
                    ) { attempt in attempt.number }
                    #expect(last == 3 && judged == [1, 2, 3])
                }
            }
        }
    }

    @Test("a result's verdict reaches policies on both sides of an around policy")
    func resultThroughAround() async throws {
        let pipeline = Pipeline {
            ScriptedPolicy("a", journal); PlainAround(); ScriptedPolicy("b", journal)
        }
        let result = try await pipeline.run(judging: { _ in .permanent }) { _ in 404 }
        #expect(result == 404)
        #expect(journal.lines.suffix(2) == ["b out permanent round 1", "a out permanent round 1"])
    }

    @Test("the pipeline's classifier determines an error's verdict for every policy")
    func classifier() async {
        let pipeline = Pipeline(classifier: Classifier { $0 is Outage ? .permanent : nil }) {
            ScriptedPolicy("a", journal)
            PlainAround()
            ScriptedPolicy("b", journal)
        }
        await #expect(throws: Outage()) { try await pipeline.run { throw Outage() } }
        #expect(journal.lines.suffix(2) == ["b out permanent round 1", "a out permanent round 1"])
    }

    @Test("any error thrown in a cancelled task is a cancellation, not a failure")
    func verdictByState() async {
        let pipeline = Pipeline {
            Retry(); ScriptedPolicy("a", journal)
        }
        let task = Task {
            try await pipeline.run {
                cancelCurrentTask()
                throw Outage()
            }
        }
        await #expect(throws: Outage()) { try await task.value }
        #expect(journal.lines == ["a in", "a out cancelled round 1"])
    }

    @Test("a CancellationError in a task that is not cancelled is an ordinary failure")
    func foreignCancellation() async throws {
        let operation = ScriptedOperation<Void, Int>([.failure(CancellationError()), .success(7)])
        let pipeline = Pipeline(timeBase: RushingClock(), isIdempotent: true) {
            Retry(); ScriptedPolicy("a", journal)
        }
        #expect(try await pipeline.run { try await operation() } == 7)
        #expect(journal.lines[1] == "a out uncertain round 1")
    }

    @Test("a success in a cancelled task is a success")
    func successWhileCancelled() async throws {
        let pipeline = Pipeline { ScriptedPolicy("a", journal) }
        let task = Task {
            try await pipeline.run {
                cancelCurrentTask()
                return 7
            }
        }
        #expect(try await task.value == 7)
        #expect(journal.lines == ["a in", "a out success round 1"])
    }

    @Test("a call cancelled after it was woken, but before it continues, does not run")
    func cancelledAfterWake() throws {
        let clock = ManualClock()
        let waiter = PolicyWaiter()
        let parking = ScriptedPolicy("parking", in: [.park(waiter)])
        let pipeline = Pipeline(timeBase: clock) { parking }
        let operation = ScriptedOperation<Void, Int>(fallback: .success(7))
        try clock.run {
            let call = Task { try await pipeline.run { try await operation() } }
            await clock.runUntilIdle()
            waiter.resume()
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
        #expect(operation.callCount == 0 && parking.owed == 0 && parking.mistakes == [])
    }

    @Test("a call cancelled while its second attempt is queued in a bulkhead still carries the last error (P17)")
    func cancelledQueuedForRetry() async throws {
        let bulkhead = Bulkhead(limit: 1, queue: 1, timeBase: clock)
        let pipeline = Pipeline {
            Retry(backoff: .constant(.seconds(5))); bulkhead
        }
        let recorder = EventRecorder()
        bulkhead.observers.add(recorder)
        let task = Task { try await pipeline.run { throw Outage() } }
        await clock.waitForSleepers(1)
        let permit = try bulkhead.tryAcquire()
        clock.advance(by: .seconds(5))
        await recorder.waitForEvents(1)
        task.cancel()
        let error = await #expect(throws: CancelledWhileWaiting.self) { try await task.value }
        #expect(error?.lastError is Outage)
        permit.complete(.success)
        #expect(bulkhead.inUse == 0 && bulkhead.queued == 0)
    }

    @Test("a call in an already cancelled task begins no attempt, takes nothing, and is not counted")
    func cancelledBefore() async throws {
        let recorder = EventRecorder()
        let throttle = Throttle(limit: .perSecond(1), timeBase: clock)
        let breaker = CircuitBreaker(timeBase: clock, observers: PolicyObservers(recorder))
        let timeout = Timeout(limit: .seconds(5))
        let pipeline = Pipeline("calls", observers: PolicyObservers(recorder)) {
            Retry(); breaker; throttle; timeout
        }
        let patience = AbandoningTimeout(limit: .seconds(5), timeBase: clock)
        let calls: [@Sendable (Journal) async throws -> Void] = [
            { journal in try await pipeline.run { journal.note("ran") } },
            { journal in try await Pipeline { timeout }.run { journal.note("ran") } },
            { journal in try await throttle.run { journal.note("ran") } },
            { journal in try await breaker.run { journal.note("ran") } },
            { journal in try await timeout.run { journal.note("ran") } },
            { journal in try await patience.run { journal.note("ran") } },
            { journal in
                try await pipeline.run(options: RunOptions(deadline: .distantFuture)) { journal.note("ran") }
            },
        ]
        let journal = Journal()
        for call in calls {
            let task = Task {
                cancelCurrentTask()
                try await call(journal)
            }
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(journal.lines == [] && throttle.status.available == 1 && clock.sleepers.isEmpty)
        #expect(
            recorder.events.map { "\($0)" }
                == Array(repeating: "[calls/call] cancelled after 0 s, 0 attempts", count: 2))
    }
}
