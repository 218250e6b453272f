import Resilience

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Leases and notifications.
extension PostgreSQLStore {
    public var isShared: Bool { sending == .shared }

    public func lock(for queue: UUID) async throws -> SendingLock {
        let worker = state.withLock { state -> Int64?? in
            if let holder = state.holder, holder != queue { return nil }
            return .some(state.worker)
        }
        guard let worker else { return .denied }
        let began = timeBase.now
        let rows = try await run(
            "SELECT l.*, \(Self.serverDate) FROM \(name("lock"))($1::bytea, $2::int8, $3::int8, $4::float8) l",
            [.bytes(queue.bytes), .integer(isShared ? 0 : 1), .optional(worker), .real(lease / .seconds(1))])
        if let row = rows.first { try readClock(row, column: 2, askedAt: began) }
        guard let row = rows.first, let status = row[0].integer, let number = row[1].integer,
            status != 0
        else {
            state.withLock { if $0.holder == queue { ($0.holder, $0.worker) = (nil, nil) } }
            return .denied
        }
        let isTaken = state.withLock { state in
            // Two queues on this store may have asked at the same time.
            guard state.holder == nil || state.holder == queue else { return false }
            if state.worker != number { state.unsent = [] }
            (state.holder, state.worker, state.leaseEnd) = (queue, number, began + lease)
            return true
        }
        guard isTaken else {
            await giveBack(number)
            return .denied
        }
        scheduleRenewal()
        return status == 2 ? .takenAgain : .taken
    }

    public func unlock(for queue: UUID) async {
        let (worker, leftSome) = state.withLock { state -> (Int64?, Bool) in
            guard state.holder == queue else { return (nil, false) }
            defer { (state.holder, state.worker) = (nil, nil) }
            if let alarm = state.renewal.take() { timeBase.cancel(alarm) }
            // A pause applies to all queues, so no other one could send the rest.
            let leftSome = isShared && !state.unsent.isEmpty && state.knownPauses.isEmpty
            state.news.ended(leftSome: leftSome)
            return (state.worker, leftSome)
        }
        guard let worker else { return }
        await giveBack(worker)
        if leftSome, tellsOthers { try? await tell(.left(Self.newNumber()), in: engine) }
    }

    /// If this fails, the lease expires.
    private func giveBack(_ worker: Int64) async {
        _ = try? await run("DELETE FROM \(name("worker")) WHERE worker = $1::int8", [.integer(worker)])
    }

    public func maySend(for queue: UUID) -> Bool {
        let now = timeBase.now
        return state.withLock { state in
            guard let holder = state.holder else { return true }
            return holder == queue && state.worker != nil && now < state.leaseEnd
        }
    }

    // MARK: The server's clock

    /// In seconds since 2001.
    private static let serverDate = "(extract(epoch FROM clock_timestamp()) - 978307200)::float8"

    /// Now, by the server's clock.
    ///
    /// The store reads it when it is opened, and when a queue on it begins to send or renews its lease.
    public var now: Date? {
        let now = timeBase.now
        let clock = state.withLock { $0.clock }
        return clock.map { $0.date.later(by: $0.instant.duration(to: now)) }
    }

    func readClock() async throws {
        let began = timeBase.now
        try readClock(try await engine.run("SELECT \(Self.serverDate)", []).first ?? [], column: 0, askedAt: began)
    }

    /// - Parameter column: The date's column, which is the last.
    private func readClock(_ row: [StatementValue], column: Int, askedAt instant: MonotonicInstant) throws {
        let date = try PostgreSQLColumns(row, count: column + 1, path: path).date(column)
        state.withLock { $0.clock = (date, instant) }
    }

    // MARK: The lease

    /// - Parameter began: When the renewing statement was sent: the server renewed the lease later.
    func renewed(_ worker: Int64?, since began: MonotonicInstant) {
        guard let worker else { return }
        state.withLock { state in
            guard state.worker == worker else { return }
            state.leaseEnd = max(state.leaseEnd, began + lease)
        }
    }

    func lost(_ worker: Int64?) {
        guard let worker else { return }
        state.withLock { if $0.worker == worker { $0.leaseEnd = .distantPast } }
    }

    private func scheduleRenewal() {
        let alarm = timeBase.schedule(at: timeBase.now + lease / 3) { [weak self] in
            guard let self else { return }
            Task { await self.renew() }
        }
        let stale = state.withLock { state -> TimeBaseAlarm? in
            guard state.holder != nil else { return alarm }
            defer { state.renewal = alarm }
            return state.renewal
        }
        if let stale { timeBase.cancel(stale) }
    }

    private func renew() async {
        guard let worker = state.withLock({ $0.worker }) else { return }
        let began = timeBase.now
        let rows = try? await engine.run(
            """
            UPDATE \(name("worker")) SET until = clock_timestamp() + make_interval(secs => $2::float8)
            WHERE worker = $1::int8 RETURNING \(Self.serverDate)
            """, [.integer(worker), .real(lease / .seconds(1))])
        // If the server was not reached, the lease continues to its end.
        if let row = rows?.first { try? readClock(row, column: 0, askedAt: began) }
        if let rows { rows.isEmpty ? lost(worker) : renewed(worker, since: began) }
        scheduleRenewal()
    }

    // MARK: Notifications

    private static let tellInterval = Duration.milliseconds(100)

