#if Demo
    import Resilience

    /// What the client sees of its own requests, for the progress line and for a server that does not tell.
    final class Tally: Sendable {
        struct Counts: Sendable, Equatable {
            var requests = 0
            /// Answered 429.
            var throttled = 0
            /// Acknowledged with a 2xx, each key once.
            var delivered = 0
            /// Acknowledged again.
            var duplicates = 0
            /// Answered at all.
            var answers = 0
            /// Nothing is sent before this instant.
            var pausedUntil: MonotonicInstant?
        }

        private struct State {
            var counts = Counts()
            /// By their bytes: two that look alike are two.
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
