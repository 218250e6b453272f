#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A store's operations for appending, within its lock or transaction. If one throws, the store undoes everything.
protocol AppendingTable {
    func contains(id: String) throws -> Bool
    /// The last pending mutation of a lane; a sealed one is returned as attempted.
    mutating func last(of entity: String) throws -> StoredMutation?
    /// The next pending mutation that was never attempted.
    func fresh(after position: Int64) throws -> (position: Int64, id: String)?
    func pendingCountAndBytes() throws -> (count: Int, bytes: Int)
    /// - Returns: The mutation's position; nil if its id is already stored.
    mutating func insert(_ mutation: Mutation, at date: Date) throws -> Int64?
    /// - Parameter date: When the mutation entered the queue in its present form.
    mutating func replace(_ position: Int64, with mutation: Mutation, at date: Date) throws
    mutating func removePending(_ position: Int64) throws
}

extension AppendingTable {
    mutating func append(_ mutations: [Mutation], under rules: AppendRules, at date: Date) throws -> AppendResult {
        var appended = AppendResult()
        // The id of a mutation that was coalesced stays taken until the append ends.
        var ids: Set<ExactText> = []
        let before = try rules.hasLimits ? pendingCountAndBytes() : nil
        var ours: Set<Int64> = []
        for mutation in mutations {
            let mutation = mutation.waiting(at: date)
            guard ids.insert(ExactText(mutation.id)).inserted else {
                appended.duplicates.append(mutation.id)
                continue
            }
            let last = try rules.coalescing.mayMerge(mutation) ? last(of: mutation.entity) : nil
            let outcome: Coalescing.Outcome =
                if let last, !last.isAttempted { rules.coalescing.combine(last.mutation, mutation) } else { .apart }
            guard let last, outcome != .apart else {
                if let position = try insert(mutation, at: date) {
                    ours.insert(position)
                    appended.added += 1
                } else {
                    appended.duplicates.append(mutation.id)
                }
                continue
            }
            guard try !contains(id: mutation.id) else {
                appended.duplicates.append(mutation.id)
                continue
            }
            if case .merged(let merged) = outcome {
                try replace(last.position, with: merged, at: date)
                ours.insert(last.position)
            } else {
                try removePending(last.position)
                ids.insert(ExactText(last.mutation.id))
            }
            appended.merges.append(.init(id: mutation.id, into: last.mutation.id, cancelsOut: outcome == .nothing))
        }
        if let before { appended.dropped = try makeRoom(under: rules, before: before, sparing: ours) }
        return appended
    }

    /// - Returns: The ids of the mutations that were dropped to make room.
    private mutating func makeRoom(
        under rules: AppendRules, before: (count: Int, bytes: Int), sparing ours: Set<Int64>
    ) throws -> [String] {
        let wanted = try pendingCountAndBytes()
        // An append that makes the queue no fuller is never rejected, even if it is over the limits.
        guard wanted.count > before.count || wanted.bytes > before.bytes else { return [] }
        var dropped: [String] = []
        var position = Int64.min
        var now = wanted
        while !rules.allows(count: now.count, bytes: now.bytes) {
            guard rules.overflow == .dropOldest, let oldest = try fresh(after: position) else {
                throw SyncQueueError.full(count: wanted.count, bytes: wanted.bytes)
            }
            position = oldest.position
            if ours.contains(position) { continue }
            try removePending(position)
            dropped.append(oldest.id)
            now = try pendingCountAndBytes()
        }
        return dropped
    }
}

extension AppendRules {
    var hasLimits: Bool { maxCount != nil || maxBytes != nil }
}

/// A text that equals only a text with the same code units, because a database compares texts in this way.
struct ExactText: Hashable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (lhs: Self, rhs: Self) -> Bool { lhs.text.utf8.elementsEqual(rhs.text.utf8) }

    func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
