#if canImport(Foundation)
    import Foundation
    import Resilience

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// One call of a ``ResilientSession``: the requests of its attempts, and the verdicts of their answers.
    final class SessionCall: Sendable {
        let options: RunOptions
        private let session: ResilientSession
        private let semantics: RequestSemantics
        private let request: RenewedRequest<URLRequest>
        /// Whether the body is a stream, which can be read only once.
        private let hasStream: Bool
        private let isStreamRead = Locked(false)
        /// Whether a redirect has answered a request that may not be sent twice. The redirecting server had the
        /// request, and may have acted on it, whatever the redirect's result.
        private let isSeen = Locked(false)

        /// - Throws: `URLError.unsupportedURL` if the URL is not of HTTP.
        init(_ session: ResilientSession, _ request: URLRequest, _ options: RunOptions) throws {
            guard ["http", "https"].contains(request.url?.scheme?.lowercased()) else { throw URLError(.unsupportedURL) }
            self.session = session
            semantics = RequestSemantics(request)
            hasStream = request.httpBodyStream != nil
            self.options = session.pipeline.options(options, isRepeatable: semantics.isRepeatable && !hasStream)
            self.request = RenewedRequest(
                request, mayRenew: session.reauthorize != nil, on: session.pipeline.timeBase)
        }

        var pipeline: Pipeline {
            let pipeline = semantics.isRepeatable ? session.repeatable : session.pipeline
            return isRepeatable ? pipeline : pipeline.adjusting { [self] _, verdict in advise(verdict) }
        }

        private var isRepeatable: Bool { options.isIdempotent == true && !hasStream }

        /// Whether the request may be sent concurrently, and a policy would do so.
        var mayBeCopied: Bool { session.pipeline.makesCopies && isRepeatable }

        /// The session's task has ended.
        func ended(_ task: URLSessionTask) {
            if options.isIdempotent != true, task.wasRedirected { isSeen.withLock { $0 = true } }
        }

        private func advise(_ verdict: Verdict) -> Verdict {
            hasStream || isSeen.withLock { $0 } ? verdict.withoutRetry : verdict
        }

        func judge(_ response: HTTPURLResponse, _ body: Data) -> Verdict {
            let verdict = response.verdict(
                for: semantics, remark: session.remark?(response, body), dialect: session.dialect)
            if session.notesQuotas, verdict.kind == .success {
                session.pipeline.note(
                    RateLimitFields(dialect: session.dialect) { response.value(forHTTPHeaderField: $0) })
            }
            return advise(verdict)
        }

        /// Sends the request, and once more if it was answered with 401 and there are new credentials.
        nonisolated(nonsending) func answer<Body>(
            _ attempt: CallAttempt,
            _ send: nonisolated(nonsending) (URLRequest, CallAttempt) async throws -> (Body, URLResponse)
        ) async throws -> (Body, HTTPURLResponse) {
            let wasStreamRead = isStreamRead.withLock { isRead in
                defer { isRead = hasStream }
                return isRead
            }
            // Reached only if a retry rule repeats a request whose stream was read.
            if wasStreamRead { throw URLError(.requestBodyStreamExhausted) }
            let sent = request.latest
            let answer = try await httpAnswer(send, to: sent.request, attempt)
            guard answer.1.statusCode == 401, !isSeen.withLock({ $0 }), let reauthorize = session.reauthorize,
                let renewed = try await request.renewed(after: sent, isOnlyTry: true, reauthorize)
            else { return answer }
            if hasStream, renewed.request.httpBodyStream === sent.request.httpBodyStream { return answer }
            return try await httpAnswer(send, to: renewed.request, attempt)
        }

        private nonisolated(nonsending) func httpAnswer<Body>(
            _ send: nonisolated(nonsending) (URLRequest, CallAttempt) async throws -> (Body, URLResponse),
            to request: URLRequest, _ attempt: CallAttempt
        ) async throws -> (Body, HTTPURLResponse) {
            let (body, response) = try await send(session.limited(request, by: attempt, options), attempt)
            guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
            return (body, response)
        }
    }

    extension URLSessionTask {
        /// Whether the final request went to another place, or used another method.
        fileprivate var wasRedirected: Bool {
            func asked(_ request: URLRequest?) -> [String?] {
                let url = request?.url
                let path = url.map { $0.path.isEmpty ? "/" : $0.path }
                return [request?.httpMethod, url?.host?.lowercased(), url?.port.map { "\($0)" }, path, url?.query]
            }
            return asked(currentRequest) != asked(originalRequest)
        }
    }
#endif
