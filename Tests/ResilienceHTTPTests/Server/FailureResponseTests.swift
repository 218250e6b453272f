import Foundation
import Resilience
import ResilienceHTTP
import ResilienceTesting
import Testing

@Suite struct FailureResponseTests {
    private struct Shed: Rejection {
        let retryAfter: Duration?
        var description: String { "shed" }
    }

    private struct Unreachable: UpstreamError {
        let isTimeout: Bool
    }

    private struct Own: PolicyError {
        let underlying: (any Error)?
        var reachedService: Bool? { nil }
        var retryAfter: Duration? { nil }
        var description: String { "own" }
    }

    private struct Judged: Error, VerdictConvertible {
        let verdict: Verdict
    }

    private struct Secret: Error, CustomStringConvertible {
        var description: String { "password=hunter2" }
    }

    private static let wait = Duration.seconds(3)

    private static let rejections: [(error: any Error, status: Int, FailureResponse.Reason, retryAfter: Duration?)] = [
        (ThrottleExceeded(policy: "p", retryAfter: wait), 429, .rateLimited, wait),
        (ThrottleExceeded(policy: "p", retryAfter: nil), 429, .rateLimited, nil),
        (BulkheadFull(policy: "p", reason: .full, retryAfter: wait), 503, .overloaded, wait),
        (WouldWait(policy: "p", retryAfter: wait), 503, .overloaded, wait),
        (CircuitOpen(policy: "p", retryAfter: wait), 503, .unavailable, wait),
        (Shed(retryAfter: wait), 503, .unavailable, wait),
        (DeadlinePassed(), 504, .timedOut, nil),
        (
            TimedOut(policy: "p", limit: wait, underlying: CircuitOpen(policy: "p", retryAfter: wait)), 504, .timedOut,
            nil
        ),
        (CancellationError(), 499, .cancelled, nil),
        (CancelledWhileWaiting(lastError: nil, lastVerdict: .throttled(retryAfter: wait)), 499, .cancelled, nil),
        (Own(underlying: DeadlinePassed()), 504, .timedOut, nil),
        (Own(underlying: nil), 500, .failed, nil),
        (Secret(), 500, .failed, nil),
    ]

    @Test("a call that the service's own policies reject gets a status with the reason", arguments: rejections.indices)
    func rejecting(index: Int) {
        let (error, status, reason, retryAfter) = Self.rejections[index]
        let response = FailureResponse(rejecting: CallFailure(error))
        #expect(response.status == status && response.reason == reason && response.retryAfter == retryAfter)
    }

    @Test("a client is told not to retry after this service retried, or if the flag is set by hand")
    func shouldRetry() async {
        var response = FailureResponse(status: 503, reason: .overloaded)
        #expect(response.shouldRetry == nil && !response.fields.contains { $0.name == "x-should-retry" })
        await CallOrigin(attempt: 3).run { response = FailureResponse(rejecting: CallFailure(Secret())) }
        #expect(response.shouldRetry == false)
        #expect(response.fields.contains { $0 == ("x-should-retry", "false") })
        #expect(response.fields.contains { $0 == ("x-envoy-overloaded", "true") })
        response.shouldRetry = true
        #expect(response.fields.contains { $0 == ("x-should-retry", "true") })
        #expect(!response.fields.contains { $0.name == "x-envoy-overloaded" })
    }

    @Test("a throttle of the whole service does not blame the client")
    func serviceThrottle() {
        let failure = CallFailure(ThrottleExceeded(policy: "p", retryAfter: Self.wait))
        let response = FailureResponse(rejecting: failure, limitsClient: false)
        #expect(response.status == 503 && response.reason == .overloaded && response.retryAfter == Self.wait)
    }

