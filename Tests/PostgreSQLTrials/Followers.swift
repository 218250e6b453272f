#if PostgreSQL
    import Foundation
    import PostgreSQLServer
    import Resilience
    import ResilienceSync

    /// What queues cost a server while they follow a store: connections, transactions per second, and for each new
    /// mutation the transactions and the time until its handler begins.
    struct Followers {
        let count: Int
        let seconds: Int

        /// When each mutation was enqueued, and how long it then waited for its handler.
        private struct Times: Sendable {
            var began: [String: MonotonicInstant] = [:]
            var all: [Duration] = []
        }

        /// The transactions of the programs, and all transactions: the server counts one more for each session that it
        /// notifies.
        private struct Transactions {
            var programs = 0.0
            var all = 0.0

            static func - (one: Self, other: Self) -> Self {
                Self(programs: one.programs - other.programs, all: one.all - other.all)
            }

            func over(_ divisor: Double) -> Self { Self(programs: programs / divisor, all: all / divisor) }

            func times(_ factor: Double) -> Self { over(1 / factor) }
        }

        private final class Shared: Sendable { let times = Locked(Times()) }

        func run() async throws {
            let server = try PostgreSQLServer(["max_connections=400", "shared_preload_libraries=pg_stat_statements"])
            let connection = server.connection
            let base = SystemTimeBase.shared
            let shared = Shared()
            let watcher = try PostgreSQLEngine("\(connection) application_name=watcher", connections: 1)
            try await watcher.run("CREATE EXTENSION pg_stat_statements")
            let tasks = try await (0..<count).asyncMap { _ in
                // Each follower has an engine, a store and a queue of its own, like a process.
                let store = try await PostgreSQLStore(try PostgreSQLEngine(connection), sending: .shared)
                let queue = SyncQueue(store: store, pipeline: Pipeline("follower") {}) { mutation in
                    let now = base.now
                    shared.times.withLock { times in
                        guard let began = times.began.removeValue(forKey: mutation.id) else { return }
                        times.all.append(began.duration(to: now))
                    }
                }
                try await base.sleep(for: .seconds(10) / count)
                return Task { await queue.followStore() }
            }
            defer { for task in tasks { task.cancel() } }
            func number(_ statement: String) async throws -> Double {
                guard case .integer(let number)? = try await watcher.run(statement).first?.first else { return 0 }
                return Double(number)
            }
            func transactions() async throws -> Transactions {
                // Each backend reports its counts once a second at most.
                try await base.sleep(for: .seconds(3))
                return Transactions(
                    programs: try await number(
                        """
                        SELECT sum(calls)::int8 FROM pg_stat_statements
                        WHERE query !~ '(begin_append|end_append|^BEGIN|pg_stat)'
                        """),
                    all: try await number("SELECT sum(xact_commit + xact_rollback)::int8 FROM pg_stat_database"))
            }
            func connections() async throws -> Int {
                Int(
                    try await number(
                        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'swift-resilience'"))
            }
            try await base.sleep(for: .seconds(15))
            let (before, began) = (try await transactions(), base.now)
            try await base.sleep(for: .seconds(seconds))
            let idle = (try await transactions() - before).over(began.duration(to: base.now) / .seconds(1))
            say("\(count) idle followers: \(try await connections()) connections, \(idle.all.rounded()) transactions/s")
            let store = try await PostgreSQLStore(try PostgreSQLEngine(connection), sending: .shared)
            for (rate, mutations) in [(1, 10), (20, 1_000), (100, 1_000), (1_000, 10_000)] {
                _ = try await watcher.run("SELECT 1::int8 FROM pg_stat_statements_reset()")
                let (before, start) = (try await transactions(), base.now)
                for index in 0..<mutations {
                    let mutation = Mutation(
                        id: "\(rate) \(index)", entity: "\(rate) \(index)", kind: "note", payload: Data())
                    shared.times.withLock { $0.began[mutation.id] = base.now }
                    _ = try await store.append([mutation], under: AppendRules(), at: Date())
                    try await base.sleep(until: start + .seconds(1) * (index + 1) / rate)
                }
                while try await store.totals().pending > 0 { try await base.sleep(for: .milliseconds(500)) }
                let length = start.duration(to: base.now) / .seconds(1)
                let own = (try await transactions() - before - idle.times(length + 3)).over(Double(mutations))
                let times = shared.times.withLock { times in
                    defer { times.all = [] }
                    return times.all.sorted()
                }
                func milliseconds(_ time: Duration?) -> Int { Int(((time ?? .zero) / .milliseconds(1)).rounded()) }
                say(
                    """
                    \(mutations) mutations, \(rate)/s: \(tenths(own.programs)) transactions each, \(tenths(own.all)) with \
                    those that notify; sent after \(milliseconds(times.isEmpty ? nil : times[times.count / 2])) ms, \
                    \(milliseconds(times.last)) at most
                    """)
            }
            say("then \(try await connections()) connections")
        }

        private func tenths(_ number: Double) -> Double { (number * 10).rounded() / 10 }
    }

    extension Sequence {
        fileprivate func asyncMap<T>(_ body: (Element) async throws -> T) async rethrows -> [T] {
            var all: [T] = []
            for element in self { all.append(try await body(element)) }
            return all
        }
    }
#endif
