import Foundation
import Resilience
package import ResilienceSync

/// One mutation whose handler crashes the process, among 300 good ones. Programs restart over their store until nothing
/// is pending.
package final class PoisonPill: Sendable {
    package static let kind = "pill"
    private static let count = 300
    /// The queue's own `maxClaims`.
    private static let mostEnds = 6

    private struct State: Sendable {
        var delivered: Set<Int> = []
        var requests = 0
        var ends = 0
    }

    private enum Failure: Error { case endedOtherwise(Int32), endsForEver }

    private let state = Locked(State())

    package init() {}

    /// - Parameters:
    ///   - workers: How many programs run at once.
    ///   - arguments: The arguments of each.
    /// - Returns: The outcome; and whether all good mutations were delivered, and only the pill became dead.
    package func run(
        _ store: some MutationStore, workers: Int, _ arguments: [String]
    ) async throws -> (verdict: String, isFine: Bool) {
        var mutations = (0..<Self.count).map { Mutation(id: "\($0)", entity: "entity-\($0 % 20)", kind: "note") }
        mutations.insert(Mutation(id: "pill", entity: "entity-7", kind: Self.kind), at: Self.count / 2)
        _ = try await store.append(mutations, under: AppendRules(coalescing: .off), at: Date())
        try await withThrowingDiscardingTaskGroup { group in
            for _ in 0..<workers { group.addTask { try await onThread { try self.work(arguments) } } }
        }
        let dead = try await store.dead(after: .min, limit: 10).map(\.mutation.id)
        return state.withLock { state in
            let good = state.delivered.count
            return (
                "\(state.ends) of at most \(Self.mostEnds) restarts of \(workers) programs: \(good) of \(Self.count) good "
                    + "ones delivered with \(state.requests) requests, dead: \(dead)",
                good == Self.count && dead == ["pill"]
            )
        }
    }

    private func work(_ arguments: [String]) throws {
        while true {
            let program = try KilledProgram(arguments, killedAfter: nil, stored: { _ in }) { id, _, _ in
                state.withLock { state in
                    state.delivered.insert(id)
                    state.requests += 1
                }
                return 201
            }
            if program.status == 0 { return }
            // Swift's trap.
            guard [SIGILL, SIGTRAP].contains(program.status) else { throw Failure.endedOtherwise(program.status) }
            let ends = state.withLock { state in
                state.ends += 1
                return state.ends
            }
            guard ends <= Self.mostEnds else { throw Failure.endsForEver }
        }
    }
}
