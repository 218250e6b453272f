import Resilience
import ResilienceTesting
import TestSupport
import Testing

/// The code of Sources/Resilience/Resilience.docc/ErrorsGuide.md, word for word.
@Suite struct ErrorsGuideExamples {
    struct Client {
        let pages: ScriptedOperation<Void, [String]>

        func activities() async throws -> [String] { try await pages() }
    }

    /// The actions of the guide's code around one call.
    private func lines(of pipeline: Pipeline, _ error: any Error) async -> [String] {
        let journal = Journal()
        let client = Client(pages: ScriptedOperation(fallback: .failure(error)))
        let show = { (text: String) in journal.note("show \(text)") }
        let report = { (error: any Error) in journal.note("report \(error)") }
        func tryAgain(after wait: Duration) { journal.note("again in \(wait)") }
        func activities() async throws -> [String] {
            do {
                return try await pipeline.run { try await client.activities() }
            } catch {
                let failure = CallFailure(error)
                switch failure {
                case .rejected: show("\(failure)")  // its text is for people
                case .cancelled: break
                default: report(failure.lastError ?? error)
                }
                if failure.reachedService == false, let wait = failure.retryAfter {
                    tryAgain(after: wait)
                }
                throw error
            }
        }
        _ = try? await activities()
        return journal.lines
    }

    @Test("the guide's code shows a rejection and waits, reports a failure, and is silent about a cancelled call")
    func examples() async throws {
        let clock = ManualClock()
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        let pipeline = Pipeline { breaker }
        #expect(await lines(of: pipeline, Outage()) == ["report Outage(number: 1)"])
        let rejection = "Service temporarily unavailable due to repeated failures. Please try again in 60 seconds."
        #expect(await lines(of: pipeline, Outage()) == ["show \(rejection)", "again in 60.0 seconds"])
        #expect(await lines(of: Pipeline {}, CancellationError()) == [])
    }

    enum PageError: Error, Equatable {
        case notFound, signedOut, cancelled, unavailable(retryAfter: Duration?)

        init(_ failure: CallFailure) {
            self =
                switch failure {
                case .cancelled: .cancelled
                default:
                    (failure.lastError as? PageError)
                        ?? .unavailable(retryAfter: failure.retryAfter)
                }
        }
    }

    @Test("the guide's function throws one type, for the operation's own errors and for rejections")
    func oneType() async throws {
        let pipeline = Pipeline { CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: ManualClock()) }
        let client = Client(pages: ScriptedOperation([.success(["a"]), .failure(PageError.signedOut)]))
        func page() async throws(PageError) -> [String] {
            try await CallFailure.rethrow(as: PageError.init) {
                try await pipeline.run { try await client.activities() }
            }
        }
        #expect(try await page() == ["a"])
        await #expect(throws: PageError.signedOut) { try await page() }
        await #expect(throws: PageError.unavailable(retryAfter: .seconds(60))) { try await page() }
        withUnsafeCurrentTask { $0?.cancel() }
        await #expect(throws: PageError.cancelled) { try await page() }
    }

    @Test("every case of CallFailure is in the guide's table")
    func complete() throws {
        let guide = try Guide("ErrorsGuide")
        for sample in CallFailureTests.samples {
            #expect(guide.text.contains("| `\(sample.name)` |"), "\(sample.name)")
        }
    }

    @Test("each error has a text for people")
    func texts() {
        let texts: [(any Error, String)] = [
            (
                CircuitOpen(policy: "search", retryAfter: .seconds(42)),
                "Service temporarily unavailable due to repeated failures. Please try again in 42 seconds."
            ),
            (
                CircuitOpen(policy: "search", reason: .isolated, retryAfter: nil),
                "Service temporarily unavailable: it was taken out of use. Please try again later."
            ),
            (
                ThrottleExceeded(policy: "search", retryAfter: .seconds(1)),
                "Too many calls (search). Please try again in 1 second."
            ),
            (
                BulkheadFull(policy: "search", reason: .full, retryAfter: .seconds(2)),
                "Too many calls at the same time (search). Please try again in 2 seconds."
            ),
            (
                WouldWait(policy: "search", retryAfter: .seconds(3)),
                "search has no room just now. Please try again in 3 seconds."
            ),
            (DeadlinePassed(), "The deadline passed before the call could begin."),
            (TimedOut(policy: "search", limit: .seconds(5), underlying: nil), "Timed out after 5 s (search)"),
        ]
        for (error, text) in texts { #expect("\(error)" == text) }
    }
}
