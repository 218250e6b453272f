#if Hummingbird
    import Foundation
    import HTTPTypes
    import Hummingbird
    import Logging
    import NIOCore
    import Resilience
    import ResilienceHTTP
    import ResilienceHummingbird
    import TestSupport
    import Testing

    @Suite(.timeLimit(.minutes(20)), .responsive) struct CallFailureMiddlewareTests {
        private struct Refused: Error, VerdictConvertible {
            let verdict: Verdict
        }

        private static let answers: [(error: any Error, status: Int, retryAfter: String?)] = [
            (CircuitOpen(policy: "catalog", retryAfter: .milliseconds(29_001)), 503, "30"),
            (ThrottleExceeded(policy: "catalog", retryAfter: .seconds(2)), 503, "2"),
            (BulkheadFull(policy: "catalog", reason: .full), 503, nil),
            (DeadlinePassed(), 504, nil),
            (TimedOut(policy: "catalog", limit: .seconds(1), underlying: Secret()), 504, nil),
            (HTTPStatusError(status: 429, verdict: .throttled(retryAfter: .seconds(7))), 503, "7"),
            (HTTPStatusError(status: 503, verdict: .transient), 503, nil),
            (HTTPStatusError(status: 504, verdict: .transient), 504, nil),
            (HTTPStatusError(status: 500, verdict: .transient), 502, nil),
            (HTTPStatusError(status: 404, verdict: .permanent), 502, nil),
            (Refused(verdict: .uncertain), 502, nil),
            (Secret(), 502, nil),
            (URLError(.cannotConnectToHost), 502, nil),
            (URLError(.timedOut), 504, nil),
            (CancellationError(), 499, nil),
            (Refused(verdict: .cancelled), 502, nil),
            (NIOTooManyBytesError(maxBytes: 3), 502, nil),
            (exhausted(CircuitOpen(policy: "catalog", retryAfter: .seconds(9))), 503, "9"),
            (exhausted(exhausted(URLError(.timedOut))), 504, nil),
            (exhausted(Secret()), 502, nil),
            (exhausted(NIOTooManyBytesError(maxBytes: 3)), 502, nil),
        ]

        private static func exhausted(_ error: any Error) -> RetriesExhausted {
            RetriesExhausted(
                reason: .attemptsExhausted, lastError: error, verdict: Classifier.standard.verdict(for: error),
                history: RetryHistory())
        }

        private func router(throwing error: any Error) -> Router<BasicRequestContext> {
            let router = Router()
            router.add(middleware: CallFailureMiddleware { $0 is Secret })
            router.on("/", method: .get) { _, _ -> String in throw error }
            router.on("/", method: .head) { _, _ -> String in throw error }
            return router
        }

        @Test(
            "an upstream's failure gets its status, and its text does not reach the client",
            arguments: answers.indices)
        func mapped(index: Int) async throws {
            let (error, status, retryAfter) = Self.answers[index]
            let response = try await router(throwing: error).live { try await send("/", to: $0) }
            #expect(response.status.code == status)
            #expect(response.headers[text: "retry-after"] == retryAfter)
            #expect(response.headers[.contentType] == "application/problem+json")
            let text = response.body
            #expect(text.hasPrefix(#"{"type":"about:blank","title":""#) && text.contains("\"status\":\(status)"))
            #expect(!text.contains("catalog") && !text.contains("hunter2"))
        }

        @Test("an error with its own response keeps it, and a bug in the handler stays a 500")
        func left() async throws {
            let own = HTTPError(.conflict, message: "twice")
            let kept = try await router(throwing: own).live { try await send("/", to: $0) }
            #expect(kept.status == .conflict && kept.body.contains("twice"))

            let wrapped = Self.exhausted(Self.exhausted(own))
            let unwrapped = try await router(throwing: wrapped).live { try await send("/", to: $0) }
            #expect(unwrapped.status == .conflict && unwrapped.body.contains("twice"))

            let bugs: [any Error] = [
                Bug(), URLError(.badURL), URLError(.unsupportedURL), Self.exhausted(Bug()), Own(),
            ]
            for bug in bugs {
                let response = try await router(throwing: bug).live { try await send("/", to: $0) }
                #expect(response.status == .internalServerError, "\(bug)")
            }
        }

        private struct Bug: Error {}

        /// Whatever its verdict, this error declares that no other service caused it.
        private struct Own: UpstreamError, VerdictConvertible {
            var isUpstream: Bool { false }
            var verdict: Verdict { .transient }
        }

        @Test("in a cancelled task any failure is a 499, except an error with its own response")
        func cancelled() async throws {
            let errors: [any Error] = [
                URLError(.cancelled), CancellationError(), TimedOut(policy: "t", limit: .seconds(1), underlying: nil),
                Bug(),
                HTTPStatusError(status: 503, verdict: .transient), HTTPError(.conflict),
            ]
            let router = Router()
            router.get("/") { request, context in
                let tries = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    var statuses: [String] = []
                    for error in errors {
                        do {
                            _ = try await CallFailureMiddleware().handle(request, context: context) { _, _ in
                                throw error
                            }
                        } catch let error as any HTTPResponseError {
                            statuses.append("\(error.status.code)")
                        }
                    }
                    return statuses.joined(separator: " ")
                }
                return try await tries.value
            }
            let response = try await router.live { try await send("/", to: $0) }
            #expect(response.body == "499 499 499 499 499 409")
        }

        @Test("another service's failures are logged at a higher level than rejections by policies")
        func logged() async throws {
            let handler = LevelHandler()
            let open = CircuitOpen(policy: "catalog", retryAfter: nil)
            let errors: [any Error] = [
                Secret(), open, CancellationError(), Refused(verdict: .rejected), Self.exhausted(open),
            ]
            for error in errors {
                let logger = Logger(label: "test") { _ in handler }
                _ = try await router(throwing: error).live(logger) { try await send("/", to: $0) }
            }
            #expect(handler.levels.values.withLock { $0 } == [.info, .debug, .debug, .debug, .debug, .debug])
        }

        @Test("the log line of an answer names the failure, by its status or its code")
        func loggedFailure() async throws {
            let handler = LevelHandler()
            let error = HTTPStatusError(status: 503, verdict: .transient)
            let logger = Logger(label: "test") { _ in handler }
            let answer = try await router(throwing: error).live(logger) { try await send("/", to: $0) }
            #expect(answer.status.code == 503)
            #expect(handler.levels.texts.withLock { $0.first } == "answering 503: upstreamUnavailable (HTTP 503)")
        }

        private final class Levels: Sendable {
            let values = Locked<[Logger.Level]>([])
            let texts = Locked<[String]>([])
        }

        private struct LevelHandler: LogHandler {
            let levels = Levels()
            var metadata: Logger.Metadata = [:]
            var logLevel = Logger.Level.trace

            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }

            func log(event: LogEvent) {
                guard "\(event.message)".hasPrefix("answering") else { return }
                if event.level > .debug { #expect(!"\(event.message)".contains("hunter2")) }
                levels.values.withLock { $0.append(event.level) }
                levels.texts.withLock { $0.append("\(event.message)") }
            }
        }

        @Test("the response to HEAD has the body's fields, but no body")
        func head() async throws {
            let error = CircuitOpen(policy: "catalog", retryAfter: .seconds(9))
            let response = try await router(throwing: error).live { try await send("/", to: $0, method: .head) }
            #expect(response.status.code == 503 && response.headers[text: "retry-after"] == "9")
            let length = response.headers[.contentLength].flatMap { Int($0) }
            #expect(response.body == "" && (length ?? 0) > 0)
        }

        @Test("the client gets the changed response; an unknown status becomes a 500")
        func changed() async throws {
            let router = Router()
            let change: FailureResponseChange = { _, response in
                var response = response
                response.status = 70_000
                response.hasBody = false
                return response
            }
            router.add(middleware: CallFailureMiddleware(response: change))
            router.get("/") { _, _ -> String in throw DeadlinePassed() }
            let response = try await router.live { try await send("/", to: $0) }
            #expect(response.status == .internalServerError && response.body == "")
        }
    }
#endif
