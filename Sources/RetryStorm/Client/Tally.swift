#if Demo
    import Resilience

    /// Counts what the client sees of its own requests, for the progress line, and for a server that gives no counts.
    final class Tally: Sendable {
        struct Counts: Sendable, Equatable {
            var requests = 0
            /// The requests answered with a 429.
            var throttled = 0
            /// The keys acknowledged with a 2xx, each counted once.
            var delivered = 0
            /// The further acknowledgements of such a key.
            var duplicates = 0
            /// The requests answered at all.
            var answers = 0
            /// Nothing is sent before this instant.
            var pausedUntil: MonotonicInstant?
        }

        private struct State {
            var counts = Counts()
            /// The keys by their bytes: two that look alike and are encoded differently are different.
            var keys: Set<[UInt8]> = []
        }

        private let state = Locked(State())

        var counts: Counts { state.withLock { $0.counts } }

        func sending() { state.withLock { $0.counts.requests += 1 } }

        func answered(status: Int, key: String) {
            state.withLock { state in
                state.counts.answers += 1
                if status == 429 { state.counts.throttled += 1 }
                guard (200..<300).contains(status) else { return }
                if state.keys.insert(Array(key.utf8)).inserted {
                    state.counts.delivered += 1
                } else {
                    state.counts.duplicates += 1
                }
            }
        }

        func paused(until instant: MonotonicInstant) { state.withLock { $0.counts.pausedUntil = instant } }
    }
#endif
