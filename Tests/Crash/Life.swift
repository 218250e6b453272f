#if SQLite
    import Foundation
    import KilledProgram
    import Resilience
    import ResilienceSync

    /// One life of the program that is killed: it enqueues and flushes at the same time, and exits when nothing is
    /// pending.
    ///
    /// The life sends its parent `stored <id>` after each enqueue, and `send <id> <entity> <key>` for each request; the
    /// parent answers `<key> <status>`.
    struct Life: Sendable {
        /// Mutations enqueued in each life.
        static let count = 30

        let database: String
        /// nil enqueues nothing.
        let number: Int?

        func run() async throws {
            let parent = ParentProgram()
            let queue = parent.queue("crash", on: try SQLiteStore(path: database))
            try await parent.drain(queue, enqueuing: Self.count, inRound: number) { "lane-\($0 % 7)" }
        }
    }
#endif
