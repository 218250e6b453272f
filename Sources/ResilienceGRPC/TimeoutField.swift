#if GRPC
    import GRPCCore
    import Resilience
    import ResilienceHTTP

    /// The value of `grpc-timeout`: at most eight digits and a unit (gRPC over HTTP/2, "Timeout").
    enum TimeoutField {
        static let key = "grpc-timeout"

        /// The time in the metadata; nil if it is missing or unreadable.
        static func duration(in metadata: Metadata) -> Duration? {
            metadata[stringValues: key].first { _ in true }.flatMap(duration)
        }

        static func duration(_ text: String) -> Duration? {
            let digits = text.utf8.dropLast()
            guard (1...8).contains(digits.count),
                digits.allSatisfy({ UInt8(ascii: "0") <= $0 && $0 <= UInt8(ascii: "9") }),
                let amount = Int64(text.dropLast()),
                let unit = GRPCTimeout.units.first(where: { $0.letter == text.suffix(1) })
            else { return nil }
            let (nanoseconds, isTooLong) = amount.multipliedReportingOverflow(by: unit.nanoseconds)
            return isTooLong ? .infinite : .nanoseconds(nanoseconds)
        }

        /// The time in the finest unit with at most seven digits, rounded up.
        ///
        /// Eight are allowed, but servers of grpc-swift-2 (2.4.3) ignore a value of eight digits.
        static func text(_ duration: Duration) -> String {
            let nanoseconds = max(0, duration.saturatedNanoseconds)
            for unit in GRPCTimeout.units {
                let amount = nanoseconds / unit.nanoseconds + (nanoseconds % unit.nanoseconds == 0 ? 0 : 1)
                if amount <= 9_999_999 { return "\(amount)\(unit.letter)" }
            }
            return "9999999H"
        }
    }
#endif
