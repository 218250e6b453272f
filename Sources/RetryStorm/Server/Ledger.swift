#if Demo
    /// The server's records: the requests it has had, and the keys it has accepted.
    struct Ledger: Sendable {
        struct Counts: Sendable, Equatable {
            /// All requests.
            var requests = 0
            /// The requests answered with a 429.
            var throttled = 0
            /// The keys accepted for the first time: each has its effect.
            var delivered = 0
            /// The requests whose key was accepted before; the effect is not repeated.
            var duplicates = 0
        }

        enum Reply: Equatable {
            case accepted
            case throttled(retryAfterSeconds: Int64)
            case noKey
        }

        private(set) var counts = Counts()
        private var bucket: TokenBucket
        /// The keys by their bytes: two that look alike and are encoded differently are different.
        private var keys: Set<[UInt8]> = []

        init(_ bucket: TokenBucket) { self.bucket = bucket }

        /// Records a request, and returns the reply.
        /// - Parameters:
        ///   - key: Its `Idempotency-Key`.
        ///   - now: Nanoseconds of a clock that does not go back.
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
