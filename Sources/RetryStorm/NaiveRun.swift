#if Demo
    import Foundation
    import ResilienceSync

    /// The queue of the app that made the storm: two independent layers of retries, no breaker, and no shared pause.
    ///
    /// A pass sends all pending mutations at once, as overlapping triggers did. Each request is retried three times,
    /// after 1, 2 and 4 s. After five failed passes, a mutation is given up.
    struct NaiveRun: Sendable {
        static let retryDelays = [1.0, 2.0, 4.0]
        static let passes = 5
        /// The most mutations that a pass has in flight, so that memory is bounded.
        static let atOnce = 1000

        let client: MutationClient
        /// The factor for its waits.
        let timeScale: Double

        func drain(_ mutations: [Mutation]) async {
            var pending = mutations
            for _ in 0..<Self.passes { pending = await failed(of: pending) }
        }

        /// Sends the mutations, and returns those that failed.
        private func failed(of mutations: [Mutation]) async -> [Mutation] {
            await withTaskGroup(of: Mutation?.self) { group in
                var waiting = mutations[...]
                for mutation in waiting.prefix(Self.atOnce) { group.addTask { await send(mutation) } }
                waiting = waiting.dropFirst(Self.atOnce)
                var failed: [Mutation] = []
                for await mutation in group {
                    if let mutation { failed.append(mutation) }
                    if let next = waiting.popFirst() { group.addTask { await send(next) } }
                }
                return failed
            }
        }

        /// One request with its own retries.
        /// - Returns: The mutation, if it has failed.
        private func send(_ mutation: Mutation) async -> Mutation? {
            for delay in Self.retryDelays + [0] {
                if (try? await client.deliver(mutation)) != nil { return nil }
                try? await Task.sleep(for: .seconds(delay * timeScale))
            }
            return mutation
        }
    }
#endif
