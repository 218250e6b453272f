#if Demo
    import Resilience

    /// What came of one way to drain the queue.
    struct RunResult: Sendable, Equatable, Encodable {
        var requests: Int
        var throttled: Int
        var delivered: Int
        /// Accepted a second time. The effect is not repeated: the server knows the key.
        var duplicates: Int
        /// Neither delivered nor kept.
        var lost: Int
        var seconds: Double
        /// Set aside in the database; nil where there is no such thing.
        var dead: Int?

        init(_ counts: Ledger.Counts, lost: Int, dead: Int? = nil, took elapsed: Duration) {
            requests = counts.requests
            throttled = counts.throttled
            delivered = counts.delivered
            duplicates = counts.duplicates
            self.lost = lost
            self.dead = dead
            seconds = (elapsed / .milliseconds(1)).rounded() / 1000
        }
    }

    extension Ledger.Counts {
        /// What a client can know of a server that does not tell.
        init(_ counts: Tally.Counts) {
            self.init(
                requests: counts.requests, throttled: counts.throttled, delivered: counts.delivered,
                duplicates: counts.duplicates)
        }
    }
#endif
