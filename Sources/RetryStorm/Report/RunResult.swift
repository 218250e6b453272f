#if Demo
    import Resilience

    /// The result of one way to drain the queue.
    struct RunResult: Sendable, Equatable, Encodable {
        var requests: Int
        var throttled: Int
        var delivered: Int
        /// Requests whose key was accepted before. The effect is not repeated, because the server knows the key.
        var duplicates: Int
        /// Mutations that were neither delivered nor kept.
        var lost: Int
        var seconds: Double
        /// Mutations that became dead, and are in the database; nil if the run has no such thing.
        var dead: Int?
        /// The requests of each second; empty if the server does not tell.
        var perSecond: [Ledger.Second] = []

        private enum CodingKeys: String, CodingKey {
            case requests, throttled, delivered, duplicates, lost, seconds, dead
        }

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
        /// What a client knows of a server that gives no counts.
        init(_ counts: Tally.Counts) {
            self.init(
                requests: counts.requests, throttled: counts.throttled, delivered: counts.delivered,
                duplicates: counts.duplicates)
        }
    }
#endif
