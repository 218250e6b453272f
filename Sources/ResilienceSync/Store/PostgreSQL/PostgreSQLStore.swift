package import Resilience

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A store in a PostgreSQL database, for one sender or for many workers.
///
/// ```swift
/// let engine = try PostgreSQLEngine("postgresql://db.example.com/app")
/// let store = try await PostgreSQLStore(engine, sending: .shared)
/// let queue = SyncQueue("outbox", store: store, pipeline: pipeline, handlers: handlers)
/// ```
///
/// The store creates its tables in their own schema, under a lock, so any number of workers may start at the same time.
/// A schema and a queue's name separate tenants.
///
/// A queue that sends has a *lease*: if the server does not hear from it for that long, other queues may take its
/// lanes. The server's clock measures all leases. Claims and failures of a queue without a lease are rejected; its
/// acknowledgements count, because their effects have happened.
///
/// With ``Sending/shared``, each queue needs its own value of the store. It takes free lanes with `SKIP LOCKED`, and
/// gives a lane back when the mutations sent from it are acknowledged. At most one queue has a lane.
public final class PostgreSQLStore: MutationStore {
    /// The number of queues that send.
    public enum Sending: Sendable, Hashable {
        /// One queue at a time; the others wait for it.
        case exclusive
        /// Any number of queues, each with its own lanes.
        case shared
    }

    struct State {
        /// The queue that has this store's lease, or had it and has not given it back.
        var holder: UUID?
        /// The holder's number among the workers in the database.
        var worker: Int64?
        /// When the lease ends at the latest, by this machine's clock.
        var leaseEnd = MonotonicInstant.distantPast
        var renewal: TimeBaseAlarm?
        /// The server's date, and when it was asked for.
        var clock: (date: Date, instant: MonotonicInstant)?
        /// The stored pauses, as last read or written by this store.
        var knownPauses: [String: String] = [:]
        /// The next due date, by this store's last reading.
        var knownDue: Date?
        /// When the others were last notified; whether another notification is scheduled, and whether it is for all.
        var toldAt = MonotonicInstant.distantPast
        var tellsSoon = false
        var tellsEverybody = false
        /// This store's news from others.
        var news = NewsStateMachine(name: PostgreSQLStore.newNumber())
        /// The heads that the holder has taken without reporting their results.
        var unsent: Set<Int64> = []
    }

    /// The number of queues that send.
    public let sending: Sending
    /// How long after its last renewal a queue keeps its lanes.
    public let lease: Duration
    let engine: any StatementEngine
    let schema: PostgreSQLSchema
    let lanesAtOnce: Int
    let pollInterval: Duration
    let tellsOthers: Bool
    let timeBase: any TimeBase
    let state = Locked(State())

    var name: PostgreSQLNames { schema.name }

    /// The store's name in errors: the schema and the queue.
    public var path: String { name.path }

    /// Opens the queue's tables, or creates them.
    ///
    /// - Parameters:
    ///   - engine: Reaches the database.
    ///   - schema: The schema of the tables, made if it is missing; `resilience` by default. 1 to 40 letters, digits
    ///     and underscores.
    ///   - queue: The name of the queue, with which its tables' names begin; `sync` by default. 1 to 40 letters, digits
    ///     and underscores.
    ///   - sending: How many queues send; one by default. All stores on the same tables must agree.
    ///   - lease: How long after a queue's last renewal others may take its lanes, from 1 s to a day; 30 s by default.
    ///     The store renews it three times per lease.
    ///   - lanesAtOnce: With ``Sending/shared``, the most lanes to take at a time, 1 or more; 16 by default. For
    ///     handlers of batches, take the size of a batch.
    ///   - pollInterval: How often ``changes()`` has an element even without a notification, from 0.1 s to a day; 10 s
    ///     by default.
    ///   - tellsOthers: Whether the store notifies the others of appends and pauses (`NOTIFY`), at most ten times a
    ///     second; true by default.
    ///   - migrates: Whether it creates tables; true by default. If false, and they are missing, it throws: run the
    ///     statements of ``migration(schema:queue:)`` yourself.
    /// - Throws: ``SyncQueueError/unreadable(path:reason:)``, ``SyncQueueError/newerSchema(path:version:)``,
    ///   ``SyncQueueError/storeFailed(path:reason:)``.
    public convenience init(
        _ engine: some StatementEngine, schema: String = "resilience", queue: String = "sync",
        sending: Sending = .exclusive, lease: Duration = .seconds(30), lanesAtOnce: Int = 16,
        pollInterval: Duration = .seconds(10), tellsOthers: Bool = true, migrates: Bool = true
    ) async throws {
        try await self.init(
            engine, schema: schema, queue: queue, sending: sending, lease: lease, lanesAtOnce: lanesAtOnce,
            pollInterval: pollInterval, tellsOthers: tellsOthers, migrates: migrates, timeBase: SystemTimeBase.shared)
    }

