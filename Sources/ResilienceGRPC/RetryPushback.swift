#if GRPC
    import GRPCCore
    import Resilience
    import ResilienceHTTP

    /// A server's wish in `grpc-retry-pushback-ms` about a further attempt (gRPC's design A6, "Pushback").
    enum RetryPushback: Hashable {
        /// No attempt before this wait is over.
        case after(milliseconds: Int32)
        /// No further attempt: the value is below zero, or not a number.
        case stop

        static let key = "grpc-retry-pushback-ms"

        /// Reads the first value; nil if there is none.
        init?(_ metadata: Metadata) {
            guard let text = metadata[stringValues: Self.key].first(where: { _ in true }) else { return nil }
            self.init(text: text)
        }

        /// Reads a number, as `RateLimitFields.pushback` does.
        init(text: String) { self = RateLimitFields.pushback(text).map { RetryPushback($0) } ?? .stop }

        /// The wait, rounded up to milliseconds; at most 24 days, the longest possible value.
        init(_ wait: Duration) {
            let nanoseconds = max(0, wait.saturatedNanoseconds)
            let milliseconds = nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 == 0 ? 0 : 1)
            self = .after(milliseconds: Int32(clamping: milliseconds))
        }

        var wait: Duration? {
            guard case .after(let milliseconds) = self else { return nil }
            return .milliseconds(milliseconds)
        }

        var text: String {
            switch self {
            case .after(let milliseconds): "\(milliseconds)"
            case .stop: "-1"
            }
        }
    }
#endif
