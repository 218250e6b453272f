import ResilienceTesting
import Testing

@testable import Resilience

/// The failure in events: see ``PolicyEvent/failure``.
@Suite struct FailureEventTests {
    let clock = ManualClock()
    private let events = Events()

    private final class Events: PolicyObserver {
        private let all = Locked<[PolicyEvent]>([])

        func receive(_ event: PolicyEvent) { all.withLock { $0.append(event) } }

        func reset() { all.withLock { $0 = [] } }

        func map<R>(_ body: (PolicyEvent) -> R) -> [R] { all.withLock { $0 }.map(body) }
    }

    private final class Asked: Sendable {
        let count = Locked(0)
    }

    private struct Lost: Error, VerdictConvertible, FailureDescribing {
        var verdict: Verdict { .transient }
        var number = 1
        var asked: Asked?
        var failureDetail: FailureDetail {
            asked?.count.withLock { $0 += 1 }
            return FailureDetail("Lost", code: "\(number)", host: "prices:8080")
        }
    }

    private struct Answer: FailureDescribing {
        var failureDetail: FailureDetail { FailureDetail("Answer", status: 503) }
    }

    private func pipeline(@PipelineBuilder _ elements: () -> [Pipeline.Element]) -> Pipeline {
        Pipeline("calls", timeBase: clock, observers: PolicyObservers(events), elements)
    }

    /// The events, as "policy.kind: failure".
    private var told: [String] {
        events.map { "\($0.policy).\($0.detail.kind)\($0.failure.map { ": \($0)" } ?? "")" }
    }