    package init(
        _ engine: some StatementEngine, schema: String, queue: String, sending: Sending, lease: Duration,
        lanesAtOnce: Int, pollInterval: Duration, tellsOthers: Bool, migrates: Bool, timeBase: any TimeBase
    ) async throws {
        let checks = SettingChecks("PostgreSQLStore")
        self.lease = min(max(checks.aboveZero(lease, "lease"), .seconds(1)), .seconds(86_400))
        self.lanesAtOnce = checks.atLeast(1, lanesAtOnce, "lanesAtOnce")
        self.pollInterval = min(
            max(checks.aboveZero(pollInterval, "pollInterval"), .milliseconds(100)), .seconds(86_400))
        self.engine = engine
        self.schema = PostgreSQLSchema(name: try PostgreSQLNames(schema: schema, queue: queue))
        self.sending = sending
        self.tellsOthers = tellsOthers
        self.timeBase = timeBase
        try await open(migrates: migrates)
    }

    deinit {
        if let alarm = state.withLock({ $0.renewal }) { timeBase.cancel(alarm) }
    }

    // MARK: The store

    public func append(
        _ mutations: [Mutation], under rules: AppendRules, at date: Date
    ) async throws -> AppendResult {
        guard !mutations.isEmpty else { return AppendResult() }
        let appended = try await again {
            let transaction = Locked<(appended: AppendResult, number: String)?>(nil)
            do {
                return try await self.engine.transaction { session in
                    let (appended, number) = try await self.append(mutations, under: rules, at: date, in: session)
                    transaction.withLock { $0 = (appended, number) }
                    return appended
                }
            } catch let error as StatementError where error.isOutcomeUnknown {
                guard let (appended, number) = transaction.withLock({ $0 }) else { throw error }
                try await self.confirm(number, after: error)
                return appended
            }
        }
        tellOthers()
        return appended
    }

    public func heads(after position: Int64, limit: Int, at date: Date) async throws -> LaneHeads {
        let worker = isShared ? state.withLock { $0.worker } : nil
        let most = worker == nil ? Self.mostRows : lanesAtOnce
        let began = timeBase.now
        // A worker that looked from the beginning, and found less than it asked for, has taken all free lanes.
        let (unserved, ownName) = state.withLock { ($0.news.unserved, $0.news.name) }
        let news = worker != nil && position == .min ? unserved : nil
        let heads = "SELECT * FROM \(name("heads"))($1::int8, $2::float8, $3::int8, $4::int8, $5::float8)"
        let wanted = max(0, min(limit, most))
        var values: [StatementValue] = [
            .optional(worker), .real(lease / .seconds(1)), .integer(position), .integer(Int64(wanted)), .date(date),
        ]
        if let news {
            values += [.text(name.channel), .text(NewsStateMachine.Notification.served(news, by: ownName).text)]
        }
        let rows = try await run(
            news == nil
                ? heads
                : """
                WITH h AS MATERIALIZED (\(heads)), t AS MATERIALIZED (SELECT CASE
                WHEN (SELECT count(h.number) FROM h WHERE h.urgent = 0) < $4 THEN pg_notify($6::text, $7::text) END IS NULL)
                SELECT h.* FROM t LEFT JOIN h ON true
                """, values)
        var found = LaneHeads()
        for row in rows {
            let row = try PostgreSQLColumns(row, count: 9, path: path)
            if row.columns[0] == .null {
                // Without a lane, the join has one empty row.
                if news == nil || row.columns[4] != .null { found.nextDue = try row.date(4) }
                continue
            }
            let head = LaneHead(
                position: try row.integer(0), id: try row.text(1), entity: try row.text(2), kind: try row.text(3),
                queuedAt: try row.date(4), failures: try row.count(5), bytes: try row.count(6),
                claims: try row.count(7))
            if try row.integer(8) == 1 { found.urgent.append(head) } else { found.heads.append(head) }
        }
        let foundSome = !found.heads.isEmpty || !found.urgent.isEmpty
        if foundSome { renewed(worker, since: began) }
        state.withLock { [found] state in
            state.knownDue = found.nextDue
            guard worker != nil else { return }
            state.news.looked(foundSome: foundSome, served: found.heads.count < wanted ? news : nil)
            for head in found.heads + found.urgent { state.unsent.insert(head.position) }
        }
        return found
    }

    /// The most rows of a page, even if the caller requests more: all are in memory at once.
    private static let mostRows = 10_000

