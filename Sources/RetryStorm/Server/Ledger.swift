#if Demo
    /// What the server knows: whom it admitted, and whom it had admitted before.
    struct Ledger: Sendable {
        struct Counts: Sendable, Equatable {
            /// Everything that was asked.
            var requests = 0
            /// Answered 429.
            var throttled = 0
            /// Keys accepted for the first time: each has its effect.
            var delivered = 0
            /// Accepted again; the effect is not repeated.
            var duplicates = 0
        }

        enum Reply: Equatable {
            case accepted
            case throttled(retryAfterSeconds: Int64)
            case noKey
        }

        private(set) var counts = Counts()
        private var bucket: TokenBucket
        /// By their bytes: two that look alike are two.
        private var keys: Set<[UInt8]> = []

        init(_ bucket: TokenBucket) { self.bucket = bucket }

        /// A request has come.
        /// - Parameters:
        ///   - key: its `Idempotency-Key`.
        ///   - now: nanoseconds of a clock that does not go back.
        mutating func received(key: String?, at now: Int64) -> Reply {
            counts.requests += 1
            guard let key, !key.isEmpty else { return .noKey }
            switch bucket.take(at: now) {
            case .refused(let seconds):
                counts.throttled += 1
                return .throttled(retryAfterSeconds: seconds)
            case .admitted:
                if keys.insert(Array(key.utf8)).inserted { counts.delivered += 1 } else { counts.duplicates += 1 }
                return .accepted
            }
        }
    }
#endif
