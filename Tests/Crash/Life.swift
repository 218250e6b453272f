#if SQLite
    import Foundation
    import KilledProgram
    import Resilience
    import ResilienceSync

    /// One life of the program that is killed: it enqueues, flushes at the same time, and ends when nothing is pending.
    ///
    /// It tells its parent `stored <id>` once an enqueue has returned, and `send <id> <entity> <key>` for each request; the
    /// parent answers `<key> <status>`.
    struct Life: Sendable {
        /// Mutations enqueued in each life.
        static let count = 30

        let database: String
        /// nil enqueues nothing.
        let number: Int?

        func run() async throws {
            let parent = ParentProgram()
            let pipeline = Pipeline("crash") {}
            let queue = SyncQueue(
                "crash", store: try SQLiteStore(path: database), pipeline: pipeline,
                configuration: SyncQueueConfiguration(
                    maxInFlight: 4, maxFailures: 1000, failedBackoff: .constant(.milliseconds(3)))
            ) { mutation in
                try await parent.post(mutation)
            }
            queue.trigger()
            if let number {
                for index in 0..<Self.count {
                    // Numbers grow from one mutation of a program to its next, and from one round of programs to the next.
                    let id = number * Self.count + index
                    try await queue.enqueue(
                        Mutation(id: "\(id)", entity: "lane-\(id % 7)", kind: "note", payload: Data("\(id)".utf8)))
                    parent.say("stored \(id)")
                    queue.trigger()
                }
            }
            while try await queue.drain().end != .drained {}
        }
    }
#endif
