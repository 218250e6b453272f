#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import Resilience
    import ResilienceHTTP

    /// Decides the verdicts of one request's attempts.
    struct RequestJudge: Sendable {
        let semantics: RequestSemantics
        private let pipeline: Pipeline
        private let settings: ResilientHTTPClient.Settings

        init(_ semantics: RequestSemantics, _ pipeline: Pipeline, _ settings: ResilientHTTPClient.Settings) {
            self.semantics = semantics
            self.pipeline = pipeline
            self.settings = settings
        }

        /// The verdict of an error. The pipeline's classifier judges an error that neither the caller nor this module
        /// knows. But it does not know the request, and calls every temporary error transient.
        func verdict(for error: any Error) -> Verdict {
            let error = (error as? ExchangeFailed)?.underlying ?? error
            if let verdict = settings.verdict?(error, semantics) { return verdict }
            if let verdict = Verdict(asyncHTTPClientError: error, for: semantics) { return verdict }
            let verdict = pipeline.verdict(for: error)
            guard verdict.kind == .transient, !semantics.isRepeatable else { return verdict }
            return Verdict(.uncertain, retryAfter: verdict.retryAfter, shouldRetry: verdict.shouldRetry)
        }

        /// Judges a response whose head has arrived, and reads the part of its body that the settings require.
        nonisolated(nonsending) func exchange(
            _ response: HTTPClientResponse, to url: String, _ attempt: CallAttempt, _ reading: BodyTimer,
            isUploading: Bool
        ) async throws -> Exchange {
            var exchange = Exchange(
                response, to: url, attempt, reading, hasNoBody: response.hasNoBody(to: semantics.method),
                isUploading: isUploading)
            exchange.verdict = response.verdict(for: semantics, dialect: settings.dialect)
            if exchange.verdict.kind == .success {
                try await exchange.buffer(settings.buffering)
            } else {
                try await exchange.buffer(settings.failureBuffering, within: settings.failureBufferingTime)
            }
            if let remark = settings.remark?(exchange.response, exchange.buffered) {
                exchange.verdict = response.verdict(for: semantics, remark: remark, dialect: settings.dialect)
            }
            if settings.notesQuotas, exchange.verdict.kind == .success {
                pipeline.note(RateLimitFields(dialect: settings.dialect, header: response.headers.joined))
            }
            return exchange
        }
    }
#endif
