import Resilience
import ResilienceTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct TimeoutTests {
    let clock = ManualClock()
    let journal = Journal()
    let operation = ScriptedOperation<Int, Int>(fallback: .success(7))

    @Test("a result or error in time is passed on unchanged, and leaves no alarm")
    func inTime() async throws {
        let pipeline = pipeline(.seconds(5))
        operation.hold()
        let task = Task { try await pipeline.run { try await operation(1) } }
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(4999))
        operation.release()
        #expect(try await task.value == 7)
        #expect(clock.sleepers.isEmpty)
        await #expect(throws: Outage()) { try await pipeline.run { throw Outage() } }
    }

    @Test("an operation that never suspends also sees the limit, while it runs (P26)")
    func busy() async {
        let pipeline = pipeline(.seconds(5))
        await #expect(throws: TimedOut.self) {
            try await pipeline.run {
                #expect(!Task.isCancelled)
                clock.advance(by: .seconds(5))
                #expect(Task.isCancelled)
                try Task.checkCancellation()
            }
        }
        #expect(clock.sleepers.isEmpty)
    }

    @Test("a client that gives up at the deadline has timed out, even before the alarm")
    func clientIsFirst() async throws {
        let late = AlarmlessClock()
        let recorder = EventRecorder()
        let pipeline = Pipeline(timeBase: late, observers: PolicyObservers(recorder)) {
            Timeout("attempt", limit: .seconds(5))
        }
        for (seconds, isTimeout) in [(4, false), (5, true), (6, true)] {
            let error = await #expect(throws: (any Error).self) {
                try await pipeline.run {
                    late.advance(by: .seconds(seconds))
                    throw Outage(number: seconds)
                }
            }
            #expect((error as? TimedOut)?.policy == (isTimeout ? "attempt" : nil))
            let own = (error as? TimedOut)?.underlying ?? error
            #expect(own as? Outage == Outage(number: seconds))
        }
        #expect(recorder.events(of: Timeout.Event.self).count == 2)
        let options = RunOptions(deadline: late.now + .seconds(1))
        let error = await #expect(throws: TimedOut.self) {
            try await pipeline.run(options: options) {
                late.advance(by: .seconds(1))
                throw Outage()
            }
        }
        #expect(error?.policy == "deadline")
    }

    @Test("an operation that never suspends also sees its caller's cancellation, while it runs")
    func busyAndCancelled() async throws {
        let pipeline = pipeline(.seconds(5))
        let caller = Locked<Task<Void, any Error>?>(nil)
        let start = PolicyWaiter()
        let task = Task {
            _ = await start.wait(until: .distantFuture, on: clock)
            try await pipeline.run {
                #expect(!Task.isCancelled)
                caller.withLock { $0 }?.cancel()
                #expect(Task.isCancelled)
                try Task.checkCancellation()
            }
        }
        caller.withLock { $0 = task }
        start.resume()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("at the limit the operation is cancelled, and the call throws TimedOut with the operation's error")
    func timedOut() async {
        let pipeline = pipeline(.seconds(5))
        operation.hold()
        let task = Task { try await pipeline.run { try await operation(1) } }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        let error = await #expect(throws: TimedOut.self) { try await task.value }
        #expect(error?.policy == "timeout" && error?.limit == .seconds(5) && error?.underlying is CancellationError)
        #expect(error?.verdict == .uncertain && operation.running == 0)
    }

    @Test("an operation that succeeds at the limit has succeeded: its result is returned (P25)")
    func boundary() async throws {
        let pipeline = pipeline(.seconds(5))
        let result = try await pipeline.run {
            await Elsewhere().visit()
            await atLimit()
            return Task.isCancelled ? 7 : 0
        }
        #expect(result == 7)
    }

    @Test("the timeout waits for an operation that ignores cancellation (P26)")
    func ignoring() async throws {
        let pipeline = pipeline(.seconds(5))
        let waiting = ScriptedOperation<Int, Int>(fallback: .failure(Outage()))
        waiting.hold()
        let task = Task {
            try await pipeline.run {
                // A separate task does not see the cancellation.
                try await Task { try await waiting(1) }.value
            }
        }
        await waiting.waitForCalls(1)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(60))
        #expect(waiting.running == 1)
        waiting.release()
        let error = await #expect(throws: TimedOut.self) { try await task.value }
        #expect(error?.underlying is Outage)
    }

    @Test("the limit is the operation's deadline, and the earliest of several counts")
    func deadline() async throws {
        let start = clock.now
        let outer = Pipeline(timeBase: clock) {
            Timeout("far", limit: .seconds(9)); Timeout("near", limit: .seconds(5))
        }
        let inner = Pipeline(timeBase: clock) {
            Timeout("near", limit: .seconds(5)); Timeout("far", limit: .seconds(9))
        }
        #expect(try await outer.run { (attempt: CallAttempt) in attempt.deadline } == start + .seconds(5))
        #expect(try await inner.run { (attempt: CallAttempt) in attempt.deadline } == start + .seconds(5))
        #expect(try await Pipeline {}.run { (attempt: CallAttempt) in attempt.deadline } == .distantFuture)
    }

    @Test("a limit too long for the clock never ends a call")
    func endless() async throws {
        let deadline = try await pipeline(.seconds(Int64.max)).run { (attempt: CallAttempt) in attempt.deadline }
        #expect(deadline == .distantFuture)
    }

    @Test("observers get a timeout once, when it happens")
    func events() async {
        let recorder = EventRecorder()
        let pipeline = Pipeline(timeBase: clock, observers: PolicyObservers(recorder)) {
            Timeout("slow", limit: .seconds(5))
        }
        operation.hold()
        let task = Task { try await pipeline.run { try await operation(1) } }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        _ = await task.result
        #expect(recorder.events(of: Timeout.Event.self) == [.timedOut(.seconds(5))])
        let event = recorder.events.first { $0.detail is Timeout.Event }
        #expect(event?.policy == "slow" && event?.time == clock.now)
    }

    #if compiler(>=6.3)
        @Test("the operation runs on the preferred executor of its caller's task, even after a suspension")
        func executor() async throws {
            guard #available(macOS 26.4, macCatalyst 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else {
                return
            }
            let (executor, pipeline) = (PreferredExecutor(), pipeline(.seconds(5)))
            let caller = Task(executorPreference: executor) {
                try await pipeline.run { () -> [Bool] in
                    let before = executor.isPreferred
                    await Task {}.value
                    return [before, executor.isPreferred]
                }
            }
            #expect(try await caller.value == [true, true])
        }
    #endif

    @Test("each attempt has the limit for its number")
    func limitForAttempt() throws {
        let seen = Locked<[Duration]>([])
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            Retry(maxRetries: 2, backoff: .constant(.zero))
            Timeout("growing") { attempt in .seconds(attempt * attempt) }
        }
        let start = clock.now
        let error = try clock.run {
            await #expect(throws: TimedOut.self) {
                try await pipeline.run { (attempt: CallAttempt) in
                    seen.withLock { $0.append(clock.now.duration(to: attempt.deadline)) }
                    _ = await PolicyWaiter().wait(until: .distantFuture, on: clock)
                    try Task.checkCancellation()
                }
            }
        }
        #expect(seen.withLock { $0 } == [.seconds(1), .seconds(4), .seconds(9)])
        #expect(error?.limit == .seconds(9) && clock.now == start + .seconds(14))
        #expect("\(pipeline.elements[1])" == "growing: by attempt")
    }

    @Test("an attempt with a limit of zero or less ends at once: no inner policy is entered, and no operation begins")
    func noTime() async throws {
        for limit in [Duration.zero, .seconds(-1)] {
            let recorder = EventRecorder()
            let inner = ScriptedPolicy("inner", journal)
            let pipeline = Pipeline(timeBase: clock, observers: PolicyObservers(recorder)) {
                Timeout("spent") { _ in limit }
                inner
            }
            let error = try #require(
                await #expect(throws: TimedOut.self) { try await pipeline.run { try await operation(1) } })
            #expect(error.policy == "spent" && error.limit == limit)
            #expect(CallFailure(error).reachedService == false)
            #expect(recorder.events(of: Timeout.Event.self) == [.timedOut(limit)])
        }
        #expect(operation.callCount == 0 && journal.lines.isEmpty && clock.sleepers.isEmpty)
    }

    @Test("an attempt without time is retried like a timed-out attempt, and the next attempt may have time")
    func noTimeAtFirst() throws {
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 1, backoff: .none)
            Timeout { attempt in .seconds(attempt - 1) }
        }
        let ran = try clock.run { try await pipeline.run { (attempt: CallAttempt) in attempt.number } }
        #expect(ran == 2)
    }

    @Test("nothing begins under a timeout once the outer deadline has passed")
    func deadlineOver() async {
        struct Late: AroundPolicy {
            func around(
                _ call: inout PolicyCall, isolation: isolated (any Actor)?,
                _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
            ) async throws -> Verdict { try await inside(call.now) }
        }
        let pipeline = Pipeline(timeBase: clock) {
            Late(); Timeout(limit: .seconds(5))
        }
        await #expect(throws: DeadlinePassed.self) { try await pipeline.run { try await operation(1) } }
        #expect(operation.callCount == 0 && clock.sleepers.isEmpty)
    }

    @Test("the operation gets its caller's task-local values and priority")
    func taskLocals() async throws {
        let pipeline = pipeline(.seconds(5))
        let seen = try await Self.$label.withValue("mine") { try await pipeline.run { Self.label } }
        #expect(seen == "mine")
        let priority = try await Task(priority: .high) { try await pipeline.run { Task.currentPriority } }.value
        #expect(priority == .high)
    }

    @TaskLocal static var label = ""

    private func pipeline(_ limit: Duration) -> Pipeline { Pipeline(timeBase: clock) { Timeout(limit: limit) } }

    /// Advances to the limit once its alarm is set.
    private func atLimit() async {
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
    }

    @Test("an operation's error from before the limit is thrown, even if its caller resumes after the limit")
    func threwInTime() async {
        let clock = ManualClock()
        let executor = InterruptedExecutor()
        let waiter = PolicyWaiter()
        let task = Task(executorPreference: executor) {
            try await Pipeline(timeBase: clock) { Timeout(limit: .seconds(5)) }.run {
                _ = await waiter.wait(until: .distantFuture, on: clock)
                executor.beforeTheNext { clock.advance(by: .seconds(10)) }
                throw Outage()
            }
        }
        await clock.waitForSleepers(1)
        waiter.resume()
        await #expect(throws: Outage.self) { try await task.value }
    }
}
