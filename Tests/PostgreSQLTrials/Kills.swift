#if PostgreSQL
    import Foundation
    import KilledProgram
    import PostgreSQLServer
    import Resilience
    import ResilienceTesting

    /// Runs and kills worker processes, and plays the other side, which honours idempotency keys.
    final class Kills: Sendable {
        fileprivate struct State {
            var generator: SeededGenerator
            var left: Int
            var programs = 0
            var stored: Set<Int> = []
            /// What each key did, and each entity's effects in order of arrival.
            var effects: [String: Int] = [:]
            var order: [String: [Int]] = [:]
            var requests = 0
            var repeated = 0
        }

        private static let workers = 4
        private let count: Int
        private let state: Locked<State>

        init(count: Int, seed: UInt64) {
            self.count = count
            state = Locked(State(generator: SeededGenerator(seed: seed), left: count))
        }

        func run() async throws {
            signal(SIGPIPE, SIG_IGN)
            let server = try PostgreSQLServer()
            let connection = server.connection
            let began = SystemTimeBase.shared.now
            try await withThrowingDiscardingTaskGroup { group in
                for _ in 0..<Self.workers {
                    group.addTask { try await onThread { try self.slot(connection) } }
                }
            }
            let (verdict, isFine) = verdict()
            let seconds = Int(began.duration(to: SystemTimeBase.shared.now) / .seconds(1))
            say("\(count) kills of \(Self.workers) workers, \(seconds) s: \(verdict)")
            _ = server
            if !isFine { exit(1) }
        }

        /// Runs workers in sequence, and kills each but the last at a random moment.
        private func slot(_ connection: String) throws {
            while true {
                let (moment, number) = state.withLock { state -> (Duration?, Int) in
                    defer { state.programs += 1 }
                    guard state.left > 0 else { return (nil, state.programs) }
                    state.left -= 1
                    // The moments reach from before the worker connects until well into its sending.
                    return (.milliseconds(Int.random(in: 0...900, using: &state.generator)), state.programs)
                }
                try live(connection, number, killedAfter: moment)
                if moment == nil { return }
            }
        }

        private func live(_ connection: String, _ number: Int, killedAfter moment: Duration?) throws {
            let program = try KilledProgram(
                ["live", connection, "trial", "\(number)"], killedAfter: moment,
                stored: { id in state.withLock { _ = $0.stored.insert(id) } },
                answer: { id, entity, key in state.withLock { $0.answer(id, entity, key: key) } })
            guard program.status == 0 || program.isKilled && moment != nil else {
                FileHandle.standardError.write(Data("worker \(number) ended with \(program.status) by itself\n".utf8))
                exit(1)
            }
        }

        private func verdict() -> (String, isFine: Bool) {
            state.withLock { state in
                let effects = state.order.values.joined()
                let counts = Dictionary(effects.map { ($0, 1) }, uniquingKeysWith: +)
                let lost = state.stored.count { counts[$0] == nil }
                let doubled = counts.values.count { $0 > 1 }
                // If two programs enqueued mutations at the same time, only the order within each program is defined.
                let outOfOrder = state.order.values.count { effects in
                    let programs = Dictionary(grouping: effects) { $0 / Life.count }.values
                    return !programs.allSatisfy { $0 == $0.sorted() }
                }
                return (
                    """
                    \(state.stored.count) mutations stored, \(lost) lost, \(doubled) effects doubled, \(outOfOrder) entities \
                    out of order; \(state.requests) requests, \(state.repeated) under a known key
                    """, lost == 0 && doubled == 0 && outOfOrder == 0 && !state.stored.isEmpty
                )
            }
        }
    }

    extension Kills.State {
        fileprivate mutating func answer(_ id: Int, _ entity: String, key: String) -> Int {
            requests += 1
            switch Int.random(in: 0..<100, using: &generator) {
            case 0: return 429
            case 1, 2: return 503
            default: break
            }
            if effects.updateValue(id, forKey: key) == nil {
                order[entity, default: []].append(id)
            } else {
                repeated += 1
            }
            return 201
        }
    }
#endif
