import Resilience
import ResilienceSync
import ResilienceTesting

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Takes a store and the model through the same random history, step by step.
struct StoreWalk<Store: MutationStore> {
    private let stage: StoreStage<Store>
    private var random: SeededGenerator
    private var model = StoreModel()
    /// The store's positions by the model's positions, which have no gaps.
    private var positions: [Int64: Int64] = [:]
    private var highest = Int64.min
    private var nextID = 0
    private var date: Date
    private var history: [String] = []

    init(_ stage: StoreStage<Store>, seed: UInt64) {
        self.stage = stage
        random = SeededGenerator(seed: seed)
        date = stage.now
    }

    /// Stops at the first difference, since everything after it would also differ.
    mutating func run(steps: Int) async throws {
        do {
            for _ in 0..<steps {
                try await step()
                try await compare()
            }
        } catch let difference as StoreContractFailure {
            stage.complain("\(difference); the last steps: \(history.suffix(5).joined(separator: ", "))")
        }
    }

    private mutating func step() async throws {
        date += TimeInterval(Int.random(in: 0...3, using: &random))
        switch Int.random(in: 0..<22, using: &random) {
        case 0..<8: try await append()
        case 8..<14: try await apply()
        case 14: try await revive()
        case 15: try await discard()
        case 16: if chance(8) { try await removePending() }
        case 17: try await set()
        case 18: try await seal()
        case 19: try await one()
        default: try await reopen()
        }
    }

    private func require(_ isRight: Bool, _ problem: @autoclosure () -> String) throws(StoreContractFailure) {
        if !isRight { throw StoreContractFailure(description: problem()) }
    }

    private mutating func append() async throws {
        let mutations = (0..<Int.random(in: 0...4, using: &random)).map { _ in mutation() }
        var coalescing = [Coalescing.off, .lastWriteWins, .merging(acrossKinds: true) { $0.payload + $1.payload }]
        coalescing.shuffle(using: &random)
        let rules = AppendRules(
            maxCount: Bool.random(using: &random) ? nil : Int.random(in: 1...12, using: &random),
            maxBytes: Bool.random(using: &random) ? nil : Int.random(in: 1...20, using: &random),
            overflow: Bool.random(using: &random) ? .reject : .dropOldest, coalescing: coalescing[0])
        history.append("append \(mutations.map { "\($0.id) (\($0.operation?.rawValue ?? "-"))" })")

        let expected = await result { try model.append(mutations, rules, date) }
        let found = await result { try await stage.store.append(mutations, under: rules, at: date) }
        try require(found == expected, "append returns \(found) instead of \(expected)")

        let known = Set(positions.keys)
        let added = model.pending.map(\.position).filter { !known.contains($0) }
        let fresh = try await stage.store.pending(after: highest, limit: 100).map(\.position)
        try require(added.count == fresh.count, "\(fresh.count) have a new place instead of \(added.count)")
        for (ours, theirs) in zip(added, fresh) {
            positions[ours] = theirs
            highest = max(highest, theirs)
        }
    }

    private mutating func mutation() -> Mutation {
        nextID += 1
        // Sometimes a taken id.
        let taken = Int.random(in: 0..<12, using: &random) == 0 ? model.rows.randomElement(using: &random) : nil
        let operations: [Mutation.Operation?] = [.create, .update, .update, .delete, nil]
        let payload = String(repeating: "x", count: Int.random(in: 0...3, using: &random))
        return Mutation(
            id: taken?.stored.mutation.id ?? "\(nextID)",
            entity: ["a", "b", "c", "a\0"].randomElement(using: &random) ?? "a",
            kind: Bool.random(using: &random) ? "k" : "l", operation: operations.randomElement(using: &random) ?? nil,
            payload: Data(payload.utf8), idempotencyKey: "key \(nextID)", createdAt: date,
            notBefore: chance(4) ? date + TimeInterval(Int.random(in: -2...9, using: &random)) : nil,
            isUrgent: chance(6),
            earlierFailures: Int.random(in: 0..<10, using: &random) == 0 ? Int.random(in: 1...6, using: &random) : 0)
    }

