#if GRPC
    public import GRPCCore
    public import Resilience

    extension RPCError: FailureDescribing {
        /// The error's code, or the error of a policy of this process.
        ///
        /// Its message is left out, since it may contain anything.
        public var failureDetail: FailureDetail {
            if let cause = cause as? any PolicyError { return FailureDetail(of: cause) }
            return FailureDetail("RPCError", code: "\(code)")
        }
    }

    extension AttemptEnd: FailureDescribing {
        var failureDetail: FailureDetail {
            switch self {
            case .status(let status, _): FailureDetail("RPCError", code: "\(status.code)")
            case .lost(let error), .notOpened(let error): FailureDetail(of: error)
            }
        }
    }
#endif
