#if SQLite
    import Foundation
    import GRDB
    import ResilienceSync

    /// A row of the queue's table with any value of any type in any column, as SQLite returns it.
    package enum StoredRowOracle {
        /// - Parameter input: For each column its type and then its value; missing columns are NULL.
        /// - Returns: Whether every column has the type that the store writes.
        package static func check(_ input: [UInt8]) throws -> Bool {
            var rest = input[...]
            // The corpus has the columns in this order: those that were added later come last.
            let added = ["died_at", "overtaken", "claims", "not_before", "urgent"]
            let names = StoredMutation.columns.filter { !added.contains($0) } + added
            let values = names.map { _ in Value(&rest) }
            let read = try row(of: values, names: names).map(StoredMutation.init(row:))
            guard let read else { throw Finding("there is no row") }
            let value = Dictionary(uniqueKeysWithValues: zip(names, values))
            try expect(read.position == value["position"]?.integer ?? 0, "position: \(read)")
            try expect(read.failures == value["failures"]?.integer.map { Int($0) } ?? 0, "failures: \(read)")
            try expect(read.claims == value["claims"]?.integer.map { Int($0) } ?? 0, "claims: \(read)")
            try expect(same(read.mutation.id, value["id"]?.text ?? ""), "id: \(read)")
            try expect(same(read.mutation.entity, value["entity"]?.text ?? ""), "entity: \(read)")
            try expect(same(read.mutation.kind, value["kind"]?.text ?? ""), "kind: \(read)")
            try expect(same(read.mutation.idempotencyKey, value["idempotency_key"]?.text ?? ""), "key: \(read)")
            try expect(read.mutation.payload == value["payload"]?.bytes ?? Data(), "payload: \(read)")
            try expect(
                read.lastError.map { Array($0.utf8) } == value["last_error"]?.text.map { Array($0.utf8) }, "\(read)")
            try expect(
                read.mutation.createdAt.timeIntervalSinceReferenceDate == value["created_at"]?.number ?? 0,
                "created_at: \(read)")
            try expect(
                read.queuedAt.timeIntervalSinceReferenceDate == value["queued_at"]?.number ?? 0, "queued_at: \(read)")
            try expect(read.diedAt?.timeIntervalSinceReferenceDate == value["died_at"]?.number, "died_at: \(read)")
            try expect(
                read.mutation.notBefore?.timeIntervalSinceReferenceDate == value["not_before"]?.number,
                "not_before: \(read)")
            try expect(read.mutation.isUrgent == (value["urgent"]?.integer == 2), "urgent: \(read)")
            try expect(read.isOvertaken == ((value["overtaken"]?.integer ?? 0) != 0), "overtaken: \(read)")
            try expect(read.isAttempted == ((value["attempted"]?.integer ?? 0) != 0), "attempted: \(read)")
            try expect(
                read.mutation.operation?.rawValue
                    == value["operation"]?.text.flatMap { ["create", "update", "delete"].contains($0) ? $0 : nil },
                "operation: \(read)")
            return zip(names, values).allSatisfy { $1.isAsWritten(in: $0) }
        }

        private static func same(_ lhs: String, _ rhs: String) -> Bool { lhs.utf8.elementsEqual(rhs.utf8) }

        private static let database = Result { try DatabaseQueue() }

        private static func row(of values: [Value], names: [String]) throws -> Row? {
            // A text that is not UTF-8, or contains a NUL, can't be bound as text.
            let columns = names.map { "CASE ? WHEN 1 THEN CAST(? AS TEXT) ELSE ? END AS \($0)" }
            let sql = "SELECT \(columns.joined(separator: ", "))"
            return try database.get().read { db in
                let arguments = values.flatMap { value -> [(any DatabaseValueConvertible)?] in
                    let bound = value.bound
                    if case .text = value { return [1, bound, nil] }
                    return [0, nil, bound]
                }
                return try Row.fetchOne(try db.cachedStatement(sql: sql), arguments: StatementArguments(arguments))
            }
        }

        private enum Value {
            case null
            case integer(Int64)
            case real(Double)
            case text([UInt8])
            case blob(Data)

            init(_ input: inout ArraySlice<UInt8>) {
                switch input.popFirst().map({ $0 % 6 }) {
                case 1: self = .integer(Int64(bitPattern: Self.word(&input)))
                case 2: self = .real(Double(bitPattern: Self.word(&input)))
                case 3: self = .text(Self.bytes(&input))
                case 4: self = .blob(Data(Self.bytes(&input)))
                // Up to 16 kB.
                case 5: self = .blob(Data(repeating: 0x61, count: Int(input.popFirst() ?? 0) << 6))
                default: self = .null
                }
            }

            private static func word(_ input: inout ArraySlice<UInt8>) -> UInt64 {
                (0..<8).reduce(0) { word, _ in word << 8 | UInt64(input.popFirst() ?? 0) }
            }

            private static func bytes(_ input: inout ArraySlice<UInt8>) -> [UInt8] {
                let count = Int(input.popFirst() ?? 0)
                defer { input = input.dropFirst(count) }
                return Array(input.prefix(count))
            }

            var bound: (any DatabaseValueConvertible)? {
                switch self {
                case .null: nil
                case .integer(let integer): integer
                case .real(let real): real
                case .text(let bytes): Data(bytes)
                case .blob(let data): data
                }
            }

            var integer: Int64? {
                switch self {
                case .integer(let integer): integer
                case .real(let real): Int64(exactly: real.rounded(.towardZero))
                default: nil
                }
            }

            var number: Double? {
                switch self {
                case .integer(let integer): Double(integer)
                // SQLite stores NaN as NULL.
                case .real(let real): real.isNaN ? nil : real
                default: nil
                }
            }

            /// A text ends at its first NUL; a blob does not. The store writes a text with a NUL as a blob.
            var text: String? {
                switch self {
                case .text(let bytes): String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                case .blob(let data): String(validating: Array(data), as: UTF8.self)
                default: nil
                }
            }

            var bytes: Data? {
                switch self {
                case .blob(let data): data
                default: text.map { Data($0.utf8) }
                }
            }

            func isAsWritten(in column: String) -> Bool {
                switch (column, self) {
                case ("position", .integer), ("failures", .integer), ("claims", .integer), ("attempted", .integer),
                    ("overtaken", .integer),
                    ("created_at", .real), ("queued_at", .real), ("died_at", .real), ("died_at", .null),
                    ("not_before", .real), ("not_before", .null),
                    // The corpus is older than this column.
                    ("urgent", .integer), ("urgent", .null),
                    ("last_error", .null), ("operation", .null), ("payload", .blob):
                    true
                case ("id", _), ("entity", _), ("kind", _), ("idempotency_key", _), ("last_error", _),
                    ("operation", _):
                    text != nil
                default: false
                }
            }
        }
    }
#endif
