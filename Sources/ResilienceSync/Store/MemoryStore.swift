import Resilience

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A store that lasts as long as the process: for tests, and for mutations that may be lost.
public final class MemoryStore: MutationStore {
    private struct State {
        var table = MemoryTable()
        var settings: [ExactText: String] = [:]
        var sender = SenderStateMachine()
    }

    private let state = Locked(State())

    var table: MemoryTable { state.withLock { $0.table } }

    /// Creates an empty store.
    public init() {}

    public func append(_ mutations: [Mutation], under rules: AppendRules, at date: Date) throws -> AppendResult {
        try state.withLock { try $0.table.atomically { try $0.append(mutations, under: rules, at: date) } }
    }

    public func heads(after position: Int64, limit: Int, at date: Date) -> LaneHeads {
        state.withLock { state in
            state.table.becomeDue(at: date)
            func page(_ heads: SortedPositions, after position: Int64) -> [LaneHead] {
                state.table.page(heads.page(after: position, limit: limit)).map { LaneHead($0) }
            }
            return LaneHeads(
                page(state.table.heads, after: position), urgent: page(state.table.urgentHeads, after: .min),
                nextDue: state.table.nextDue)
        }
    }

    public func pendingEntities(among entities: [String]) -> [String] {
        state.withLock { state in entities.filter { state.table.isPending($0) } }
    }

    public func apply(
        _ changes: [MutationChange], claiming positions: [Int64], keeping limits: DeadLimits, at date: Date
    ) -> ApplyResult {
        state.withLock { state in
            state.table.noneDied(after: date)
            for change in changes { state.table.make(change.withBoundedError, at: date) }
            let dropped = state.table.dropDead(beyond: limits, at: date)
            return ApplyResult(claimed: positions.compactMap { state.table.claim($0) }, dropped: dropped)
        }
    }

    public func pending(after position: Int64, limit: Int) -> [StoredMutation] {
        state.withLock { $0.table.page($0.table.pending.page(after: position, limit: limit)) }
    }

    public func dead(after position: Int64, limit: Int) -> [StoredMutation] {
        state.withLock { $0.table.page($0.table.dead.page(after: position, limit: limit)) }
    }

    public func mutation(_ id: String, cancelling: Bool) -> StoredMutation? {
        state.withLock { state in
            let found = state.table.mutation(id)
            guard cancelling else { return found }
            guard let found, state.table.pending(found.position) != nil else { return nil }
            state.table.cancel(found)
            return found
        }
    }

    // Async: otherwise async callers would get the protocol's default.
    public func pendingPositions() async -> [Int64] {
        state.withLock { $0.table.pending.page(after: .min, limit: .max) }
    }

    public func deadPositions() async -> [Int64] { state.withLock { $0.table.dead.page(after: .min, limit: .max) } }

    public func revive(_ positions: [Int64], evenOvertaken: Bool, at date: Date) -> Int {
        // In order, so that no mutation is overtaken by another that is revived with it.
        forEachDead(positions.sorted(), where: { evenOvertaken || !$0.isOvertaken($1) }) { entry in
            entry.status = .pending
            entry.stored.queuedAt = date
            (entry.stored.failures, entry.stored.claims) = (0, 0)
            (entry.stored.lastError, entry.stored.diedAt) = (nil, nil)
            return entry
        }
    }

    public func discard(_ positions: [Int64]) -> Int { forEachDead(positions, where: { _, _ in true }) { _ in nil } }

    /// - Returns: The number changed.
    private func forEachDead(
        _ positions: [Int64], where isMeant: (MemoryTable, MemoryTable.Entry) -> Bool,
        _ change: (inout MemoryTable.Entry) -> MemoryTable.Entry?
    ) -> Int {
        state.withLock { state in
            var count = 0
            for position in positions {
                guard var entry = state.table.dead(position), isMeant(state.table, entry) else { continue }
                state.table.put(change(&entry), at: position)
                count += 1
            }
            return count
        }
    }

    public func seal() -> Int64 { state.withLock { $0.table.seal() } }

    public func removePending(_ positions: [Int64]) -> Int {
        state.withLock { state in
            let pending = positions.compactMap { state.table.pending($0)?.stored }
            for stored in pending { state.table.cancel(stored) }
            return pending.count
        }
    }

    public func totals() -> QueueTotals { state.withLock { $0.table.totals } }

    public func setting(_ name: String) -> String? { state.withLock { $0.settings[ExactText(name)] } }

    public func lock(for queue: UUID) -> SendingLock { state.withLock { $0.sender.lock(for: queue) } }

    public func unlock(for queue: UUID) { state.withLock { _ = $0.sender.unlock(for: queue) } }

    public func set(_ name: String, to value: String?) { state.withLock { $0.settings[ExactText(name)] = value } }
}

extension MemoryTable {
    /// Removes a pending mutation. If it was attempted, the other side may have it.
    fileprivate mutating func cancel(_ stored: StoredMutation) {
        put(nil, at: stored.position)
        if stored.isAttempted { overtake(stored.mutation.entity, before: stored.position) }
    }

    fileprivate mutating func make(_ change: MutationChange, at date: Date) {
        guard var entry = pending(change.position) else { return }
        switch change {
        case .acknowledged(let position):
            put(nil, at: position)
            overtake(entry.stored.mutation.entity, before: position)
        case .answered(let position):
            entry.stored.claims = 0
            put(entry, at: position)
        case .failed(let position, let error):
            (entry.stored.isAttempted, entry.stored.claims) = (true, 0)
            entry.stored.failures = entry.stored.failures.saturatingAdding(1)
            entry.stored.lastError = error
            put(entry, at: position)
        case .died(let position, let error, let rest):
            park(entry, error: error, as: rest == .block ? .blocking : .dead, at: date)
            guard rest == .killRest else { return }
            for next in self.rest(of: entry.stored.mutation.entity, after: position) {
                if let entry = pending(next) { park(entry, error: error, as: .dead, at: date) }
            }
        }
    }

    private mutating func park(_ entry: Entry, error: String, as status: Status, at date: Date) {
        var entry = entry
        entry.status = status
        entry.stored.mutation.notBefore = nil
        (entry.stored.lastError, entry.stored.diedAt, entry.death) = (error, date, nextDeath())
        put(entry, at: entry.stored.position)
    }

    /// - Returns: The ids of the mutations that were dropped.
    fileprivate mutating func dropDead(beyond limits: DeadLimits, at date: Date) -> [String] {
        var dropped: [String] = []
        while dropped.count < DeadLimits.droppedAtOnce, let first = firstDead,
            limits.drop(diedAt: first.stored.diedAt, blocks: first.status == .blocking, of: totals, at: date)
        {
            put(nil, at: first.stored.position)
            dropped.append(first.stored.mutation.id)
        }
        return dropped
    }

    fileprivate mutating func claim(_ position: Int64) -> StoredMutation? {
        guard var entry = pending(position), isHead(position) else { return nil }
        entry.stored.isAttempted = true
        entry.stored.claims = entry.stored.claims.saturatingAdding(1)
        put(entry, at: position)
        return entry.stored
    }
}
