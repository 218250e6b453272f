/// One mutation, by its id.
extension PostgreSQLStore {
    public func mutation(_ id: String, cancelling: Bool) async throws -> StoredMutation? {
        try await again {
            guard cancelling else { return try await self.found(id) }
            return try await self.engine.transaction { session in try await self.cancel(id, in: session) }
        }
    }

    private func found(_ id: String) async throws -> StoredMutation? {
        let isOvertaken = "(CASE WHEN d.state > 0 THEN \(schema.isOvertaken) ELSE d.overtaken END)"
        return try await engine.run(
            """
            SELECT 0::int8, \(schema.columns(of: "d", entity: "l.entity", overtaken: isOvertaken))
            FROM \(name("mutation")) d JOIN \(name("lane")) l ON l.lane = d.lane
            WHERE \(schema.key("d.id")) = \(schema.key("$1::bytea"))
            """, [.exactly(id)]
        ).first.map { try PostgreSQLRow($0, path: path).stored }
    }

    /// Locks the lane first, as appends do. A claim locks only the mutation. If the claim comes first, this sees it;
    /// otherwise the claim finds nothing.
    private func cancel(_ id: String, in session: any StatementSession) async throws -> StoredMutation? {
        let (mutation, lane) = (name("mutation"), name("lane"))
        // With the sum, no plan uses a lane's index.
        let isMeant = "\(schema.key("m.id")) = \(schema.key("$1::bytea")) AND m.state + 0 = 0"
        let locked = try await session.run(
            "SELECT l.lane FROM \(lane) l WHERE l.lane = (SELECT m.lane FROM \(mutation) m WHERE \(isMeant)) FOR UPDATE",
            [.exactly(id)])
        guard let locked = locked.first else { return nil }
        let number = try PostgreSQLColumns(locked, count: 1, path: path).integer(0)
        let gone = try await session.run(
            """
            WITH gone AS (
                DELETE FROM \(mutation) m WHERE \(isMeant) AND m.lane + 0 = $2::int8 RETURNING m.*
            ), counted AS (
                INSERT INTO \(name("total")) SELECT -1, -octet_length(payload), 0, 0 FROM gone
            ), overtaken AS (
                UPDATE \(mutation) d SET overtaken = true FROM gone g
                WHERE g.attempted AND d.lane = g.lane AND d.state > 0 AND NOT d.overtaken AND d.position < g.position
            )
            SELECT 0::int8, \(schema.columns(of: "g", entity: "l.entity")) FROM gone g JOIN \(lane) l ON l.lane = g.lane
            """, [.exactly(id), .integer(number)])
        guard let stored = try gone.first.map({ try PostgreSQLRow($0, path: path).stored }) else { return nil }
        // While a worker may be sending it, the worker keeps the empty lane: later appends must not overtake it. Once
        // the worker is gone, any worker can take the lane.
        let kept = try await session.run(
            """
            UPDATE \(lane) l SET head = NULL WHERE l.lane = $1::int8 AND $2::int8 > 0
            AND EXISTS (SELECT 1 FROM \(name("worker")) w WHERE w.worker = l.worker)
            AND NOT EXISTS (SELECT 1 FROM \(mutation) m WHERE m.lane = l.lane) RETURNING 1::int8
            """, [.integer(number), .integer(Int64(stored.claims))])
        if kept.isEmpty {
            try await session.run(
                "SELECT 1::int8 FROM \(name("settle"))(ARRAY[$1::int8], NULL, true)", [.integer(number)])
        }
        return stored
    }
}