    private mutating func apply() async throws {
        let changes = (0..<Int.random(in: 0...3, using: &random)).map { _ -> (Int64) -> MutationChange in
            let error = "error \(Int.random(in: 0...9, using: &random))"
            let rest = LaneRule.allCases.randomElement(using: &random) ?? .skip
            switch Int.random(in: 0..<5, using: &random) {
            case 0: return { .failed($0, error: error) }
            case 1: return { .died($0, error: error, rest: rest) }
            case 2: return { .answered($0) }
            default: return { .acknowledged($0) }
            }
        }
        let targets = changes.map { _ in target() }
        var claims: [Int64] = []
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let claim = target()
            if !claims.contains(claim) { claims.append(claim) }
        }
        let limits = DeadLimits(
            maxCount: chance(4) ? Int.random(in: 0...6, using: &random) : nil,
            maxBytes: chance(4) ? Int.random(in: 0...12, using: &random) : nil,
            maxAge: chance(4) ? .seconds(Int.random(in: 0...30, using: &random)) : nil)
        // The wall clock may be set back.
        let date = chance(8) ? date - 20 : date
        history.append("apply \(zip(changes, targets).map { $0($1) }) claiming \(claims) keeping \(limits) at \(date)")
        var expected = model.apply(zip(changes, targets).map { $0($1) }, claiming: claims, keeping: limits, date)
        expected.claimed = expected.claimed.map(translated)
        let found = try await stage.store.apply(
            zip(changes, targets).map { $0(theirs($1)) }, claiming: claims.map(theirs), keeping: limits, at: date)
        try require(found == expected, "apply returns \(found) instead of \(expected)")
    }

    /// A position of the model, most likely a head's.
    private mutating func target() -> Int64 {
        let heads = model.heads.map(\.position)
        if let head = heads.randomElement(using: &random), Int.random(in: 0..<4, using: &random) > 0 { return head }
        return Int64.random(in: 0...model.lastPosition + 1, using: &random)
    }

    /// True once in `times` on average.
    private mutating func chance(_ times: Int) -> Bool { Int.random(in: 0..<times, using: &random) == 0 }

    /// Some or all of these positions of the model, perhaps with other positions.
    private mutating func some(of stored: [StoredMutation]) -> [Int64] {
        if Int.random(in: 0..<3, using: &random) == 0 { return stored.map(\.position) }
        return Array(Set((0..<3).map { _ in stored.randomElement(using: &random)?.position ?? target() }))
    }

    private mutating func revive() async throws {
        let (chosen, even) = (some(of: model.dead), Bool.random(using: &random))
        history.append("revive \(chosen)\(even ? ", even overtaken" : "")")
        let expected = model.revive(chosen, evenOvertaken: even, date)
        let found = try await stage.store.revive(chosen.map(theirs), evenOvertaken: even, at: date)
        try require(found == expected, "\(found) are revived instead of \(expected)")
    }

    private mutating func discard() async throws {
        let chosen = some(of: model.dead)
        history.append("discard \(chosen)")
        let expected = model.discard(chosen)
        let found = try await stage.store.discard(chosen.map(theirs))
        try require(found == expected, "\(found) are discarded instead of \(expected)")
    }

    private mutating func one() async throws {
        let (row, cancelling) = (model.rows.randomElement(using: &random), chance(2))
        let id = row?.stored.mutation.id ?? "none"
        history.append("\(cancelling ? "cancel" : "find") \(id)")
        let expected = model.mutation(id, cancelling: cancelling).map(translated)
        let found = try await stage.store.mutation(id, cancelling: cancelling)
        try require(
            found == expected,
            "found is \(found.map { "\($0)" } ?? "nil") instead of \(expected.map { "\($0)" } ?? "nil")")
    }

    private mutating func seal() async throws {
        history.append("seal")
        model.seal()
        let last = try await stage.store.seal()
        try require(last >= model.pending.map(\.position).map(theirs).max() ?? .min, "sealed through \(last)")
    }

    private mutating func removePending() async throws {
        let chosen = some(of: model.pending)
        history.append("removePending \(chosen)")
        let expected = model.removePending(chosen)
        let found = try await stage.store.removePending(chosen.map(theirs))
        try require(found == expected, "\(found) are removed instead of \(expected)")
    }

    private mutating func set() async throws {
        let name = ["m", "n", "o\0"].randomElement(using: &random) ?? "m"
        let value = ["", "1", "a\0b", nil].randomElement(using: &random) ?? nil
        history.append("set \(name) to \(value ?? "nil")")
        model.settings[name] = value
        try await stage.store.set(name, to: value)
    }

    private mutating func reopen() async throws {
        history.append("reopen")
        try await stage.reopen()
    }

    // MARK: Comparison

    private mutating func compare() async throws {
        let start = Bool.random(using: &random) ? Int64.min : target()
        let limit = Bool.random(using: &random) ? 1_000 : Int.random(in: 0...4, using: &random)
        func compare<Value: Equatable>(_ found: Value, _ expected: Value, _ what: String) throws {
            try require(found == expected, "\(what) are \(found) instead of \(expected)")
        }
        // For a position that the store never gave, the highest lower position that it gave.
        let after = positions[start] ?? positions.filter { $0.key < start }.map(\.value).max() ?? .min
        let store = stage.store
        // First, since it changes which mutations are due.
        let found = try await store.heads(after: after, limit: limit, at: date)
        let due = model.heads(at: date)
        let pending = model.pending.filter { $0.position > start }.prefix(limit).map(translated)
        let dead = model.dead.filter { $0.position > start }.prefix(limit).map(translated)
        let heads = due.heads.filter { $0.position > start }.prefix(limit).map { head in
            var head = head
            head.position = theirs(head.position)
            return head
        }
        try compare(try await store.pending(after: after, limit: limit), pending, "pending")
        try compare(try await store.dead(after: after, limit: limit), dead, "dead")
        try compare(found.heads, heads, "the heads")
        // Lanes with an urgent mutation must be there; lanes that had an urgent mutation at or behind their head may
        // be.
        let urgent = Set(model.pending.filter(\.mutation.isUrgent).map(\.mutation.entity))
        let mayBeUrgent = due.heads.filter { $0.position <= model.lastUrgent[$0.entity] ?? 0 }
        let mustBeUrgent = mayBeUrgent.filter { urgent.contains($0.entity) }.map(\.id)
        let hurried = found.urgent.map(\.id)
        try require(
            hurried == mayBeUrgent.map(\.id).filter(hurried.contains) && hurried.count <= max(0, limit)
                && (hurried.count >= limit || Set(hurried).isSuperset(of: mustBeUrgent)),
            "the urgent heads are \(hurried), not \(mustBeUrgent) of \(mayBeUrgent.map(\.id)), up to \(limit)")
        func text(_ date: Date?) -> String { date.map { "\($0)" } ?? "never" }
        try require(found.nextDue == due.nextDue, "the next is due \(text(found.nextDue)), not \(text(due.nextDue))")
        for (found, expected, what) in [
            (try await store.pendingPositions(), model.pending, "pending"),
            (try await store.deadPositions(), model.dead, "dead"),
        ] {
            let entities = Dictionary(
                expected.map { (theirs($0.position), $0.mutation.entity) }, uniquingKeysWith: { first, _ in first })
            try compare(found.sorted(), entities.keys.sorted(), "the positions of all \(what)")
            try require(
                Dictionary(grouping: found, by: { entities[$0] }).values.allSatisfy { $0 == $0.sorted() },
                "the positions \(found) of all \(what) are not in order within an entity")
        }
        let entities = ["a", "a\0", "d", "b", "c"].shuffled(using: &random)
        let unsent = model.pending.map(\.mutation.entity)
        try compare(
            try await store.pendingEntities(among: entities), entities.filter(unsent.contains), "unsent entities")
        try compare(try await store.totals(), model.totals, "the totals")
        for name in ["m", "n", "o\0"] {
            let found = try await store.setting(name)
            try require(found == model.settings[name], "the setting \(name) is \(found ?? "nil")")
        }
    }

    /// The store's position for the model's position; if it has none, a position that the store never gave.
    private func theirs(_ position: Int64) -> Int64 { positions[position] ?? .max }

    private func translated(_ stored: StoredMutation) -> StoredMutation {
        var stored = stored
        stored.position = theirs(stored.position)
        return stored
    }

    private enum Ending: Equatable {
        case appended(AppendResult)
        case threw(String)
    }

    private func result(_ body: () async throws -> AppendResult) async -> Ending {
        do { return .appended(try await body()) } catch { return .threw("\(error)") }
    }
}
