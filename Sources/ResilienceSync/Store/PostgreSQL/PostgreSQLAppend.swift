#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An append, decided in memory from the transaction's reads and locks, and then written at once.
struct PostgreSQLAppend {
    /// The decision needs more reads.
    enum Missing: Error {
        /// The pending mutation of a lane before this one.
        case earlier(entity: String, before: Int64)
        /// Mutations that were never attempted, after the known ones.
        case fresh(after: Int64)
    }

    /// The known pending mutations at the end of a lane.
    struct Tail {
        var mutations: [StoredMutation] = []
        /// Whether they are the whole lane.
        var isWhole = false
    }

    struct Fresh {
        let position: Int64
        let id: String
        let bytes: Int
    }

    /// The transaction's reads.
    var ids: Set<ExactText> = []
    var tails: [ExactText: Tail] = [:]
    var count = 0
    var bytes = 0
    var fresh: [Fresh] = []
    var isFreshWhole = false

    /// The decisions.
    private(set) var inserted: [(position: Int64, mutation: Mutation)] = []
    private(set) var replaced: [(position: Int64, mutation: Mutation)] = []
    private(set) var removed: [Int64] = []

    /// The entities of the stored mutations.
    var entities: Set<ExactText> { Set((inserted + replaced).map { ExactText($0.mutation.entity) }) }

    /// Represents a position that is not yet assigned.
    private static let firstOfOurs = Int64.max / 2
    private var nextOfOurs = firstOfOurs
}

extension PostgreSQLAppend: AppendingTable {
    func contains(id: String) -> Bool { ids.contains(ExactText(id)) }

    func last(of entity: String) throws -> StoredMutation? {
        let tail = tails[ExactText(entity)] ?? Tail(isWhole: true)
        if let last = tail.mutations.last { return last }
        if tail.isWhole { return nil }
        // The caller has removed the known mutations.
        throw Missing.earlier(entity: entity, before: removed.min() ?? .max)
    }

    func fresh(after position: Int64) throws -> (position: Int64, id: String)? {
        let next = fresh.first { $0.position > position && !removed.contains($0.position) }
        if let next { return (next.position, next.id) }
        if isFreshWhole { return nil }
        throw Missing.fresh(after: fresh.last?.position ?? .min)
    }

    func pendingCountAndBytes() -> (count: Int, bytes: Int) { (count, bytes) }

    mutating func insert(_ mutation: Mutation, at date: Date) -> Int64? {
        guard !contains(id: mutation.id) else { return nil }
        let position = nextOfOurs
        nextOfOurs += 1
        inserted.append((position, mutation))
        tails[ExactText(mutation.entity), default: Tail(isWhole: true)].mutations
            .append(StoredMutation(new: mutation, position: position, queuedAt: date))
        (count, bytes) = (count + 1, bytes + mutation.payload.count)
        return position
    }

    mutating func replace(_ position: Int64, with mutation: Mutation, at date: Date) {
        let lane = ExactText(mutation.entity)
        guard let index = tails[lane]?.mutations.lastIndex(where: { $0.position == position }),
            let before = tails[lane]?.mutations[index].mutation
        else { return }
        tails[lane]?.mutations[index].mutation = mutation
        bytes += mutation.payload.count - before.payload.count
        if let index = inserted.firstIndex(where: { $0.position == position }) {
            inserted[index].mutation = mutation
        } else if let index = replaced.firstIndex(where: { $0.position == position }) {
            replaced[index].mutation = mutation
        } else {
            replaced.append((position, mutation))
        }
    }

    mutating func removePending(_ position: Int64) {
        var size: Int?
        for (lane, tail) in tails {
            guard let index = tail.mutations.lastIndex(where: { $0.position == position }) else { continue }
            size = tail.mutations[index].mutation.payload.count
            tails[lane]?.mutations.remove(at: index)
        }
        count -= 1
        bytes -= size ?? fresh.first { $0.position == position }?.bytes ?? 0
        if position >= Self.firstOfOurs {
            inserted.removeAll { $0.position == position }
        } else {
            replaced.removeAll { $0.position == position }
            removed.append(position)
        }
    }
}
