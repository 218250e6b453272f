import Foundation
import Resilience
import ResilienceSync

/// A store with scripted totals: reading them may throw or hang.
final class TotalsStore: MutationStore {
    enum Answer {
        case totals(QueueTotals)
        case failure(any Error)
        /// Hangs until `finish`.
        case never
    }

    private struct State {
        var answer = Answer.totals(QueueTotals())
        var readings = 0
        var hadDeadline = false
        var waiting: [CheckedContinuation<QueueTotals, any Error>] = []
    }

    private let state = Locked(State())
    private let inner: any MutationStore = MemoryStore()

    var readings: Int { state.withLock { $0.readings } }
    /// Whether a reading had a caller's deadline.
    var hadDeadline: Bool { state.withLock { $0.hadDeadline } }

    func answer(_ answer: Answer) { state.withLock { $0.answer = answer } }

    /// Ends all hanging readings.
    func finish(_ totals: QueueTotals = QueueTotals()) {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        for one in waiting { one.resume(returning: totals) }
    }

    func totals() async throws -> QueueTotals {
        let answer = state.withLock { state in
            state.readings += 1
            if CallDeadline.current != nil { state.hadDeadline = true }
            return state.answer
        }
        switch answer {
        case .totals(let totals): return totals
        case .failure(let error): throw error
        case .never:
            // Like a disk that hangs: cancellation does not end it.
            return try await withCheckedThrowingContinuation { continuation in
                state.withLock { $0.waiting.append(continuation) }
            }
        }
    }

    func append(_ mutations: [Mutation], under rules: AppendRules, at date: Date) async throws -> AppendResult {
        try await inner.append(mutations, under: rules, at: date)
    }
    func heads(after position: Int64, limit: Int, at date: Date) async throws -> LaneHeads {
        try await inner.heads(after: position, limit: limit, at: date)
    }
    func pendingEntities(among entities: [String]) async throws -> [String] {
        try await inner.pendingEntities(among: entities)
    }
    func apply(
        _ changes: [MutationChange], claiming positions: [Int64], keeping limits: DeadLimits, at date: Date
    ) async throws -> ApplyResult {
        try await inner.apply(changes, claiming: positions, keeping: limits, at: date)
    }
    func pending(after position: Int64, limit: Int) async throws -> [StoredMutation] {
        try await inner.pending(after: position, limit: limit)
    }
    func dead(after position: Int64, limit: Int) async throws -> [StoredMutation] {
        try await inner.dead(after: position, limit: limit)
    }
    func mutation(_ id: String, cancelling: Bool) async throws -> StoredMutation? {
        try await inner.mutation(id, cancelling: cancelling)
    }
    func revive(_ positions: [Int64], evenOvertaken: Bool, at date: Date) async throws -> Int {
        try await inner.revive(positions, evenOvertaken: evenOvertaken, at: date)
    }
    func discard(_ positions: [Int64]) async throws -> Int { try await inner.discard(positions) }
    func seal() async throws -> Int64 { try await inner.seal() }
    func removePending(_ positions: [Int64]) async throws -> Int { try await inner.removePending(positions) }
    func lock(for queue: UUID) async throws -> SendingLock { try await inner.lock(for: queue) }
    func unlock(for queue: UUID) async { await inner.unlock(for: queue) }
    func setting(_ name: String) async throws -> String? { try await inner.setting(name) }
    func set(_ name: String, to value: String?) async throws { try await inner.set(name, to: value) }
}

extension SyncQueue {
    /// A queue that is never flushed.
    convenience init(idle name: String, _ store: some MutationStore, on timeBase: any TimeBase) {
        self.init(name, store: store, pipeline: Pipeline(name, timeBase: timeBase) {}) { _ in }
    }
}
