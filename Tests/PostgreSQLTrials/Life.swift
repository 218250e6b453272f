#if PostgreSQL
    import Foundation
    import KilledProgram
    import Resilience
    import ResilienceSync

    /// A worker that is killed: it enqueues and sends, and ends when nothing is pending; with an error after two minutes.
    ///
    /// It tells its parent `stored <id>` once an enqueue has returned, and `send <id> <entity> <key>` for each request; the
    /// parent answers `<key> <status>`.
    struct Life: Sendable {
        /// Mutations enqueued in each life.
        static let count = 60

        let connection: String
        let schema: String
        /// nil enqueues nothing.
        let number: Int?

        func run() async throws {
            let parent = ParentProgram()
            // What nobody can find any more would be waited for without end.
            let base = SystemTimeBase.shared
            _ = base.schedule(at: base.now + .seconds(120)) { exit(75) }
            let store = try await PostgreSQLStore(
                try PostgreSQLEngine(connection), schema: schema, sending: .shared, lease: .seconds(1), lanesAtOnce: 4)
            let queue = SyncQueue(
                "trial", store: store, pipeline: Pipeline("trial") {},
                configuration: SyncQueueConfiguration(
                    maxInFlight: 4, maxFailures: 1000, failedBackoff: .constant(.milliseconds(3)))
            ) { mutation in
                try await parent.post(mutation)
            }
            let follower = Task { await queue.followStore() }
            queue.trigger()
            if let number {
                for index in 0..<Self.count {
                    let id = number * Self.count + index
                    try await queue.enqueue(
                        Mutation(id: "\(id)", entity: "entity-\(id % 13)", kind: "note", payload: Data("\(id)".utf8)))
                    parent.say("stored \(id)")
                    queue.trigger()
                }
            }
            while try await queue.drain().end != .drained {}
            follower.cancel()
            await queue.stop()
        }
    }
#endif
