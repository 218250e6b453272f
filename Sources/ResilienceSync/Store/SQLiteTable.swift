#if SQLite
    import Foundation
    package import GRDB

    #if os(Linux)
        import CSQLiteSystem
    #else
        import SQLite3
    #endif

    /// The queue's tables within a transaction.
    package struct SQLiteTable {
        /// The statements of a running queue. A statement that must not scan the table names its index. A statement
        /// that begins with FROM selects the columns of ``selection``.
        package enum SQL: String, CaseIterable {
            case contains = "SELECT 1 FROM resilience_mutation WHERE id = ?"
            case last = """
                FROM resilience_mutation INDEXED BY resilience_lane WHERE entity = ? AND state = 0
                ORDER BY position DESC LIMIT 1
                """
            case hasPending = """
                SELECT 1 FROM resilience_mutation INDEXED BY resilience_lane WHERE entity = ? AND state = 0 LIMIT 1
                """
            case fresh = """
                SELECT position, id FROM resilience_mutation INDEXED BY resilience_pending
                WHERE state = 0 AND attempted = 0 AND position > ? ORDER BY position LIMIT 1
                """
            case insert = """
                INSERT INTO resilience_mutation
                (id, entity, kind, operation, idempotency_key, created_at, queued_at, payload, attempted, failures, not_before,
                urgent, state, head)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 > 0, ?9, ?10, ?11, 0,
                ?10 IS NULL AND NOT EXISTS (SELECT 1 FROM resilience_mutation INDEXED BY resilience_lane WHERE entity = ?2 AND state = 0)
                AND NOT EXISTS
                (SELECT 1 FROM resilience_mutation INDEXED BY resilience_block WHERE entity = ?2 AND state = 2))
                ON CONFLICT (id) DO NOTHING
                """
            case replace = """
                UPDATE resilience_mutation SET kind = ?, operation = ?, idempotency_key = ?, payload = ?, queued_at = ?,
                urgent = MAX(?, urgent) WHERE position = ?
                """
            /// Makes pending mutations that are before an urgent mutation of their lane also precede other lanes.
            /// Mutations before an earlier urgent mutation of the lane already precede them.
            case hurry = """
                UPDATE resilience_mutation INDEXED BY resilience_lane SET urgent = 1
                WHERE entity = ?1 AND state = 0 AND urgent <= 0 AND position < ?2 AND position > IFNULL(
                (SELECT position FROM resilience_mutation INDEXED BY resilience_lane
                WHERE entity = ?1 AND state = 0 AND urgent > 0 AND position < ?2 ORDER BY position DESC LIMIT 1), 0)
                AND (SELECT urgent > 0 FROM resilience_mutation WHERE position = ?2)
                """
            case pendingEntity = "SELECT entity, attempted FROM resilience_mutation WHERE position = ? AND state = 0"
            case deadEntity = "FROM resilience_mutation AS m WHERE position = ? AND state > 0"
            case overtake = """
                UPDATE resilience_mutation INDEXED BY resilience_not_overtaken SET overtaken = 1
                WHERE entity = ? AND state > 0 AND overtaken = 0 AND position < ?
                """
            /// The dead mutation to drop first.
            case firstDead = """
                SELECT position, entity, id, state, died_at, length(payload) AS bytes
                FROM resilience_mutation INDEXED BY resilience_death
                WHERE state > 0 ORDER BY state, death, position LIMIT 1
                """
            /// Corrects deaths later than now, after the clock was set back.
            case datesOfDeath = """
                UPDATE resilience_mutation INDEXED BY resilience_died SET died_at = ?1
                WHERE state > 0 AND state IN (1, 2) AND died_at > ?1
                """
            /// The number of the next death.
            case nextDeath = """
                SELECT MAX(
                IFNULL((SELECT death FROM resilience_mutation INDEXED BY resilience_death
                WHERE state > 0 AND state = 1 ORDER BY death DESC LIMIT 1), 0),
                IFNULL((SELECT death FROM resilience_mutation INDEXED BY resilience_death
                WHERE state > 0 AND state = 2 ORDER BY death DESC LIMIT 1), 0)) + 1
                """
            case delete = "DELETE FROM resilience_mutation WHERE position = ?"
            case fail = """
                UPDATE resilience_mutation SET attempted = 1, claims = 0, failures = MIN(failures, 9223372036854775806) + 1,
                last_error = ? WHERE position = ? AND state = 0
                """
            case answer = "UPDATE resilience_mutation SET claims = 0 WHERE position = ? AND state = 0"
            case park = """
                UPDATE resilience_mutation SET state = ?, head = 0, not_before = NULL, last_error = ?, died_at = ?, death = ?
                WHERE position = ?
                """
            case killRest = """
                UPDATE resilience_mutation INDEXED BY resilience_lane
                SET state = 1, not_before = NULL, last_error = ?, died_at = ?, death = ?
                WHERE entity = ? AND state = 0 AND position > ?
                """
            case revive = """
                UPDATE resilience_mutation SET state = 0, failures = 0, claims = 0, last_error = NULL, died_at = NULL,
                queued_at = ?1, urgent = MAX(urgent, IFNULL((SELECT urgent > 0 FROM resilience_mutation AS next
                INDEXED BY resilience_lane WHERE entity = ?3 AND state = 0 AND position > ?2 ORDER BY position LIMIT 1), 0))
                WHERE position = ?2
                """
            case claim = """
                UPDATE resilience_mutation SET attempted = 1, claims = MIN(claims, 9223372036854775806) + 1
                WHERE position = ? AND head = 1
                """
            case claimed = "FROM resilience_mutation WHERE position = ? AND head = 1"
            /// The first pending mutation of a lane is not a head until ``settle`` makes it one.
            case behead = """
                UPDATE resilience_mutation SET head = 0 WHERE head = 1 AND position =
                (SELECT MIN(position) FROM resilience_mutation INDEXED BY resilience_lane WHERE entity = ? AND state = 0)
                """
            /// Makes the first pending mutation of a lane its head, unless it waits for a date or the lane is blocked.
            case settle = """
                UPDATE resilience_mutation SET head = 1 - head WHERE position =
                (SELECT MIN(position) FROM resilience_mutation INDEXED BY resilience_lane WHERE entity = ?1 AND state = 0)
                AND head = (not_before IS NOT NULL OR EXISTS
                (SELECT 1 FROM resilience_mutation INDEXED BY resilience_block WHERE entity = ?1 AND state = 2))
                """
            case due = """
                SELECT position, entity FROM resilience_mutation INDEXED BY resilience_waiting
                WHERE not_before <= ? ORDER BY not_before LIMIT ?
                """
            case becomeDue = """
                UPDATE resilience_mutation SET queued_at = MAX(queued_at, not_before), not_before = NULL WHERE position = ?
                """
            case nextDue = """
                SELECT not_before FROM resilience_mutation INDEXED BY resilience_waiting WHERE not_before IS NOT NULL
                ORDER BY not_before LIMIT 1
                """
            case heads = """
                FROM resilience_mutation INDEXED BY resilience_head WHERE head = 1 AND position > ?
                ORDER BY position LIMIT ?
                """
            case urgentHeads = """
                FROM resilience_mutation INDEXED BY resilience_urgent WHERE head = 1 AND urgent > 0
                ORDER BY position LIMIT ?
                """
            case pending = """
                FROM resilience_mutation INDEXED BY resilience_pending
                WHERE state = 0 AND position > ? ORDER BY position LIMIT ?
                """
            case dead = """
                FROM resilience_mutation AS m INDEXED BY resilience_dead
                WHERE state > 0 AND position > ? ORDER BY position LIMIT ?
                """
            case found = "FROM resilience_mutation AS m WHERE id = ?"
            case pendingPositions = """
                SELECT position FROM resilience_mutation INDEXED BY resilience_lane WHERE state = 0
                ORDER BY entity, position
                """
            case deadPositions = """
                SELECT position FROM resilience_mutation INDEXED BY resilience_dead WHERE state > 0 ORDER BY position
                """
            case lastPosition = "SELECT MAX(position) FROM resilience_mutation"
            case counts = "SELECT pending, bytes, dead, dead_bytes FROM resilience_totals"
            case oldest = """
                SELECT queued_at FROM resilience_mutation INDEXED BY resilience_pending WHERE state = 0
                ORDER BY position LIMIT 1
                """
            case setting = "SELECT value FROM resilience_setting WHERE name = ?"
            case set = "INSERT OR REPLACE INTO resilience_setting (name, value) VALUES (?, ?)"
            case unset = "DELETE FROM resilience_setting WHERE name = ?"

            package var text: String {
                // Most statements need no lookup.
                rawValue.utf8.first == UInt8(ascii: "F") ? Self.selecting[self] ?? rawValue : rawValue
            }

            private static let selecting = Dictionary(
                uniqueKeysWithValues: allCases.compactMap { sql in
                    sql.selection.map { (sql, "SELECT \($0) \(sql.rawValue)") }
                })

            private var selection: String? {
                switch self {
                case .pending, .claimed: Self.mutation()
                case .last: Self.mutation(["attempted": Self.isAttemptedOrSealed])
                case .dead: Self.mutation(["overtaken": Self.isOvertaken])
                case .found: Self.mutation(["overtaken": Self.isOvertaken]) + ", state"
                case .deadEntity: "entity, \(Self.isOvertaken) AS overtaken"
                case .heads, .urgentHeads:
                    "position, id, entity, kind, queued_at, failures, claims, length(payload) AS bytes"
                default: nil
                }
            }

            private static func mutation(_ computed: [String: String] = [:]) -> String {
                StoredMutation.columns.map { name in computed[name].map { "\($0) AS \(name)" } ?? name }
                    .joined(separator: ", ")
            }

            private static let isAttemptedOrSealed = """
                attempted OR position <= (SELECT CAST(value AS INTEGER) FROM resilience_setting WHERE name = 'sealedThrough')
                """
            /// If a later mutation of its lane is pending and attempted, the other side may already have the later one.
            private static let isOvertaken = """
                overtaken OR state > 0 AND EXISTS
                (SELECT 1 FROM resilience_mutation AS later INDEXED BY resilience_attempted
                WHERE later.entity = m.entity AND later.position > m.position AND later.state = 0 AND later.attempted = 1)
                """
        }

        /// A page of mutations ends with the mutation that makes it this large.
        private static let pageBytes = 8 << 20

        let db: Database
        private var insertion: RowStatement?
        private var lookup: RowStatement?

        init(db: Database) { self.db = db }

        func statement(_ sql: SQL) throws -> Statement { try db.cachedStatement(sql: sql.text) }

        func execute(_ sql: SQL, _ arguments: [(any DatabaseValueConvertible)?]) throws {
            try statement(sql).execute(arguments: StatementArguments(arguments))
        }

        func row(_ sql: SQL, _ arguments: [(any DatabaseValueConvertible)?] = []) throws -> Row? {
            try Row.fetchOne(statement(sql), arguments: StatementArguments(arguments))
        }

        /// A text with a NUL is stored as a blob, because SQLite's texts end at the first NUL.
        static func column(_ text: String) -> any DatabaseValueConvertible {
            text.utf8.contains(0) ? Data(text.utf8) : text
        }

        /// Seconds since 2001: with the epoch 1970 the last bit would be lost.
        static func column(_ date: Date) -> Double { date.timeIntervalSinceReferenceDate }

        /// 0 if it is not urgent; 1 if it precedes others because a later mutation of its lane is, or was, urgent; 2 if
        /// it is urgent itself.
        private static func column(isUrgent mutation: Mutation) -> Int { mutation.isUrgent ? 2 : 0 }

        func heads(after position: Int64, limit: Int) throws -> LaneHeads {
            let heads = try Row.fetchAll(statement(.heads), arguments: [position, max(0, limit)])
            let urgent = try Row.fetchAll(statement(.urgentHeads), arguments: [max(0, limit)])
            return LaneHeads(
                heads.map(LaneHead.init(row:)), urgent: urgent.map(LaneHead.init(row:)), nextDue: try nextDue())
        }

        private func nextDue() throws -> Date? { try row(.nextDue)?.optionalDate("not_before") }

        func becomeDue(at date: Date) throws {
            let due = try Row.fetchAll(statement(.due), arguments: [Self.column(date), LaneHeads.dueAtOnce])
            for row in due {
                try execute(.becomeDue, [row["position"] as DatabaseValue])
                try execute(.settle, [row["entity"] as DatabaseValue])
            }
        }

        func pendingEntities(among entities: [String]) throws -> [String] {
            try entities.filter { try row(.hasPending, [Self.column($0)]) != nil }
        }

        func page(_ sql: SQL, after position: Int64, limit: Int) throws -> [StoredMutation] {
            var page: [StoredMutation] = []
            var bytes = 0
            let rows = try Row.fetchCursor(statement(sql), arguments: [position, max(0, limit)])
            while bytes < Self.pageBytes, let row = try rows.next() {
                let stored = StoredMutation(row: row)
                bytes += stored.mutation.payload.count
                page.append(stored)
            }
            return page
        }

        func mutation(_ id: String, cancelling: Bool) throws -> StoredMutation? {
            guard let row = try row(.found, [Self.column(id)]) else { return nil }
            let found = StoredMutation(row: row)
            guard cancelling else { return found }
            guard row.integer("state") == 0 else { return nil }
            let entity: DatabaseValue = row["entity"]
            try remove(found.position, of: entity)
            if found.isAttempted { try execute(.overtake, [entity, found.position]) }
            return found
        }

        func make(_ change: MutationChange, at date: Date) throws {
            switch change {
            case .acknowledged(let position):
                guard let entity = try entity(ofPending: position) else { return }
                try remove(position, of: entity)
                try execute(.overtake, [entity, position])
            case .answered(let position):
                try execute(.answer, [position])
            case .failed(let position, let error):
                try execute(.fail, [Self.column(error), position])
            case .died(let position, let error, let rest):
                guard let entity = try entity(ofPending: position) else { return }
                let death = try row(.nextDeath)?.databaseValue(at: 0)
                try execute(.park, [rest == .block ? 2 : 1, Self.column(error), Self.column(date), death, position])
                if rest == .killRest {
                    // Of mutations with the same death number, the one with the lowest position is dropped first.
                    try execute(.killRest, [Self.column(error), Self.column(date), death, entity, position])
                }
                try execute(.settle, [entity])
            }
        }

        private func entity(ofPending position: Int64) throws -> DatabaseValue? {
            try row(.pendingEntity, [position])?.databaseValue(at: 0)
        }

        func claim(_ position: Int64) throws -> StoredMutation? {
            try execute(.claim, [position])
            return try row(.claimed, [position]).map(StoredMutation.init(row:))
        }

        func revive(_ position: Int64, in entity: DatabaseValue, at date: Date) throws {
            try execute(.behead, [entity])
            try execute(.revive, [Self.column(date), position, entity])
            try execute(.hurry, [entity, position])
            try execute(.settle, [entity])
        }

        /// Removes a mutation from its lane.
        /// - Parameter changesHead: Whether it was pending, or blocked the lane.
        func remove(_ position: Int64, of entity: DatabaseValue, changesHead: Bool = true) throws {
            try execute(.delete, [position])
            if changesHead { try execute(.settle, [entity]) }
        }

        /// - Returns: The ids of the mutations that were dropped.
        func dropDead(beyond limits: DeadLimits, at date: Date) throws -> [String] {
            guard limits != DeadLimits() else { return [] }
            var totals = try totals()
            var dropped: [String] = []
            while dropped.count < DeadLimits.droppedAtOnce, let first = try row(.firstDead) {
                let blocks = first.integer("state") == 2
                guard limits.drop(diedAt: first.optionalDate("died_at"), blocks: blocks, of: totals, at: date) else {
                    break
                }
                try remove(Int64.fromDatabaseValue(first["position"]) ?? 0, of: first["entity"], changesHead: blocks)
                totals.dead &-= 1
                totals.deadBytes &-= first.integer("bytes")
                dropped.append(first.text("id") ?? "")
            }
            return dropped
        }

        func positions(_ sql: SQL) throws -> [Int64] { try Int64.fetchAll(statement(sql)) }

        /// - Returns: The number of mutations visited.
        func forEachDead(
            _ positions: [Int64], evenOvertaken: Bool = true, _ body: (Int64, _ entity: DatabaseValue) throws -> Void
        ) throws -> Int {
            var count = 0
            // In order, so that no mutation is overtaken by another that is revived with it.
            for position in positions.sorted() {
                guard let dead = try row(.deadEntity, [position]), evenOvertaken || dead.integer("overtaken") == 0
                else { continue }
                try body(position, dead["entity"])
                count += 1
            }
            return count
        }

        /// - Returns: The number removed.
        func removePending(_ positions: [Int64]) throws -> Int {
            var entities: Set<DatabaseValue> = []
            var count = 0
            for position in positions {
                guard let row = try row(.pendingEntity, [position]) else { continue }
                let entity: DatabaseValue = row["entity"]
                try execute(.delete, [position])
                if row.integer("attempted") != 0 { try execute(.overtake, [entity, position]) }
                entities.insert(entity)
                count += 1
            }
            // Once per lane: the head would change with each removal.
            for entity in entities { try execute(.settle, [entity]) }
            return count
        }

        func totals() throws -> QueueTotals {
            let oldest = try row(.oldest).flatMap { Double.fromDatabaseValue($0.databaseValue(at: 0)) }
            guard let counts = try row(.counts) else { return QueueTotals() }
            return QueueTotals(
                pending: counts.integer("pending"), bytes: counts.integer("bytes"), dead: counts.integer("dead"),
                deadBytes: counts.integer("dead_bytes"), oldest: oldest.map(Date.init(timeIntervalSinceReferenceDate:)),
                nextDue: try nextDue())
        }

        func setting(_ name: String) throws -> String? { try row(.setting, [Self.column(name)])?.text("value") }

        func set(_ name: String, to value: String?) throws {
            if let value {
                try execute(.set, [Self.column(name), Self.column(value)])
            } else {
                try execute(.unset, [Self.column(name)])
            }
        }
    }

    extension SQLiteTable: AppendingTable {
        func contains(id: String) throws -> Bool { try row(.contains, [Self.column(id)]) != nil }

        mutating func last(of entity: String) throws -> StoredMutation? {
            let row = try lookup ?? RowStatement(statement(.last))
            lookup = row
            row.clear()
            try row.bind(entity, at: 1)
            // The row belongs to a cursor, which resets the statement at its end.
            let rows = try Row.fetchCursor(row.statement)
            return try withExtendedLifetime(rows) { try rows.next().map(StoredMutation.init(row:)) }
        }

        func fresh(after position: Int64) throws -> (position: Int64, id: String)? {
            try row(.fresh, [position]).map { ($0["position"], $0.text("id") ?? "") }
        }

        func pendingCountAndBytes() throws -> (count: Int, bytes: Int) {
            try row(.counts).map { ($0.integer("pending"), $0.integer("bytes")) } ?? (0, 0)
        }

        mutating func insert(_ mutation: Mutation, at date: Date) throws -> Int64? {
            let row = try insertion ?? RowStatement(statement(.insert))
            insertion = row
            row.clear()
            try row.bind(mutation.id, at: 1)
            try row.bind(mutation.entity, at: 2)
            try row.bind(mutation.kind, at: 3)
            try mutation.operation.map { try row.bind($0.rawValue, at: 4) }
            try row.bind(mutation.idempotencyKey, at: 5)
            try row.bind(Self.column(mutation.createdAt), at: 6)
            try row.bind(Self.column(date), at: 7)
            try row.bind(mutation.payload, at: 8)
            try row.bind(Int64(mutation.earlierFailures), at: 9)
            try mutation.notBefore.map { try row.bind(Self.column($0), at: 10) }
            try row.bind(Int64(Self.column(isUrgent: mutation)), at: 11)
            try row.statement.execute()
            guard db.changesCount > 0 else { return nil }
            let position = db.lastInsertedRowID
            if mutation.isUrgent { try execute(.hurry, [Self.column(mutation.entity), position]) }
            return position
        }

        func replace(_ position: Int64, with mutation: Mutation, at date: Date) throws {
            try execute(
                .replace,
                [
                    Self.column(mutation.kind), mutation.operation?.rawValue, Self.column(mutation.idempotencyKey),
                    mutation.payload, Self.column(date), Self.column(isUrgent: mutation), position,
                ])
            if mutation.isUrgent { try execute(.hurry, [Self.column(mutation.entity), position]) }
        }

        func removePending(_ position: Int64) throws {
            guard let entity = try entity(ofPending: position) else { return }
            try remove(position, of: entity)
        }
    }

    /// A statement that runs for many rows. For each row, GRDB would look up the statement's text, copy the values
    /// twice and count them, which takes as long as the insert.
    private final class RowStatement {
        let statement: Statement

        init(_ statement: Statement) {
            self.statement = statement
            // From here on GRDB regards the values as bound.
            statement.setUncheckedArguments([])
        }

        deinit { clear() }

        /// Sets all values to NULL.
        func clear() {
            sqlite3_reset(statement.sqliteStatement)
            sqlite3_clear_bindings(statement.sqliteStatement)
        }

        /// Binds a text in the form of ``SQLiteTable/column(_:)``.
        func bind(_ text: String, at index: CInt) throws {
            var text = text
            try check(
                text.withUTF8 { bytes in
                    bytes.contains(0)
                        ? sqlite3_bind_blob64(
                            statement.sqliteStatement, index, bytes.baseAddress, UInt64(bytes.count), Self.copied)
                        : bytes.withMemoryRebound(to: CChar.self) {
                            sqlite3_bind_text64(
                                statement.sqliteStatement, index, $0.baseAddress, UInt64($0.count),
                                Self.copied, UInt8(SQLITE_UTF8))
                        }
                })
        }

        func bind(_ bytes: Data, at index: CInt) throws {
            try check(
                bytes.withUnsafeBytes { bytes in
                    // Without an address SQLite would make it NULL.
                    bytes.isEmpty
                        ? sqlite3_bind_zeroblob(statement.sqliteStatement, index, 0)
                        : sqlite3_bind_blob64(
                            statement.sqliteStatement, index, bytes.baseAddress, UInt64(bytes.count), Self.copied)
                })
        }

        func bind(_ number: Int64, at index: CInt) throws {
            try check(sqlite3_bind_int64(statement.sqliteStatement, index, number))
        }

        func bind(_ number: Double, at index: CInt) throws {
            try check(sqlite3_bind_double(statement.sqliteStatement, index, number))
        }

        /// SQLITE_TRANSIENT, a macro that Swift does not see.
        private static let copied = unsafeBitCast(OpaquePointer(bitPattern: -1), to: sqlite3_destructor_type.self)

        private func check(_ code: CInt) throws {
            guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        }
    }

    // A value of an unexpected type reads as empty.
    extension Row {
        fileprivate func databaseValue(at index: Int) -> DatabaseValue { self[index] }

        fileprivate func integer(_ column: String) -> Int { Int.fromDatabaseValue(self[column]) ?? 0 }

        func text(_ column: String) -> String? {
            switch (self[column] as DatabaseValue).storage {
            case .string(let text): text
            // Not decoded by Foundation, which drops a byte order mark.
            case .blob(let bytes): String(validating: bytes, as: UTF8.self)
            default: nil
            }
        }

        fileprivate func date(_ column: String) -> Date {
            optionalDate(column) ?? Date(timeIntervalSinceReferenceDate: 0)
        }

        fileprivate func optionalDate(_ column: String) -> Date? {
            Double.fromDatabaseValue(self[column]).map(Date.init(timeIntervalSinceReferenceDate:))
        }
    }

    extension LaneHead {
        fileprivate init(row: Row) {
            self.init(
                position: Int64.fromDatabaseValue(row["position"]) ?? 0, id: row.text("id") ?? "",
                entity: row.text("entity") ?? "", kind: row.text("kind") ?? "", queuedAt: row.date("queued_at"),
                failures: row.integer("failures"), bytes: row.integer("bytes"), claims: row.integer("claims"))
        }
    }

    extension StoredMutation {
        package static let columns = [
            "position", "id", "entity", "kind", "operation", "idempotency_key", "created_at", "queued_at", "attempted",
            "failures", "last_error", "died_at", "overtaken", "claims", "not_before", "urgent", "payload",
        ]

        /// Reads a row with these columns.
        package init(row: Row) {
            let mutation = Mutation(
                id: row.text("id") ?? "", entity: row.text("entity") ?? "", kind: row.text("kind") ?? "",
                operation: row.text("operation").flatMap(Mutation.Operation.init(rawValue:)),
                payload: Data.fromDatabaseValue(row["payload"]) ?? Data(),
                idempotencyKey: row.text("idempotency_key") ?? "", createdAt: row.date("created_at"),
                notBefore: row.optionalDate("not_before"), isUrgent: row.integer("urgent") == 2)
            self.init(
                position: Int64.fromDatabaseValue(row["position"]) ?? 0, mutation: mutation,
                queuedAt: row.date("queued_at"), isAttempted: row.integer("attempted") != 0,
                failures: row.integer("failures"), lastError: row.text("last_error"),
                diedAt: row.optionalDate("died_at"), isOvertaken: row.integer("overtaken") != 0,
                claims: row.integer("claims"))
        }
    }
#endif
