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

        /// The requests of one second.
        struct Second: Sendable, Equatable {
            var admitted = 0
            var throttled = 0
            var total: Int { admitted + throttled }
        }

        enum Reply: Equatable {
            case accepted
            case throttled(retryAfterSeconds: Int64)
            case noKey
        }

        private(set) var counts = Counts()
        /// From the first request on.
        private(set) var perSecond: [Second] = []
        private var began: Int64?
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
            let start = began ?? now
            began = start
            let second = Int((now - start) / 1_000_000_000)
            while perSecond.count <= second { perSecond.append(Second()) }
            switch bucket.take(at: now) {
            case .refused(let seconds):
                counts.throttled += 1
                perSecond[second].throttled += 1
                return .throttled(retryAfterSeconds: seconds)
            case .admitted:
                perSecond[second].admitted += 1
                if keys.insert(Array(key.utf8)).inserted { counts.delivered += 1 } else { counts.duplicates += 1 }
                return .accepted
            }
        }
    }
#endif
