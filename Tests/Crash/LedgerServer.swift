#if SQLite
    import Foundation
    import KilledProgram
    import Resilience
    import ResilienceTesting

    /// A server that honours idempotency keys, and records which mutations were stored.
    final class LedgerServer: Sendable {
        fileprivate struct State {
            var generator: SeededGenerator
            var stored: Set<Int> = []
            /// What each key did, and the numbers of each entity's effects in order of arrival.
            var effects: [String: Int] = [:]
            var order: [String: [Int]] = [:]
            var requests = 0
            var repeated = 0
            /// The number of the next program; programs count in the order of their start.
            var programs = 0
            /// What the current programs have done since they started; nil if one of them will be killed.
            var fresh: Set<String>?
            var sentTwice = 0
        }

        struct Verdict: CustomStringConvertible {
            let stored: Int
            let lost: [Int]
            let doubled: [Int]
            let outOfOrder: [String]
            let requests: Int
            let repeated: Int
            let sentTwice: Int

            var isFine: Bool {
                lost.isEmpty && doubled.isEmpty && outOfOrder.isEmpty && sentTwice == 0 && stored > 0
            }
            var description: String {
                "\(stored) mutations stored, \(lost.count) lost, \(doubled.count) doubled, "
                    + "\(outOfOrder.count) entities out of order; \(requests) requests, \(repeated) under a known key, "
                    + "\(sentTwice) without a kill"
            }
        }

        private let state: Locked<State>

        init(seed: UInt64) { state = Locked(State(generator: SeededGenerator(seed: seed))) }

        /// Runs one program for each moment (one or two), all at the same time.
        /// - Parameter moments: When each program is killed; nil lets it live until its queue is empty.
        func serve(_ database: String, killedAfter moments: [Duration?]) async throws {
            let first = state.withLock { state in
                state.fresh = moments.allSatisfy { $0 == nil } ? [] : nil
                defer { state.programs += 2 }
                return state.programs
            }
            try await withThrowingDiscardingTaskGroup { group in
                for (index, moment) in moments.enumerated() {
                    group.addTask {
                        try await onThread { try self.serve(database, number: first + index, killedAfter: moment) }
                    }
                }
            }
        }

        /// Blocks its thread.
        private func serve(_ database: String, number: Int, killedAfter moment: Duration?) throws {
            let program = try KilledProgram(
                ["live", database, "\(number)"], killedAfter: moment,
                stored: { id in state.withLock { _ = $0.stored.insert(id) } },
                answer: { id, entity, key in state.withLock { $0.answer(id, entity, key: key) } })
            guard moment != nil || program.status == 0 else { throw Failed(status: program.status) }
        }

        private struct Failed: Error {
            let status: Int32
        }

        /// If two programs enqueued mutations at the same time, only the order within each program is defined.
        private static func isInOrder(_ effects: [Int]) -> Bool {
            let rounds = effects.map { $0 / (2 * Life.count) }
            let programs = Dictionary(grouping: effects) { $0 / Life.count }.values
            return rounds == rounds.sorted() && programs.allSatisfy { $0 == $0.sorted() }
        }

        func verdict() -> Verdict {
            state.withLock { state in
                let effects = state.order.values.joined()
                let counts = Dictionary(effects.map { ($0, 1) }, uniquingKeysWith: +)
                return Verdict(
                    stored: state.stored.count, lost: state.stored.filter { counts[$0] == nil }.sorted(),
                    doubled: counts.filter { $0.value > 1 }.keys.sorted(),
                    outOfOrder: state.order.filter { !Self.isInOrder($0.value) }.keys.sorted(),
                    requests: state.requests, repeated: state.repeated, sentTwice: state.sentTwice)
            }
        }
    }

    extension LedgerServer.State {
        fileprivate mutating func answer(_ id: Int, _ entity: String, key: String) -> Int {
            requests += 1
            switch Int.random(in: 0..<40, using: &generator) {
            case 0: return 429
            case 1, 2: return 503
            default: break
            }
            if effects.updateValue(id, forKey: key) == nil {
                order[entity, default: []].append(id)
                fresh?.insert(key)
            } else {
                repeated += 1
                if fresh?.contains(key) == true { sentTwice += 1 }
            }
            return 201
        }
    }
#endif
