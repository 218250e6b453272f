#if GRPC
    import GRPCCore
    import Resilience

    /// What a server says in `grpc-retry-pushback-ms` about a further attempt (gRPC's design A6, "Pushback").
    enum RetryPushback: Hashable {
        /// Not before this wait is over.
        case after(milliseconds: Int32)
        /// Not at all: the value is below zero, or can't be read.
        case stop

        static let key = "grpc-retry-pushback-ms"

        /// Reads the first value; nil if there is none.
        init?(_ metadata: Metadata) {
            guard let text = metadata[stringValues: Self.key].first(where: { _ in true }) else { return nil }
            self.init(text: text)
        }

        /// Reads an integer of 32 bits.
        init(text: String) {
            let digits = text.utf8.allSatisfy { UInt8(ascii: "0") <= $0 && $0 <= UInt8(ascii: "9") }
            guard digits, let value = Int32(text) else {
                self = .stop
                return
            }
            self = .after(milliseconds: value)
        }

        /// The wait, rounded up to milliseconds; at most 24 days, which is the longest there is.
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
