#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The content of a ``MemoryStore``. Everything that is read in order is kept in order.
struct MemoryTable: Equatable {
    enum Status { case pending, dead, blocking }

    struct Entry: Equatable {
        var stored: StoredMutation
        var status = Status.pending
        /// The number of its death, while it is dead: an earlier death has a lower number.
        var death: Int64 = 0

        fileprivate var dueAt: Date? { status == .pending ? stored.mutation.notBefore : nil }
        var isFresh: Bool { status == .pending && !stored.isAttempted }
        fileprivate var isUrgent: Bool { status == .pending && stored.mutation.isUrgent }
        fileprivate var isAttempted: Bool { status == .pending && stored.isAttempted }
        fileprivate var canBeOvertaken: Bool { status != .pending && !stored.isOvertaken }
    }

    private struct Lane: Equatable {
        var pending = SortedPositions()
        /// The pending positions that are attempted.
        var attempted = SortedPositions()
        /// The pending positions that are urgent.
        var urgent = SortedPositions()
        /// The dead positions that are not overtaken.
        var notOvertaken = SortedPositions()
        /// The number of dead mutations that block it.
        var blockers = 0
        var head: Int64?
        /// The head, if the lane is urgent.
        var urgentHead: Int64?
    }

    private var entries: [Int64: Entry] = [:]
    private var ids: [ExactText: Int64] = [:]
    private var lanes: [ExactText: Lane] = [:]
    private(set) var pending = SortedPositions()
    private(set) var fresh = SortedPositions()
    private(set) var heads = SortedPositions()
    private(set) var urgentHeads = SortedPositions()
    private(set) var dead = SortedPositions()
    /// The pending mutations with a date before which they must not be sent.
    private var waiting: [Int64: Date] = [:]
    /// The death numbers of mutations that block no lane, and of mutations that block their lane.
    private var deaths = SortedPositions()
    private var blockersDeaths = SortedPositions()
    private var died: [Int64: Int64] = [:]
    private var lastDeath: Int64 = 0
    /// No dead mutation died later than this.
    private var latestDate = Date.distantPast
    private var pendingCount = 0
    private var bytes = 0
    private var deadBytes = 0
    private var lastPosition: Int64 = 0
    /// Nothing is coalesced into mutations up to this position.
    private var sealed: Int64 = 0
    /// The entries changed in ``atomically(_:)``, as they were before; nil outside of it.
    private var before: [Int64: Entry?]?

    /// The same entries in a new table. Any difference from this table is a trace of removed entries.
    var rebuilt: MemoryTable {
        var table = MemoryTable()
        for (position, entry) in entries { table.put(entry, at: position) }
        (table.lastDeath, table.latestDate) = (lastDeath, latestDate)
        (table.lastPosition, table.sealed) = (lastPosition, sealed)
        return table
    }

    func pending(_ position: Int64) -> Entry? { entries[position].flatMap { $0.status == .pending ? $0 : nil } }

    func dead(_ position: Int64) -> Entry? { entries[position].flatMap { $0.status == .pending ? nil : $0 } }

    func page(_ positions: [Int64]) -> [StoredMutation] {
        positions.compactMap { position in
            guard let entry = entries[position] else { return nil }
            var stored = entry.stored
            stored.isOvertaken = isOvertaken(entry)
            return stored
        }
    }

    /// If a later mutation of its lane is pending and attempted, the other side may already have that one.
    func isOvertaken(_ entry: Entry) -> Bool {
        if entry.stored.isOvertaken || entry.status == .pending { return entry.stored.isOvertaken }
        let last = lanes[ExactText(entry.stored.mutation.entity)]?.attempted.last
        return last.map { $0 > entry.stored.position } == true
    }

    func isHead(_ position: Int64) -> Bool {
        entries[position].flatMap { lanes[ExactText($0.stored.mutation.entity)]?.head } == position
    }

    func mutation(_ id: String) -> StoredMutation? { ids[ExactText(id)].flatMap { page([$0]).first } }

    func isPending(_ entity: String) -> Bool { lanes[ExactText(entity)]?.pending.isEmpty == false }

    /// The pending positions of a lane after a position.
    func rest(of entity: String, after position: Int64) -> [Int64] {
        lanes[ExactText(entity)]?.pending.page(after: position, limit: .max) ?? []
    }

    mutating func seal() -> Int64 {
        sealed = lastPosition
        return sealed
    }

    /// The dead mutation to drop first.
    var firstDead: Entry? { (deaths.first ?? blockersDeaths.first).flatMap { died[$0] }.flatMap { entries[$0] } }

    /// The number of the next death.
    mutating func nextDeath() -> Int64 {
        lastDeath += 1
        return lastDeath
    }

    /// Sets later deaths to this date, because the clock was set back.
    mutating func noneDied(after date: Date) {
        guard latestDate > date else { return }
        latestDate = date
        for position in dead.page(after: .min, limit: .max) {
            if let diedAt = entries[position]?.stored.diedAt, diedAt > date { entries[position]?.stored.diedAt = date }
        }
    }

    /// Marks earlier dead mutations as overtaken: the other side has a later one of this lane.
    mutating func overtake(_ entity: String, before later: Int64) {
        while let position = lanes[ExactText(entity)]?.notOvertaken.first, position < later,
            var entry = entries[position]
        {
            entry.stored.isOvertaken = true
            put(entry, at: position)
        }
    }

    var totals: QueueTotals {
        QueueTotals(
            pending: pendingCount, bytes: bytes, dead: entries.count - pendingCount, deadBytes: deadBytes,
            oldest: pending.first.flatMap { entries[$0] }?.stored.queuedAt, nextDue: nextDue)
    }

    var nextDue: Date? { waiting.values.min() }