    public func othersHaveHeads() async throws -> Bool {
        guard isShared else { return false }
        return try await !run("SELECT 1::int8 FROM \(name("lane")) WHERE head IS NOT NULL LIMIT 1").isEmpty
    }

    public func pendingEntities(among entities: [String]) async throws -> [String] {
        guard !entities.isEmpty else { return [] }
        let rows = try await run(
            """
            SELECT e.number::int8 FROM unnest($1::bytea[]) WITH ORDINALITY e (entity, number)
            CROSS JOIN LATERAL (SELECT l.lane FROM \(name("lane")) l
            WHERE \(schema.key("l.entity")) = \(schema.key("e.entity")) OFFSET 0) l
            CROSS JOIN LATERAL (SELECT 1 FROM \(name("mutation")) m
            WHERE m.lane BETWEEN l.lane AND l.lane AND m.state = 0 LIMIT 1) m ORDER BY e.number
            """, [.texts(entities)])
        return try rows.compactMap { row in
            let index = try PostgreSQLColumns(row, count: 1, path: path).count(0).subtractingReportingOverflow(1)
            return entities.indices.contains(index.partialValue) ? entities[index.partialValue] : nil
        }
    }

    public func apply(
        _ changes: [MutationChange], claiming positions: [Int64], keeping limits: DeadLimits, at date: Date
    ) async throws -> ApplyResult {
        let (worker, pauses) = state.withLock { ($0.worker, $0.knownPauses) }
        let made = changes.map { change -> (kind: Int64, error: String, rest: Int64) in
            switch change.withBoundedError {
            case .acknowledged: (0, "", 0)
            case .failed(_, let error): (1, error, 0)
            case .died(_, let error, let rest): (2, error, rest == .block ? 1 : rest == .killRest ? 2 : 0)
            case .answered: (3, "", 0)
            }
        }
        let values: [StatementValue] = [
            .optional(worker), .integer(isShared ? 1 : 0), .real(lease / .seconds(1)), Self.text(of: pauses),
            .integers(made.map(\.kind)), .integers(changes.map(\.position)), .texts(made.map(\.error)),
            .integers(made.map(\.rest)), .integers(positions), .optional(limits.maxCount), .optional(limits.maxBytes),
            limits.oldest(at: date).map { .date($0) } ?? .null, .date(date),
        ]
        let began = timeBase.now
        let rows = try await run(
            """
            SELECT * FROM \(name("apply"))($1::int8, $2::int8, $3::float8, $4::bytea, $5::int8[], $6::int8[],
            $7::bytea[], $8::int8[], $9::int8[], $10::int8, $11::int8, $12::float8, $13::float8)
            """, values)
        var result = ApplyResult()
        var isLost = false
        for row in try rows.map({ try PostgreSQLRow($0, path: path) }) {
            switch row.what {
            case 0:
                let number = try row.number
                isLost = number & 1 != 0
                isLost ? lost(worker) : renewed(worker, since: began)
                result.hasOtherPause = number & 2 != 0
            case 1: result.dropped.append(try row.id)
            default: result.claimed.append(try row.stored)
            }
        }
        // Mutations that could not be claimed are not sent either.
        let gone = isLost || result.hasOtherPause ? [] : Set(positions).subtracting(result.claimed.map(\.position))
        state.withLock { state in
            state.unsent.subtract(gone)
            state.unsent.subtract(changes.map(\.position))
        }
        return result
    }

    public func pending(after position: Int64, limit: Int) async throws -> [StoredMutation] {
        try await page("page_of_pending", after: position, limit: limit)
    }

    public func dead(after position: Int64, limit: Int) async throws -> [StoredMutation] {
        try await page("page_of_dead", after: position, limit: limit)
    }

    private func page(_ function: String, after position: Int64, limit: Int) async throws -> [StoredMutation] {
        guard limit > 0 else { return [] }
        return try await run(
            "SELECT * FROM \(name(function))($1::int8, $2::int8)",
            [.integer(position), .integer(Int64(min(limit, Self.mostRows)))]
        ).map { try PostgreSQLRow($0, path: path).stored }
    }

    public func pendingPositions() async throws -> [Int64] { try await positions(dead: false) }

    public func deadPositions() async throws -> [Int64] { try await positions(dead: true) }

    private func positions(dead: Bool) async throws -> [Int64] {
        let row = try await row(of: "SELECT \(name("positions"))($1::int8)", [.integer(dead ? 1 : 0)], columns: 1)
        // Eight bytes per position, the highest byte first; NULL if there are no positions.
        let bytes = try row.optionalBytes(0) ?? Data()
        return stride(from: bytes.startIndex, to: bytes.endIndex, by: 8).map { start in
            bytes[start...].prefix(8).reduce(0) { $0 << 8 | Int64($1) }
        }
    }

