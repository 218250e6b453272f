import ResilienceSync

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The required behavior of a store, written without regard to speed.
struct StoreModel {
    enum State { case pending, dead, blocking }

    struct Row {
        var stored: StoredMutation
        var state = State.pending
        /// The number of its death, in the order of deaths.
        var death = 0
    }

    private(set) var rows: [Row] = []
    var settings: [String: String] = [:]
    private(set) var lastPosition: Int64 = 0
    private var deaths = 0
    private var sealed: Int64 = 0
    /// The position of each entity's last urgent mutation ever: a lane may be urgent up to it.
    private(set) var lastUrgent: [String: Int64] = [:]

    var pending: [StoredMutation] { rows.filter { $0.state == .pending }.map(\.stored) }
    var dead: [StoredMutation] {
        rows.filter { $0.state != .pending }.map { row in
            var stored = row.stored
            stored.isOvertaken = isOvertaken(row)
            return stored
        }
    }
    var bytes: Int { pending.reduce(0) { $0 + $1.mutation.payload.count } }

    /// A dead mutation is also overtaken if a later mutation of its lane is pending and attempted.
    private func isOvertaken(_ row: Row) -> Bool {
        row.stored.isOvertaken
            || rows.contains { later in
                later.state == .pending && later.stored.isAttempted && later.stored.position > row.stored.position
                    && later.stored.mutation.entity == row.stored.mutation.entity
            }
    }

    private var deadBytes: Int { dead.reduce(0) { $0 + $1.mutation.payload.count } }

    var heads: [LaneHead] {
        let blocked = rows.filter { $0.state == .blocking }.map(\.stored.mutation.entity)
        var seen: [String] = blocked
        var heads: [LaneHead] = []
        for stored in pending where !seen.contains(stored.mutation.entity) {
            seen.append(stored.mutation.entity)
            if stored.mutation.notBefore == nil { heads.append(LaneHead(stored)) }
        }
        return heads
    }

    private var nextDue: Date? { pending.compactMap(\.mutation.notBefore).min() }

    mutating func heads(at date: Date) -> LaneHeads {
        for index in rows.indices where rows[index].stored.mutation.notBefore.map({ $0 <= date }) == true {
            rows[index].stored.becomeDue()
        }
        return LaneHeads(heads, nextDue: nextDue)
    }

    var totals: QueueTotals {
        QueueTotals(
            pending: pending.count, bytes: bytes, dead: dead.count, deadBytes: deadBytes,
            oldest: pending.first?.queuedAt, nextDue: nextDue)
    }

    mutating func append(_ mutations: [Mutation], _ rules: AppendRules, _ date: Date) throws -> AppendResult {
        var taken = rows.map(\.stored.mutation.id)
        var after = self
        var appended = AppendResult()
        var touched: [Int64] = []
        for mutation in mutations.map({ $0.waiting(at: date) }) {
            if taken.contains(mutation.id) {
                appended.duplicates.append(mutation.id)
                continue
            }
            taken.append(mutation.id)
            let index = after.rows.lastIndex { $0.state == .pending && $0.stored.mutation.entity == mutation.entity }
            var outcome = Coalescing.Outcome.apart
            if let index, !after.rows[index].stored.isAttempted, after.rows[index].stored.position > sealed,
                mutation.earlierFailures == 0
            {
                outcome = rules.coalescing.combine(after.rows[index].stored.mutation, mutation)
            }
            let into = index.map { after.rows[$0].stored }
            if let index, let into, case .merged(let merged) = outcome {
                after.rows[index].stored.mutation = merged
                after.rows[index].stored.queuedAt = date
                touched.append(into.position)
                appended.merges.append(.init(id: mutation.id, into: into.mutation.id, cancelsOut: false))
            } else if let index, let into, outcome == .nothing {
                after.rows.remove(at: index)
                appended.merges.append(.init(id: mutation.id, into: into.mutation.id, cancelsOut: true))
            } else {
                after.lastPosition += 1
                after.rows.append(
                    Row(stored: StoredMutation(new: mutation, position: after.lastPosition, queuedAt: date)))
                touched.append(after.lastPosition)
                appended.added += 1
            }
            if let last = after.pending.last(where: { $0.mutation.entity == mutation.entity && $0.mutation.isUrgent }) {
                after.lastUrgent[mutation.entity] = max(last.position, after.lastUrgent[mutation.entity] ?? 0)
            }
        }
        if after.pending.count > pending.count || after.bytes > bytes {
            let full = SyncQueueError.full(count: after.pending.count, bytes: after.bytes)
            while !rules.allows(count: after.pending.count, bytes: after.bytes) {
                let oldest = after.rows.firstIndex { row in
                    row.state == .pending && !row.stored.isAttempted && !touched.contains(row.stored.position)
                }
                guard rules.overflow == .dropOldest, let oldest else { throw full }
                appended.dropped.append(after.rows.remove(at: oldest).stored.mutation.id)
            }
        }
        self = after
        return appended
    }

