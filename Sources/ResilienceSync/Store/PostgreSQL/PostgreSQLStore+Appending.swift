import Resilience

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Appending, in the store's or the caller's transaction.
extension PostgreSQLStore {
    /// The largest payload.
    ///
    /// PostgreSQL limits the values of a statement, and its result, to 1 GB.
    public static let mostPayloadBytes = 256 << 20
    /// The limits of one statement, in mutations and in bytes of payloads.
    private static let chunk = (count: 2_000, bytes: 32 << 20)

    /// Appends within the caller's transaction: rolled back with it, and durable once it is committed.
    ///
    /// ``SyncQueue/enqueue(_:in:telling:)`` checks the mutations, and uses the queue's rules. Until the transaction
    /// ends, other appends to the same entities wait for it, and a shared queue does not send from their lanes.
    ///
    /// Concurrent calls for one transaction wait for each other, and so do other statements of a session of
    /// `PostgreSQLEngine`. With another engine, run no other statement of the transaction until this has returned: if
    /// it throws, that statement would also be undone.
    ///
    /// - Parameters:
    ///   - mutations: The mutations to add.
    ///   - rules: The limits and the coalescing.
    ///   - date: Now, by the wall clock.
    ///   - session: A session of the store's database, within a transaction.
    /// - Returns: The result of each mutation.
    /// - Throws: As ``MutationStore/append(_:under:at:)``. Then the transaction can continue, without these
    ///   mutations.
    public func append(
        _ mutations: [Mutation], under rules: AppendRules, at date: Date, joining session: any StatementSession
    ) async throws -> AppendResult {
        guard !mutations.isEmpty else { return AppendResult() }
        do {
            return try await TransactionTurns.alone(in: session) { session in
                try await self.append(mutations, under: rules, at: date, within: session)
            }
        } catch let error as StatementError {
            throw failure(.use, error)
        }
    }

    /// Nothing else may run in the transaction meanwhile: a rollback to the savepoint would undo it.
    private func append(
        _ mutations: [Mutation], under rules: AppendRules, at date: Date, within session: any StatementSession
    ) async throws -> AppendResult {
        let savepoint = "resilience_append"
        var attempts = 1
        while true {
            try await session.run("SAVEPOINT \(savepoint)", [])
            do {
                let appended = try await append(mutations, under: rules, at: date, in: session).0
                try await session.run("RELEASE SAVEPOINT \(savepoint)", [])
                return appended
            } catch {
                try await session.run("ROLLBACK TO SAVEPOINT \(savepoint)", [])
                try await session.run("RELEASE SAVEPOINT \(savepoint)", [])
                guard let error = error as? StatementError, error.isOfARace, attempts < 3 else { throw error }
                attempts += 1
            }
        }
    }

    /// - Returns: The result, and the transaction's number.
    func append(
        _ mutations: [Mutation], under rules: AppendRules, at date: Date, in session: any StatementSession
    ) async throws -> (AppendResult, String) {
        for mutation in mutations where mutation.payload.count > Self.mostPayloadBytes {
            throw SyncQueueError.invalid(
                id: mutation.id,
                reason: "its payload has \(mutation.payload.count) bytes, more than \(Self.mostPayloadBytes).")
        }
        var known = PostgreSQLAppend()
        let merging = Set(mutations.filter(rules.coalescing.mayMerge).map { ExactText($0.entity) })
        for entity in merging { known.tails[entity] = .init(isWhole: true) }
        let rows = try await session.run(
            "SELECT * FROM \(name("begin_append"))($1::bytea[], $2::bytea[], $3::bytea[], $4::int8)",
            [
                .texts(mutations.map(\.id)), .texts(Self.inOrder(Set(mutations.map { ExactText($0.entity) }))),
                .texts(merging.map(\.text)), .integer(rules.hasLimits ? 1 : 0),
            ]
        ).map { try PostgreSQLRow($0, path: path) }
        for row in rows {
            switch row.what {
            case 1: known.ids.insert(ExactText(try row.id))
            case 2:
                let stored = try row.stored
                known.tails[ExactText(stored.mutation.entity)] = .init(mutations: [stored])
            default: (known.count, known.bytes) = (Int(clamping: try row.number), Int(clamping: try row.size))
            }
        }
        while true {
            var table = known
            do {
                let appended = try table.append(mutations, under: rules, at: date)
                let number = try await write(table, at: date, in: session)
                try await settle(Set(mutations.map { ExactText($0.entity) }).subtracting(table.entities), in: session)
                return (appended, number)
            } catch let missing as PostgreSQLAppend.Missing {
                try await read(missing, into: &known, in: session)
            }
        }
    }

