import Resilience

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A store that lasts as long as the process: for tests, and for what may be lost.
public final class MemoryStore: MutationStore {
    private struct State {
        var pending: [StoredMutation] = []
        var dead: [StoredMutation] = []
        var ids: Set<String> = []
        var lastPosition: Int64 = 0
        var pause: Date?

        /// Positions only grow, so the arrays are sorted.
        static func index(of position: Int64, in mutations: [StoredMutation]) -> Int? {
            // Positions begin at 1.
            let index = firstIndex(after: max(0, position) - 1, in: mutations)
            return index < mutations.count && mutations[index].position == position ? index : nil
        }

        static func firstIndex(after position: Int64, in mutations: [StoredMutation]) -> Int {
            var low = 0
            var high = mutations.count
            while low < high {
                let middle = (low + high) / 2
                if mutations[middle].position <= position { low = middle + 1 } else { high = middle }
            }
            return low
        }

        mutating func replacePending(_ position: Int64, _ change: (StoredMutation) -> StoredMutation) {
            guard let index = Self.index(of: position, in: pending) else { return }
            pending[index] = change(pending[index])
        }
    }

    private let state = Locked(State())

    public init() {}

    public func append(_ mutations: [Mutation]) throws {
        try state.withLock { state in
            var ids = state.ids
            for mutation in mutations where !ids.insert(mutation.id).inserted {
                throw SyncQueueError.duplicate(id: mutation.id)
            }
            state.ids = ids
            for mutation in mutations {
                state.lastPosition += 1
                state.pending.append(
                    StoredMutation(position: state.lastPosition, mutation: mutation, failures: 0, lastError: nil))
            }
        }
    }

    public func pending(after position: Int64, limit: Int) -> [StoredMutation] {
        state.withLock { Array($0.pending[State.firstIndex(after: position, in: $0.pending)...].prefix(max(0, limit))) }
    }

    public func remove(at position: Int64) {
        state.withLock { state in
            guard let index = State.index(of: position, in: state.pending) else { return }
            state.ids.remove(state.pending.remove(at: index).mutation.id)
        }
    }

    public func countFailure(at position: Int64, error: String) {
        state.withLock { state in
            state.replacePending(position) { $0.failing(error) }
        }
    }

    public func park(at position: Int64, error: String) {
        state.withLock { state in
            guard let index = State.index(of: position, in: state.pending) else { return }
            let parked = state.pending.remove(at: index).failing(error)
            state.dead.insert(parked, at: State.firstIndex(after: position, in: state.dead))
        }
    }

    public func dead(after position: Int64, limit: Int) -> [StoredMutation] {
        state.withLock { Array($0.dead[State.firstIndex(after: position, in: $0.dead)...].prefix(max(0, limit))) }
    }

    public func pendingCount() -> Int { state.withLock { $0.pending.count } }
    public func deadCount() -> Int { state.withLock { $0.dead.count } }

    public func removePending() -> Int {
        state.withLock { state in
            let count = state.pending.count
            state.ids.subtract(state.pending.map(\.mutation.id))
            state.pending = []
            return count
        }
    }

    public func pause() -> Date? { state.withLock { $0.pause } }
    public func setPause(until date: Date?) { state.withLock { $0.pause = date } }
}

extension StoredMutation {
    fileprivate func failing(_ error: String) -> StoredMutation {
        StoredMutation(position: position, mutation: mutation, failures: failures + 1, lastError: error)
    }
}