    public func revive(_ positions: [Int64], evenOvertaken: Bool, at date: Date) async throws -> Int {
        try await withoutWaiting(positions.count) { waits in
            try await self.number(
                "revive", "$1::int8[], $2::int8, $3::int8, $4::float8",
                [.integers(positions), .integer(evenOvertaken ? 1 : 0), .integer(waits), .date(date)])
        }
    }

    public func discard(_ positions: [Int64]) async throws -> Int {
        try await number("discard", "$1::int8[]", [.integers(positions)])
    }

    public func seal() async throws -> Int64 { Int64(try await number("seal", "", [])) }

    public func removePending(_ positions: [Int64]) async throws -> Int {
        try await withoutWaiting(positions.count) { waits in
            try await self.number("remove_pending", "$1::int8[], $2::int8", [.integers(positions), .integer(waits)])
        }
    }

    /// Makes a change first without waiting for others' transactions, and then again for the rest, with waiting. So
    /// while it waits, it holds no locks on the mutations that it has already changed.
    private func withoutWaiting(_ most: Int, _ change: (_ waits: Int64) async throws -> Int) async throws -> Int {
        let count = try await change(0)
        return count < most ? try await count + change(1) : count
    }

    private func number(_ function: String, _ parameters: String, _ values: [StatementValue]) async throws -> Int {
        try await row(of: "SELECT \(name(function))(\(parameters))", values, columns: 1).count(0)
    }

    public func totals() async throws -> QueueTotals {
        let row = try await row(
            of: """
                SELECT coalesce(sum(pending), 0)::int8, coalesce(sum(bytes), 0)::int8, coalesce(sum(dead), 0)::int8,
                coalesce(sum(dead_bytes), 0)::int8,
                (SELECT queued_at FROM \(name("mutation")) WHERE state + 0 = 0 ORDER BY position + 0 LIMIT 1), \(nextDue)
                FROM \(name("total"))
                """, [], columns: 6)
        return QueueTotals(
            pending: try row.count(0), bytes: try row.count(1), dead: try row.count(2), deadBytes: try row.count(3),
            oldest: try row.optionalDate(4), nextDue: try row.optionalDate(5))
    }

    /// When the next mutation is due; NULL if none waits for its date.
    var nextDue: String {
        "(SELECT not_before FROM \(name("mutation")) WHERE not_before IS NOT NULL ORDER BY not_before LIMIT 1)"
    }

    public func setting(_ name: String) async throws -> String? {
        let rows = try await run("SELECT value FROM \(self.name("setting")) WHERE name = $1::bytea", [.exactly(name)])
        let value = try rows.first.map { try PostgreSQLColumns($0, count: 1, path: path).text(0) }
        if Self.isPause(name) { state.withLock { $0.knownPauses[name] = value } }
        return value
    }

    private static func isPause(_ name: String) -> Bool {
        name == SyncQueue.pauseName || name == SyncQueue.handPauseName
    }

    /// Keeps another worker's stored pause if that pause ends later. This worker learns of it when it claims.
    private static let unlessShorter = """
        \(" ")WHERE CASE WHEN \(isNumber("s.value")) AND \(isNumber("excluded.value"))
        THEN encode(s.value, 'escape')::float8 <= encode(excluded.value, 'escape')::float8 ELSE true END
        """

    private static func isNumber(_ value: String) -> String {
        "encode(\(value), 'escape') ~ '^[0-9]{1,15}([.][0-9]+)?$'"
    }

    public func set(_ name: String, to value: String?) async throws {
        let isPause = name == SyncQueue.pauseName
        let delete = "DELETE FROM \(self.name("setting")) WHERE name = $1::bytea"
        if let value {
            try await run(
                """
                INSERT INTO \(self.name("setting")) AS s (name, value) VALUES ($1::bytea, $2::bytea)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value\(isPause && isShared ? Self.unlessShorter : "")
                """, [.exactly(name), .exactly(value)])
        } else if isPause, isShared {
            // Another worker may have stored a pause since, which this store does not know.
            let known = state.withLock { $0.knownPauses[name] }
            try await run(
                "\(delete) AND value = $2::bytea", [.exactly(name), known.map { .exactly($0) } ?? .null])
        } else {
            try await run(delete, [.exactly(name)])
        }
        guard Self.isPause(name) else { return }
        state.withLock { state in
            state.knownPauses[name] = value
            state.tellsEverybody = true
        }
        tellOthers()
    }
}
