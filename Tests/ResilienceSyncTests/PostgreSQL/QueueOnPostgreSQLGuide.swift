#if PostgreSQL
    import Foundation
    import Resilience
    import ResilienceSync

    /// The code of Docs/QueueOnPostgreSQL.md: it has to compile.
    enum QueueOnPostgreSQLGuide {
        static func setUp(pipeline: Pipeline, handlers: [SyncHandler]) async throws {
            let engine = try PostgreSQLEngine("postgresql://worker@db.example.com/app?sslmode=verify-full")
            let store = try await PostgreSQLStore(engine, sending: .shared)
            let queue = SyncQueue("outbox", store: store, pipeline: pipeline, handlers: handlers)
            try await run(queue, engine: engine, title: "", mutation: Mutation(entity: "7", kind: "note"))
        }

        static func migration() throws {
            for statement in try PostgreSQLStore.migration(schema: "resilience", queue: "outbox") {
                print("\(statement);")
            }
        }

        static func run(_ queue: SyncQueue, engine: PostgreSQLEngine, title: String, mutation: Mutation) async throws {
            queue.trigger()
            await queue.followStore()
            try await engine.transaction { session in
                try await session.run(
                    "UPDATE note SET title = $1 WHERE id = $2", [.text(title), .integer(7)])
                try await queue.enqueue([mutation], in: session)
            }
        }
    }
#endif