    mutating func apply(
        _ changes: [MutationChange], claiming positions: [Int64], keeping limits: DeadLimits, _ date: Date
    ) -> ApplyResult {
        for index in rows.indices {
            if let diedAt = rows[index].stored.diedAt { rows[index].stored.diedAt = min(diedAt, date) }
        }
        for change in changes {
            guard let index = pendingIndex(change.position) else { continue }
            switch change {
            case .acknowledged:
                overtake(rows.remove(at: index).stored)
            case .answered:
                rows[index].stored.claims = 0
            case .failed(_, let error):
                rows[index].stored.isAttempted = true
                rows[index].stored.claims = 0
                rows[index].stored.failures += 1
                rows[index].stored.lastError = error
            case .died(_, let error, let rest):
                park(index, as: rest == .block ? .blocking : .dead, error, date)
                guard rest == .killRest else { continue }
                for next in rows.indices[(index + 1)...]
                where rows[next].state == .pending
                    && rows[next].stored.mutation.entity == rows[index].stored.mutation.entity
                {
                    park(next, as: .dead, error, date)
                }
            }
        }
        let dropped = dropDead(beyond: limits, date)
        let heads = heads.map(\.position)
        let claimed = positions.compactMap { position -> StoredMutation? in
            guard let index = pendingIndex(position), heads.contains(position) else { return nil }
            rows[index].stored.isAttempted = true
            rows[index].stored.claims += 1
            return rows[index].stored
        }
        return ApplyResult(claimed: claimed, dropped: dropped)
    }

    private mutating func park(_ index: Int, as state: State, _ error: String, _ date: Date) {
        deaths += 1
        rows[index].state = state
        rows[index].death = deaths
        rows[index].stored.lastError = error
        rows[index].stored.diedAt = date
        rows[index].stored.mutation.notBefore = nil
    }

    private mutating func dropDead(beyond limits: DeadLimits, _ date: Date) -> [String] {
        var dropped: [Row] = []
        if let maxAge = limits.maxAge {
            let isTooOld = { (row: Row) in
                row.state == .dead
                    && row.stored.diedAt.map { date.timeIntervalSince($0) > maxAge / .seconds(1) } == true
            }
            dropped = rows.filter(isTooOld).sorted(by: Row.goesBefore)
            rows.removeAll(where: isTooOld)
        }
        while !limits.allows(count: dead.count, bytes: deadBytes) {
            guard let first = rows.filter({ $0.state != .pending }).min(by: Row.goesBefore) else { break }
            dropped.append(first)
            rows.removeAll { $0.stored.position == first.stored.position }
        }
        return dropped.map(\.stored.mutation.id)
    }

    mutating func mutation(_ id: String, cancelling: Bool) -> StoredMutation? {
        guard let index = rows.firstIndex(where: { $0.stored.mutation.id.utf8.elementsEqual(id.utf8) }) else {
            return nil
        }
        let row = rows[index]
        if !cancelling { return row.state == .pending ? row.stored : dead.first { $0.position == row.stored.position } }
        guard row.state == .pending else { return nil }
        rows.remove(at: index)
        if row.stored.isAttempted { overtake(row.stored) }
        return row.stored
    }

    /// Marks the dead mutations before this one in its lane as overtaken: the other side may have this one.
    private mutating func overtake(_ later: StoredMutation) {
        for index in rows.indices
        where rows[index].state != .pending && rows[index].stored.mutation.entity == later.mutation.entity
            && rows[index].stored.position < later.position
        {
            rows[index].stored.isOvertaken = true
        }
    }

    mutating func revive(_ positions: [Int64], evenOvertaken: Bool, _ date: Date) -> Int {
        var count = 0
        // The choice is made before the first revival.
        let isMeant = rows.map { evenOvertaken || !isOvertaken($0) }
        for index in rows.indices
        where rows[index].state != .pending && rows[index].isAmong(positions) && isMeant[index] {
            rows[index].state = .pending
            rows[index].stored.diedAt = nil
            rows[index].stored.failures = 0
            rows[index].stored.claims = 0
            rows[index].stored.lastError = nil
            rows[index].stored.queuedAt = date
            count += 1
        }
        return count
    }

    mutating func discard(_ positions: [Int64]) -> Int {
        let before = rows.count
        rows.removeAll { $0.state != .pending && $0.isAmong(positions) }
        return before - rows.count
    }

    mutating func seal() { sealed = lastPosition }

    mutating func removePending(_ positions: [Int64]) -> Int {
        let gone = rows.filter { $0.state == .pending && $0.isAmong(positions) }
        rows.removeAll { $0.state == .pending && $0.isAmong(positions) }
        for row in gone where row.stored.isAttempted { overtake(row.stored) }
        return gone.count
    }

    private func pendingIndex(_ position: Int64) -> Int? {
        rows.firstIndex { $0.stored.position == position && $0.state == .pending }
    }
}

extension StoreModel.Row {
    /// Whether the first of two dead mutations is dropped before the other.
    fileprivate static func goesBefore(_ one: Self, _ other: Self) -> Bool {
        func order(_ row: Self) -> (Int, Int) { (row.state == .blocking ? 1 : 0, row.death) }
        return order(one) < order(other)
    }

    fileprivate func isAmong(_ positions: [Int64]) -> Bool { positions.contains(stored.position) }
}