    mutating func becomeDue(at date: Date) {
        for position in waiting.filter({ $0.value <= date }).keys {
            guard var entry = entries[position] else { continue }
            entry.stored.becomeDue()
            put(entry, at: position)
        }
    }

    /// Puts an entry at a position; nil removes it. Every change is made here.
    mutating func put(_ entry: Entry?, at position: Int64) {
        let old = entries[position]
        guard let stored = (entry ?? old)?.stored else { return }
        if before?.keys.contains(position) == false { before?.updateValue(old, forKey: position) }
        entries[position] = entry
        if old == nil || entry == nil { ids[ExactText(stored.mutation.id)] = entry.map { _ in position } }

        let wasPending = old?.status == .pending
        let isPending = entry?.status == .pending
        if wasPending, let old {
            pendingCount -= 1
            bytes -= old.stored.mutation.payload.count
        }
        if isPending {
            pendingCount += 1
            bytes += stored.mutation.payload.count
        }
        let (wasDead, isDead) = (old != nil && !wasPending, entry != nil && !isPending)
        if wasDead, let old {
            changeDeaths(of: old) { $0.remove(old.death) }
            died[old.death] = nil
            deadBytes -= old.stored.mutation.payload.count
        }
        if isDead, let entry {
            changeDeaths(of: entry) { $0.insert(entry.death) }
            died[entry.death] = position
            latestDate = max(latestDate, stored.diedAt ?? .distantPast)
            deadBytes += stored.mutation.payload.count
        }
        pending.update(position, from: wasPending, to: isPending)
        fresh.update(position, from: old?.isFresh == true, to: entry?.isFresh == true)
        dead.update(position, from: wasDead, to: isDead)
        if old?.dueAt != entry?.dueAt { waiting[position] = entry?.dueAt }

        let wasAttempted = old?.isAttempted == true
        let isAttempted = entry?.isAttempted == true
        let (wasUrgent, isUrgent) = (old?.isUrgent == true, entry?.isUrgent == true)
        let couldBeOvertaken = old?.canBeOvertaken == true
        let canBeOvertaken = entry?.canBeOvertaken == true
        let blockers = (entry?.status == .blocking ? 1 : 0) - (old?.status == .blocking ? 1 : 0)
        if wasPending == isPending, wasAttempted == isAttempted, couldBeOvertaken == canBeOvertaken, blockers == 0,
            wasUrgent == isUrgent, old?.dueAt == entry?.dueAt
        {
            return
        }

        let name = ExactText(stored.mutation.entity)
        // Removed from the dictionary, so that its positions change in place.
        var lane = lanes.removeValue(forKey: name) ?? Lane()
        lane.pending.update(position, from: wasPending, to: isPending)
        lane.attempted.update(position, from: wasAttempted, to: isAttempted)
        lane.urgent.update(position, from: wasUrgent, to: isUrgent)
        lane.notOvertaken.update(position, from: couldBeOvertaken, to: canBeOvertaken)
        lane.blockers += blockers
        let head = lane.blockers == 0 ? lane.pending.first.flatMap { waiting[$0] == nil ? $0 : nil } : nil
        if head != lane.head {
            if let old = lane.head { heads.remove(old) }
            if let head { heads.insert(head) }
        }
        let urgentHead = lane.urgent.isEmpty ? nil : head
        if urgentHead != lane.urgentHead {
            if let old = lane.urgentHead { urgentHeads.remove(old) }
            if let urgentHead { urgentHeads.insert(urgentHead) }
        }
        (lane.head, lane.urgentHead) = (head, urgentHead)
        if !lane.pending.isEmpty || !lane.notOvertaken.isEmpty || lane.blockers > 0 { lanes[name] = lane }
    }

    private mutating func changeDeaths(of entry: Entry, _ change: (inout SortedPositions) -> Void) {
        if entry.status == .blocking { change(&blockersDeaths) } else { change(&deaths) }
    }

    /// Runs `body`, and undoes everything if it throws.
    mutating func atomically<R>(_ body: (inout MemoryTable) throws -> R) throws -> R {
        before = [:]
        do {
            let result = try body(&self)
            before = nil
            return result
        } catch {
            let old = before ?? [:]
            before = nil
            for (position, entry) in old { put(entry, at: position) }
            throw error
        }
    }
}

extension MemoryTable: AppendingTable {
    func contains(id: String) -> Bool { ids[ExactText(id)] != nil }

    func last(of entity: String) -> StoredMutation? {
        var last = lanes[ExactText(entity)]?.pending.last.flatMap { entries[$0] }?.stored
        if let position = last?.position, position <= sealed { last?.isAttempted = true }
        return last
    }

    func fresh(after position: Int64) -> (position: Int64, id: String)? {
        fresh.next(after: position).flatMap { entries[$0] }.map { ($0.stored.position, $0.stored.mutation.id) }
    }

    func pendingCountAndBytes() -> (count: Int, bytes: Int) { (pendingCount, bytes) }

    mutating func insert(_ mutation: Mutation, at date: Date) -> Int64? {
        guard !contains(id: mutation.id) else { return nil }
        lastPosition += 1
        let stored = StoredMutation(new: mutation, position: lastPosition, queuedAt: date)
        put(Entry(stored: stored), at: lastPosition)
        return lastPosition
    }

    mutating func replace(_ position: Int64, with mutation: Mutation, at date: Date) {
        guard var entry = entries[position] else { return }
        entry.stored.mutation = mutation
        entry.stored.queuedAt = date
        put(entry, at: position)
    }

    mutating func removePending(_ position: Int64) { put(nil, at: position) }
}

extension SortedPositions {
    fileprivate mutating func update(_ position: Int64, from old: Bool, to new: Bool) {
        if new, !old { insert(position) }
        if old, !new { remove(position) }
    }
}
