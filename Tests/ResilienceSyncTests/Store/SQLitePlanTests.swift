#if SQLite
    import Foundation
    import GRDB
    import ResilienceSync
    import Testing

    /// No query scans the whole queue, however large it is.
    @Suite(.timeLimit(.minutes(20))) struct SQLitePlanTests {
        @Test("no statement scans the mutations or sorts them", arguments: SQLiteTable.SQL.allCases)
        func plan(sql: SQLiteTable.SQL) async throws {
            let database = try DatabaseQueue()
            _ = try SQLiteStore(in: database)
            let plan = try await database.read { db in
                let statement = try db.makeStatement(sql: "EXPLAIN QUERY PLAN \(sql.text)")
                statement.setUncheckedArguments([])
                return try Row.fetchAll(statement).map { $0["detail"] as String }
            }
            // Reading an index from its start to the match is not a scan, if the index holds nothing else.
            let allowed = [
                "SCAN resilience_mutation USING INDEX resilience_pending",
                "SCAN resilience_mutation USING INDEX resilience_lane",
                "SCAN resilience_mutation USING INDEX resilience_dead",
                "SCAN resilience_mutation USING INDEX resilience_urgent", "SCAN resilience_totals",
            ]
            let scans = plan.filter { $0.contains("SCAN") && !allowed.contains($0) && $0 != "SCAN CONSTANT ROW" }
            #expect(scans.isEmpty && !plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
        }

        @Test(
            "work per mutation creates no temporary table, as a list of three in a CHECK would",
            arguments: [.insert, .claim, .fail, .answer, .park, .revive, .delete] as [SQLiteTable.SQL])
        func tables(sql: SQLiteTable.SQL) async throws {
            let database = try DatabaseQueue()
            _ = try SQLiteStore(in: database)
            let steps = try await database.read { db in
                let statement = try db.makeStatement(sql: "EXPLAIN \(sql.text)")
                statement.setUncheckedArguments([])
                return try Row.fetchAll(statement).map { $0["opcode"] as String }
            }
            #expect(!steps.isEmpty && !steps.contains { $0.contains("Ephemeral") })
        }
    }
#endif
