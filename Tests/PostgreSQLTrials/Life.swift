#if PostgreSQL
    import Foundation
    import KilledProgram
    import Resilience
    import ResilienceSync

    /// A worker that is killed: it enqueues and sends, and exits when nothing is pending, or with an error after two
    /// minutes.
    ///
    /// The worker sends its parent `stored <id>` after each enqueue, and `send <id> <entity> <key>` for each request;
    /// the parent answers `<key> <status>`.
    struct Life: Sendable {
        /// Mutations enqueued in each life.
        static let count = 60

        let connection: String
        let schema: String
        /// nil enqueues nothing.
        let number: Int?

        func run() async throws {
            let parent = ParentProgram()
            // Without this limit, a mutation that nobody finds would keep the worker waiting for ever.
            let base = SystemTimeBase.shared
            _ = base.schedule(at: base.now + .seconds(120)) { exit(75) }
            let store = try await PostgreSQLStore(
                try PostgreSQLEngine(connection), schema: schema, sending: .shared, lease: .seconds(1), lanesAtOnce: 4)
            let queue = parent.queue("trial", on: store)
            let follower = Task { await queue.followStore() }
            try await parent.drain(queue, enqueuing: Self.count, inRound: number) { "entity-\($0 % 13)" }
            follower.cancel()
            await queue.stop()
        }
    }
#endif
