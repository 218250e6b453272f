#if GRPC
    public import GRPCCore
    public import Resilience
    public import ResilienceHTTP

    extension Verdict {
        /// The verdict of a failed RPC.
        ///
        /// | status | verdict |
        /// |---|---|
        /// | `UNAVAILABLE` | transient |
        /// | `RESOURCE_EXHAUSTED` | throttled |
        /// | `DEADLINE_EXCEEDED`, `UNKNOWN`, `INTERNAL` | uncertain |
        /// | `CANCELLED` | cancelled |
        /// | `ABORTED` | permanent: the caller must restart its transaction |
        /// | all others | permanent |
        ///
        /// gRPC's retry design (A6) repeats an RPC only if its status means that the server did not process it, and
        /// names `UNAVAILABLE`. A server that reports `DEADLINE_EXCEEDED`, `UNKNOWN` or `INTERNAL` may have acted on
        /// the request, so those are repeated only if ``/Resilience/RunOptions/isIdempotent`` is true.
        ///
        /// `grpc-retry-pushback-ms` in the error's metadata names the wait; a fraction is rounded up to milliseconds.
        /// If it is below zero, not a number, or above `Int32.max`, the server asks not to repeat the RPC, by A6: the
        /// verdict's `shouldRetry` is false.
        ///
        /// If the error's `cause` is an error of a policy of this process, the verdict is rejected or cancelled: the
        /// error is no evidence about the server.
        ///
        /// - Parameter error: The error.
        public init(_ error: RPCError) {
            switch error.cause {
            case let rejection as any Rejection: self = Verdict(.rejected, retryAfter: rejection.retryAfter)
            case is CancellationError, is CancelledWhileWaiting: self = .cancelled
            default: self.init(error.code, error.metadata)
            }
        }

        /// The verdict of a server's status.
        init(_ code: RPCError.Code, _ metadata: Metadata) {
            let pushback = RetryPushback(metadata)
            self.init(Kind(code), retryAfter: pushback?.wait, shouldRetry: pushback == .stop ? false : nil)
        }
    }

    extension Verdict.Kind {
        fileprivate init(_ code: RPCError.Code) {
            self =
                switch code {
                case .unavailable: .transient
                case .resourceExhausted: .throttled
                case .deadlineExceeded, .unknown, .internalError: .uncertain
                case .cancelled: .cancelled
                default: .permanent
                }
        }
    }

    /// The verdict of a failed RPC, so that a pipeline around a generated client needs no classifier.
    ///
    /// ```swift
    /// let reply = try await pipeline.run { try await greeter.sayHello(request) }
    /// ```
    extension RPCError: VerdictConvertible {
        /// The verdict of the failure: see ``/Resilience/Verdict/init(_:)``.
        public var verdict: Verdict { Verdict(self) }
    }

    /// For a server that makes the RPC to answer its own request: see ``/ResilienceHTTP/FailureResponse``.
    extension RPCError: UpstreamError {
        /// Whether the time ran out, in this process or the server.
        public var isTimeout: Bool { code == .deadlineExceeded }
    }
#endif
