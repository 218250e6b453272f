#if GRPC
    import GRPCCore
    import Resilience

    /// The value of `grpc-timeout`: at most eight digits and a unit (gRPC over HTTP/2, "Timeout").
    enum TimeoutField {
        static let key = "grpc-timeout"

        /// In nanoseconds, the finest first.
        private static let units: [(letter: Character, nanoseconds: Int64)] = [
            ("n", 1), ("u", 1_000), ("m", 1_000_000), ("S", 1_000_000_000), ("M", 60_000_000_000),
            ("H", 3_600_000_000_000),
        ]

        /// The time that the metadata names; nil if they name none, or one that can't be read.
        static func duration(in metadata: Metadata) -> Duration? {
            metadata[stringValues: key].first { _ in true }.flatMap(duration)
        }

        static func duration(_ text: String) -> Duration? {
            let digits = text.utf8.dropLast()
            guard (1...8).contains(digits.count),
                digits.allSatisfy({ UInt8(ascii: "0") <= $0 && $0 <= UInt8(ascii: "9") }),
                let amount = Int64(text.dropLast()), let unit = units.first(where: { $0.letter == text.last })
            else { return nil }
            let (nanoseconds, isTooLong) = amount.multipliedReportingOverflow(by: unit.nanoseconds)
            return isTooLong ? .infinite : .nanoseconds(nanoseconds)
        }

        /// The time in the finest unit in which seven digits are enough, rounded up.
        ///
        /// Eight are allowed, but servers of grpc-swift-2 (2.4.3) ignore a value of eight digits.
        static func text(_ duration: Duration) -> String {
            let nanoseconds = max(0, duration.saturatedNanoseconds)
            for unit in units {
                let amount = nanoseconds / unit.nanoseconds + (nanoseconds % unit.nanoseconds == 0 ? 0 : 1)
                if amount <= 9_999_999 { return "\(amount)\(unit.letter)" }
            }
            return "9999999H"
        }
    }
#endif