    private static let failures: [(error: any Error, status: Int, FailureResponse.Reason, retryAfter: Duration?)] = [
        (CircuitOpen(policy: "p", retryAfter: wait), 503, .upstreamUnavailable, wait),
        (ThrottleExceeded(policy: "p", retryAfter: wait), 503, .upstreamUnavailable, wait),
        (BulkheadFull(policy: "p", reason: .full), 503, .upstreamUnavailable, nil),
        (WouldWait(policy: "p", retryAfter: wait), 503, .upstreamUnavailable, wait),
        (Shed(retryAfter: nil), 503, .upstreamUnavailable, nil),
        (DeadlinePassed(), 504, .timedOut, nil),
        (TimedOut(policy: "p", limit: wait, underlying: nil), 504, .timedOut, nil),
        (HTTPStatusError(status: 429, verdict: .throttled(retryAfter: wait)), 503, .upstreamUnavailable, wait),
        (HTTPStatusError(status: 403, verdict: .throttled(retryAfter: wait)), 503, .upstreamUnavailable, wait),
        (HTTPStatusError(status: 503, verdict: .transient), 503, .upstreamUnavailable, nil),
        (HTTPStatusError(status: 504, verdict: .transient), 504, .timedOut, nil),
        (HTTPStatusError(status: 500, verdict: .transient(retryAfter: wait)), 502, .upstreamFailed, wait),
        (HTTPStatusError(status: 404, verdict: .permanent), 502, .upstreamFailed, nil),
        (HTTPStatusError(status: -1, verdict: .uncertain), 502, .upstreamFailed, nil),
        (Judged(verdict: .throttled(retryAfter: wait)), 503, .upstreamUnavailable, wait),
        (Judged(verdict: .rejected), 503, .upstreamUnavailable, nil),
        (Judged(verdict: .cancelled), 502, .upstreamFailed, nil),
        (Judged(verdict: .success), 502, .upstreamFailed, nil),
        (Own(underlying: CircuitOpen(policy: "p", retryAfter: wait)), 503, .upstreamUnavailable, nil),
        (Own(underlying: nil), 502, .upstreamFailed, nil),
        (CancelledWhileWaiting(lastError: Secret(), lastVerdict: .transient), 499, .cancelled, nil),
        (CancellationError(), 499, .cancelled, nil),
        (Secret(), 502, .upstreamFailed, nil),
        (Unreachable(isTimeout: false), 502, .upstreamFailed, nil),
        (Unreachable(isTimeout: true), 504, .timedOut, nil),
        (URLError(.timedOut), 504, .timedOut, nil),
        (URLError(.cannotFindHost), 502, .upstreamFailed, nil),
        (URLError(.badURL), 500, .failed, nil),
        (URLError(.fileDoesNotExist), 500, .failed, nil),
    ]

    @Test("an upstream's failure has a status that does not blame the client", arguments: failures.indices)
    func upstream(index: Int) {
        let (error, status, reason, retryAfter) = Self.failures[index]
        let response = FailureResponse(upstream: CallFailure(error))
        #expect(response.status == status && response.reason == reason && response.retryAfter == retryAfter)
    }

    @Test(
        "in a cancelled task, the status means that nobody waits for the answer, unless the server's own time ran out",
        arguments: failures.indices)
    func cancelled(index: Int) async {
        let error = Self.failures[index].error
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return FailureResponse(upstream: CallFailure(error))
        }
        let response = await task.value
        let isTimeout = error is DeadlinePassed || error is TimedOut
        #expect(response.status == (isTimeout ? 504 : 499) && response.retryAfter == nil)
    }

    @Test("a call that was given up counts as its last attempt, with the wait of the policy that ended it")
    func givenUp() async {
        let clock = ManualClock()
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), openFor: .seconds(30), timeBase: clock)
        let pipeline = Pipeline {
            Retry(maxRetries: 3, backoff: .none, wrapsLastError: true)
            breaker
        }
        do {
            try await pipeline.run { throw HTTPStatusError(status: 500, verdict: .transient) }
        } catch {
            let response = FailureResponse(upstream: CallFailure(error))
            #expect(response.status == 502)
            let fields = response.fields.filter { $0.name == "Retry-After" }
            #expect(fields.map(\.value) == ["30"])
        }
    }

    @Test("fields and body are valid, and contain no text of an error or a policy")
    func silent() throws {
        let errors: [any Error] =
            (Self.rejections.map(\.error) + Self.failures.map(\.error)) + [
                TimedOut(policy: "secret", limit: .seconds(1), underlying: Secret()),
                CircuitOpen(policy: "secret", retryAfter: .zero), Own(underlying: Secret()),
            ]
        struct Problem: Decodable {
            let type: String
            let title: String
            let status: Int
            let detail: String
        }
        for error in errors {
            for response in [
                FailureResponse(rejecting: CallFailure(error)), FailureResponse(upstream: CallFailure(error)),
            ] {
                let text = response.problem + response.fields.map { "\($0.name): \($0.value)" }.joined()
                #expect(!text.contains("hunter2") && !text.contains("secret"))
                let problem = try JSONDecoder().decode(Problem.self, from: Data(response.problem.utf8))
                #expect(problem.type == "about:blank" && problem.status == response.status)
            }
        }
    }

    @Test("a user's own text is escaped, and a missing text omits its member")
    func ownText() throws {
        var response = FailureResponse(status: 418, reason: .failed)
        response.detail = "a \"quoted\" \\ line\n\u{0}\u{1f} – 🫖"
        let read = try JSONDecoder().decode([String: AnyJSON].self, from: Data(response.problem.utf8))
        #expect(read["detail"] == .text("a \"quoted\" \\ line\n\u{0}\u{1f} – 🫖") && read["title"] == nil)
        response.detail = nil
        #expect(response.problem == #"{"type":"about:blank","status":418}"#)
        response.hasBody = false
        #expect(response.problem == "" && response.fields.isEmpty)
    }

    private enum AnyJSON: Decodable, Equatable {
        case text(String)
        case number(Int)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            self =
                if let number = try? container.decode(Int.self) { .number(number) } else {
                    .text(try container.decode(String.self))
                }
        }
    }
}
