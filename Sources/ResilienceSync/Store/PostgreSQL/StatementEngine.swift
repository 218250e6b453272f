#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A parameter or a result of a statement.
///
/// A value is always bound, and never becomes part of the statement's text.
public enum StatementValue: Sendable, Hashable {
    /// SQL's NULL.
    case null
    /// `int8`.
    case integer(Int64)
    /// `float8`.
    case real(Double)
    /// `bytea`.
    case bytes(Data)
    /// `text`.
    case text(String)
    /// `int8[]`; only as a parameter.
    case integers([Int64])
    /// `float8[]`; only as a parameter.
    case reals([Double])
    /// `bytea[]`; only as a parameter.
    case arraysOfBytes([Data])

    var integer: Int64? { if case .integer(let value) = self { value } else { nil } }

    var real: Double? { if case .real(let value) = self { value } else { nil } }

    var bytes: Data? { if case .bytes(let value) = self { value } else { nil } }

    var text: String? { if case .text(let value) = self { value } else { nil } }
}

/// Runs statements on PostgreSQL in order: a connection, perhaps within a transaction.
public protocol StatementSession: Sendable {
    /// Runs one statement.
    ///
    /// - Parameters:
    ///   - statement: The statement, with parameters `$1`, `$2` and so on.
    ///   - values: The values of the parameters.
    /// - Returns: The rows, each with its columns in order. The queue's statements return only `int8`, `float8`,
    ///   `bytea` and `text`.
    /// - Throws: ``StatementError``.
    @discardableResult
    func run(_ statement: String, _ values: [StatementValue]) async throws -> [[StatementValue]]
}

/// A ``PostgreSQLStore``'s access to its database.
///
/// With the trait `PostgreSQL`, the package has an engine on the C client, `PostgreSQLEngine`. The guide on the queue
/// on PostgreSQL shows an engine on PostgresNIO.
///
/// ``StatementSession/run(_:_:)`` runs a statement in its own transaction at `READ COMMITTED`, on any connection; it is
/// committed on return. The engine bounds the time of a statement, and may be called concurrently.
public protocol StatementEngine: StatementSession {
    /// Runs a body in a transaction at `READ COMMITTED`, which is committed when the body returns, or rolled back if it
    /// throws.
    ///
    /// In a module without the upcoming feature `NonisolatedNonsendingByDefault`, write the body's type as
    /// `nonisolated(nonsending) @Sendable (any StatementSession) async throws -> R`.
    ///
    /// - Parameter body: Receives the transaction's session, which must not be used after the body.
    /// - Returns: The result of the body.
    /// - Throws: The error of the body; ``StatementError``, with ``StatementError/isOutcomeUnknown`` if the connection
    ///   was lost while the transaction was being committed.
    @discardableResult
    func transaction<R: Sendable>(
        _ body: @Sendable (_ session: any StatementSession) async throws -> R
    ) async throws -> R

    /// Listens to a channel (`LISTEN`), on its own connection.
    ///
    /// - Parameter channel: The name of the channel.
    /// - Returns: The payload of each notification; an empty text when the engine begins to listen, and whenever it may
    ///   have missed notifications. nil, the default, if the engine can't listen: then the store polls.
    func notifications(on channel: String) -> AsyncStream<String>?
}

extension StatementEngine {
    public func notifications(on channel: String) -> AsyncStream<String>? { nil }
}

/// A statement failed, or its outcome is unknown.
public struct StatementError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The server's `SQLSTATE`, such as `23505`; nil if the error does not come from the server.
    public var sqlState: String?
    /// A description without bound values and without the password.
    ///
    /// It may name the server's address, the user and the database.
    public var message: String
    /// Whether the server may have executed the statement: after it was sent, the connection was lost or the deadline
    /// passed.
    public var isOutcomeUnknown: Bool

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - sqlState: The server's `SQLSTATE`; nil, the default, if the error does not come from the server.
    ///   - message: What happened.
    ///   - isOutcomeUnknown: Whether the server may have executed the statement; false by default.
    public init(sqlState: String? = nil, message: String, isOutcomeUnknown: Bool = false) {
        self.sqlState = sqlState
        self.message = message
        self.isOutcomeUnknown = isOutcomeUnknown
    }

    public var description: String { sqlState.map { "\(message) (\($0))" } ?? message }
}
