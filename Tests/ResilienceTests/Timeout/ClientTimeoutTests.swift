import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite(.timeLimit(.minutes(20))) struct ClientTimeoutTests {
    let clock = ManualClock()

    /// A client that takes a timeout, and gives up when it has passed.
    private func client(_ attempt: CallAttempt, needs seconds: Int) async throws -> Int {
        let end = clock.now + .seconds(seconds)
        guard end > attempt.deadline else {
            _ = await PolicyWaiter().wait(until: end, on: clock)
            return seconds
        }
        let left = attempt.remaining(on: clock)
        _ = await PolicyWaiter().wait(until: clock.now + left, on: clock)
        throw Outage(number: seconds)
    }

    private func pipeline(_ observers: PolicyObservers? = nil, @PipelineBuilder _ elements: () -> [Pipeline.Element])
        -> Pipeline
    {
        Pipeline("calls", timeBase: clock, observers: observers, elements)
    }

    @Test("a result or error in time is passed on unchanged, and nothing waits for the limit")
    func inTime() async throws {
        let pipeline = pipeline { ClientTimeout(limit: .seconds(5)) }
        #expect(try clock.run { try await pipeline.run { try await client($0, needs: 5) } } == 5)
        await #expect(throws: Outage()) { try await pipeline.run { throw Outage() } }
        #expect(clock.sleepers.isEmpty)
    }

    @Test("an operation that fails at the deadline with its own error throws TimedOut, with an event")
    func timedOut() throws {
        let recorder = EventRecorder()
        let pipeline = pipeline(PolicyObservers(recorder)) { ClientTimeout("attempt", limit: .seconds(5)) }
        let error = #expect(throws: TimedOut.self) {
            try clock.run { try await pipeline.run { try await client($0, needs: 6) } }
        }
        #expect(error?.policy == "attempt" && error?.limit == .seconds(5) && error?.verdict == .transient)
        #expect(error?.underlying as? Outage == Outage(number: 6))
        #expect(recorder.events(of: Timeout.Event.self) == [.timedOut(.seconds(5))])
    }

    @Test("the client also enforces the caller's deadline: nothing is cancelled, and a late error becomes TimedOut")
    func callersDeadline() async throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        let pipeline = pipeline {
            breaker
            ClientTimeout(limit: .seconds(60))
        }
        let deadline = RunOptions(deadline: clock.now + .seconds(5))
        let error = #expect(throws: TimedOut.self) {
            try clock.run { try await pipeline.run(options: deadline) { try await client($0, needs: 6) } }
        }
        #expect(error?.policy == "deadline" && error?.limit == .seconds(5) && breaker.state == .closed)
        #expect(error?.underlying as? Outage == Outage(number: 6))
        await #expect(throws: DeadlinePassed.self) { try await pipeline.run(options: deadline) {} }
        // An operation that ignores the deadline is not cancelled, as with the timeout itself.
        let later = RunOptions(deadline: clock.now + .seconds(5))
        let end = clock.now + .seconds(9)
        let wake = try clock.run {
            try await pipeline.run(options: later) { await PolicyWaiter().wait(until: end, on: clock) }
        }
        #expect(wake != .cancelled && clock.now == end)
    }

    @Test("inner policies do not count the caller's deadline, but they do count the timeout's limit, and a 429")
    func callersDeadlineFurtherIn() throws {
        let verdicts: [Verdict] = [.transient, .uncertain, .permanent, .throttled(retryAfter: .seconds(7))]
        for (verdict, time) in verdicts.map({ ($0, 5) }) + [(.transient, 6)] {
            let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
            let throttle = Throttle(limit: .unlimited, holdOnThrottled: true, timeBase: clock)
            let pipeline = pipeline {
                ClientTimeout(limit: .seconds(6))
                breaker
                throttle
            }
            let options = RunOptions(deadline: time == 5 ? clock.now + .seconds(5) : .distantFuture)
            let error = #expect(throws: TimedOut.self) {
                try clock.run {
                    try await pipeline.run(options: options) { attempt in
                        _ = await PolicyWaiter().wait(until: attempt.deadline, on: clock)
                        throw Judged(verdict: verdict)
                    }
                }
            }
            #expect(error?.limit == .seconds(time), "\(verdict)")
            #expect(breaker.state == (time == 5 ? .closed : .open), "\(verdict)")
            #expect((throttle.heldUntil != nil) == (verdict.kind == .throttled), "\(verdict)")
        }
    }

    @Test("around policies are still cancelled at the caller's deadline")
    func callersDeadlineAround() throws {
        let pipeline = pipeline {
            PlainAround()
            ClientTimeout(limit: .seconds(60))
        }
        let options = RunOptions(deadline: clock.now + .seconds(5))
        let end = clock.now + .seconds(9)
        let wake = try clock.run {
            try await pipeline.run(options: options) { await PolicyWaiter().wait(until: end, on: clock) }
        }
        #expect(wake == .cancelled && clock.now < end)
    }

    @Test("each attempt has its own limit, and afterwards the outer deadline applies again")
    func attempts() throws {
        let deadlines = Box<[MonotonicInstant]>([])
        let start = clock.now
        let pipeline = pipeline {
            Retry(maxRetries: 2, backoff: .constant(.seconds(1)))
            ClientTimeout(limit: .seconds(5))
        }
        let result = try clock.run {
            try await pipeline.run { attempt in
                deadlines.value.append(attempt.deadline)
                return try await client(attempt, needs: attempt.number < 3 ? 9 : 1)
            }
        }
        #expect(result == 1)
        #expect(deadlines.value == [5, 11, 17].map { start + .seconds($0) })
    }

    @Test("the earliest of two limits and the caller's deadline counts, in any order")
    func nested() throws {
        for (outer, inner) in [(3, 5), (5, 3)] {
            let pipeline = pipeline {
                ClientTimeout("outer", limit: .seconds(outer))
                ClientTimeout("inner", limit: .seconds(inner))
            }
            let start = clock.now
            let error = #expect(throws: TimedOut.self) {
                try clock.run { try await pipeline.run { try await client($0, needs: 9) } }
            }
            #expect(start.duration(to: clock.now) == .seconds(3))
            #expect(error?.policy == (outer == 3 ? "outer" : "inner"))
        }
        let pipeline = pipeline { ClientTimeout(limit: .seconds(5)) }
        let options = RunOptions(deadline: clock.now + .seconds(2))
        let error = #expect(throws: TimedOut.self) {
            try clock.run { try await pipeline.run(options: options) { try await client($0, needs: 9) } }
        }
        #expect(error?.policy == "deadline")
    }

    @Test("a call waits in a queue no longer than the limit, and its error says that it was not sent")
    func queued() throws {
        let bulkhead = Bulkhead(limit: 1, queue: 9, timeBase: clock)
        let permit = try bulkhead.tryAcquire()
        let pipeline = pipeline {
            ClientTimeout(limit: .seconds(5))
            bulkhead
        }
        let start = clock.now
        let error = #expect(throws: (any Error).self) { try clock.run { try await pipeline.run { 7 } } }
        #expect(error.map { CallFailure($0).reachedService } == false)
        #expect(start.duration(to: clock.now) <= .seconds(5) && bulkhead.queued == 0)
        permit.complete(.success)
    }

    @Test("a late result is returned, and a cancelled call does not count as timed out")
    func lateAndCancelled() async throws {
        let pipeline = pipeline { ClientTimeout(limit: .seconds(5)) }
        let late = try await pipeline.run {
            clock.advance(by: .seconds(9))
            return 7
        }
        #expect(late == 7)
        let task = Task {
            try await pipeline.run {
                clock.advance(by: .seconds(9))
                cancelCurrentTask()
                throw CancellationError()
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("an outer breaker counts a timed-out call, even if the client's own error is permanent")
    func counted() throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        let pipeline = pipeline {
            breaker
            ClientTimeout(limit: .seconds(5))
        }
        #expect(throws: TimedOut.self) {
            try clock.run {
                try await pipeline.run {
                    _ = await PolicyWaiter().wait(until: clock.now + .seconds(5), on: clock)
                    throw Judged(verdict: .permanent)
                }
            }
        }
        #expect(breaker.state == .open)
    }

    @Test("a late 429 is still a 429: it holds a throttle, and its wait is kept")
    func throttledLate() throws {
        let throttle = Throttle(limit: .unlimited, holdOnThrottled: true, timeBase: clock)
        let pipeline = pipeline {
            throttle
            ClientTimeout(limit: .seconds(5))
        }
        #expect(throws: Judged.self) {
            try clock.run {
                try await pipeline.run {
                    _ = await PolicyWaiter().wait(until: clock.now + .seconds(65), on: clock)
                    throw Judged(verdict: .throttled(retryAfter: .seconds(60)))
                }
            }
        }
        #expect(throttle.heldUntil == clock.now + .seconds(60))
    }

    @Test("a failure that must not be retried is not retried just because it came at the deadline")
    func final() throws {
        let attempts = Box(0)
        let pipeline = pipeline {
            Retry(maxRetries: 3, backoff: .none)
            ClientTimeout(limit: .seconds(5))
        }
        #expect(throws: TimedOut.self) {
            try clock.run {
                try await pipeline.run {
                    attempts.value += 1
                    _ = await PolicyWaiter().wait(until: clock.now + .seconds(5), on: clock)
                    throw Judged(verdict: Verdict(.transient, shouldRetry: false))
                }
            }
        }
        #expect(attempts.value == 1)
    }

    @Test("without a limit the remaining time is 292 years; after the deadline it is still above zero")
    func remaining() {
        #expect(CallAttempt(number: 1).remaining(on: clock) == .infinite)
        let attempt = CallAttempt(number: 1, deadline: clock.now + .seconds(1))
        clock.advance(by: .seconds(2))
        #expect(attempt.remaining(on: clock) == .nanoseconds(1))
        #expect(throws: Never.self) {
            _ = pipeline { ClientTimeout(limit: .seconds(Int64.max)) }
        }
    }

    @Test(
        "a limit of zero or less is an invalid setting",
        arguments: [Duration.zero, .seconds(-1), .nanoseconds(Int64.min)])
    func invalid(limit: Duration) {
        let error = #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked { ClientTimeout(limit: limit) }
        }
        #expect(error?.problems.first?.subject == "Timeout" && error?.problems.first?.parameter == "limit")
    }

    @Test("a client timeout's description says that the client ends the call")
    func configuration() throws {
        let timeout = ClientTimeout("attempt", limit: .seconds(2))
        #expect("\(timeout)" == "attempt: 2 s, ended by the client")
    }
}
