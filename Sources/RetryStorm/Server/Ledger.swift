#if Demo
    import Resilience

    /// The server's records: the requests it has had, and the keys it has accepted.
    struct Ledger: Sendable {
        /// The requests of one second.
        struct Second: Sendable, Equatable {
            var admitted = 0
            var throttled = 0
            var total: Int { admitted + throttled }
        }

        /// The requests of each second, from the first request on.
        private(set) var perSecond: [Second] = []
        private var began: MonotonicInstant?
        private var keys: Set<String> = []

        /// All requests.
        var requests: Int { admitted + throttled }
        /// The requests answered with a 429.
        private(set) var throttled = 0
        private var admitted = 0
        /// The keys accepted for the first time: each has its effect.
        var delivered: Int { keys.count }
        /// The requests whose key was accepted before; the effect is not repeated.
        var duplicates: Int { admitted - delivered }

        mutating func received(_ key: String?, isAdmitted: Bool, at now: MonotonicInstant) {
            let start = began ?? now
            began = start
            let second = Int(start.duration(to: now) / .seconds(1))
            while perSecond.count <= second { perSecond.append(Second()) }
            if isAdmitted {
                admitted += 1
                perSecond[second].admitted += 1
                keys.insert(key ?? "")
            } else {
                throttled += 1
                perSecond[second].throttled += 1
            }
        }
    }
#endif
