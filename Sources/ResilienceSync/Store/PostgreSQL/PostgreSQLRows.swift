#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// The form of texts, dates and mutations in PostgreSQL.

extension StatementValue {
    /// A text as the bytes of its UTF-8.
    static func exactly(_ text: String) -> StatementValue { .bytes(Data(text.utf8)) }

    static func date(_ date: Date) -> StatementValue { .real(date.timeIntervalSinceReferenceDate) }

    static func optional(_ value: (some BinaryInteger)?) -> StatementValue {
        value.map { .integer(Int64($0)) } ?? .null
    }

    static func texts(_ texts: some Sequence<String>) -> StatementValue { .arraysOfBytes(texts.map { Data($0.utf8) }) }

    /// The text of the bytes of its UTF-8; nil for anything else.
    var exactText: String? { bytes.flatMap { String(validating: $0, as: UTF8.self) } }
}

extension Mutation.Operation? {
    var number: Int64 {
        switch self {
        case nil: 0
        case .create: 1
        case .update: 2
        case .delete: 3
        }
    }

    init(number: Int64) {
        switch number {
        case 1: self = .create
        case 2: self = .update
        case 3: self = .delete
        default: self = nil
        }
    }
}

/// A row from an engine. Reading a missing value throws: a default would look like a stored value.
struct PostgreSQLColumns {
    let columns: [StatementValue]
    let path: String

    init(_ columns: [StatementValue], count: Int, path: String) throws {
        self.columns = columns
        self.path = path
        guard columns.count == count else { throw unreadable("a row of \(columns.count) columns instead of \(count)") }
    }

    func integer(_ column: Int) throws -> Int64 { try value(column, "an int8", \.integer) }

    /// As ``integer(_:)``, within the range of `Int`.
    func count(_ column: Int) throws -> Int { Int(clamping: try integer(column)) }

    func bytes(_ column: Int) throws -> Data { try value(column, "a bytea", \.bytes) }

    func optionalBytes(_ column: Int) throws -> Data? { columns[column] == .null ? nil : try bytes(column) }

    func text(_ column: Int) throws -> String { try value(column, "a bytea in UTF-8", \.exactText) }

    func date(_ column: Int) throws -> Date {
        Date(timeIntervalSinceReferenceDate: try value(column, "a float8", \.real))
    }

    func optionalText(_ column: Int) throws -> String? { columns[column] == .null ? nil : try text(column) }

    func optionalDate(_ column: Int) throws -> Date? { columns[column] == .null ? nil : try date(column) }

    private func value<Value>(
        _ column: Int, _ type: String, _ read: (StatementValue) -> Value?
    ) throws -> Value {
        guard let value = read(columns[column]) else {
            throw unreadable("\(columns[column].type) instead of \(type) in column \(column + 1)")
        }
        return value
    }

    private func unreadable(_ what: String) -> SyncQueueError {
        .unreadable(path: path, reason: "The engine returned \(what).")
    }
}

extension StatementValue {
    /// The value's type for errors, which don't show the value.
    fileprivate var type: String {
        switch self {
        case .null: "NULL"
        case .integer: "an int8"
        case .real: "a float8"
        case .bytes: "a bytea"
        case .text: "a text"
        case .integers, .reals, .arraysOfBytes: "an array"
        }
    }
}

/// A row of ``PostgreSQLSchema``'s functions that return mutations: its kind, and the columns of a mutation.
struct PostgreSQLRow {
    let what: Int64
    private let columns: PostgreSQLColumns

    init(_ columns: [StatementValue], path: String) throws {
        self.columns = try PostgreSQLColumns(columns, count: PostgreSQLSchema.columns.count + 1, path: path)
        what = try self.columns.integer(0)
    }

    var number: Int64 { get throws { try columns.integer(1) } }
    var id: String { get throws { try columns.text(2) } }
    /// The size in a row of totals, which has it in the operation's column.
    var size: Int64 { get throws { try columns.integer(5) } }

    var stored: StoredMutation {
        get throws {
            StoredMutation(
                position: try number,
                mutation: Mutation(
                    id: try id, entity: try columns.text(3), kind: try columns.text(4),
                    operation: Mutation.Operation?(number: try columns.integer(5)), payload: try columns.bytes(17),
                    idempotencyKey: try columns.text(6), createdAt: try columns.date(7),
                    notBefore: try columns.optionalDate(15), isUrgent: try columns.integer(16) == 1),
                queuedAt: try columns.date(8), isAttempted: try columns.integer(9) == 1,
                failures: try columns.count(10), lastError: try columns.optionalText(11),
                diedAt: try columns.optionalDate(12), isOvertaken: try columns.integer(13) == 1,
                claims: try columns.count(14))
        }
    }
}
