#if StubServer
    import Resilience

    /// The number of a ``StubServer``'s open connections.
    final class OpenConnections: Sendable {
        private struct State: Counted {
            var open = 0
            var watchers = CountWaiters()

            /// `CountWaiters` wait until a count has risen. These tasks wait for a number that falls, so it is negated.
            var count: Int { -open }
        }

        private let state = Locked(State())

        var count: Int { state.withLock { $0.open } }

        func opened() { state.withLock { $0.open += 1 } }

        func closed() {
            let watchers = state.withLock { state in
                state.open -= 1
                return state.takeReached()
            }
            for watcher in watchers { watcher.resume() }
        }

        /// Waits until no more than `count` connections are open, or the task is cancelled.
        nonisolated(nonsending) func wait(atMost count: Int) async { await state.wait(until: -max(count, 0)) }
    }
#endif
