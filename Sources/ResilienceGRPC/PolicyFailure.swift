#if GRPC
    import GRPCCore
    import Resilience

    extension RPCError {
        /// The status of a call that a policy rejected or ended; nil for an error of the call's own.
        ///
        /// The message does not mention the policies, since it may be sent to others. The error itself is the `cause`,
        /// which stays in the process.
        init?(policyFailure error: any Error) {
            switch CallFailure(error) {
            case .operation: return nil
            case .cancelled: self.init(code: .cancelled, message: "The call was cancelled.", cause: error)
            case .rejected(is DeadlinePassed):
                self.init(
                    code: .deadlineExceeded, message: "The deadline passed before the call could begin.", cause: error)
            case .rejected(let rejection):
                let isLimit = rejection is BulkheadFull || rejection is ThrottleExceeded || rejection is WouldWait
                self.init(
                    code: isLimit ? .resourceExhausted : .unavailable,
                    message: isLimit ? "There are too many calls now." : "The service is not available now.",
                    metadata: Self.pushback(rejection.retryAfter), cause: error)
            case .ended(let ended):
                if let last = CallFailure(ended).lastError as? RPCError, !(ended is TimedOut) {
                    self.init(code: last.code, message: last.message, metadata: last.metadata)
                    cause = error
                } else if ended is TimedOut {
                    self.init(code: .deadlineExceeded, message: "The call took too long.", cause: error)
                } else {
                    self.init(
                        code: .unavailable, message: "The service is not available now.",
                        metadata: Self.pushback(ended.retryAfter), cause: error)
                }
            }
        }

        private static func pushback(_ wait: Duration?) -> Metadata {
            wait.map { [RetryPushback.key: .string(RetryPushback($0).text)] } ?? [:]
        }
    }
#endif
