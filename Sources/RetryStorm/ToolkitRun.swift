#if Demo
    import Foundation
    import Resilience
    import ResilienceSync

    /// Sends the same mutations through the toolkit: one queue with one shared pause, during which nothing is sent.
    /// Then the queue sends the rest at the rate that it has found the server to allow.
    struct ToolkitRun: Sendable {
        /// The most requests in flight at once.
        static let requests = 2

        let queue: SyncQueue

        /// - Parameter timeBase: The time base of the queue and its breakers.
        init(client: MutationClient, store: some MutationStore, timeBase: any TimeBase = .system) {
            // The rate limit's gate is the outer one, so that a call that it rejects is not the outage breaker's probe.
            let pipeline = Pipeline("storm", timeBase: timeBase) {
                CircuitBreaker("rate limit", circuit: BackoffGate(), timeBase: timeBase)
                CircuitBreaker("outage", tripping: .consecutiveFailures(5), openFor: .seconds(5), timeBase: timeBase)
                Timeout("attempt", limit: .seconds(10))
            }
            queue = SyncQueue(
                "mutations", store: store, pipeline: pipeline,
                configuration: SyncQueueConfiguration(maxInFlight: Self.requests)
            ) {
                try await client.deliver($0)
            }
        }

        /// Sends all pending mutations.
        /// - Throws: The store's error.
        func drain() async throws -> FlushReport.End {
            let end = try await queue.drain().end
            await queue.stop()
            return end
        }
    }
#endif
