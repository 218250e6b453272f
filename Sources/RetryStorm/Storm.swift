#if Demo
    import Foundation
    import Resilience
    import ResilienceSync

    /// The whole demo: a backlog, drained by hand and then through the toolkit.
    struct Storm: Sendable {
        let mutations: Int
        /// The requests that the server admits per second, and at once.
        let rate, burst: Int
        let timeScale: Double
        let console: Console

        func run() async throws -> Report {
            let backlog = MutationGenerator.mutations(mutations, seed: 1)
            var report = Report(mutations: mutations, rate: rate, burst: burst, timeScale: timeScale)
            console.print(
                "\(mutations.grouped) mutations, and a server that admits \(rate) per second, \(burst) at once; "
                    + "best possible \(report.bestSeconds.secondsText)")
            report.naive = try await result("naive", connections: 64, report) { client in
                await NaiveRun(client: client, timeScale: timeScale).drain(backlog)
            }
            let store = try SQLiteStore.temporary()
            _ = try await store.append(backlog, under: AppendRules(), at: Date())
            report.toolkit = try await result("toolkit", connections: ToolkitRun.requests, report) { client in
                _ = try await ToolkitRun(client: client, store: store).drain()
            }
            return report
        }

        /// Drains the backlog in one way, against its own server.
        private func result(
            _ name: String, connections: Int, _ report: Report, _ drain: (MutationClient) async throws -> Void
        ) async throws -> RunResult {
            try await StormServer.serve(admitting: StormServer.limit(rate: rate, burst: burst)) { server in
                let client = MutationClient(url: server.url, connections: connections)
                defer { client.close() }
                let base = SystemTimeBase.shared
                let start = base.now
                try await console.following {
                    let ledger = server.ledger
                    return "\(name): \(ledger.delivered) of \(mutations) delivered, \(ledger.requests) requests, "
                        + "\(ledger.throttled) × 429, \(start.duration(to: base.now).inSeconds.secondsText)"
                } during: {
                    try await drain(client)
                }
                return RunResult(server.ledger, of: report, took: start.duration(to: base.now))
            }
        }
    }
#endif
