import Resilience
import ResilienceSync

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The store of one trial, and its problems.
final class StoreStage<Store: MutationStore>: Sendable {
    private let current: Locked<Store>
    private let reopening: (@Sendable (Store) async throws -> Store)?
    private let complaints = Locked<[String]>([])

    /// The wall clock's time in all trials.
    let now = Date(timeIntervalSince1970: 1_800_000_000)

    init(_ store: Store, reopening: (@Sendable (Store) async throws -> Store)?) {
        current = Locked(store)
        self.reopening = reopening
    }

    var store: Store { current.withLock { $0 } }
    var problems: [String] { complaints.withLock { $0 } }

    func complain(_ problem: String) {
        complaints.withLock { if !$0.contains(problem) { $0.append(problem) } }
    }

    func require(_ condition: Bool, _ problem: @autoclosure () -> String) {
        if !condition { complain(problem()) }
    }

    func requireError(
        _ expected: SyncQueueError, _ problem: String, _ body: () async throws -> Void
    ) async {
        do {
            try await body()
            complain("\(problem): it does not throw")
        } catch {
            require(error as? SyncQueueError == expected, "\(problem): it throws \(error) instead of \(expected)")
        }
    }

    /// Opens the store again, as after a restart, if it is durable.
    func reopen() async throws {
        guard let reopening else { return }
        let next = try await reopening(store)
        current.withLock { $0 = next }
    }

    // MARK: Short forms

    /// Appends mutations, without coalescing unless the rules say otherwise.
    @discardableResult
    func append(_ mutations: [Mutation], _ rules: AppendRules = AppendRules(coalescing: .off)) async throws
        -> AppendResult
    {
        try await store.append(mutations, under: rules, at: now)
    }

    @discardableResult
    func apply(_ changes: [MutationChange] = [], claiming positions: [Int64] = []) async throws -> [StoredMutation] {
        try await store.apply(changes, claiming: positions, at: now)
    }

    func pending() async throws -> [StoredMutation] {
        try await everything { try await store.pending(after: $0, limit: 1_000) }
    }

    func dead() async throws -> [StoredMutation] {
        try await everything { try await store.dead(after: $0, limit: 1_000) }
    }

    func heads(at date: Date? = nil) async throws -> [LaneHead] {
        try await store.heads(after: .min, limit: 1_000, at: date ?? now).heads
    }

    /// The position of a pending mutation, by its id.
    func position(of id: String) async throws -> Int64 {
        guard let stored = try await pending().first(where: { $0.mutation.id == id }) else {
            throw StoreContractFailure(description: "\"\(id)\" is not pending")
        }
        return stored.position
    }

    func requirePending(_ ids: [String], _ problem: String) async throws {
        let found = try await pending().map(\.mutation.id)
        require(found == ids, "\(problem): \(found) are pending instead of \(ids)")
    }

    func requireDead(_ ids: [String], _ problem: String) async throws {
        let found = try await dead().map(\.mutation.id)
        require(found == ids, "\(problem): \(found) are dead instead of \(ids)")
    }

    func requireHeads(_ ids: [String], at date: Date? = nil, _ problem: String) async throws {
        let found = try await heads(at: date).map(\.id)
        require(found == ids, "\(problem): the heads are \(found) instead of \(ids)")
    }

    func requireUrgent(_ ids: [String], at date: Date? = nil, _ problem: String) async throws {
        let found = try await store.heads(after: .max, limit: 1_000, at: date ?? now)
        require(found.heads.isEmpty, "\(problem): there are \(found.heads.count) heads after the last position")
        let urgent = found.urgent.map(\.id)
        require(urgent == ids, "\(problem): the heads of urgent lanes are \(urgent) instead of \(ids)")
    }

    private func everything(
        _ page: (Int64) async throws -> [StoredMutation]
    ) async throws -> [StoredMutation] {
        var all: [StoredMutation] = []
        var position = Int64.min
        while case let next = try await page(position), let last = next.last {
            all += next
            guard last.position > position else {
                throw StoreContractFailure(description: "the pages do not advance")
            }
            position = last.position
        }
        return all
    }
}

struct StoreContractFailure: Error, CustomStringConvertible {
    let description: String
}

extension Mutation {
    /// A mutation whose entity is its id without the number: "a1" and "a2" belong to "a".
    static func trial(
        _ id: String, _ operation: Operation? = nil, kind: String = "kind", payload: String = "", key: String? = nil,
        notBefore: Date? = nil, isUrgent: Bool = false
    ) -> Mutation {
        Mutation(
            id: id, entity: String(id.prefix { !$0.isNumber }), kind: kind, operation: operation,
            payload: Data(payload.utf8), idempotencyKey: key ?? "key of \(id)",
            createdAt: Date(timeIntervalSince1970: 1_700_000_000), notBefore: notBefore, isUrgent: isUrgent)
    }
}
