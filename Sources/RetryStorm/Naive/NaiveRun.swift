#if Demo
    import Foundation
    import ResilienceSync

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// The queue of the app that made the storm: two layers of retries that know nothing of each other, no breaker, and
    /// no shared pause.
    ///
    /// A pass sends everything that is pending at once, as overlapping triggers did. Each request is retried three
    /// times on a 429, after 1, 2 and 4 s. A mutation whose request has failed in five passes is given up.
    struct NaiveRun: Sendable {
        static let retryDelays = [1.0, 2.0, 4.0]
        static let passes = 5
        /// The most mutations that a pass has in flight, so that memory is bounded.
        static let atOnce = 1000

        let client: MutationClient
        /// The factor that its waits are multiplied by.
        let timeScale: Double

        /// - Returns: The number of mutations given up.
        /// - Throws: ``ServerTrouble`` if no request was answered at all; `CancellationError`.
        func drain(_ mutations: [Mutation]) async throws -> Int {
            var pending = mutations
            for _ in 0..<Self.passes where !pending.isEmpty {
                let failures = await pass(pending)
                try Task.checkCancellation()
                if client.tally.counts.answers == 0, let trouble = failures.lazy.compactMap(\.trouble).first {
                    throw trouble
                }
                pending = failures.map(\.mutation)
            }
            return pending.count
        }

        private struct Failure: Sendable {
            let mutation: Mutation
            let trouble: ServerTrouble?
        }

        private func pass(_ mutations: [Mutation]) async -> [Failure] {
            await withTaskGroup(of: Failure?.self) { group in
                var waiting = mutations[...]
                for mutation in waiting.prefix(Self.atOnce) { group.addTask { await send(mutation) } }
                waiting = waiting.dropFirst(Self.atOnce)
                var failures: [Failure] = []
                for await failure in group {
                    if let failure { failures.append(failure) }
                    if let mutation = waiting.popFirst() { group.addTask { await send(mutation) } }
                }
                return failures
            }
        }

        /// One request with its own retries.
        private func send(_ mutation: Mutation) async -> Failure? {
            do {
                for retry in 0...Self.retryDelays.count {
                    let status = try await client.post(mutation).statusCode
                    if (200..<300).contains(status) { return nil }
                    guard status == 429, retry < Self.retryDelays.count else { break }
                    try await Task.sleep(for: .seconds(Self.retryDelays[retry] * timeScale))
                }
                return Failure(mutation: mutation, trouble: nil)
            } catch {
                return Failure(mutation: mutation, trouble: error as? ServerTrouble)
            }
        }
    }
#endif
