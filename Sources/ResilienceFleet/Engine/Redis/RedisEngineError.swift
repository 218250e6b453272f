#if Redis
    /// Why a ``RedisEngine`` has no answer.
    ///
    /// No error names the password.
    public enum RedisEngineError: Error, Hashable, CustomStringConvertible {
        /// There is no connection, so nothing was sent.
        case unreachable(String)
        /// The script was sent, perhaps in part, and may or may not have run.
        case noAnswer(String)
        /// The server answers with an error, such as `LOADING`, `OOM`, `READONLY`, `NOPERM` or `WRONGPASS`.
        case rejected(String)
        /// The reply is not valid RESP.
        case unreadable(String)

        public var description: String {
            switch self {
            case .unreachable(let reason): "Redis can't be reached: \(reason)"
            case .noAnswer(let reason): "Redis has not answered: \(reason)"
            case .rejected(let message): "Redis answers with an error: \(message)"
            case .unreadable(let reason): "Redis sent an invalid reply: \(reason)"
            }
        }
    }
#endif
