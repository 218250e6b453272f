import Foundation
import Resilience
import ResilienceTraffic
import ResilienceTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct CallFailureTests {
    struct Closed: Rejection {
        var retryAfter: Duration? { .seconds(8) }
        var description: String { "Closed on Sundays." }
    }

    struct Sample: CustomTestStringConvertible, Sendable {
        let error: any Error
        /// The case's name.
        let name: String
        var reached: Bool?
        var retryAfter: Duration?
        var lastError: Outage?
        let text: String

        init(
            _ error: any Error, _ name: String, reached: Bool? = nil, retryAfter: Duration? = nil,
            lastError: Outage? = nil, _ text: String
        ) {
            self.error = error
            self.name = name
            self.reached = reached
            self.retryAfter = retryAfter
            self.lastError = lastError
            self.text = text
        }

        var testDescription: String { "\(name) \(type(of: error))" }
    }

    static let samples = [
        Sample(
            CircuitOpen(policy: "b", retryAfter: .seconds(42)), "rejected", reached: false,
            retryAfter: .seconds(42),
            "Service temporarily unavailable due to repeated failures. Please try again in 42 seconds."),
        Sample(
            CircuitOpen(policy: "b", reason: .isolated, retryAfter: nil), "rejected", reached: false,
            "Service temporarily unavailable: it was taken out of use. Please try again later."),
        Sample(
            ThrottleExceeded(policy: "t", retryAfter: .seconds(1)), "rejected", reached: false, retryAfter: .seconds(1),
            "Too many calls (t). Please try again in 1 second."),
        Sample(
            AdaptiveThrottleExceeded(policy: "a", rejection: 0.5), "rejected", reached: false,
            "The service accepts too few calls (a). Please try again later."),
        Sample(
            NoEndpoint(policy: "e", count: 0, retryAfter: nil), "rejected", reached: false,
            "No endpoint is available (e): the list is empty. Please try again later."),
        Sample(
            BulkheadFull(policy: "b", reason: .full, retryAfter: .seconds(2)), "rejected", reached: false,
            retryAfter: .seconds(2), "Too many calls at the same time (b). Please try again in 2 seconds."),
        Sample(
            WouldWait(policy: "p", retryAfter: .seconds(3)), "rejected", reached: false, retryAfter: .seconds(3),
            "p has no room just now. Please try again in 3 seconds."),
        Sample(
            DeadlinePassed(), "rejected", reached: false, "The deadline passed before the call could begin."),
        Sample(Closed(), "rejected", reached: false, retryAfter: .seconds(8), "Closed on Sundays."),
        Sample(timedOut(Outage()), "ended", lastError: Outage(), "Timed out after 5 s (t)"),
        Sample(timedOut(CancellationError()), "ended", "Timed out after 5 s (t)"),
        Sample(timedOut(nil), "ended", "Timed out after 5 s (t)"),
        Sample(timedOut(Judged(verdict: .permanent)), "ended", "Timed out after 5 s (t)"),
        Sample(
            timedOut(Closed()), "ended", reached: false, retryAfter: .seconds(8), "Timed out after 5 s (t)"),
        Sample(
            exhausted(Outage(), .transient), "ended", lastError: Outage(),
            "Gave up after 0 failed attempts (no attempt is left): Outage(number: 1)"),
        Sample(
            exhausted(Closed(), .rejected), "ended", reached: false, retryAfter: .seconds(8),
            "Gave up after 0 failed attempts (no attempt is left): Closed on Sundays."),
        Sample(
            exhausted(Outage(), .throttled(retryAfter: .seconds(9))), "ended", retryAfter: .seconds(9),
            lastError: Outage(), "Gave up after 0 failed attempts (no attempt is left): Outage(number: 1)"),
        Sample(
            CancelledWhileWaiting(lastError: timedOut(Outage(number: 2)), lastVerdict: .transient),
            "cancelled",
            lastError: Outage(number: 2),
            "Cancelled while waiting to try again; the last attempt failed: Timed out after 5 s (t)"),
        Sample(
            CancelledWhileWaiting(lastError: Closed(), lastVerdict: .rejected), "cancelled", reached: false,
            retryAfter: .seconds(8),
            "Cancelled while waiting to try again; the last attempt failed: Closed on Sundays."),
        Sample(
            CancelledWhileWaiting(lastError: nil, lastVerdict: .throttled(retryAfter: .seconds(9))),
            "cancelled", reached: true, retryAfter: .seconds(9),
            "Cancelled while waiting to try again; the last attempt returned a result that means: throttled (retry in 9 s)"
        ),
        Sample(CancellationError(), "cancelled", "Cancelled."),
        Sample(Outage(), "operation", lastError: Outage(), "Outage(number: 1)"),
    ]

    private static func timedOut(_ error: (any Error)?) -> TimedOut {
        TimedOut(policy: "t", limit: .seconds(5), underlying: error)
    }

    private static func exhausted(_ error: any Error, _ verdict: Verdict) -> RetriesExhausted {
        RetriesExhausted(reason: .attemptsExhausted, lastError: error, verdict: verdict, history: RetryHistory())
    }

    @Test(
        "each error has its case, which tells whether the service was reached, the wait, and the operation's error",
        arguments: samples)
    func each(sample: Sample) {
        let failure = CallFailure(sample.error)
        #expect(Mirror(reflecting: failure).children.first?.label == sample.name)
        #expect(failure.reachedService == sample.reached)
        #expect(failure.retryAfter == sample.retryAfter)
        #expect("\(failure)" == sample.text)
        #expect(type(of: failure.error) == type(of: sample.error))
        if let lastError = sample.lastError { #expect(failure.lastError as? Outage == lastError) }
        if sample.name == "rejected" { #expect(failure.lastError == nil) }
    }

    @Test(
        "an operation's error reached the service if the service answered; after a network error this is unknown",
        arguments: [
            (.permanent, true), (.throttled, true), (.success, true), (.rejected, false), (.transient, nil),
            (.uncertain, nil), (.cancelled, nil),
        ] as [(Verdict, Bool?)])
    func operationErrors(verdict: Verdict, reached: Bool?) {
        #expect(CallFailure(Judged(verdict: verdict)).reachedService == reached)
    }

    @Test("the wait that an operation's error carries is passed on")
    func throttledOperation() {
        #expect(CallFailure(Judged(verdict: .throttled(retryAfter: .seconds(4)))).retryAfter == .seconds(4))
    }

    /// A user's rejection and policy error, with contents that the package's own errors do not have.
    private struct Quota: Rejection {
        let underlying: (any Error)? = Outage()
        let reachedService: Bool? = true
        let retryAfter: Duration? = .seconds(1)
        let description = "No quota."
    }

    private struct Lost: PolicyError {
        let underlying: (any Error)? = Outage(number: 3)
        let reachedService: Bool? = true
        let retryAfter: Duration? = .seconds(2)
        let description = "Lost."
    }

    @Test(
        "a call that a user's policy rejected never reached the service; its other errors say whether the call did")
    func ofUsers() {
        let rejected = CallFailure(Quota())
        #expect(rejected.reachedService == false && rejected.lastError == nil && rejected.retryAfter == .seconds(1))
        let ended = CallFailure(Lost())
        #expect(ended.reachedService == true && ended.retryAfter == .seconds(2) && "\(ended)" == "Lost.")
        #expect((ended.lastError as? Outage)?.number == 3)
        guard case .ended = ended else {
            Issue.record("\(ended)")
            return
        }
    }

    @Test("a call whose second attempt is rejected fails like its first attempt, and does not claim to be unsent (P41)")
    func secondAttempt() throws {
        let clock = ManualClock()
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 1, backoff: .constant(.seconds(1)))
            CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        }
        let fetch = ScriptedOperation<Void, Int>(fallback: .failure(Outage()))
        let error = #expect(throws: Outage.self) {
            try clock.run { try await pipeline.run { try await fetch() } }
        }
        #expect(CallFailure(try #require(error)).reachedService == nil && fetch.callCount == 1)
    }

    // MARK: Completeness

    /// Errors of the core that no call throws, and where they are thrown.
    private static let elsewhere = [
        "UnusableSnapshot": "CircuitBreaker.restore", "InvalidSettings": "PolicySettings.checked",
        "Expired": "nobody: a timeout throws TimedOut instead",
        "NotBegun": "nobody: an abandoning timeout throws TimedOut instead",
        "CopyLost": "nobody: the end of a copy that has lost does not count",
        "InjectedFault": "an operation's error, which it stands for",
        "InsideWasLost": "an around policy that makes a mistake",
    ]

    @Test("every error type of the core has a case, or is never thrown by a call")
    func all() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/Resilience")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        let types = try (files?.allObjects ?? []).compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .flatMap { file in
                try String(contentsOf: file, encoding: .utf8)
                    .matches(of: /(?:struct|enum|class|extension) (\w+)\s*:[^{]*\b(?:Error|PolicyError|Rejection)\b/)
                    .map { String($0.output.1) }
            }
        let named = Self.samples.map(\.error)
            .filter { error in
                if case .operation = CallFailure(error) { false } else { true }
            }
            .map { "\(type(of: $0))" }
        #expect(types.count >= 8)
        for type in types where Self.elsewhere[type] == nil {
            #expect(named.contains(type), "\(type) is an operation's to CallFailure, or has no sample here")
        }
    }
}
