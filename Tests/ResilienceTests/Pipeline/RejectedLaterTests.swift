import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// Calls that a policy rejects after one of their attempts has failed (P41).
@Suite struct RejectedLaterTests {
    let clock = ManualClock()
    private let journal = Journal()

    private func breaker(_ limit: Int) -> CircuitBreaker {
        CircuitBreaker(tripping: .consecutiveFailures(limit), timeBase: clock)
    }

    private let retry = Retry(maxRetries: 5, backoff: .constant(.seconds(1)))

    @Test("a slow endpoint gives its caller a timeout, even if it opens the circuit during the retries (P41)")
    func slow() throws {
        let breaker = breaker(2)
        let clock = clock
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            retry; breaker; Timeout("attempt", limit: .seconds(5))
        }
        let error = #expect(throws: TimedOut.self) {
            try clock.run {
                try await pipeline.run {
                    _ = await PolicyWaiter().wait(until: clock.now + .seconds(60), on: clock)
                    try Task.checkCancellation()
                }
            }
        }
        #expect(error?.policy == "attempt" && breaker.state == .open)
        #expect(CallFailure(try #require(error)).reachedService == nil)
    }

    @Test("a response that means failure is returned, even if a further attempt is rejected (P41)")
    func result() throws {
        for timeout in [nil, Timeout(limit: .seconds(60))] {
            let statuses = ScriptedOperation<Void, Int>([.success(500), .success(503)], fallback: .success(200))
            let pipeline = Pipeline(timeBase: clock) {
                if let timeout { timeout }
                retry
                breaker(2)
                if let timeout { timeout }
            }
            let status = try clock.run {
                try await pipeline.run(judging: { $0 < 500 ? .success : .transient }) { try await statuses() }
            }
            #expect(status == 503 && statuses.callCount == 2)
        }
    }

    @Test("the call has its last attempt's outcome, even an error after a result or a result after an error")
    func mixed() throws {
        for (script, isError) in [
            ([.success(500), .failure(Outage())], true), ([.failure(Outage()), .success(500)], false),
        ] as [([Result<Int, any Error>], Bool)] {
            let statuses = ScriptedOperation<Void, Int>(script)
            let pipeline = Pipeline(timeBase: clock) {
                retry; breaker(2)
            }
            let end = Result {
                try clock.run {
                    try await pipeline.run(judging: { $0 < 500 ? .success : .transient }) { try await statuses() }
                }
            }
            if isError {
                #expect(throws: Outage.self) { try end.get() }
            } else {
                #expect(try end.get() == 500)
            }
        }
    }

    @Test("a failure before a rejection is also kept across a timeout, with nested retries, and for a custom retry")
    func anywhere() throws {
        let pipelines = [
            Pipeline(timeBase: clock) {
                retry; Timeout(limit: .seconds(60)); breaker(1)
            },
            Pipeline(timeBase: clock) {
                retry; retry; breaker(1)
            },
            Pipeline(timeBase: clock) {
                retry; Timeout(limit: .seconds(60)); retry; breaker(1)
            },
            Pipeline(timeBase: clock) {
                OwnRetry(); breaker(1)
            },
            Pipeline(timeBase: clock) {
                OwnRetry(); retry; Timeout(limit: .seconds(60)); breaker(1)
            },
        ]
        for pipeline in pipelines {
            let operation = ScriptedOperation<Void, Int>(fallback: .failure(Outage()))
            let clock = clock
            #expect(throws: Outage.self, "\(pipeline)") {
                try clock.run { try await pipeline.run { try await operation() } }
            }
            #expect(operation.callCount == 1, "\(pipeline)")
        }
    }

    @Test("an outer policy sees the failure, not the rejection: an outer breaker counts it (P41)")
    func furtherOut() throws {
        let outer = breaker(5)
        let pipeline = Pipeline(timeBase: clock) {
            outer; retry; breaker(1)
        }
        let operation = ScriptedOperation<Void, Int>(fallback: .failure(Outage()))
        #expect(throws: Outage.self) { try clock.run { try await pipeline.run { try await operation() } } }
        #expect(outer.status.failureCount == 1)
    }

    @Test("a call rejected before any attempt throws the rejection, unless a retry of rejections succeeds")
    func firstAttempt() throws {
        let breaker = breaker(1)
        breaker.trip(for: .seconds(600))
        for verdicts in [[.transient], [.transient, .rejected]] as [VerdictSet] {
            let pipeline = Pipeline(timeBase: clock) {
                Retry(maxRetries: 2, backoff: .constant(.seconds(1)), on: verdicts, retryAfterCeiling: .seconds(9_999))
                breaker
            }
            let operation = ScriptedOperation<Void, Int>(fallback: .success(7))
            breaker.trip(for: .seconds(3_600))
            let end = Result { try clock.run { try await pipeline.run { try await operation() } } }
            if verdicts.contains(.rejected) {
                #expect(try end.get() == 7)
            } else {
                let error = #expect(throws: CircuitOpen.self) { try end.get() }
                #expect(CallFailure(try #require(error)).reachedService == false)
            }
        }
    }

    /// A rejection, identified by its number.
    private struct Rejected: Rejection, Equatable {
        let number: Int
        var retryAfter: Duration? { nil }
        var description: String { "rejected, \(number)" }
    }

    @Test("a policy that asks for another round and rejects it itself does not hide the attempt's failure (P41)")
    func bySamePolicy() async throws {
        for sleeps in [false, true] {
            let operation = ScriptedOperation<Void, Int>([.failure(Outage()), .success(7)])
            let pausing: [ScriptedPolicy.Inward] = sleeps ? [.sleep(.seconds(1))] : []
            let asking = ScriptedPolicy(
                "asking", in: [.proceed] + pausing + [.reject(Rejected(number: 1))], out: [.again(.seconds(1))])
            let outer = ScriptedPolicy("outer", journal)
            let pipeline = Pipeline(timeBase: RushingClock()) {
                outer; asking
            }
            await #expect(throws: Outage.self) { try await pipeline.run { try await operation() } }
            #expect(operation.callCount == 1 && asking.owed == 0 && asking.mistakes.isEmpty)
        }
        #expect(
            journal.lines == Array(repeating: ["outer in", "outer out transient round 1"], count: 2).flatMap { $0 })
    }

    @Test("if a policy rejects the round that it asked for, the previous result is returned")
    func resultBySamePolicy() async throws {
        let asking = ScriptedPolicy("asking", in: [.proceed, .reject(Rejected(number: 1))], out: [.again(.zero)])
        let pipeline = Pipeline(timeBase: RushingClock()) { asking }
        #expect(try await pipeline.run(judging: { _ in .transient }) { 503 } == 503)
    }

    @Test("a call whose rounds were all rejected throws the latest rejection")
    func latestRejection() async {
        let asking = ScriptedPolicy("asking", out: [.again(.zero)])
        let rejecting = ScriptedPolicy("rejecting", in: [.reject(Rejected(number: 1)), .reject(Rejected(number: 2))])
        let pipeline = Pipeline(timeBase: RushingClock()) {
            asking; rejecting
        }
        await #expect(throws: Rejected(number: 2)) { try await pipeline.run {} }
    }

    @Test("a result that is judged a rejection is returned, although the previous attempt threw")
    func judgedRejected() async throws {
        let pipeline = Pipeline(timeBase: RushingClock()) { ScriptedPolicy("asking", out: [.again(.zero)]) }
        let operation = ScriptedOperation<Void, Int>([.failure(Outage()), .success(7)])
        let result = try await pipeline.run(judging: { (_: Int) in .rejected }) { try await operation() }
        #expect(result == 7)
    }

    @Test("if a policy replaces an error with a rejection, and no other round follows, the call throws that rejection")
    func replaced() async {
        let outer = ScriptedPolicy("outer")
        let inner = ScriptedPolicy("inner", out: [.again(.zero), .replace(Rejected(number: 1), .rejected)])
        let pipeline = Pipeline(timeBase: RushingClock()) {
            outer; inner
        }
        await #expect(throws: Rejected(number: 1)) { try await pipeline.run { throw Outage() } }
    }

    @Test("in each new round of an outer retry, the inner retry sees a rejection as one of a first attempt")
    func anew() throws {
        // The inner retry's stay ends when the outer retry begins another round. In that round the inner retry sees a
        // first attempt.
        let recorder = EventRecorder()
        let pipeline = Pipeline(timeBase: clock, observers: PolicyObservers(recorder)) {
            Retry("outer", maxRetries: 1, backoff: .constant(.seconds(1)))
            Retry("inner", maxRetries: 1, backoff: .constant(.seconds(1)))
            breaker(2)
        }
        let operation = ScriptedOperation<Void, Int>(fallback: .failure(Outage()))
        #expect(throws: Outage.self) { try clock.run { try await pipeline.run { try await operation() } } }
        #expect(operation.callCount == 2)
        #expect(
            recorder.events(of: Retry.Event.self) == [
                .retrying(attempt: 1, of: 2, after: .seconds(1), .transient), .gaveUp(attempt: 2, .attemptsExhausted),
                .retrying(attempt: 1, of: 2, after: .seconds(1), .transient), .gaveUp(attempt: 1, .rejected),
            ])
    }

    @Test("the retry reports that it was rejected, and its hook gets the whole history")
    func told() throws {
        let recorder = EventRecorder()
        let pipeline = Pipeline(timeBase: clock, observers: PolicyObservers(recorder)) {
            Retry(
                maxRetries: 5, backoff: .constant(.seconds(1)),
                onGiveUp: { [journal] history, reason in journal.note("\(history.failures.map(\.verdict)) \(reason)") })
            breaker(1)
        }
        #expect(throws: Outage.self) { try clock.run { try await pipeline.run { throw Outage() } } }
        #expect(recorder.events(of: Retry.Event.self).last == .gaveUp(attempt: 1, .rejected))
        #expect(journal.lines == ["[transient, rejected] a further attempt was rejected"])
        #expect(
            recorder.events(of: Pipeline.Event.self).last
                == .failed(
                    .transient, took: .seconds(1), attempts: 1,
                    waits: [PolicyWait(policy: "retry", duration: .seconds(1))]))
    }

    @Test("with wrapsLastError a call throws the last real error, its verdict, and the rejection with its wait")
    func wrapped() throws {
        let breaker = CircuitBreaker(
            tripping: .consecutiveFailures(2), openFor: .seconds(30), timeBase: clock)
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 5, backoff: .constant(.seconds(1)), wrapsLastError: true); breaker
        }
        let operation = ScriptedOperation<Void, Int>([
            .failure(Judged(verdict: .uncertain)), .failure(Outage(number: 2)),
        ])
        let error = try #require(
            #expect(throws: RetriesExhausted.self) {
                try clock.run {
                    try await pipeline.run(options: RunOptions(isIdempotent: true)) { try await operation() }
                }
            })
        #expect(error.reason == .rejected && (error.lastError as? Outage)?.number == 2)
        #expect(error.verdict == .transient && error.history.count == 3 && error.rejection is CircuitOpen)
        let failure = CallFailure(error)
        #expect(failure.reachedService == nil && failure.retryAfter == .seconds(29))
        #expect((failure.lastError as? Outage)?.number == 2)
    }

    @Test("errors and events count the attempts that ran, not rejections, even if rejections are retried")
    func counted() throws {
        // Round 1 fails and opens the circuit; all later rounds are rejected.
        for (verdicts, reason, word) in [
            ([.transient], .rejected, "a further attempt was rejected"),
            ([.transient, .rejected], .attemptsExhausted, "no attempt is left"),
        ] as [(VerdictSet, RetriesExhausted.Reason, String)] {
            let recorder = EventRecorder()
            let pipeline = Pipeline(timeBase: clock, observers: PolicyObservers(recorder)) {
                Retry(maxRetries: 3, backoff: .constant(.seconds(1)), on: verdicts, wrapsLastError: true)
                CircuitBreaker(
                    tripping: .consecutiveFailures(1), openFor: .constant(.milliseconds(3_900)), timeBase: clock)
            }
            let operation = ScriptedOperation<Void, Int>(fallback: .failure(Outage()))
            let error = try #require(
                #expect(throws: RetriesExhausted.self) {
                    try clock.run { try await pipeline.run { try await operation() } }
                })
            let ran = operation.callCount
            let attempts = ran == 1 ? "1 failed attempt" : "\(ran) failed attempts"
            #expect("\(error)" == "Gave up after \(attempts) (\(word)): \(Outage())")
            #expect(recorder.events(of: Retry.Event.self).last == .gaveUp(attempt: ran, reason))
        }
    }

    @Test("a call that never ran has zero attempts, however often it was retried")
    func countedNone() throws {
        for retries in [0, 2] {
            let recorder = EventRecorder()
            let pipeline = Pipeline(timeBase: clock, observers: PolicyObservers(recorder)) {
                Retry(maxRetries: retries, on: .rejected, wrapsLastError: true)
                Rejecting()
            }
            let error = try #require(
                #expect(throws: RetriesExhausted.self) { try clock.run { try await pipeline.run {} } })
            #expect("\(error)".hasPrefix("Gave up after 0 failed attempts (no attempt is left): "))
            #expect(error.history.count == retries + 1 && CallFailure(error).reachedService == false)
            #expect(recorder.events(of: Retry.Event.self).last == .gaveUp(attempt: 0, .attemptsExhausted))
        }
    }

    @Test("the history determines reachedService: whether an attempt was answered, or all were rejected (P41)")
    func history() {
        func exhausted(_ failures: [(Verdict, (any Error)?)]) -> CallFailure {
            var history = RetryHistory()
            for (index, failure) in failures.enumerated() {
                history.append(RetryFailure(attempt: index + 1, verdict: failure.0, error: failure.1))
            }
            return CallFailure(
                RetriesExhausted(
                    reason: .attemptsExhausted, lastError: Outage(), verdict: .transient, history: history))
        }
        let rejection = CircuitOpen(policy: "b", retryAfter: nil)
        let answer = Judged(verdict: .permanent)
        #expect(exhausted([(.rejected, rejection), (.rejected, rejection)]).reachedService == false)
        #expect(exhausted([(.transient, Outage()), (.rejected, rejection)]).reachedService == nil)
        #expect(exhausted([(.permanent, answer), (.rejected, rejection)]).reachedService == true)
        #expect(exhausted([(.transient, nil), (.rejected, rejection)]).reachedService == true)
        #expect(exhausted(Array(repeating: (.rejected, rejection), count: 17)).reachedService == nil)
    }

    @Test("a call cancelled between two attempts, after a retried rejection, still carries its real failure")
    func cancelled() async throws {
        let breaker = breaker(1)
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 5, backoff: .constant(.seconds(1)), on: [.transient, .rejected]); breaker
        }
        let task = Task { try await pipeline.run { throw Outage() } }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        await clock.waitForSleepers(1)
        task.cancel()
        let error = await #expect(throws: CancelledWhileWaiting.self) { try await task.value }
        #expect(error?.lastError is Outage)
    }

    @Test("a policy that replaced its round's error starts fresh when it is entered again")
    func replacedBefore() async {
        let pipeline = Pipeline(timeBase: RushingClock()) {
            ScriptedPolicy("outer", out: [.again(.zero)], journal)
            ScriptedPolicy("inner", out: [.again(.zero), .replace(Outage(number: 2), .transient)])
            ScriptedPolicy("gate", in: [.proceed, .proceed, .reject(Outage(number: 3))])
        }
        // The call's outcome is its last attempt's outcome.
        await #expect(throws: Outage(number: 2)) { try await pipeline.run { throw Outage() } }
        #expect(journal.lines.last == "outer out rejected round 2")
    }
}

/// A naive custom retry: three rounds after any failure, even after a rejection.
private struct OwnRetry: Policy {
    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        guard outcome.verdict != .success, outcome.verdict != .cancelled, slot.first < 3 else { return .pass }
        slot.first += 1
        return .again(at: call.now + .seconds(1))
    }
}

/// Rejects every call.
private struct Rejecting: Policy {
    struct Closed: Rejection {
        var retryAfter: Duration? { nil }
        var description: String { "Closed." }
    }

    func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry { .reject(Closed()) }
}
