#if PostgreSQL
    import Foundation
    import PostgreSQLServer
    import Resilience
    @testable import ResilienceSync
    import ResilienceTesting
    import Testing

    /// One server for all tests, and a schema for each.
    enum TestDatabase {
        static let server = Result { try PostgreSQLServer(["max_connections=400", "shared_buffers=64MB"]) }

        /// The deadline is for hangs: at the start of a run, a step waits minutes for its turn among all tests.
        static func engine(
            _ options: String = "", on server: PostgreSQLServer? = nil, connections: Int = 4,
            deadline: Duration = .seconds(600), setsTimeouts: Bool = true
        ) throws -> PostgreSQLEngine {
            try PostgreSQLEngine(
                "\((server ?? Self.server.get()).connection) \(options)", connections: connections, deadline: deadline,
                setsTimeouts: setsTimeouts)
        }

        static func newSchema() -> String { "test_\(UUID().uuidString.prefix(12).replacing("-", with: "_"))" }
    }

    /// A schema of its own, and its engine.
    struct PostgreSQLFixture {
        let engine: PostgreSQLEngine
        let schema = TestDatabase.newSchema()

        init(connections: Int = 4) throws { engine = try TestDatabase.engine(connections: connections) }

        func store(
            sending: PostgreSQLStore.Sending = .exclusive, lease: Duration = .seconds(30), lanesAtOnce: Int = 16,
            timeBase: any TimeBase = SystemTimeBase.shared
        ) async throws -> PostgreSQLStore {
            try await PostgreSQLStore(
                engine, schema: schema, queue: "sync", sending: sending, lease: lease, lanesAtOnce: lanesAtOnce,
                pollInterval: .seconds(3_600), tellsOthers: true, migrates: true, timeBase: timeBase)
        }

        func run(_ statement: String, _ values: [StatementValue] = []) async throws -> [[StatementValue]] {
            try await engine.run(statement.replacing("{}", with: "\"\(schema)\""), values)
        }

        func count(_ what: String) async throws -> Int64 {
            try await run("SELECT count(*)::int8 FROM {}.\(what)").first?.first?.integer ?? -1
        }

        /// Whether a call of a function in this schema waits for a lock.
        func isWaiting(in function: String) async throws -> Bool {
            try await !run(
                "SELECT 1::int8 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1",
                [.text("%\(schema)%\(function)%")]
            ).isEmpty
        }

        /// Ends all leases now.
        func endLeases() async throws {
            _ = try await run("UPDATE {}.sync_worker SET until = clock_timestamp() - interval '1 second'")
        }
    }

    extension Trait where Self == ConditionTrait {
        static var postgreSQL: Self {
            .enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.missing))
        }
    }
#endif
