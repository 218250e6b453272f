#if Demo
    /// Admits a number of requests per second, and a burst after a quiet time.
    ///
    /// It is exact: it uses whole numbers, and the time is passed in. A token is a billion units, so one nanosecond
    /// brings `rate` units.
    struct TokenBucket: Sendable, Equatable {
        static let largest = 1_000_000
        private static let token: Int64 = 1_000_000_000

        enum Answer: Sendable, Equatable {
            case admitted
            /// How long until there is a token, as servers say it: in whole seconds, rounded up, 1 or more.
            case refused(retryAfterSeconds: Int64)
        }

        private let rate: Int64
        private let capacity: Int64
        private var level: Int64
        private var readAt: Int64?

        /// - Parameters:
        ///   - rate: Tokens per second; 1 to a million.
        ///   - burst: The most tokens it holds, and how many it holds at first; 0 to a million. With 0 nothing is ever
        ///     admitted.
        init(rate: Int, burst: Int) {
            precondition((1...Self.largest).contains(rate), "TokenBucket: rate is \(rate), not 1 to \(Self.largest)")
            precondition((0...Self.largest).contains(burst), "TokenBucket: burst is \(burst), not 0 to \(Self.largest)")
            self.rate = Int64(rate)
            capacity = Int64(burst) * Self.token
            level = capacity
        }

        /// Takes a token if there is one.
        /// - Parameter now: Nanoseconds of a clock that does not go back.
        mutating func take(at now: Int64) -> Answer {
            fill(at: now)
            if level >= Self.token {
                level -= Self.token
                return .admitted
            }
            let wait = Self.quotientRoundedUp(Self.token - level, rate)
            return .refused(retryAfterSeconds: max(1, Self.quotientRoundedUp(wait, 1_000_000_000)))
        }

        private mutating func fill(at now: Int64) {
            defer { readAt = max(now, readAt ?? now) }
            guard let readAt, now > readAt else { return }
            let (elapsed, overflow) = now.subtractingReportingOverflow(readAt)
            // Compared first: a time longer than it takes to fill the bucket must not be multiplied, since it could
            // overflow.
            let missing = capacity - level
            if overflow || elapsed >= Self.quotientRoundedUp(missing, rate) {
                level = capacity
            } else {
                level += elapsed * rate
            }
        }

        private static func quotientRoundedUp(_ dividend: Int64, _ divisor: Int64) -> Int64 {
            let (quotient, rest) = dividend.quotientAndRemainder(dividingBy: divisor)
            return rest > 0 ? quotient + 1 : quotient
        }
    }
#endif
