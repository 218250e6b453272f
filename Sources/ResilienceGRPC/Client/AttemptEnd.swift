#if GRPC
    import GRPCCore
    import Resilience

    /// How one attempt of an RPC ended.
    enum AttemptEnd: Sendable {
        /// The attempt ended with the server's status.
        case status(Status, Metadata)
        /// The transport lost the stream, so there is no status.
        case lost(RPCError)
        /// The transport gave no stream: nothing was sent.
        case notOpened(RPCError)

        var isSuccess: Bool { verdict.kind == .success }

        /// - Parameters:
        ///   - canRepeat: Whether the RPC can be repeated: it is not committed, and gRPC does not repeat it itself.
        ///   - requestFailed: Whether the caller's own producer failed, which ends the RPC.
        func verdict(canRepeat: Bool, requestFailed: Bool) -> Verdict {
            let verdict = verdict
            if verdict.kind == .success { return verdict }
            if requestFailed { return .cancelled }
            return canRepeat ? verdict : verdict.withoutRetry
        }

        private var verdict: Verdict {
            switch self {
            case .status(let status, let metadata):
                RPCError.Code(status.code).map { Verdict($0, metadata) } ?? .success
            case .lost: .uncertain
            case .notOpened(let error):
                switch Verdict(error.code, error.metadata) {
                case let verdict where verdict.kind == .uncertain: Verdict(.transient, retryAfter: verdict.retryAfter)
                case let verdict: verdict
                }
            }
        }
    }
#endif
