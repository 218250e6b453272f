#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// How texts, dates and mutations are kept in PostgreSQL.

extension StatementValue {
    /// A text as the bytes of its UTF-8.
    static func exactly(_ text: String) -> StatementValue { .bytes(Data(text.utf8)) }

    static func optional(_ value: Int?) -> StatementValue { value.map { .integer(Int64($0)) } ?? .null }

    static func optional(_ value: Int64?) -> StatementValue { value.map { .integer($0) } ?? .null }

    static func positions(_ positions: [Int64]?) -> StatementValue { positions.map { .integers($0) } ?? .null }

    static func texts(_ texts: some Sequence<String>) -> StatementValue { .arraysOfBytes(texts.map { Data($0.utf8) }) }

    /// A text that is not UTF-8 reads as nil.
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

/// A row of ``PostgreSQLSchema``'s functions that return mutations: what it is, and the columns of a mutation.
struct PostgreSQLRow {
    let columns: [StatementValue]

    init(_ columns: [StatementValue]) throws {
        guard columns.count == 15 else {
            throw StatementError(message: "The engine returned \(columns.count) columns instead of 15.")
        }
        self.columns = columns
    }

    var what: Int64 { columns[0].integer ?? -1 }
    var number: Int64 { columns[1].integer ?? 0 }
    var id: String { columns[2].exactText ?? "" }
    /// What a row of totals has instead of an operation.
    var size: Int64 { columns[5].integer ?? 0 }

    /// A value of an unexpected type reads as empty.
    var stored: StoredMutation {
        func date(_ column: Int) -> Date? { columns[column].real.map(Date.init(timeIntervalSinceReferenceDate:)) }
        let epoch = Date(timeIntervalSinceReferenceDate: 0)
        return StoredMutation(
            position: number,
            mutation: Mutation(
                id: id, entity: columns[3].exactText ?? "", kind: columns[4].exactText ?? "",
                operation: Mutation.Operation?(number: columns[5].integer ?? 0), payload: columns[14].bytes ?? Data(),
                idempotencyKey: columns[6].exactText ?? "", createdAt: date(7) ?? epoch),
            queuedAt: date(8) ?? epoch, isAttempted: columns[9].integer == 1,
            failures: Int(clamping: columns[10].integer ?? 0), lastError: columns[11].exactText, diedAt: date(12),
            isOvertaken: columns[13].integer == 1)
    }
}