    /// Notifies the others, after the commit and outside of a transaction: `NOTIFY` makes transactions commit one at a
    /// time.
    func tellOthers() {
        guard tellsOthers else { return }
        let now = timeBase.now
        let at = state.withLock { state -> MonotonicInstant? in
            if state.tellsSoon { return nil }
            state.tellsSoon = true
            return max(now, state.toldAt + Self.tellInterval)
        }
        guard let at else { return }
        // Retains the store, even if the program no longer needs it then.
        _ = timeBase.schedule(at: at) {
            Task {
                let isForAll = self.state.withLock { state in
                    defer { (state.tellsSoon, state.tellsEverybody, state.toldAt) = (false, false, self.timeBase.now) }
                    return state.tellsEverybody
                }
                // A worker that misses the notification still looks now and then.
                try? await self.tell(isForAll ? .everybody : .news(Self.newNumber()), in: self.engine)
            }
        }
    }

    static func newNumber() -> String { String(UInt64.random(in: 0...UInt64.max), radix: 36) }

    package func tellEverybody(in session: some StatementSession) async throws {
        try await tell(.everybody, in: session)
    }

    func tell(_ notification: NewsStateMachine.Notification, in session: some StatementSession) async throws {
        do {
            try await session.run(
                "SELECT 1::int8 FROM pg_notify($1::text, $2::text)", [.text(name.channel), .text(notification.text)])
        } catch let error as StatementError {
            throw failure(.use, error)
        }
    }

    public func changes() -> AsyncStream<Void>? {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (hints, hint) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let listener = engine.notifications(on: name.channel).map { notifications in
            Task { [weak self] in
                for await text in notifications {
                    guard let self else { return }
                    let (now, chance) = (self.timeBase.now, Double.random(in: 0..<1))
                    let at = self.state.withLock { $0.news.heard(.init(text), at: now, chance: chance) }
                    if let at, at > now, self.isShared {
                        _ = self.timeBase.schedule(at: at) { hint.yield() }
                    } else if at != nil || !self.isShared {
                        hint.yield()
                    }
                }
            }
        }
        let timer = Timer(timeBase: timeBase, interval: pollInterval) { [weak self] in
            self?.state.withLock { $0.news.looksNowAndThen() }
            hint.yield()
        }
        timer.start()
        let looker = Task { [weak self] in
            for await _ in hints where await self?.isToFlush() ?? false { continuation.yield() }
        }
        continuation.onTermination = { _ in
            listener?.cancel()
            looker.cancel()
            timer.stop()
        }
        return stream
    }

    private func isToFlush() async -> Bool {
        // If the store is not shared, several queues may follow this value of it.
        guard isShared else { return await hasNews() }
        let now = timeBase.now
        switch state.withLock({ $0.news.next(at: now) }) {
        case .wait: return false
        case .begin: return true
        case .look(let number):
            let foundSome = await hasNews()
            // Another queue may have served the news meanwhile.
            return foundSome && (number == nil || state.withLock { $0.news.unserved != nil })
        }
    }

    /// Whether a queue that looks now finds something: a free lane, a lane with an unknown head, another pause, or a
    /// mutation that is due, or will be due before the next due date that this store knows. If there is no lane or due
    /// mutation, this announces that, and the others need not look.
    private func hasNews() async -> Bool {
        func lease() -> MonotonicInstant? { state.withLock { $0.holder == nil ? $0.leaseEnd : nil } }
        // True while a queue is sending: if it ends before it sends, the lane that it has just taken is free again.
        guard let before = lease() else { return true }
        let served = state.withLock { state in
            state.news.unserved.map { NewsStateMachine.Notification.served($0, by: state.news.name) }
        }
        let rows = try? await engine.run(
            """
            WITH f AS MATERIALIZED (SELECT EXISTS (SELECT 1 FROM (SELECT l.worker FROM \(name("lane")) l
            WHERE l.head IS NOT NULL ORDER BY l.head) f WHERE NOT EXISTS (SELECT 1 FROM \(name("worker")) w
            WHERE w.worker = f.worker AND w.until >= clock_timestamp()))
            OR EXISTS (SELECT 1 FROM \(name("late"))) OR coalesce(\(nextDue) < greatest($3::float8, \(Self.serverDate)), false)
            AS some)
            SELECT f.some::int4::int8, \(schema.pauses),
            (CASE WHEN NOT f.some AND $2::text <> '' THEN pg_notify($1::text, $2::text) END IS NULL)::int4::int8 FROM f
            """,
            [
                .text(name.channel), .text(served?.text ?? ""),
                .real(state.withLock { $0.knownDue }?.timeIntervalSinceReferenceDate ?? .infinity),
            ])
        // Also true after an error of the server: the queue that looks gets the error.
        guard let row = rows?.first, row.count == 3, row[0] == .integer(0), lease() == before else { return true }
        return row[1] != state.withLock { Self.text(of: $0.knownPauses) }
    }

    /// The pauses in the server's combined form.
    static func text(of pauses: [String: String]) -> StatementValue {
        pauses.isEmpty ? .null : .exactly(pauses.sorted { $0.key < $1.key }.map { $0 + $1 }.joined())
    }

    private final class Timer: Sendable {
        private let timeBase: any TimeBase
        private let interval: Duration
        private let action: @Sendable () -> Void
        private let state = Locked<(alarm: TimeBaseAlarm?, isStopped: Bool)>((nil, false))

        init(timeBase: any TimeBase, interval: Duration, action: @escaping @Sendable () -> Void) {
            (self.timeBase, self.interval, self.action) = (timeBase, interval, action)
        }

        func start() {
            let alarm = timeBase.schedule(at: timeBase.now + interval) { [weak self] in
                self?.action()
                self?.start()
            }
            let isStopped = state.withLock { state in
                state.alarm = alarm
                return state.isStopped
            }
            if isStopped { timeBase.cancel(alarm) }
        }

        func stop() {
            let alarm = state.withLock { state in
                state.isStopped = true
                return state.alarm
            }
            if let alarm { timeBase.cancel(alarm) }
        }
    }
}

extension UUID {
    fileprivate var bytes: Data { withUnsafeBytes(of: uuid) { Data($0) } }
}