    /// Settles lanes that were created or locked for mutations that no longer exist.
    private func settle(_ entities: Set<ExactText>, in session: any StatementSession) async throws {
        guard !entities.isEmpty else { return }
        try await session.run(
            """
            SELECT 1::int8 FROM \(name("settle"))(ARRAY(SELECT l.lane FROM unnest($1::bytea[]) e (entity)
            JOIN \(name("lane")) l ON \(schema.key("l.entity")) = \(schema.key("e.entity"))), NULL, true)
            """, [.texts(entities.map(\.text))])
    }

    /// The order of their bytes: all appends lock lanes in this order, so that they can't deadlock.
    private static func inOrder(_ entities: Set<ExactText>) -> [String] {
        entities.map(\.text).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private func read(
        _ missing: PostgreSQLAppend.Missing, into known: inout PostgreSQLAppend, in session: any StatementSession
    ) async throws {
        let mutation = name("mutation")
        switch missing {
        case .earlier(let entity, let position):
            // The known mutations were removed in memory; this reads the one before them.
            let first = known.tails[ExactText(entity)]?.mutations.first?.position ?? position
            let rows = try await session.run(
                """
                SELECT 2::int8, \(schema.columns(ofLast: "m", entity: "l.entity"))
                FROM \(name("lane")) l CROSS JOIN LATERAL (SELECT * FROM \(mutation) m
                WHERE m.lane >= l.lane AND (m.lane, m.position) < (l.lane, $2::int8) AND m.state = 0
                ORDER BY m.lane DESC, m.position DESC LIMIT 1) m
                WHERE \(schema.key("l.entity")) = \(schema.key("$1::bytea"))
                """, [.exactly(entity), .integer(first)]
            ).map { try PostgreSQLRow($0, path: path) }
            if let stored = try rows.first?.stored {
                known.tails[ExactText(entity), default: .init()].mutations.insert(stored, at: 0)
            } else {
                known.tails[ExactText(entity), default: .init()].isWhole = true
            }
        case .fresh(let position):
            let limit = max(100, known.fresh.count)
            let rows = try await session.run(
                """
                SELECT position, id, octet_length(payload)::int8 FROM \(mutation)
                WHERE state + 0 = 0 AND NOT attempted AND position + 0 > $1::int8 ORDER BY position + 0 LIMIT $2::int8
                """, [.integer(position), .integer(Int64(limit))])
            known.fresh += try rows.map { row in
                let row = try PostgreSQLColumns(row, count: 3, path: path)
                return .init(position: try row.integer(0), id: try row.text(1), bytes: try row.count(2))
            }
            known.isFreshWhole = rows.count < limit
        }
    }

    /// - Returns: The transaction's number.
    private func write(
        _ append: PostgreSQLAppend, at date: Date, in session: any StatementSession
    ) async throws -> String {
        var number: Int64 = 0
        var rest = append.inserted.map(\.mutation)[...]
        var isLast = false
        while !isLast {
            var bytes = 0
            let chunk = rest.prefix(Self.chunk.count).prefix { mutation in
                defer { bytes += mutation.payload.count }
                return bytes < Self.chunk.bytes
            }
            rest = rest.dropFirst(chunk.count)
            isLast = rest.isEmpty
            // These go with the last chunk, because a removal may empty a lane, and an empty lane is removed.
            let (replaced, removed) = isLast ? (append.replaced, append.removed) : ([], [])
            let rows = try await session.run(
                """
                SELECT \(name("end_append"))($1::bytea[], $2::bytea[], $3::bytea[], $4::int8[], $5::bytea[], $6::float8[],
                $7::bytea[], $8::int8[], $9::bytea[], $10::int8[], $11::bytea[], $12::bytea[], $13::int8[], $14::float8, $15::float8[])
                """,
                [
                    .texts(chunk.map(\.id)), .texts(chunk.map(\.entity)), .texts(chunk.map(\.kind)),
                    .integers(chunk.map(\.operation.number)), .texts(chunk.map(\.idempotencyKey)),
                    .reals(chunk.map(\.createdAt.timeIntervalSinceReferenceDate)),
                    .arraysOfBytes(chunk.map(\.payload)), .integers(replaced.map(\.position)),
                    .texts(replaced.map(\.mutation.kind)), .integers(replaced.map(\.mutation.operation.number)),
                    .texts(replaced.map(\.mutation.idempotencyKey)), .arraysOfBytes(replaced.map(\.mutation.payload)),
                    .integers(removed), .date(date),
                    // A past date counts as none.
                    .reals(chunk.map { $0.notBefore?.timeIntervalSinceReferenceDate ?? -.infinity }),
                ])
            number = try PostgreSQLColumns(rows.first ?? [], count: 1, path: path).integer(0)
        }
        // Earlier failures are rare, so they are not part of the statement above.
        let failed = append.inserted.map(\.mutation).filter { $0.earlierFailures > 0 }
        if !failed.isEmpty {
            try await session.run(
                """
                UPDATE \(name("mutation")) m SET attempted = true, failures = f.failures
                FROM unnest($1::bytea[], $2::int8[]) f (id, failures) WHERE \(schema.key("m.id")) = \(schema.key("f.id"))
                """, [.texts(failed.map(\.id)), .integers(failed.map { Int64($0.earlierFailures) })])
        }
        let urgent = (append.inserted + append.replaced).map(\.mutation).filter(\.isUrgent)
        if !urgent.isEmpty {
            try await session.run(
                """
                WITH u AS (
                    UPDATE \(name("mutation")) m SET urgent = true FROM unnest($1::bytea[]) u (id)
                    WHERE \(schema.key("m.id")) = \(schema.key("u.id")) RETURNING m.lane, m.position
                ) UPDATE \(name("lane")) l SET urgent = greatest(l.urgent, u.position)
                FROM (SELECT lane, max(position) AS position FROM u GROUP BY lane) u WHERE l.lane = u.lane
                """, [.texts(urgent.map(\.id))])
        }
        return "\(number)"
    }

    /// Checks whether a transaction was committed although its connection was lost.
    func confirm(_ transaction: String, after error: StatementError) async throws {
        let end = timeBase.now + lease
        while true {
            let status = try? await engine.run("SELECT pg_xact_status($1::text::xid8)", [.text(transaction)])
            switch status?.first?.first?.text {
            case "committed": return
            case "aborted": throw StatementError(message: error.message)
            default: break
            }
            guard timeBase.now < end else { throw error }
            _ = await PolicyWaiter().wait(until: timeBase.now + .milliseconds(100), on: timeBase)
            if Task.isCancelled { throw error }
        }
    }
}

extension SyncQueue {
    /// Stores mutations in the caller's transaction: together with the change that they describe, or not at all.
    ///
    /// ```swift
    /// try await engine.transaction { session in
    ///     try await session.run(
    ///         "UPDATE note SET title = $1 WHERE id = $2", [.text(title), .integer(7)])
    ///     try await queue.enqueue([mutation], in: session)
    /// }
    /// ```
    ///
    /// The queue does not see the commit, so it reports no ``SyncEvent/enqueued(_:)``. After the commit,
    /// ``followStore()`` flushes in every process; without it, call ``trigger()``.
    ///
    /// - Parameters:
    ///   - mutations: The mutations to store.
    ///   - session: A session of the database of the queue's ``PostgreSQLStore``, within a transaction.
    ///   - telling: Whether the commit notifies the queues that follow the store (`NOTIFY`); true by default.
    ///     Transactions with `NOTIFY` commit one at a time in the whole server. Turn it off if there are hundreds per
    ///     second; then the queues find the mutations when they next look.
    /// - Returns: The result of each mutation.
    /// - Throws: As ``enqueue(_:)-([Mutation])``; ``SyncQueueError/unreadable(path:reason:)`` if the queue's store is
    ///   not a ``PostgreSQLStore``. Then the transaction can continue, without these mutations.
    @discardableResult
    public func enqueue(
        _ mutations: [Mutation], in session: some StatementSession, telling: Bool = true
    ) async throws -> AppendResult {
        let store = try store(as: PostgreSQLStore.self)
        guard !mutations.isEmpty else { return AppendResult() }
        try prepare(mutations)
        let appended = try await store.append(
            mutations, under: configuration.appending, at: date, joining: session)
        if telling { try await store.tell(.news(PostgreSQLStore.newNumber()), in: session) }
        return appended
    }
}
