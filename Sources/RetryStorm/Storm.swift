#if Demo
    import Foundation
    import Resilience
    import ResilienceSync

    /// The whole demo: a backlog in a file, drained in one way and then in the other.
    struct Storm: Sendable {
        /// Why the demo ended early, as a text for people.
        struct Failure: Error, Equatable {
            var message: String
            var exitCode: Int32 = 1

            init(_ message: String, exitCode: Int32 = 1) {
                self.message = message
                self.exitCode = exitCode
            }
        }

        struct Ending: Sendable {
            let result: Report
            /// Why it was not a success; nil if it was.
            var remark: String?
        }

        let plan: Plan
        let console: Console

        /// - Throws: ``Failure`` only.
        func run() async throws -> Ending {
            let fresh = try source()
            let file = QueueFile(plan.database)
            do {
                let store = try SQLiteStore(path: file.path)
                let (mutations, isResumed) = try await file.backlog(in: store) { fresh() }
                return try await drain(mutations, isResumed: isResumed, store, file)
            } catch let failure as Failure {
                throw failure
            } catch {
                // Nothing was sent yet, because the file could not be opened or filled.
                file.discard()
                throw Failure("\(error)")
            }
        }

        /// Reads a file before the database is touched, and generates mutations only when they are needed.
        private func source() throws -> () -> [Mutation] {
            switch plan.source {
            case .madeUp(let count, let seed):
                return { MutationGenerator.mutations(count, seed: seed) }
            case .file(let path):
                do {
                    let mutations = try MutationReader.read(path: path)
                    return { mutations }
                } catch let error as MutationReader.BadInput {
                    throw Failure("\(error)", exitCode: 65)
                } catch {
                    var isFolder = ObjCBool(false)
                    let isThere = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
                    let reason =
                        isFolder.boolValue
                        ? "it is a folder" : isThere ? error.localizedDescription : "there is no such file"
                    throw Failure("cannot read \(path): \(reason)", exitCode: 65)
                }
            }
        }

        private func drain(
            _ mutations: [Mutation], isResumed: Bool, _ store: SQLiteStore, _ file: QueueFile
        ) async throws -> Ending {
            var report = Report(mutations: mutations.count, limit: plan.server.limit, timeScale: plan.timeScale)
            console.print(introduction(report, isResumed: isResumed))
            let deadBefore = (try? await store.totals().dead) ?? 0
            do {
                if plan.runs.contains(.naive) { report.naive = try await naive(mutations) }
                if plan.runs.contains(.toolkit) { report.toolkit = try await toolkit(mutations.count, store) }
            } catch {
                throw await failure(error, of: mutations.count, deadBefore: deadBefore, store, file)
            }
            let dead = (try? await store.totals().dead) ?? 0
            guard dead == 0 else {
                return Ending(
                    result: report,
                    remark: "dead in \(file.path), because the server refused them for good: \(dead)")
            }
            file.discard()
            return Ending(result: report)
        }

        private func introduction(_ report: Report, isResumed: Bool) -> String {
            let what = "\(Table.grouped(report.mutations)) \(isResumed ? "pending mutations, resumed" : "mutations")"
            let best = report.bestSeconds.map { "; best possible \(Table.seconds($0))" } ?? ""
            switch plan.server {
            case .ours(let limit):
                return "\(what), and a server that admits \(limit.rate) a second, \(limit.burst) at once\(best)"
            case .at(let url, _):
                return "\(what) for \(url.absoluteString)\(best)"
            }
        }

        private func failure(
            _ error: any Error, of count: Int, deadBefore: Int, _ store: SQLiteStore, _ file: QueueFile
        ) async -> Failure {
            // In a task of its own, because this one may be cancelled, and the database would not answer then.
            let (pending, dead) = await Task {
                let dead = (try? await store.totals().dead) ?? deadBefore
                return ((try? await store.totals().pending) ?? count, dead - deadBefore)
            }.value
            let died = dead == 0 ? "" : ", \(dead) dead"
            let kept =
                "\(count - pending - dead) of \(count) delivered\(died), the rest is in \(file.path); "
                + "to finish, run again with --database \(file.path)"
            switch error {
            case is CancellationError: return Failure("interrupted: \(kept)", exitCode: 130)
            case let failure as Failure: return Failure("\(failure.message)\n  \(kept)")
            default: return Failure("\(error)\n  \(kept)")
            }
        }

        // MARK: The two runs

        private func naive(_ mutations: [Mutation]) async throws -> RunResult {
            try await serve { url, server in
                let client = MutationClient(url: url, connections: 64)
                defer { client.close() }
                let run = NaiveRun(client: client, timeScale: plan.timeScale)
                let start = MonotonicInstant.now
                let lost = try await console.following(progress("naive", mutations.count, client.tally)) {
                    try await run.drain(mutations)
                }
                let elapsed = start.elapsed
                var result = RunResult(server?.counts ?? Ledger.Counts(client.tally.counts), lost: lost, took: elapsed)
                result.perSecond = server?.perSecond ?? []
                return result
            }
        }

        private func toolkit(_ count: Int, _ store: SQLiteStore) async throws -> RunResult {
            let deadBefore = try await store.totals().dead
            return try await serve { url, server in
                let client = MutationClient(url: url, connections: ToolkitRun.requests)
                defer { client.close() }
                let run = ToolkitRun(client: client, store: store)
                let start = MonotonicInstant.now
                let end = try await console.following(
                    progress("toolkit", count, client.tally) { run.queue.rate }
                ) {
                    try await run.drain()
                }
                switch end {
                case .interrupted: throw CancellationError()
                case .gaveUp(let reason): throw Failure(reason)
                case .drained: break
                }
                let elapsed = start.elapsed
                let dead = try await store.totals().dead - deadBefore
                let counts = server?.counts ?? Ledger.Counts(client.tally.counts)
                let kept = try await store.totals().pending + dead
                var result = RunResult(
                    counts, lost: max(0, count - counts.delivered - kept), dead: dead, took: elapsed)
                result.perSecond = server?.perSecond ?? []
                return result
            }
        }

        /// Serves one run. The body receives the address, and our own server, or nil if it is the one at `--url`.
        private func serve<R>(_ body: (URL, StormServer?) async throws -> R) async throws -> R {
            switch plan.server {
            case .ours(let limit):
                try await StormServer.serve(TokenBucket(rate: limit.rate, burst: limit.burst)) { server in
                    try await body(server.url, server)
                }
            case .at(let url, _):
                try await body(url, nil)
            }
        }

        /// - Parameter rate: The rate that the server is believed to allow, in requests per second.
        private func progress(
            _ name: String, _ total: Int, _ tally: Tally, rate: @escaping @Sendable () -> Double? = { nil }
        ) -> @Sendable () -> ProgressLine {
            let start = MonotonicInstant.now
            return {
                let counts = tally.counts
                let now = MonotonicInstant.now
                return ProgressLine(
                    name: name, total: total, delivered: counts.delivered, requests: counts.requests,
                    throttled: counts.throttled, elapsed: start.duration(to: now),
                    pausedFor: counts.pausedUntil.map { now.duration(to: $0) }, rate: rate())
            }
        }
    }

    extension MonotonicInstant {
        fileprivate static var now: Self { SystemTimeBase.shared.now }
        fileprivate var elapsed: Duration { duration(to: .now) }
    }
#endif
