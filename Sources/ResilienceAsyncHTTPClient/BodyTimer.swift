#if AsyncHTTPClient
    import AsyncHTTPClient
    import Resilience

    /// Ends the reading of a body at an instant, on the time base of a pipeline. The client's own deadline covers only
    /// the time to the head.
    struct BodyTimer: Sendable {
        /// The instant came before the next part of the body.
        struct Expired: Error {}

        private let pipeline: Pipeline

        /// The timer of most clients; shared, because some code makes a client for each request.
        private static let system = BodyTimer(Pipeline("body") {})

        private init(_ pipeline: Pipeline) { self.pipeline = pipeline }

        static func on(_ timeBase: any TimeBase) -> BodyTimer {
            timeBase === SystemTimeBase.shared ? system : BodyTimer(Pipeline("body", timeBase: timeBase) {})
        }

        var now: MonotonicInstant { pipeline.timeBase.now }

        /// Runs the reading of one part, and cancels it at the deadline. Without a deadline that costs nothing.
        nonisolated(nonsending) func run<R>(
            until deadline: MonotonicInstant, _ read: nonisolated(nonsending) () async throws -> R
        ) async throws -> R {
            guard deadline != .distantFuture else { return try await read() }
            do {
                return try await pipeline.run(options: RunOptions(deadline: deadline), read)
            } catch is TimedOut, is DeadlinePassed {
                throw Expired()
            }
        }

        /// Renews the credentials of a request. At the deadline it fails as the request itself would.
        nonisolated(nonsending) func renew(
            _ request: HTTPClientRequest, until deadline: MonotonicInstant,
            _ renew: @Sendable (HTTPClientRequest) async throws -> HTTPClientRequest?
        ) async throws -> HTTPClientRequest? {
            do {
                return try await run(until: deadline) { try await renew(request) }
            } catch is Expired {
                throw HTTPClientError.deadlineExceeded
            }
        }
    }
#endif
