#if SQLite
    import Foundation
    import GRDB
    import Resilience

    extension SQLiteStore {
        /// The result of ``SQLiteStore/salvage(_:into:)``.
        public struct Salvaged: Sendable, Hashable {
            /// The pending mutations that are in the new file.
            public var pending: Int
            /// The dead mutations that are in the new file.
            public var dead: Int
            /// The number of mutations that the damaged file counted but that could not be read; nil if its counts are
            /// also unreadable.
            public var missing: Int?
        }

        /// Copies the readable contents of a damaged file into a new one, and leaves the damaged one unchanged.
        ///
        /// Mutations keep their order, failures and states, and pauses are kept. A payload that was overwritten with
        /// other bytes is copied, because nothing shows that it is wrong. First stop every queue on the damaged file:
        /// mutations that they deliver meanwhile would be delivered again.
        ///
        /// - Parameters:
        ///   - path: The damaged file, or the program's own database that holds a queue.
        ///   - newPath: The path of the new file. Neither it nor a journal of it (`-wal`, `-journal`) may exist yet.
        /// - Returns: The new file's contents, and the missing parts.
        /// - Throws: ``SyncQueueError/unreadable(path:reason:)`` if there is a file at `newPath`, or if not even the
        ///   tables' definitions can be read; ``SyncQueueError/storeFailed(path:reason:)``. Then no new file is left.
        public static func salvage(_ path: String, into newPath: String) throws -> Salvaged {
            // SQLite would delete another file's journal of this name, and the data in it.
            for file in ["", "-wal", "-journal"].map({ newPath + $0 })
            where FileManager.default.fileExists(atPath: file) {
                throw SyncQueueError.unreadable(path: file, reason: "There is a file already.")
            }
            var configuration = Configuration()
            configuration.readonly = true
            // Otherwise an index with a damaged definition would hide the table.
            configuration.prepareDatabase { try $0.execute(sql: "PRAGMA writable_schema = ON") }
            return try describing(.open, path) {
                try DatabaseQueue(path: path, configuration: configuration).unsafeRead { db in
                    var damaged = try DamagedTable(db)
                    do {
                        let store = try SQLiteStore(path: newPath, check: .none)
                        defer { try? store.close() }
                        return try store.database.write { try damaged.copy(into: $0) }
                    } catch {
                        removeFile(at: newPath)
                        throw (error as? DatabaseError).map { failure(to: .use, newPath, $0) } ?? error
                    }
                }
            }
        }
    }

    /// The queue's table in a partly unreadable file.
    private struct DamagedTable {
        /// After this many unreadable positions, the search for a readable one takes longer and longer steps.
        private static let steps: Int64 = 1_000
        /// Higher than any queue counts.
        private static let end = Int64.max / 4

        private let db: Database
        private let name = SQLiteSchema.mutations
        /// Without `head`: the heads of lanes are determined anew.
        private var columns: [String]

        init(_ db: Database) throws {
            self.db = db
            columns = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info('\(name)') WHERE name <> 'head'")
            guard columns.contains("position") else {
                throw DatabaseError(message: "It holds no queue that can be salvaged")
            }
        }

        mutating func copy(into new: Database) throws -> SQLiteStore.Salvaged {
            // A later version may have added columns.
            let known = try String.fetchSet(new, sql: "SELECT name FROM pragma_table_info('\(name)')")
            columns.removeAll { !known.contains($0) }
            let insert = try new.makeStatement(
                sql: """
                    INSERT OR IGNORE INTO \(name) (\(columns.joined(separator: ", ")))
                    VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
                    """)
            let move = try new.makeStatement(sql: "UPDATE OR IGNORE \(name) SET position = ? WHERE position = ?")
            var from: Int64? = 0
            while let start = from {
                from = try copyRows(from: start, insert, move)
            }
            for setting in (try? Row.fetchAll(db, sql: "SELECT name, value FROM resilience_setting")) ?? [] {
                try new.execute(
                    sql: "INSERT OR IGNORE INTO resilience_setting (name, value) VALUES (?, ?)",
                    arguments: StatementArguments(setting.databaseValues))
            }
            try SQLiteSchema.recount(new)
            let totals = try SQLiteTable(db: new).totals()
            let counted = try? Int.fetchOne(db, sql: "SELECT pending + dead FROM resilience_totals")
            return SQLiteStore.Salvaged(
                pending: totals.pending, dead: totals.dead,
                missing: counted.map { max(0, $0.saturatingSubtracting(totals.pending + totals.dead)) })
        }

        /// Copies until there are no more rows, or an unreadable one.
        /// - Returns: Where to continue.
        private func copyRows(from start: Int64, _ insert: Statement, _ move: Statement) throws -> Int64? {
            var (least, next) = (start, start)
            var rows: RowCursor?
            while true {
                let found: (position: Int64, values: [DatabaseValue])?
                do {
                    let open = try rows ?? self.rows(from: start)
                    rows = open
                    found = try row(of: open, from: least)
                } catch let error as DatabaseError where Self.isDamage(error) {
                    return try firstReadable(after: next)
                }
                guard let found else { return nil }
                if least < found.position, found.position < next {
                    // The previous row's position was damaged: it belongs between its neighbors.
                    try move.execute(arguments: [least, next - 1])
                }
                (least, next) = (min(next, found.position + 1), found.position + 1)
                try insert.execute(arguments: StatementArguments(found.values))
            }
        }

        /// An unreadable disk sector also damages a file.
        private static func isDamage(_ error: DatabaseError) -> Bool {
            [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_IOERR].contains(error.resultCode)
        }

        private func rows(from position: Int64) throws -> RowCursor {
            try Row.fetchCursor(
                db.cachedStatement(
                    sql: """
                        SELECT \(columns.joined(separator: ", ")) FROM \(name) NOT INDEXED
                        WHERE position >= ? ORDER BY position
                        """), arguments: [position])
        }

        /// The next row. A position that is out of order, or that leaves no positions for further rows, is damaged.
        private func row(of rows: RowCursor, from least: Int64) throws -> (position: Int64, values: [DatabaseValue])? {
            guard let row = try rows.next() else { return nil }
            guard let position = Int64.fromDatabaseValue(row["position"]), (least..<Self.end).contains(position) else {
                throw DatabaseError(resultCode: .SQLITE_CORRUPT)
            }
            return (position, Array(row.databaseValues))
        }

        /// The next readable position: damage makes a range of positions unreadable.
        private func firstReadable(after unreadable: Int64) throws -> Int64? {
            var (low, step) = (unreadable, Int64(1))
            while low < Self.end {
                var high = low + step
                if try isReadable(high) {
                    while high - low > 1 {
                        let middle = low + (high - low) / 2
                        if try isReadable(middle) { high = middle } else { low = middle }
                    }
                    return high
                }
                low = high
                if low - unreadable > Self.steps { step *= 2 }
            }
            return nil
        }

        private func isReadable(_ position: Int64) throws -> Bool {
            do {
                _ = try row(of: rows(from: position), from: position)
                return true
            } catch let error as DatabaseError where Self.isDamage(error) { return false }
        }
    }
#endif
