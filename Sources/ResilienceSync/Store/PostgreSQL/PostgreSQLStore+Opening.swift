/// Opening, and errors.
extension PostgreSQLStore {
    enum Access { case open, use }

    /// Returns the statements that create a queue's tables and functions, in order, for a database whose programs must
    /// not create tables.
    ///
    /// Run them in one transaction.
    ///
    /// - Parameters:
    ///   - schema: The schema of the tables, `resilience` by default.
    ///   - queue: The name of the queue, `sync` by default.
    /// - Returns: The statements.
    /// - Throws: ``SyncQueueError/unreadable(path:reason:)`` if a name has other characters than letters, digits and
    ///   underscores.
    public static func migration(
        schema: String = "resilience", queue: String = "sync"
    ) throws -> [String] {
        let name = try PostgreSQLNames(schema: schema, queue: queue)
        return ["CREATE SCHEMA IF NOT EXISTS \"\(name.schema)\""] + PostgreSQLSchema(name: name).creation
    }

    func open(migrates: Bool) async throws {
        do {
            try await readClock()
            if try await isThere(in: engine) { return }
            guard migrates else {
                throw SyncQueueError.unreadable(
                    path: path,
                    reason: "Its tables are missing, and this store must not create them.")
            }
            try await again(mapping: false) {
                try await self.engine.transaction { session in try await self.makeTables(in: session) }
            }
        } catch let error as StatementError {
            throw failure(.open, error)
        }
    }

    /// - Returns: Whether there are tables.
    /// - Throws: If this version can't use them; tables from before the first release are rejected.
    private func isThere(in session: any StatementSession) async throws -> Bool {
        // Not to_regclass: after waiting for another transaction that created the tables, it may still not see them.
        let found = try await session.run(
            """
            SELECT 1::int8 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = $1::text AND c.relname = $2::text
            """, [.text(name.schema), .text("\(name.queue)_schema")])
        guard !found.isEmpty else { return false }
        let rows = try await session.run("SELECT max(version) FROM \(name("schema"))", [])
        guard let version = rows.first?.first?.integer.map({ Int(clamping: $0) }) else {
            throw SyncQueueError.unreadable(path: path, reason: "Its tables are not as the queue made them.")
        }
        guard version >= PostgreSQLSchema.version else {
            throw SyncQueueError.unreadable(path: path, reason: "Its tables are of an earlier version, \(version).")
        }
        if version > PostgreSQLSchema.version {
            let rows = try await session.run(
                "SELECT value FROM \(name("setting")) WHERE name = $1::bytea", [.exactly(OldestReader.setting)])
            let oldest = try rows.first.map { try PostgreSQLColumns($0, count: 1, path: path).text(0) }
            guard OldestReader.admits(PostgreSQLSchema.version, oldest) else {
                throw SyncQueueError.newerSchema(path: path, version: version)
            }
        }
        return true
    }

    private func makeTables(in session: any StatementSession) async throws {
        // The lock is held until the commit, because other programs may start at the same time, even with other queues
        // in the same schema.
        try await session.run(
            "SELECT 1::int8 FROM pg_advisory_xact_lock(hashtextextended($1::text, 1400328785))", [.text(name.schema)])
        if try await isThere(in: session) { return }
        let schemas = try await session.run(
            "SELECT 1::int8 FROM pg_namespace WHERE nspname = $1::text", [.text(name.schema)])
        if schemas.isEmpty { try await session.run("CREATE SCHEMA IF NOT EXISTS \"\(name.schema)\"", []) }
        for statement in schema.creation { try await session.run(statement, []) }
    }

    // MARK: Errors

    /// Repeats an operation if the server aborted it because of other transactions, and so undid it.
    @discardableResult
    func again<R: Sendable>(mapping: Bool = true, _ operation: @Sendable () async throws -> R) async throws -> R {
        var attempts = 1
        while true {
            do {
                return try await operation()
            } catch let error as StatementError {
                // 40P01 is a deadlock, after which no lock remains here.
                if error.isOfARace || error.sqlState == "40P01", attempts < 10, !error.isOutcomeUnknown {
                    attempts += 1
                    continue
                }
                throw mapping ? failure(.use, error) : error
            }
        }
    }

    /// Runs one statement, and repeats it if the server aborted it because of other transactions.
    @discardableResult
    func run(_ statement: String, _ values: [StatementValue] = []) async throws -> [[StatementValue]] {
        try await again { try await self.engine.run(statement, values) }
    }

    /// Runs a statement that returns one row.
    func row(of statement: String, _ values: [StatementValue], columns: Int) async throws -> PostgreSQLColumns {
        try PostgreSQLColumns(try await run(statement, values).first ?? [], count: columns, path: path)
    }

    func failure(_ access: Access, _ error: StatementError) -> any Error {
        let reason = error.description.hasSuffix(".") ? error.description : "\(error)."
        if error.isOutcomeUnknown, access == .use { return SyncQueueError.unknownOutcome(path: path, reason: reason) }
        guard access == .open, let state = error.sqlState else {
            return SyncQueueError.storeFailed(path: path, reason: reason)
        }
        // Access rules and names, an unknown database, authentication, a read-only transaction.
        let isRefused = ["42", "3D", "3F", "28"].contains { state.hasPrefix($0) }
        guard isRefused else { return SyncQueueError.storeFailed(path: path, reason: reason) }
        let advice =
            state == "42501"
            ? " Grant CREATE, or run the statements of PostgreSQLStore.migration(schema:queue:) as another role."
            : ""
        return SyncQueueError.unreadable(path: path, reason: reason + advice)
    }
}

extension StatementError {
    /// Whether another transaction made a change that the next attempt sees: it claimed the mutation to coalesce into,
    /// or appended the id to another lane.
    var isOfARace: Bool { sqlState == "40001" || sqlState == "23505" }
}
