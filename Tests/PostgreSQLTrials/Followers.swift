#if PostgreSQL
    import Foundation
    import PostgreSQLServer
    import Resilience
    import ResilienceSync

    /// What queues cost a server while they follow a store: connections, transactions per second, and transactions for
    /// each mutation that comes.
    struct Followers {
        let count: Int
        let seconds: Int

        func run() async throws {
            let server = try PostgreSQLServer(["max_connections=400"])
            let connection = server.connection
            let tasks = try await (0..<count).asyncMap { _ in
                // As in a process of its own: an engine, a store, a queue.
                let store = try await PostgreSQLStore(try PostgreSQLEngine(connection), sending: .shared)
                let queue = SyncQueue(store: store, pipeline: Pipeline("follower") {}) { _ in }
                try await SystemTimeBase.shared.sleep(for: .seconds(10) / count)
                return Task { await queue.followStore() }
            }
            defer { for task in tasks { task.cancel() } }
            let watcher = try PostgreSQLEngine("\(connection) application_name=watcher", connections: 1)
            let base = SystemTimeBase.shared
            func number(_ statement: String) async throws -> Int64 {
                // Each backend tells its counts once a second at most.
                try await base.sleep(for: .seconds(3))
                guard case .integer(let number)? = try await watcher.run(statement).first?.first else { return 0 }
                return number
            }
            func transactions() async throws -> Int64 {
                try await number("SELECT sum(xact_commit + xact_rollback)::int8 FROM pg_stat_database")
            }
            func connections() async throws -> Int64 {
                try await number("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'swift-resilience'")
            }
            try await base.sleep(for: .seconds(15))
            let (before, began) = (try await transactions(), base.now)
            try await base.sleep(for: .seconds(seconds))
            let idle = Double(try await transactions() - before) / (began.duration(to: base.now) / .seconds(1))
            say("\(count) idle followers: \(try await connections()) connections, \(idle.rounded()) transactions/s")
            let store = try await PostgreSQLStore(try PostgreSQLEngine(connection), sending: .shared)
            for rate in [1, 10, 100, 1_000] {
                let (before, began) = (try await transactions(), base.now)
                let mutations = rate * 10
                for index in 0..<mutations {
                    let mutation = Mutation(
                        id: "\(rate) \(index)", entity: "\(rate) \(index)", kind: "note", payload: Data())
                    _ = try await store.append([mutation], under: AppendRules(), at: Date())
                    try await base.sleep(until: began + .seconds(10) * (index + 1) / mutations)
                }
                while try await store.totals().pending > 0 { try await base.sleep(for: .milliseconds(100)) }
                let all = Double(try await transactions() - before)
                let own = all - idle * (began.duration(to: base.now) / .seconds(1))
                say(
                    "\(mutations) mutations, \(rate)/s: \((own / Double(mutations) * 10).rounded() / 10) transactions each"
                )
            }
            say("then \(try await connections()) connections")
        }
    }

    extension Sequence {
        fileprivate func asyncMap<T>(_ body: (Element) async throws -> T) async rethrows -> [T] {
            var all: [T] = []
            for element in self { all.append(try await body(element)) }
            return all
        }
    }
#endif
