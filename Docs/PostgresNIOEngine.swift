// An engine for PostgreSQLStore on PostgresNIO: see QueueOnPostgreSQL.md. It is not compiled in this package, which
// does not depend on PostgresNIO. `nonisolated(nonsending)` is written out so that it compiles with and without the
// upcoming feature NonisolatedNonsendingByDefault. `logger` is one of yours.

extension PostgresConnection: @retroactive StatementSession {
    @discardableResult
    public func run(_ statement: String, _ values: [StatementValue]) async throws -> [[StatementValue]] {
        var bindings = PostgresBindings()
        for value in values {
            switch value {
            case .null: bindings.appendNull()
            case .integer(let value): bindings.append(value)
            case .real(let value): bindings.append(value)
            case .bytes(let value): bindings.append(ByteBuffer(bytes: value))
            case .text(let value): bindings.append(value)
            case .integers(let values): bindings.append(values)
            case .reals(let values): bindings.append(values)
            case .arraysOfBytes(let values): bindings.append(values.map { ByteBuffer(bytes: $0) })
            }
        }
        do {
            let rows = try await query(PostgresQuery(unsafeSQL: statement, binds: bindings), logger: logger)
            return try await rows.collect().map { row in
                try row.map { cell in
                    if cell.bytes == nil { return .null }
                    return switch cell.dataType {
                    case .int8: .integer(try cell.decode(Int64.self))
                    case .float8: .real(try cell.decode(Double.self))
                    case .text: .text(try cell.decode(String.self))
                    default: .bytes(Data(try cell.decode(ByteBuffer.self).readableBytesView))
                    }
                }
            }
        } catch let error as PSQLError {
            throw StatementError(
                sqlState: error.serverInfo?[.sqlState], message: error.serverInfo?[.message] ?? "\(error.code)",
                isOutcomeUnknown: error.serverInfo == nil)
        }
    }
}

struct NIOEngine: StatementEngine {
    let client: PostgresClient

    func run(_ statement: String, _ values: [StatementValue]) async throws -> [[StatementValue]] {
        try await client.withConnection { try await $0.run(statement, values) }
    }

    // Not with withTransaction, whose errors hide those of the body.
    func transaction<R: Sendable>(
        _ body: nonisolated(nonsending) @Sendable (any StatementSession) async throws -> R
    ) async throws -> R {
        try await client.withConnection { connection in
            try await connection.run("BEGIN ISOLATION LEVEL READ COMMITTED", [])
            let result: R
            do {
                result = try await body(connection)
                // Throws if a statement has failed and the body went on: COMMIT would roll back without an error.
                try await connection.run("SELECT 1::int8", [])
            } catch {
                do {
                    try await connection.run("ROLLBACK", [])
                } catch {
                    try? await connection.close()
                }
                throw error
            }
            try await connection.run("COMMIT", [])
            return result
        }
    }
}
