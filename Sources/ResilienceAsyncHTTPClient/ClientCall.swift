#if AsyncHTTPClient
    import AsyncHTTPClient
    import Logging
    import NIOCore
    import NIOHTTP1
    import Resilience
    import ResilienceHTTP

    /// One call of a ``ResilientHTTPClient``: the requests of its attempts and copies, and the verdicts of their ends.
    final class ClientCall: Sendable {
        let judge: RequestJudge
        let options: RunOptions
        private let client: ResilientHTTPClient
        private let request: RenewedRequest<HTTPClientRequest>
        /// Makes the body of each attempt.
        private let makeBody: (@Sendable () throws -> HTTPClientRequest.Body)?
        private let sent: Locked<SentBody>
        private let logger: Logger?

        init(
            _ client: ResilientHTTPClient, _ request: HTTPClientRequest, _ options: RunOptions,
            makeBody: (@Sendable () throws -> HTTPClientRequest.Body)?, _ logger: Logger?
        ) {
            judge = RequestJudge(RequestSemantics(request), client.pipeline, client.settings)
            self.options = client.pipeline.options(options, isRepeatable: judge.semantics.isRepeatable)
            self.client = client
            self.request = RenewedRequest(
                request, mayRenew: client.settings.reauthorize != nil, on: client.pipeline.timeBase)
            self.makeBody = makeBody
            self.logger = logger
            sent = Locked(SentBody(request, makesBodies: makeBody != nil))
        }

        /// Whether the request may be sent concurrently, and a policy would do so.
        var mayBeCopied: Bool {
            client.pipeline.makesCopies && options.isIdempotent == true
                && (makeBody != nil || request.latest.request.body.canBeReadAgain)
        }

        func verdict(for error: any Error) -> Verdict {
            let verdict = judge.verdict(for: error)
            return sent.withLock { $0.advise(verdict) }
        }

        /// Sends the request once, and again only with new credentials.
        nonisolated(nonsending) func exchange(_ attempt: CallAttempt) async throws -> Exchange {
            var version = request.latest
            while true {
                try sent.withLock { try $0.checkRepeat() }
                let exchange = try await exchange(version.request, attempt)
                if exchange.response.status == .unauthorized, !sent.withLock({ $0.isGone }), !isSeen(exchange.response),
                    let renewed = try await renewed(after: version, until: attempt.deadline)
                {
                    version = renewed
                    continue
                }
                return exchange.verdict.kind == .success ? exchange : exchange.limited(judge, client.settings)
            }
        }

        private nonisolated(nonsending) func exchange(
            _ request: HTTPClientRequest, _ attempt: CallAttempt
        ) async throws -> Exchange {
            let (settings, timeBase) = (client.settings, client.pipeline.timeBase)
            var request = request
            if let makeBody { request.body = try makeBody() }
            let fields = attempt.fields(settings.deadlineField, settings.originFields, options, on: timeBase) {
                request.headers.first(name: $0)
            }
            guard let fields else { throw HTTPClientError.deadlineExceeded }
            for (name, value) in fields { request.headers.replaceOrAdd(name: name, value: value) }
            try settings.prepare?(&request, attempt)
            let response: HTTPClientResponse
            do {
                response = try await client.client.execute(
                    request, deadline: NIODeadline(attempt, on: timeBase), logger: logger)
            } catch {
                sent.withLock { $0.note(error) }
                // If the request was not sent, its body is unread, so the error is not the body's.
                let isNamed = request.body.canBeReadAgain || RequestFailure(error)?.isUnsent == true
                throw isNamed ? ExchangeFailed.naming(error, at: HTTPClientRequest.host(of: request.url)) : error
            }
            sent.withLock { $0.noteResponse() }
            var exchange = try await judge.exchange(
                response, to: request.url, attempt, client.reading, isUploading: !request.body.canBeReadAgain)
            exchange.verdict = sent.withLock { $0.advise(exchange.verdict) }
            if isSeen(response) { exchange.verdict = exchange.verdict.withoutRetry }
            return exchange
        }

        /// A redirecting server had the request, and may have acted on it, whatever the later answer.
        private func isSeen(_ response: HTTPClientResponse) -> Bool {
            response.history.count > 1 && options.isIdempotent != true
        }

        /// The request with new credentials and the call's own body.
        private nonisolated(nonsending) func renewed(
            after version: RenewedRequest<HTTPClientRequest>.Version, until deadline: MonotonicInstant
        ) async throws -> RenewedRequest<HTTPClientRequest>.Version? {
            guard let renew = client.settings.reauthorize else { return nil }
            return try await request.renewed(after: version, isOnlyTry: false) { request in
                var renewed = try await client.reading.renew(request, until: deadline, renew)
                renewed?.body = request.body
                return renewed
            }
        }
    }
#endif
