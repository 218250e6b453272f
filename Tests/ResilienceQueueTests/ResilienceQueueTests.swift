#if QueueTool
    import ArgumentParser
    import Foundation
    import GRDB
    import PostgreSQLServer
    import Resilience
    import ResilienceSync
    import TestSupport
    import Testing

    @testable import ResilienceQueue

    /// Runs commands of the tool in this process, on a file or a database.
    @Suite(.timeLimit(.minutes(20))) struct ResilienceQueueTests {
        private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tool-\(UUID().uuidString)")

        init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

        private func path(_ name: String = "queue.sqlite") -> String { folder.appendingPathComponent(name).path }

        /// The output of a command.
        private func run(_ arguments: String...) async throws -> String { try await run(arguments) }

        private func run(_ arguments: [String]) async throws -> String {
            let printed = Locked<[String]>([])
            try await Output.$write.withValue({ line in printed.withLock { $0.append(line) } }) {
                var command = try #require(
                    try ResilienceQueueCommand.parseAsRoot(arguments) as? any AsyncParsableCommand)
                try await command.run()
            }
            return printed.withLock { $0.joined(separator: "\n") }
        }

        private func exitCode(_ arguments: String...) async -> Int32 {
            do {
                _ = try await run(arguments)
                return 0
            } catch { return ResilienceQueueCommand.exitCode(for: error).rawValue }
        }

        private func mutation(_ id: String, payload: String = "SECRET") -> Mutation {
            Mutation(
                id: id, entity: String(id.prefix(1)), kind: "create", payload: Data(payload.utf8),
                idempotencyKey: "key",
                createdAt: Date(timeIntervalSince1970: 1_700_000_000))
        }

        /// Two pending mutations, the first already attempted, and two dead ones.
        private func fill(_ store: some MutationStore) async throws {
            let now = Date()
            _ = try await store.append(
                ["a1", "b1", "c1", "d1"].map { mutation($0) }, under: AppendRules(coalescing: .off), at: now)
            _ = try await store.apply(
                [3, 4].map { .died($0, error: "410\u{1B}[2J\nGone", rest: .skip) }, claiming: [1],
                keeping: DeadLimits(),
                at: now)
        }

        private func filled() async throws -> SQLiteStore {
            let store = try SQLiteStore(path: path())
            try await fill(store)
            return store
        }

        private struct Listed: Decodable {
            struct One: Decodable {
                let position: Int64
                let id, state: String
                let isAttempted: Bool
                let lastError: String?
                let payload: Data?
                let payloadBytes: Int
            }
            struct Totals: Decodable {
                let pending, dead: Int
                let isPausedByHand: Bool
                let pausedForSeconds: Double?
            }
            let mutations: [One]
            let totals: Totals
        }

        private func list(_ arguments: String...) async throws -> Listed {
            try JSONDecoder().decode(Listed.self, from: Data(try await run(["list", "--json"] + arguments).utf8))
        }

        @Test(
            "a list shows pending or dead mutations without payloads, and contains no control character of a terminal"
        )
        func list() async throws {
            let store = try await filled()
            let text = try await run("list", path())
            #expect(text.contains("a1") && text.contains("sent, no answer") && text.contains("waiting"))
            #expect(text.contains("2 pending (12 bytes), 2 dead (12 bytes)"))
            let dead = try await run("list", path(), "--dead")
            #expect(dead.contains("410\\u{1b}[2J\\nGone") && !dead.contains("\u{1B}") && !dead.contains("a1"))
            #expect(!(text + dead).contains("SECRET"))
            let listed = try await list(path(), "--dead", "--after", "3")
            #expect(listed.mutations.map(\.position) == [4] && listed.mutations[0].state == "dead")
            #expect(listed.mutations[0].payload == nil && listed.mutations[0].payloadBytes == 6)
            #expect(try await list(path(), "--limit", "1").mutations.map(\.id) == ["a1"])
            #expect(try await list(path(), "--limit=-1").mutations.isEmpty)
            #expect(listed.totals.pending == 2 && listed.totals.dead == 2 && !listed.totals.isPausedByHand)
            _ = store
        }

        @Test("a mutation's date is shown, and the time when the next mutation is due")
        func notBefore() async throws {
            let store = try SQLiteStore(path: path())
            let date = Date(timeIntervalSince1970: 4_000_000_000)
            _ = try await store.append(
                [
                    Mutation(id: "a1", entity: "a", kind: "create", notBefore: date),
                    Mutation(id: "b1", entity: "b", kind: "create", notBefore: .init(timeIntervalSince1970: .infinity)),
                ], under: AppendRules(), at: Date())
            let text = try await run("list", path())
            #expect(text.contains("not due") && text.contains("the next is due at 2096-10-02T07:06:40Z"))
            #expect(try await run("show", path(), "a1").contains("not before       2096-10-02T07:06:40Z"))
            #expect(try await run("show", path(), "b1").contains("inf s since 2001"))
            #expect(try await run("list", path(), "--json").contains(#""notBefore":"2096-10-02T07:06:40Z""#))
            _ = store
        }

        @Test("a list of more than a page shows each mutation once")
        func pages() async throws {
            let store = try SQLiteStore(path: path())
            _ = try await store.append(
                (0..<2_500).map { mutation("\($0)", payload: "") }, under: AppendRules(coalescing: .off), at: Date())
            #expect(try await list(path(), "--limit", "2400").mutations.map(\.id) == (0..<2_400).map { "\($0)" })
        }

        @Test("a mutation is shown by its id or position, its payload only on request; an unknown one is an error")
        func show() async throws {
            let store = try await filled()
            _ = try await store.append([mutation("x\u{0}\n")], under: AppendRules(), at: Date())
            let shown = try await run("show", path(), "a1")
            #expect(shown.contains("6 bytes") && shown.contains("key") && !shown.contains("SECRET"))
            #expect(try await run("show", path(), "c1", "--payload").contains("SECRET"))
            #expect(try await run("show", path(), "--at", "5").contains("x\\u{0}\\n"))
            #expect(await exitCode("show", path(), "e1") == 1)
            #expect(await exitCode("show", path(), "--at", "9") == 1)
            #expect(await exitCode("show", path(), "--at", "a1") == 64)
        }

        @Test("dead mutations are retried or discarded by their positions, or all together, but never by accident")
        func dead() async throws {
            let store = try await filled()
            for command in ["retry", "discard"] {
                #expect(await exitCode(command, path()) == 64)
                #expect(await exitCode(command, path(), "3", "--all") == 64)
                #expect(await exitCode(command, path(), "x") == 64)
                #expect(await exitCode(command, path(), "1") == 1, "it is not dead")
            }
            #expect(try await store.totals().dead == 2)
            #expect(try await run("retry", path(), "3") == "1 pending again")
            #expect(try await store.mutation("c1", cancelling: false)?.diedAt == nil)
            #expect(try await run("discard", path(), "--all") == "1 discarded")
            #expect(try await run("discard", path(), "--all") == "0 discarded")
            #expect(try await store.totals().pending == 3)
        }

        @Test("an overtaken mutation is retried only with the option for it")
        func overtaken() async throws {
            let store = try await filled()
            _ = try await store.append([mutation("c2")], under: AppendRules(), at: Date())
            _ = try await store.apply([.acknowledged(5)], claiming: [], keeping: DeadLimits(), at: Date())
            #expect(try await run("list", path(), "--dead").contains("dead, overtaken"))
            #expect(await exitCode("retry", path(), "3") == 1)
            #expect(try await run("retry", path(), "3", "--even-overtaken") == "1 pending again")
        }

        @Test("pending mutations are cancelled by their ids, even if those look like options")
        func cancel() async throws {
            let store = try await filled()
            _ = try await store.append([mutation("--all"), mutation("y\n")], under: AppendRules(), at: Date())
            #expect(
                try await run("cancel", path(), "a1", "--", "--all")
                    == "a1: cancelled; it may have been sent\n--all: cancelled, never sent")
            #expect(try await run("cancel", path(), "--at", "6") == "6: cancelled, never sent")
            #expect(await exitCode("cancel", path(), "c1") == 1, "it is dead")
            #expect(await exitCode("cancel", path()) == 64)
            #expect(await exitCode("cancel", path(), "zz", "b1") == 1, "the other one is cancelled all the same")
            #expect(try await store.totals().pending == 0)
        }

        @Test("a pause holds the program's queue, and can be ended")
        func pause() async throws {
            let store = try await filled()
            let queue = SyncQueue(store: store, pipeline: Pipeline("test") {}) { _ in }
            #expect(try await run("pause", path()) == "paused, until it is resumed")
            #expect(try await queue.flush().requests == 0)
            #expect(try await list(path()).totals.isPausedByHand)
            #expect(try await run("list", path()).hasSuffix("; paused by hand, until it is resumed"))
            #expect(try await run("pause", path(), "--for", "10m") == "paused for 10m")
            let left = try #require(try await list(path()).totals.pausedForSeconds)
            #expect(left > 500 && left <= 600)
            for length in ["", "m", "10", "0s", "-1s", "nanm", "1e99d", "infd"] {
                #expect(await exitCode("pause", path(), "--for=\(length)") == 64, "\(length)")
            }
            #expect(try await run("resume", path()) == "resumed")
            #expect(try await queue.flush().end == .drained)
            #expect(try await list(path()).totals.pending == 0)
        }

        @Test(
            "a file that is not a queue of this version is left unchanged, and no file is made",
            arguments: ["list", "pause", "resume"])
        func noQueue(command: String) async throws {
            #expect(await exitCode(command, path("none.sqlite")) == 1)
            #expect(!FileManager.default.fileExists(atPath: path("none.sqlite")))
            for content in ["", "hello, this is no database at all"] {
                try Data(content.utf8).write(to: URL(filePath: path("other")))
                #expect(await exitCode(command, path("other")) == 1)
                #expect(FileManager.default.contents(atPath: path("other")) == Data(content.utf8))
            }
            #expect(await exitCode(command, folder.path) == 1)
            #expect(await exitCode(command, "") == 1)
            #expect(await exitCode(command, ":memory:") == 1)
        }

        @Test(
            "a file of another version is reported, not migrated", arguments: [(3, "earlier"), (99, "newer")])
        func otherVersion(version: Int, word: String) async throws {
            _ = try await filled()
            let database = try DatabaseQueue(path: path())
            try await database.write { db in
                try db.execute(
                    sql: "UPDATE resilience_setting SET value = '\(version)' WHERE name = 'resilience_schema'")
            }
            let before = FileManager.default.contents(atPath: path())
            do {
                _ = try await run("list", path())
                Issue.record("it is read")
            } catch { #expect("\(error)".contains(word)) }
            #expect(FileManager.default.contents(atPath: path()) == before)
        }

        @Test("no message shows an address with its password, wherever it stands among the arguments")
        func noAddress() async throws {
            _ = try await filled()
            let url = "postgresql://bob:hunt\\er2@127.0.0.1:1/app"
            for arguments in [
                ["list", url], ["list", "Postgresql://bob:hunt\\er2@h/db"], ["list", "host=h password=hunt\\er2"],
                ["list", path(), url], [url], ["retry", "3", url], ["retry", path(), url], ["show", path(), url],
                ["show", path(), "--at", url], ["pause", path(), "--for=\(url)"], ["list", path(), "--limit", url],
                ["salvage", url, path("new")], ["salvage", path(), url], ["salvage", path(), path("new"), url],
            ] {
                do {
                    _ = try await run(arguments)
                    Issue.record("\(arguments)")
                } catch {
                    let remark = ResilienceQueueCommand.remark(on: error, arguments)
                    #expect(!remark.contains("hunt") && remark.count > 10, "\(arguments)")
                }
            }
        }

        @Test("output that can't be written does not fail a command")
        func deaf() throws {
            try Data().write(to: URL(filePath: path("deaf")))
            tell("10000 so far\n", on: try #require(FileHandle(forReadingAtPath: path("deaf"))))
        }

        @Test("a list does not wait for writers")
        func lockedFile() async throws {
            _ = try await filled()
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let database = try DatabaseQueue(path: path(), configuration: configuration)
            try await database.writeWithoutTransaction { try $0.beginTransaction(.immediate) }
            #expect(try await list(path()).mutations.map(\.id) == ["a1", "b1"])
            try await database.writeWithoutTransaction { try $0.rollback() }
        }

        @Test("the program's own database is used unchanged")
        func ownDatabase() async throws {
            let database = try DatabaseQueue(path: path())
            try await database.write { try $0.execute(sql: "CREATE TABLE note (id INTEGER PRIMARY KEY)") }
            await #expect(throws: SyncQueueError.self) { try await run("list", path()) }
            try await fill(try SQLiteStore(in: database))
            #expect(try await list(path()).mutations.map(\.id) == ["a1", "b1"])
            #expect(try await run("discard", path(), "--all") == "2 discarded")
        }

        @Test("the readable part of a file is copied into a new file, and never into an existing file")
        func salvage() async throws {
            _ = try await filled()
            #expect(try await run("salvage", path(), path("new")) == "2 pending, 2 dead; missing: 0")
            #expect(try await list(path("new")).mutations.map(\.id) == ["a1", "b1"])
            #expect(await exitCode("salvage", path(), path("new")) == 1)
            #expect(await exitCode("salvage", path("none"), path("newer")) == 1)
            #expect(!FileManager.default.fileExists(atPath: path("none")))
            // The root page of the table.
            var damaged = try #require(FileManager.default.contents(atPath: path("new")))
            damaged.replaceSubrange(4_096..<8_192, with: Data(count: 4_096))
            try damaged.write(to: URL(filePath: path("damaged")))
            #expect(await exitCode("salvage", path("damaged"), path("newest")) == 1)
            #expect(try await list(path("newest")).totals.pending == 0)
        }

        @Test(
            "in PostgreSQL, all commands work while a worker holds the lanes, and take no lease", .postgreSQLServer)
        func postgreSQL() async throws {
            let server = try PostgreSQLServer()
            let socket = try #require(server.connection.split(separator: " ").first?.dropFirst("host=".count))
            let url = "postgresql://resilience@/postgres?host=\(socket)"
            // At the start of a run, a step waits minutes for its turn among all tests.
            let engine = try PostgreSQLEngine(server.connection, deadline: .seconds(600))
            await #expect(throws: SyncQueueError.self) { try await run("list", url) }
            #expect(try await engine.run("SELECT 1::int8 FROM pg_namespace WHERE nspname = 'resilience'").isEmpty)
            let store = try await PostgreSQLStore(engine, sending: .shared)
            try await fill(store)
            let id = UUID()
            #expect(try await store.lock(for: id) == .taken)
            #expect(try await store.heads(after: .min, limit: 9).count == 2)
            #expect(try await list(url).mutations.map(\.id) == ["a1", "b1"])
            #expect(try await run("retry", url, "3") == "1 pending again")
            #expect(try await run("discard", url, "--all") == "1 discarded")
            #expect(try await run("cancel", url, "b1") == "b1: cancelled, never sent")
            #expect(try await run("show", url, "a1", "--payload").contains("SECRET"))
            #expect(try await run("pause", url) == "paused, until it is resumed")
            #expect(try await store.apply([], claiming: [1], keeping: DeadLimits(), at: Date()).hasOtherPause)
            #expect(try await run("resume", url) == "resumed")
            #expect(try await engine.run("SELECT count(*)::int8 FROM resilience.sync_worker") == [[.integer(1)]])
            await #expect(throws: SyncQueueError.self) { try await run("list", url, "--queue", "other") }
            do { _ = try await run("list", "postgresql://u:hunter2@127.0.0.1:1/x") } catch {
                #expect(!"\(error)".contains("hunter2"))
            }
        }
    }

    extension Trait where Self == ConditionTrait {
        fileprivate static var postgreSQLServer: Self {
            .enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.missing))
        }
    }
#endif
