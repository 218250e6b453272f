import Foundation
import Resilience
import ResilienceSync
import ResilienceSyncTesting
import ResilienceTesting
import TestSupport
import Testing

/// The contract catches a store with any single fault.
@Suite(.timeLimit(.minutes(20)), .heavy) struct StoreContractTests {
    @Test("a store with a fault is caught by the trial for it", arguments: Fault.allCases)
    func fault(fault: Fault) async {
        let report = await StoreContract {
            FaultyStore(fault)
        } reopening: { store in
            fault == .forgetsSettings ? FaultyStore(fault, keeping: store) : store
        }
        .check(steps: 100)
        let trials = Set(report.violations.map(\.trial))
        #expect(trials.contains(fault.trial), "\(report)")
    }

    @Test("the walk also catches every fault that single trials catch", arguments: Fault.allCases)
    func walk(fault: Fault) async {
        guard
            ![
                .changesTexts, .losesRaces, .ignoresNegativeLimits, .locksForAll, .unlocksForAll, .forgetsWhoLocked,
            ].contains(fault)
        else { return }
        let report = await StoreContract {
            FaultyStore(fault)
        } reopening: { store in
            fault == .forgetsSettings ? FaultyStore(fault, keeping: store) : store
        }
        .check(steps: fault == .countsRevivedForAttempted ? 20_000 : 5_000, tasks: 1)
        #expect(report.violations.contains { $0.trial == "a random walk beside a model" })
    }

    @Test("a store that can't be made is reported as such, for every trial")
    func notMade() async {
        struct NotToday: Error {}
        let report = await StoreContract { () throws -> MemoryStore in throw NotToday() }.check()
        #expect(report.violations.count == report.trials)
        #expect(report.violations.allSatisfy { $0.problem.contains("NotToday") })
    }

    enum Fault: String, CaseIterable {
        case lastFirst, pagesOverlap, notAtomic, forgetsTheDeadsIDs, ignoresBlocks, ignoresRest, ignoresLimits,
            neverDrops,
            dropsTheNewest, claimsStale, claimsSilently, coalescesIntoAttempted, revivesWithFailures, revivesNothing,
            countsTheDead, keepsEmptySettings, forgetsSettings, reusesPositions, changesTexts, complainsOfWhatIsGone,
            ignoresNegativeLimits, countsParking, clearsTheDead, losesRaces,
            findsTheDead, neverSeals, removesTooMuch, locksForAll, unlocksForAll, forgetsWhoLocked,
            keepsAllTheDead, neverTooOld, dropsSilently, neverOvertaken, revivesTheOvertaken,
            revivesBeforeTheAttempted, countsRevivedForAttempted, dropsByTheClock, diesInTheFuture, forgetsFailures,
            findsOnlyPending, findsStale, cancelsTheDead, cancelsNothing, cancelledOvertakesNothing,
            clearedOvertakesNothing, ignoresDates, isDueTooEarly, ignoresDatesOfMerges, ignoresUrgency,
            hurriesOnlyUrgentHeads,
            ignoresUrgencyOfMerges, hurriesAll

        var trial: String {
            switch self {
            case .lastFirst: "order"
            case .pagesOverlap: "pages"
            case .notAtomic, .forgetsTheDeadsIDs: "duplicate ids are skipped, and the others are added"
            case .forgetsFailures: "earlier failures of a mutation"
            case .ignoresBlocks: "a head dies: block"
            case .ignoresRest, .countsParking: "a head dies: killRest"
            case .ignoresLimits: "a full queue rejects"
            case .neverDrops, .dropsTheNewest: "a full queue that drops the oldest"
            case .claimsStale: "a claim returns merges since the head was found"
            case .claimsSilently: "claims"
            case .coalescesIntoAttempted: "nothing is coalesced into a mutation that may have been sent"
            case .revivesWithFailures, .revivesNothing: "reviving"
            case .countsTheDead: "totals"
            case .clearedOvertakesNothing: "clearing overtakes as cancelling does"
            case .ignoresDates, .isDueTooEarly: "before its date, neither a mutation nor those behind it are heads"
            case .ignoresDatesOfMerges: "a mutation with a later date is not coalesced with the one before it"
            case .ignoresUrgency, .hurriesAll:
                "the heads of urgent lanes are found in order, wherever they are, up to the limit"
            case .hurriesOnlyUrgentHeads: "mutations before an urgent one of their lane are as urgent"
            case .ignoresUrgencyOfMerges: "a merged mutation is urgent if either was"
            case .keepsEmptySettings, .forgetsSettings: "settings"
            case .reusesPositions: "positions are never given twice"
            case .changesTexts: "texts of any characters"
            case .complainsOfWhatIsGone: "changes to mutations that are not pending do nothing"
            case .ignoresNegativeLimits: "huge, zero and negative limits of a page"
            case .clearsTheDead: "clearing"
            case .neverSeals, .removesTooMuch: "sealing"
            case .locksForAll, .unlocksForAll, .forgetsWhoLocked: "the sending lock"
            case .keepsAllTheDead, .neverTooOld, .dropsSilently: "limits of dead mutations"
            case .neverOvertaken, .revivesTheOvertaken: "overtaken mutations are reported and skipped"
            case .revivesBeforeTheAttempted, .countsRevivedForAttempted:
                "an attempted later mutation overtakes a dead one"
            case .dropsByTheClock, .diesInTheFuture: "the last to die stay, regardless of the clock"
            case .findsOnlyPending, .findsStale: "reading a mutation by its id"
            case .cancelsTheDead, .cancelsNothing, .cancelledOvertakesNothing: "cancelling"
            case .findsTheDead: "entities with pending mutations"
            case .losesRaces: "many tasks at the same time"
            }
        }
    }

    /// A store in memory with one fault.
    final class FaultyStore: MutationStore {
        private struct State {
            var inner = MemoryStore()
            var first: [Int64: StoredMutation] = [:]
            var queues: Set<UUID> = []
            var died: [Int64: Date] = [:]
            var firstClaim: CheckedContinuation<Bool, Never>?
            var claims = 0
            /// Dead mutations that a cancelled one does not overtake.
            var kept: Set<Int64> = []
        }

        private let fault: Fault
        private let state: Locked<State>

        init(_ fault: Fault) {
            self.fault = fault
            state = Locked(State())
        }

        init(_ fault: Fault, keeping other: FaultyStore) {
            self.fault = fault
            state = Locked(other.state.withLock { $0 })
            for name in ["x", "y", "m", "n", "o\0"] { inner.set(name, to: nil) }
        }

        private var inner: MemoryStore { state.withLock { $0.inner } }

        func append(_ mutations: [Mutation], under rules: AppendRules, at date: Date) async throws -> AppendResult {
            var mutations = mutations
            var rules = rules
            switch fault {
            case .ignoresDatesOfMerges where mutations.count == 1 && inner.totals().pending > 0:
                mutations[0].notBefore = nil
            case .ignoresUrgencyOfMerges where mutations.count == 1 && inner.totals().pending > 0:
                mutations[0].isUrgent = false
            case .ignoresDates:
                for index in mutations.indices { mutations[index].notBefore = nil }
            case .notAtomic where mutations.count > 1:
                var all = AppendResult()
                for mutation in mutations {
                    let one = try inner.append([mutation], under: rules, at: date)
                    all.added += one.added
                    all.merges += one.merges
                    all.dropped += one.dropped
                    all.duplicates += one.duplicates
                }
                return all
            case .forgetsTheDeadsIDs:
                for stored in inner.dead(after: .min, limit: .max)
                where mutations.contains(where: { $0.id == stored.mutation.id }) {
                    _ = inner.discard([stored.position])
                }
            case .ignoresLimits:
                rules.maxCount = nil
                rules.maxBytes = nil
            case .neverDrops:
                rules.overflow = .reject
            case .dropsTheNewest where rules.overflow == .dropOldest:
                let last = inner.pending(after: .min, limit: .max).last { !$0.isAttempted }
                if let last, inner.totals().pending == rules.maxCount {
                    _ = inner.apply([.acknowledged(last.position)], claiming: [], keeping: DeadLimits(), at: date)
                    var appended = try inner.append(mutations, under: rules, at: date)
                    appended.dropped.append(last.mutation.id)
                    return appended
                }
            case .coalescesIntoAttempted:
                if let only = mutations.first, mutations.count == 1,
                    let last = inner.pending(after: .min, limit: .max).last(where: {
                        $0.mutation.entity == only.entity
                    }), last.isAttempted, rules.coalescing.combine(last.mutation, only) != .apart
                {
                    var appended = AppendResult()
                    appended.merges = [.init(id: only.id, into: last.mutation.id, cancelsOut: false)]
                    return appended
                }
            case .forgetsFailures:
                mutations = mutations.map { mutation in
                    Mutation(
                        id: mutation.id, entity: mutation.entity, kind: mutation.kind, operation: mutation.operation,
                        payload: mutation.payload, idempotencyKey: mutation.idempotencyKey,
                        createdAt: mutation.createdAt)
                }
            case .changesTexts:
                mutations = mutations.map { mutation in
                    Mutation(
                        id: mutation.id.precomposedStringWithCanonicalMapping, entity: mutation.entity,
                        kind: mutation.kind, operation: mutation.operation, payload: mutation.payload,
                        idempotencyKey: mutation.idempotencyKey, createdAt: mutation.createdAt)
                }
            default: break
            }
            let appended = try inner.append(mutations, under: rules, at: date)
            if fault == .claimsStale {
                for stored in inner.pending(after: .min, limit: .max) {
                    state.withLock { $0.first[stored.position] = $0.first[stored.position] ?? stored }
                }
            }
            return appended
        }

        func heads(after position: Int64, limit: Int, at date: Date) async throws -> LaneHeads {
            var found = inner.heads(after: position, limit: size(limit), at: fault == .isDueTooEarly ? date + 1 : date)
            switch fault {
            case .ignoresUrgency: found.urgent = []
            case .hurriesOnlyUrgentHeads:
                found.urgent.removeAll { inner.mutation($0.id, cancelling: false)?.mutation.isUrgent == false }
            case .hurriesAll: found.urgent = found.heads
            default: break
            }
            return found
        }

        func pendingEntities(among entities: [String]) async throws -> [String] {
            let dead = inner.dead(after: .min, limit: .max).map(\.mutation.entity)
            return entities.filter {
                fault == .findsTheDead && dead.contains($0) || !inner.pendingEntities(among: [$0]).isEmpty
            }
        }

        func apply(
            _ changes: [MutationChange], claiming positions: [Int64], keeping limits: DeadLimits, at date: Date
        ) async throws -> ApplyResult {
            let limits =
                switch fault {
                case .keepsAllTheDead: DeadLimits(maxAge: limits.maxAge)
                case .neverTooOld: DeadLimits(maxCount: limits.maxCount, maxBytes: limits.maxBytes)
                default: limits
                }
            var all: [MutationChange] = []
            for change in changes {
                let isPending = inner.pending(after: change.position &- 1, limit: 1).first?.position == change.position
                if fault == .complainsOfWhatIsGone, !isPending {
                    throw SyncQueueError.invalid(id: "\(change.position)", reason: "It is gone.")
                }
                switch (fault, change) {
                case (.ignoresBlocks, .died(let position, let error, .block)):
                    all.append(.died(position, error: error, rest: .skip))
                case (.ignoresRest, .died(let position, let error, .killRest)):
                    all.append(.died(position, error: error, rest: .skip))
                case (.countsParking, .died(let position, let error, _)):
                    all += [.failed(position, error: error), change]
                default:
                    all.append(change)
                }
            }
            if fault == .claimsSilently {
                var applied = inner.apply(all, claiming: [], keeping: limits, at: date)
                applied.claimed = positions.compactMap { position in
                    inner.pending(after: position &- 1, limit: 1).first { $0.position == position }
                }
                return applied
            }
            if fault == .losesRaces, let first = positions.first,
                inner.pending(after: first &- 1, limit: 1).first?.mutation.kind == "own", await losesToAnother()
            {
                return ApplyResult()
            }
            var applied = applyToInner(all, claiming: positions, keeping: limits, at: date)
            if fault == .dropsSilently { applied.dropped = [] }
            guard fault == .claimsStale else { return applied }
            applied.claimed = applied.claimed.map { stored in
                var stored = stored
                if let first = state.withLock({ $0.first[stored.position] }) { stored.mutation = first.mutation }
                return stored
            }
            return applied
        }

        /// True for the first of two concurrent claims, once the second has come.
        private func losesToAnother() async -> Bool {
            await withCheckedContinuation { claim in
                let (first, isSecond) = state.withLock { state in
                    defer { state.firstClaim = state.firstClaim ?? claim }
                    defer { state.claims += 1 }
                    return (state.firstClaim, state.claims == 1)
                }
                if isSecond { first?.resume(returning: true) }
                if first != nil { claim.resume(returning: false) }
            }
        }

        private func applyToInner(
            _ changes: [MutationChange], claiming positions: [Int64], keeping limits: DeadLimits, at date: Date
        ) -> ApplyResult {
            switch fault {
            case .dropsByTheClock:
                // The times of death by the clock.
                var before: [Int64: Date] = state.withLock { $0.died }
                var applied = inner.apply(changes, claiming: [], keeping: DeadLimits(maxAge: limits.maxAge), at: date)
                for stored in inner.dead(after: .min, limit: .max) {
                    before[stored.position] = before[stored.position] ?? stored.diedAt
                }
                while case let totals = inner.totals(), !limits.allows(count: totals.dead, bytes: totals.deadBytes) {
                    let dead = inner.dead(after: .min, limit: .max)
                    guard let first = dead.min(by: { before[$0.position] ?? date < before[$1.position] ?? date }) else {
                        break
                    }
                    applied.dropped.append(first.mutation.id)
                    _ = inner.discard([first.position])
                }
                state.withLock { [before] in $0.died = before }
                applied.claimed = inner.apply([], claiming: positions, keeping: DeadLimits(), at: date).claimed
                return applied
            case .diesInTheFuture:
                // The store looks at no dead mutation before its time of death.
                let latest = inner.dead(after: .min, limit: .max).compactMap(\.diedAt).max() ?? date
                return inner.apply(changes, claiming: positions, keeping: limits, at: max(latest, date))
            default:
                return inner.apply(changes, claiming: positions, keeping: limits, at: date)
            }
        }

        func pending(after position: Int64, limit: Int) async throws -> [StoredMutation] {
            let start = fault == .pagesOverlap && position > 0 ? position &- 1 : position
            let page = inner.pending(after: start, limit: size(limit))
            return fault == .lastFirst ? page.reversed() : page
        }

        func dead(after position: Int64, limit: Int) async throws -> [StoredMutation] {
            inner.dead(after: position, limit: size(limit)).map { stored in
                var stored = stored
                if fault == .neverOvertaken { stored.isOvertaken = false }
                if state.withLock({ $0.kept.contains(stored.position) }) { stored.isOvertaken = false }
                if fault == .revivesBeforeTheAttempted, isBeforeAnAttempted(stored) { stored.isOvertaken = false }
                return stored
            }
        }

        func mutation(_ id: String, cancelling: Bool) async throws -> StoredMutation? {
            var found = inner.mutation(id, cancelling: false)
            guard cancelling else {
                if fault == .findsOnlyPending, found?.diedAt != nil { return nil }
                if fault == .findsStale { found?.isOvertaken = false }
                return found
            }
            switch fault {
            case .cancelsTheDead:
                if let found, inner.discard([found.position]) == 1 { return found }
            case .cancelsNothing:
                return found?.diedAt == nil ? found : nil
            case .cancelledOvertakesNothing:
                if let found, found.diedAt == nil, found.isAttempted {
                    let dead = inner.dead(after: .min, limit: .max).filter {
                        $0.mutation.entity == found.mutation.entity
                    }
                    state.withLock { $0.kept.formUnion(dead.map(\.position)) }
                }
            default:
                break
            }
            return inner.mutation(id, cancelling: true)
        }

        private func isBeforeAnAttempted(_ stored: StoredMutation) -> Bool {
            inner.pending(after: stored.position, limit: .max).contains {
                $0.isAttempted && $0.mutation.entity == stored.mutation.entity
            }
        }

        private func size(_ limit: Int) -> Int { fault == .ignoresNegativeLimits && limit < 0 ? .max : limit }

        func revive(_ positions: [Int64], evenOvertaken: Bool, at date: Date) async throws -> Int {
            let evenOvertaken = evenOvertaken || fault == .revivesTheOvertaken
            if fault == .revivesNothing { return 0 }
            let dead = inner.dead(after: .min, limit: .max)
            if fault == .revivesBeforeTheAttempted, !evenOvertaken {
                let chosen = dead.filter { positions.contains($0.position) }
                    .filter { !$0.isOvertaken || isBeforeAnAttempted($0) }
                return inner.revive(chosen.map(\.position), evenOvertaken: true, at: date)
            }
            if fault == .countsRevivedForAttempted {
                // Revives one at a time, the last first.
                return positions.sorted(by: >).reduce(0) {
                    $0 + inner.revive([$1], evenOvertaken: evenOvertaken, at: date)
                }
            }
            let count = inner.revive(positions, evenOvertaken: evenOvertaken, at: date)
            if fault == .revivesWithFailures {
                let revived = dead.filter { positions.contains($0.position) }
                let changes = revived.map { MutationChange.failed($0.position, error: "old") }
                _ = inner.apply(changes, claiming: [], keeping: DeadLimits(), at: date)
            }
            return count
        }

        func discard(_ positions: [Int64]) async throws -> Int { inner.discard(positions) }

        func seal() async throws -> Int64 { fault == .neverSeals ? .max : inner.seal() }

        func removePending(_ positions: [Int64]) async throws -> Int {
            if fault == .clearedOvertakesNothing {
                let dead = inner.dead(after: .min, limit: .max).filter { !$0.isOvertaken || isBeforeAnAttempted($0) }
                state.withLock { $0.kept.formUnion(dead.map(\.position)) }
            }
            if fault == .clearsTheDead { _ = inner.discard(await inner.deadPositions()) }
            if fault == .reusesPositions, inner.totals().dead == 0 {
                let count = inner.removePending(positions)
                let settings = ["x", "y", "m", "n", "o\0"].map { ($0, inner.setting($0)) }
                state.withLock { $0.inner = MemoryStore() }
                for (name, value) in settings { inner.set(name, to: value) }
                return count
            }
            return inner.removePending(fault == .removesTooMuch ? await inner.pendingPositions() : positions)
        }

        func lock(for queue: UUID) async throws -> SendingLock {
            let lock = inner.lock(for: queue)
            state.withLock { _ = $0.queues.insert(queue) }
            switch fault {
            case .locksForAll: return lock == .denied ? .taken : lock
            case .forgetsWhoLocked: return lock == .taken ? .takenAgain : lock
            default: return lock
            }
        }

        func unlock(for queue: UUID) async {
            guard fault == .unlocksForAll else { return inner.unlock(for: queue) }
            for holder in state.withLock({ $0.queues }) { inner.unlock(for: holder) }
        }

        func totals() async throws -> QueueTotals {
            var totals = inner.totals()
            if fault == .countsTheDead { totals.pending += totals.dead }
            return totals
        }

        func setting(_ name: String) async throws -> String? { inner.setting(name) }

        func set(_ name: String, to value: String?) async throws {
            inner.set(name, to: fault == .keepsEmptySettings ? value ?? "" : value)
        }
    }
}
