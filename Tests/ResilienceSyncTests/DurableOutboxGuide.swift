#if SQLite
    import Foundation
    import GRDB
    import Resilience
    import ResilienceHTTP
    import ResilienceSync
    import ResilienceTesting
    import Testing

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// The code of Docs/DurableOutbox.md, unchanged.
    @Suite struct DurableOutboxGuide {
        private struct Rename: Codable {
            let title: String
        }

        private struct Note: Sendable {
            let id: String
        }

        private struct API: Sendable {
            let calls = ScriptedOperation<String, Void>(fallback: .success(()))

            func create(_ notes: [Mutation]) async throws -> [SyncHandler.ItemResult] {
                try await calls("create \(notes.count)")
                return notes.map { _ in .success(()) }
            }
            func rename(_ rename: Rename, key: String) async throws { try await calls("rename to \(rename.title)") }
            func send(_ mutation: Mutation) async throws { try await calls(mutation.kind) }
            func post(_ mutation: Mutation) async throws -> Response {
                try await calls("post")
                return Response()
            }
            func ping() async throws { try await calls("ping") }
            func everything() async throws -> SyncPage<[Note]> { SyncPage([Note(id: "note-7")], cursor: 7) }
            func changes(since cursor: Int64) async throws -> SyncPage<[Note]> { SyncPage([], cursor: cursor + 1) }
        }

        private struct Response: Sendable {
            let headers = ["ratelimit": "\"default\";r=0;t=30"]

            func check() throws {}
        }

        private struct Model: Sendable {
            func ids() async -> [String] { [] }
            func remove(_ ids: [String]) async {}
            func apply(_ notes: [Note]) async {}
        }

        private let api = API()
        private let model = Model()

        @Test("the guide's queue stores, sends by kind, and shows its status")
        func firstQueue() async throws {
            let folder = try TemporaryFolder()
            let path = folder.path("outbox.sqlite")
            let api = api
            let pipeline = Pipeline("api") {
                CircuitBreaker("api")
                Timeout(limit: .seconds(30))
            }
            let queue = SyncQueue(
                "outbox", store: try SQLiteStore(path: path), pipeline: pipeline,
                configuration: SyncQueueConfiguration(isOffline: { ($0 as? URLError)?.isOffline == true }),
                handlers: [
                    .batch("create", upTo: 50) { notes in try await api.create(notes) },
                    .each("rename", as: Rename.self) { rename, mutation in
                        try await api.rename(rename, key: mutation.idempotencyKey)
                    },
                    .others { mutation in try await api.send(mutation) },
                ])
            try await queue.enqueue(
                Mutation(entity: "note-7", kind: "rename", operation: .update, encoding: Rename(title: "Plans")))
            queue.trigger()
            var seen = 1
            func show(pending: Int, until: MonotonicInstant?, left: Duration?) { seen = pending }
            for await status in queue.statusUpdates() {
                show(pending: status.pending, until: status.pausedUntil, left: status.estimatedTimeLeft)
                if seen == 0 { break }
            }
            #expect(api.calls.inputs == ["rename to Plans"])
        }

        @Test("the guide's cancellation removes a pending mutation")
        func cancelling() async throws {
            let queue = SyncQueue(store: MemoryStore(), pipeline: Pipeline {}) { _ in }
            try await queue.enqueue(Mutation(id: "rename-7", entity: "note-7", kind: "rename", earlierFailures: 1))
            if let cancelled = try await queue.cancel("rename-7"), cancelled.isAttempted {
                print("\(cancelled.mutation.entity) may have reached the server already.")
            }
            #expect(try await queue.mutation("rename-7") == nil)
        }

        @Test("the guide's mutation with a date waits for this date")
        func notBefore() async throws {
            let queue = SyncQueue(store: MemoryStore(), pipeline: Pipeline {}) { _ in }
            let payload = Data()
            let reminder = Mutation(
                entity: "note-9", kind: "remind", payload: payload, notBefore: Date() + 3_600)
            try await queue.enqueue(reminder)
            queue.trigger()
            guard case .waiting = try await queue.flush().end else {
                Issue.record("it does not wait")
                return
            }
            await queue.stop()
        }

        @Test("the guide's handler reports the server's remaining quota to its queue")
        func quotas() async throws {
            let (api, clock, store) = (api, ManualClock(), MemoryStore())
            let pipeline = Pipeline(timeBase: clock) {}
            let outbox = SyncQueue("outbox", store: store, pipeline: pipeline) { mutation in
                let response = try await api.post(mutation)
                let fields = RateLimitFields { response.headers[$0] }
                for quota in fields.quotas { SyncQueue.current?.note(quota) }
                try response.check()
            }
            try await outbox.enqueue(Mutation("a1"))
            #expect(try await outbox.flush().end == .drained)
            #expect(outbox.pausedUntil == clock.now + .seconds(30))
        }

        @Test("the guide's outbox and pass: one transaction, then health, flush and pull")
        func outboxAndPass() async throws {
            let folder = try TemporaryFolder()
            let database = try DatabaseQueue(path: folder.path("app.sqlite"))
            try await database.write { try $0.execute(sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT)") }
            let (api, model, payload, pipeline) = (api, model, Data("{}".utf8), Pipeline("api") {})
            let handlers = [SyncHandler.others { try await api.send($0) }]

            let store = try SQLiteStore(in: database)
            let notes = SyncQueue("outbox", store: store, pipeline: pipeline, handlers: handlers)
            try await database.write { db in
                try db.execute(sql: "UPDATE note SET title = 'Plans' WHERE id = 7")
                try notes.enqueue([Mutation(entity: "note-7", kind: "rename", payload: payload)], in: db)
            }
            let queue = notes
            let pass = SyncPass(queue) {
                try await api.ping()
            } bootstrap: {
                try await api.everything()
            } increment: { cursor in
                try await api.changes(since: cursor)
            } apply: { notes, pull in
                let here = pull.isBootstrap ? await model.ids() : []
                let unsent = try await pull.unsent(among: notes.map(\.id) + here)
                await model.remove(here.filter { !unsent.contains($0) })
                await model.apply(notes.filter { !unsent.contains($0.id) })
            }
            let report = try await pass.run()
            #expect(report.end == .pulled(cursor: 7))
            #expect(api.calls.inputs.sorted() == ["ping", "rename"])
            let old = Mutation(
                id: "row-7", entity: "note-7", kind: "rename", payload: payload,
                idempotencyKey: "key-7", earlierFailures: 2)
            try await queue.enqueue([old])
            try await pass.setCursor(4_711)
            #expect(try await pass.cursor() == 4_711)
            #expect(try await queue.enqueue([old]).duplicates == ["row-7"])
            try await queue.clear(discardsDead: true)
            try await pass.reset()
            await queue.stop(within: .seconds(5))
            #expect(try await pass.cursor() == 0)
        }
    }
#endif