    @Test("each event caused by a failure describes it, and later events do not (P76)")
    func errors() throws {
        let breaker = CircuitBreaker("breaker", tripping: .consecutiveFailures(2), timeBase: clock)
        let pipeline = pipeline {
            Retry(maxRetries: 2, backoff: .constant(.seconds(1)))
            breaker
        }
        _ = try clock.run {
            await #expect(throws: Lost.self) {
                try await pipeline.run { (attempt: CallAttempt) in throw Lost(number: attempt.number) }
            }
        }
        #expect(
            told == [
                "breaker.allowed", "call.attemptFailed: Lost 1 at prices:8080",
                "breaker.failure: Lost 1 at prices:8080", "retry.retrying: Lost 1 at prices:8080",
                "breaker.allowed", "call.attemptFailed: Lost 2 at prices:8080",
                "breaker.failure: Lost 2 at prices:8080", "breaker.opened: Lost 2 at prices:8080",
                "retry.retrying: Lost 2 at prices:8080", "breaker.rejected", "retry.gaveUp",
                "call.failed: Lost 2 at prices:8080",
            ])
    }

    @Test("the events of a success after a failure have no failure")
    func success() throws {
        let pipeline = pipeline { Retry(maxRetries: 1, backoff: .none) }
        try clock.run {
            try await pipeline.run { (attempt: CallAttempt) in if attempt.number == 1 { throw Lost() } }
        }
        #expect(told.suffix(2) == ["call.attemptSucceeded", "call.succeeded"])
    }

    @Test("a result that means failure is described, even on the other side of a timeout")
    func results() throws {
        let pipeline = pipeline {
            Retry(maxRetries: 1, backoff: .none)
            Timeout(limit: .seconds(9))
        }
        _ = try clock.run { try await pipeline.run(judging: { (_: Answer) in .transient }) { Answer() } }
        #expect(told.filter { !$0.hasSuffix(": HTTP 503") } == [])
        #expect(told.count == 5)
    }

    @Test("if a time limit ends a call, the event names the limit, even if the operation threw a cancellation (P76)")
    func timeLimit() throws {
        let pipeline = pipeline {
            Retry(maxRetries: 0)
            Timeout("attempt", limit: .seconds(1))
        }
        _ = try clock.run { [clock] in
            await #expect(throws: (any Error).self) {
                try await pipeline.run { try await clock.sleep(for: .seconds(60)) }
            }
        }
        #expect(told.last == "call.failed: TimedOut 1 s (attempt)")
        events.reset()
        _ = try clock.run { [clock] in
            await #expect(throws: TimedOut.self) {
                let options = RunOptions(deadline: clock.now + .milliseconds(500))
                try await pipeline.run(options: options) { try await clock.sleep(for: .seconds(60)) }
            }
        }
        #expect(told.last == "call.failed: TimedOut 500 ms (deadline)")
    }

    @Test("a rejected call's event names the policy, and a cancelled call has no failure (P76)")
    func rejected() async throws {
        let pipeline = pipeline { Bulkhead("room", limit: 1, timeBase: clock) }
        try await pipeline.run { _ = try? await pipeline.run {} }
        #expect(told.contains("call.rejected: BulkheadFull full (room)"))
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try? await pipeline.run { throw Lost() }
        }.value
        #expect(told.last == "call.cancelled")
        let options = RunOptions(deadline: clock.now)
        _ = try? await pipeline.run(options: options) {}
        #expect(told.last == "call.rejected: DeadlinePassed (deadline)")
    }

    @Test(
        "if an inner pipeline rejects a call's operation, the outer call fails, and is not reported as rejected (P77)"
    )
    func nested() async throws {
        let inner = Pipeline("inner", timeBase: clock) { Bulkhead("room", limit: 1, timeBase: clock) }
        let outer = pipeline { Bulkhead("own", limit: 9, timeBase: clock) }
        _ = try await inner.run {
            await #expect(throws: BulkheadFull.self) { try await outer.run { try await inner.run {} } }
        }
        #expect(told.last == "call.failed: BulkheadFull full (room)")
        let measures = events.map(\.detail.measure)
        #expect(measures.contains(.attempt(.rejectedInside, took: .zero)))
        #expect(measures.contains(.call(.rejectedInside, took: .zero, attempts: 1, waits: [])))
    }

    @Test("a permit reports the failure that its holder gives, or else its error")
    func permits() async throws {
        let pipeline = pipeline { Bulkhead(limit: 2, timeBase: clock) }
        try await pipeline.acquire().complete(throwing: Lost())
        #expect(told == ["call.attemptFailed: Lost 1 at prices:8080", "call.failed: Lost 1 at prices:8080"])
        events.reset()
        try await pipeline.acquire().complete(.transient, failure: FailureDetail("Response", status: 502))
        #expect(told == ["call.attemptFailed: HTTP 502", "call.failed: HTTP 502"])
        events.reset()
        try await pipeline.acquire().complete(.success)
        #expect(told == ["call.attemptSucceeded", "call.succeeded"])
    }

    @Test("an opened call reports its failures like a run call")
    func opened() throws {
        let pipeline = pipeline { Retry(maxRetries: 1, backoff: .none) }
        _ = try clock.run {
            await #expect(throws: Lost.self) {
                _ = try await pipeline.open(judging: { (_: Answer) in .transient }) { attempt in
                    if attempt.number == 2 { throw Lost(number: 2) }
                    return Answer()
                } holding: { answer, permit in
                    permit.complete(.success)
                    return answer
                }
            }
        }
        #expect(
            told == [
                "call.attemptFailed: HTTP 503", "retry.retrying: HTTP 503", "call.attemptFailed: Lost 2 at prices:8080",
                "retry.gaveUp: Lost 2 at prices:8080", "call.failed: Lost 2 at prices:8080",
            ])
    }

    @Test("a fallback reports the error or result it replaced, after the call has ended")
    func fallback() async throws {
        let pipeline = pipeline { Bulkhead(limit: 2, timeBase: clock) }
        let number = pipeline.withFallback(to: 7)
        #expect(try await number.run { throw Lost() } == 7)
        #expect(told.suffix(2) == ["call.failed: Lost 1 at prices:8080", "fallback.fellBack: Lost 1 at prices:8080"])
        let answer = pipeline.withFallback(to: Answer())
        _ = try await answer.run(judging: { _ in .transient }) { Answer() }
        #expect(told.last == "fallback.fellBack: HTTP 503")
    }

    @Test("an error is asked for details only if there is an observer")
    func unobserved() throws {
        let asked = Asked()
        let quiet = Pipeline(timeBase: clock) { Retry(maxRetries: 2, backoff: .none) }
        try clock.run { [clock] in
            for options in [RunOptions(), RunOptions(deadline: clock.now + .seconds(5))] {
                _ = try? await quiet.run(options: options) { throw Lost(asked: asked) }
            }
        }
        #expect(asked.count.withLock { $0 } == 0)
        let heard = pipeline { Retry(maxRetries: 0) }
        try clock.run { _ = try? await heard.run { throw Lost(asked: asked) } }
        #expect(asked.count.withLock { $0 } == 1)
    }

    @Test("the line of an event ends with the failure")
    func text() {
        let event = PolicyEvent(
            policy: "call", pipeline: "prices", time: clock.now,
            detail: Pipeline.Event.failed(.transient, took: .zero, attempts: 1),
            failure: FailureDetail("Lost", code: "1", host: "h"))
        #expect("\(event)" == "[prices/call] failed after 0 s, 1 attempt (transient): Lost 1 at h")
    }
}
