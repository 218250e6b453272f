import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite(.timeLimit(.minutes(20))) struct PipelinePermitTests {
    let clock = ManualClock()
    let journal = Journal()
    let recorder = EventRecorder()

    private func pipeline(@PipelineBuilder _ elements: () -> [Pipeline.Element]) -> Pipeline {
        Pipeline("calls", timeBase: clock, observers: PolicyObservers(recorder), elements)
    }

    private var told: [Pipeline.Event] { recorder.events() }

    @Test("every policy is entered, outermost first, and exited with the verdict, innermost first")
    func order() async throws {
        let permit = try await pipeline {
            ScriptedPolicy("a", journal)
            ScriptedPolicy("b", journal)
        }.acquire()
        #expect(journal.lines == ["a in", "b in"])
        permit.complete(.permanent)
        #expect(journal.lines == ["a in", "b in", "b out permanent round 1", "a out permanent round 1"])
    }

    @Test("policies on both sides of an around policy, and beyond the eighth, are also entered and exited")
    func segments() async throws {
        let policies = (0..<20).map { ScriptedPolicy("\($0)", journal) }
        let permit = try await pipeline {
            for policy in policies[..<3] { policy }
            Timeout(limit: .seconds(1))
            for policy in policies[3...] { policy }
        }.acquire()
        #expect(journal.lines == (0..<20).map { "\($0) in" })
        #expect(policies.allSatisfy { $0.owed == 1 })
        permit.complete(.success)
        #expect(policies.allSatisfy { $0.owed == 0 && $0.mistakes.isEmpty })
        #expect(journal.lines.suffix(20) == (0..<20).reversed().map { "\($0) out success round 1" }[...])
    }

    @Test("a permit dropped without a report counts as cancelled, and returns everything")
    func dropped() async throws {
        let bulkhead = Bulkhead(limit: 1, timeBase: clock)
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        let pipeline = pipeline {
            breaker
            bulkhead
        }
        do {
            _ = try await pipeline.acquire()
        }
        #expect(bulkhead.inUse == 0 && breaker.state == .closed)
        #expect(told == [.attemptFailed(1, .cancelled, took: .zero), .cancelled(took: .zero, attempts: 1)])
        try await pipeline.acquire().complete(.transient)
        #expect(breaker.state == .open)
    }

    @Test("the call is reported once, when the work has ended, with the work's duration")
    func events() async throws {
        let pipeline = pipeline { Bulkhead(limit: 1, timeBase: clock) }
        let permit = try await pipeline.acquire()
        #expect(told.isEmpty)
        clock.advance(by: .seconds(7))
        permit.complete(.throttled(retryAfter: .seconds(1)))
        let verdict = Verdict.throttled(retryAfter: .seconds(1))
        #expect(
            told == [.attemptFailed(1, verdict, took: .seconds(7)), .failed(verdict, took: .seconds(7), attempts: 1)])
    }

    @Test("the pipeline's classifier judges an error, and its verdict reaches the policies")
    func error() async throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        let pipeline = Pipeline(
            timeBase: clock, classifier: Classifier { ($0 as? Outage)?.number == 404 ? .permanent : nil }
        ) { breaker }
        try await pipeline.acquire().complete(throwing: Outage(number: 404))
        #expect(breaker.state == .closed)
        try await pipeline.acquire().complete(throwing: Outage())
        #expect(breaker.state == .open)
    }

    @Test("if an inner policy rejects, outer policies are exited, and the call is reported as rejected")
    func rejected() async throws {
        let (outer, bulkhead) = (ScriptedPolicy("outer", journal), Bulkhead(limit: 1, timeBase: clock))
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        breaker.setMode(.isolated)
        let pipeline = pipeline {
            outer
            bulkhead
            Timeout(limit: .seconds(1))
            breaker
        }
        await #expect(throws: CircuitOpen.self) { try await pipeline.acquire().complete(.success) }
        #expect(outer.owed == 0 && bulkhead.inUse == 0)
        #expect(journal.lines == ["outer in", "outer out rejected round 1"])
        #expect(told == [.rejected(took: .zero, attempts: 0)])
    }

    @Test("an outer policy may replace the error of an inner segment's rejection, as in a call")
    func replaced() async throws {
        let outer = ScriptedPolicy("outer", out: [.replace(Outage(number: 3), .transient)])
        let pipeline = pipeline {
            outer
            Timeout(limit: .seconds(1))
            ScriptedPolicy("inner", in: [.reject(Outage(number: 1))])
        }
        await #expect(throws: Outage(number: 3)) { try await pipeline.acquire().complete(.success) }
        #expect(outer.owed == 0)
    }

    @Test("a cancelled task may complete its permit, and observers get the work's end")
    func reportedByACancelledTask() async throws {
        let recorder = EventRecorder()
        let permit = try await Pipeline(timeBase: clock, observers: PolicyObservers(recorder)) {}.acquire()
        withUnsafeCurrentTask { $0?.cancel() }
        permit.complete(.transient)
        let told = recorder.events(of: Pipeline.Event.self)
        #expect(told == [.attemptFailed(1, .transient, took: .zero), .failed(.transient, took: .zero, attempts: 1)])
    }

    @Test("acquire waits for its turn; if cancelled meanwhile, it throws and keeps nothing")
    func waits() async throws {
        // With a limit, so that each waiting call has an alarm that the test can await.
        let bulkhead = Bulkhead("permits", limit: 1, queue: 4, maxWait: .seconds(60), timeBase: clock)
        let pipeline = pipeline { bulkhead }
        let first = try await pipeline.acquire()
        let second = Task { try await pipeline.acquire().complete(.success) }
        let third = Task { try await pipeline.acquire().complete(.success) }
        await clock.waitForSleepers(2)
        third.cancel()
        await #expect(throws: CancellationError.self) { try await third.value }
        clock.advance(by: .seconds(2))
        first.complete(.success)
        try await second.value
        #expect(bulkhead.inUse == 0 && bulkhead.queued == 0)
        #expect(
            told.last
                == .succeeded(
                    took: .seconds(2), attempts: 1, waits: [PolicyWait(policy: "permits", duration: .seconds(2))]))
    }

    @Test("a cancelled task is not admitted, and a passed deadline rejects")
    func notAdmitted() async throws {
        let policy = ScriptedPolicy("a", journal)
        let pipeline = pipeline { policy }
        let task = Task {
            cancelCurrentTask()
            try await pipeline.acquire().complete(.success)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        await #expect(throws: DeadlinePassed.self) {
            try await pipeline.acquire(options: RunOptions(deadline: clock.now)).complete(.success)
        }
        #expect(journal.lines.isEmpty)
    }

    @Test("a client timeout and the caller make a permit's deadline earlier; a retry repeats nothing")
    func deadline() async throws {
        let pipeline = pipeline {
            Retry(maxRetries: 3, backoff: .constant(.seconds(1)))
            ClientTimeout(limit: .seconds(5))
        }
        let start = clock.now
        let permit = try await pipeline.acquire()
        #expect(permit.deadline == start + .seconds(5))
        permit.complete(.transient)
        let other = try await pipeline.acquire(options: RunOptions(deadline: start + .seconds(2)))
        #expect(other.deadline == start + .seconds(2))
        other.complete(.success)
        #expect(told.last == .succeeded(took: .zero, attempts: 1))
        #expect(try await Pipeline(timeBase: clock) {}.acquire().deadline == .distantFuture)
    }

    @Test("a permit can be kept, and reported from another task")
    func elsewhere() async throws {
        let bulkhead = Bulkhead(limit: 1, timeBase: clock)
        let kept = Locked<PipelinePermit?>(try await pipeline { bulkhead }.acquire())
        await Task.detached { kept.withLock { $0.take() }?.complete(.success) }.value
        #expect(bulkhead.inUse == 0 && told.last == .succeeded(took: .zero, attempts: 1))
    }

    @Test("a retry reports nothing for work that it can't repeat, but its budget counts the work")
    func silentRetry() async throws {
        let budget = RetryBudget.throttling(maxTokens: 10)
        let pipeline = pipeline {
            Retry(
                maxRetries: 3, budget: budget, beforeRetry: { _, _ in Issue.record("no retry comes") },
                onGiveUp: { _, _ in Issue.record("nothing is given up") })
        }
        let before = budget.retriesLeft
        try await pipeline.acquire().complete(.transient)
        #expect(budget.retriesLeft == before - 1)
        try await pipeline.acquire(options: RunOptions(isIdempotent: false)).complete(.transient)
        #expect(recorder.events(of: Retry.Event.self) == [])
    }
}
