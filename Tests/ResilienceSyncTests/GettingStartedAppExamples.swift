#if SQLite && StubServer
    import Foundation
    import Resilience
    import ResilienceHTTP
    import ResilienceSync
    import ResilienceTesting
    import ResilienceTraffic
    import TestSupport
    import Testing

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    func makeOutbox(
        _ store: some MutationStore, timeBase: any TimeBase,
        send: @escaping @Sendable (Mutation) async throws -> Void
    ) -> SyncQueue {
        SyncQueue(
            "outbox", store: store, pipeline: .sync("outbox", timeBase: timeBase),
            configuration: SyncQueueConfiguration(isOffline: { ($0 as? URLError)?.isOffline == true }), send: send)
    }

    extension SyncStatus {
        func pauseEnd(on clock: any TimeBase) -> Date? {
            pausedUntil.map { Date() + clock.now.duration(to: $0) / .seconds(1) }
        }
    }

    /// The server's answers to the app's sign-ins.
    private let signIns = ScriptedOperation<Void, String>()

    private func signIn() async throws -> String { try await signIns() }

    private struct WrongPassword: Error {}

    /// The code of Docs/GettingStartedApp.md, unchanged.
    ///
    /// One test at a time: the page's `signIn()` is a global function, and so is its script.
    @Suite(.timeLimit(.minutes(20)), .responsive, .serialized) struct GettingStartedAppExamples {
        actor Tokens {
            private var current = "none"
            private let refreshes = SingleFlight<String, Void>("token")

            func signed(_ request: URLRequest) -> URLRequest {
                var request = request
                request.setValue("Bearer \(current)", forHTTPHeaderField: "Authorization")
                return request
            }

            func renewed(_ request: URLRequest) async throws -> URLRequest {
                // Otherwise it has been refreshed.
                if request.value(forHTTPHeaderField: "Authorization") == "Bearer \(current)" {
                    try await refreshes.run(for: current) { try await self.renew() }
                }
                return signed(request)
            }

            private func renew() async throws { current = try await signIn() }
        }

        init() {
            signIns.reset()
            signIns.fallback = .success("fresh")
        }

        @Test("the page's reads are repeated after a 503 and a lost connection")
        func reads() async throws {
            let stub = try await StubServer.start([.status(503), .resetMidBody(after: 1), .json(200, "[]")])
            let server = stub.url
            let reads = URLSession.shared.resilient(.http("reads"))
            let (data, response) = try await reads.data(from: server)
            #expect(data == Data("[]".utf8) && response.statusCode == 200)
            #expect(stub.requests.count == 3)
            await stub.stop()
        }

        @Test("a 429 that asks for a minute is returned, and the next call is rejected with a text")
        func throttledReads() async throws {
            let stub = try await StubServer.start([.status(429, headers: ["Retry-After": "60"])])
            let reads = URLSession.shared.resilient(.http("reads"))
            #expect(try await reads.data(from: stub.url).1.statusCode == 429)
            let error = await #expect(throws: ThrottleExceeded.self) { try await reads.data(from: stub.url) }
            #expect(error?.description.contains("Please try again in ") == true)
            #expect(stub.requests.count == 1)
            await stub.stop()
        }

        @Test("without a connection, the third call finds the circuit open")
        func offlineReads() async throws {
            let stub = try await StubServer.start()
            await stub.stop()
            let reads = URLSession.shared.resilient(.http("reads"))
            for _ in 0..<2 {
                let error = await #expect(throws: URLError.self) { try await reads.data(from: stub.url) }
                #expect(error?.isOffline == true)
            }
            // The ninth attempt in a row opens the circuit, and the call throws that attempt's error.
            await #expect(throws: URLError.self) { try await reads.data(from: stub.url) }
            let error = await #expect(throws: CircuitOpen.self) { try await reads.data(from: stub.url) }
            #expect(error?.description.contains("Please try again in ") == true)
        }

        @Test("a POST without a key is repeated after a 503, and not after a 500")
        func posts() async throws {
            let stub = try await StubServer.start([.status(503), .status(500)])
            let reads = URLSession.shared.resilient(.http("reads"))
            var request = URLRequest(url: stub.url)
            request.httpMethod = "POST"
            #expect(try await reads.upload(for: request, from: Data()).1.statusCode == 500)
            #expect(stub.requests.count == 2)
            await stub.stop()
        }

        @Test("five calls that get a 401 sign in once, and so does a call that gets its 401 later")
        func tokens() async throws {
            let stub = try await StubServer.start(Array(repeating: .status(401), count: 5), fallback: .json(200, "[]"))
            let server = stub.url
            let tokens = Tokens()
            let api = URLSession.shared.resilient(.http("api"), reauthorize: { try? await tokens.renewed($0) })
            stub.hold()
            let stale = await tokens.signed(URLRequest(url: server))
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<5 { group.addTask { try await api.data(for: stale).1.statusCode } }
                await stub.waitForRequests(5)
                stub.release()
                for try await status in group { #expect(status == 200) }
            }
            #expect(signIns.callCount == 1 && stub.requests.count == 10)
            let late = try await tokens.renewed(stale)
            #expect(late.value(forHTTPHeaderField: "Authorization") == "Bearer fresh")
            #expect(signIns.callCount == 1)
            let (notes, _) = try await api.data(for: tokens.signed(URLRequest(url: server)))
            #expect(notes == Data("[]".utf8) && stub.requests.last?.headers["authorization"] == "Bearer fresh")
            await stub.stop()
        }

        @Test("after failed sign-ins, reads return their 401s, and open no circuit")
        func signInFails() async throws {
            let stub = try await StubServer.start(fallback: .status(401))
            signIns.fallback = .failure(WrongPassword())
            let tokens = Tokens()
            let api = URLSession.shared.resilient(.http("api"), reauthorize: { try? await tokens.renewed($0) })
            for call in 1...12 {
                let (_, response) = try await api.data(for: tokens.signed(URLRequest(url: stub.url)))
                #expect(response.statusCode == 401 && signIns.callCount == call && stub.requests.count == call)
            }
            await stub.stop()
        }

        /// The app's parts, with a server and a file of one test.
        private struct Notes: Sendable {
            let server: URL
            let path: String
            let tokens: Tokens
            let writes: ResilientSession

            init(server: URL, path: String) {
                (self.server, self.path) = (server, path)
                let tokens = Tokens()
                self.tokens = tokens
                let writes = URLSession.shared.resilient(
                    Pipeline("writes") {}, reauthorize: { try await tokens.renewed($0) })
                self.writes = writes
            }

            func post(_ mutation: Mutation) async throws {
                var request = await tokens.signed(URLRequest(url: server))
                request.httpMethod = "POST"
                request.setValue(mutation.idempotencyKey, forHTTPHeaderField: "Idempotency-Key")
                request.setValue("application/json", forHTTPHeaderField: "Content-Type")
                let (_, response) = try await writes.upload(for: request, from: mutation.payload)
                let verdict = response.verdict(for: RequestSemantics(request))
                if verdict.kind != .success { throw HTTPStatusError(status: response.statusCode, verdict: verdict) }
            }

            func open() async throws -> SyncQueue {
                let outbox = makeOutbox(try SQLiteStore(path: path), timeBase: .system, send: post)
                try await outbox.enqueue(Mutation(entity: "note-7", kind: "create", payload: Data("{}".utf8)))
                outbox.trigger()
                return outbox
            }
        }

        @Test("the page's outbox survives a sign-in, a cancelled flush, a pause over a restart, and a dead write")
        func outbox() async throws {
            let folder = try TemporaryFolder()
            let stub = try await StubServer.start([.status(401), .status(401)], fallback: .status(201))
            signIns.enqueue(.failure(WrongPassword()))
            let notes = Notes(server: stub.url, path: folder.path("outbox.sqlite"))
            let outbox = try await notes.open()
            try await outbox.flush()
            // The first sign-in failed. The write is sent after the second.
            try await outbox.resume()
            #expect(try await outbox.drain().end == .drained)
            #expect(signIns.callCount == 2 && stub.requests.count == 3)
            #expect(Set(stub.requests.map { $0.headers["idempotency-key"] }).count == 1)
            #expect(stub.requests.last?.headers["authorization"] == "Bearer fresh")
            #expect(stub.requests.last?.body == Data("{}".utf8))

            // The time for the flush runs out.
            stub.reset()
            stub.fallback = .status(201)
            stub.hold()
            let note = Mutation(entity: "note-8", kind: "create")
            try await outbox.enqueue(note)
            let flush = Task { try await outbox.flush() }
            await stub.waitForRequests(1)
            flush.cancel()
            #expect(try await flush.value.end == .cancelled)
            #expect(try await outbox.status.pending == 1)
            #expect(try await outbox.mutation(note.id)?.failures == 0)
            stub.release()
            #expect(try await outbox.flush().end == .drained)
            #expect(
                stub.requests.map { $0.headers["idempotency-key"] } == [note.idempotencyKey, note.idempotencyKey])

            // A write that can't succeed.
            stub.enqueue(.status(400))
            try await outbox.enqueue(Mutation(entity: "note-9", kind: "create"))
            #expect(try await outbox.flush().died == 1)
            #expect(try await outbox.status.dead == 1)
            #expect(try await outbox.retryDead() == 1)
            #expect(try await outbox.flush().delivered == 1)

            // A pause, which also holds a queue that is opened later.
            stub.enqueue(.status(429, headers: ["Retry-After": "60"]))
            try await outbox.enqueue(Mutation(entity: "note-10", kind: "create"))
            guard case .paused = try await outbox.flush().end else {
                Issue.record("it is not paused")
                return
            }
            await outbox.stop()
            let reopened = makeOutbox(try SQLiteStore(path: notes.path), timeBase: .system) { _ in }
            guard case .paused = try await reopened.flush().end else {
                Issue.record("the pause is forgotten")
                return
            }
            let end = try await reopened.status.pauseEnd(on: reopened.clock)
            #expect(end.map { (50...61).contains($0.timeIntervalSinceNow) } == true)
            await reopened.stop()
            await stub.stop()
        }

        @Test("without a connection the page's outbox waits, and retries without a trigger")
        func offlineOutbox() async throws {
            let folder = try TemporaryFolder()
            let stub = try await StubServer.start()
            await stub.stop()
            let outbox = try await Notes(server: stub.url, path: folder.path("outbox.sqlite")).open()
            guard case .offline = try await outbox.flush().end else {
                Issue.record("it is not offline")
                return
            }
            let status = try await outbox.status
            #expect(status.pending == 1 && status.dead == 0)
            await outbox.stop()
        }

        @Suite struct OutboxTests {
            @Test("a 429 delays the write by a minute")
            func throttled() throws {
                let clock = ManualClock()
                let busy = HTTPStatusError(status: 429, verdict: .throttled(retryAfter: .seconds(60)))
                let send = ScriptedOperation<Mutation, Void>([.failure(busy), .success(())])
                let outbox = makeOutbox(MemoryStore(), timeBase: clock) { try await send($0) }
                let start = clock.now
                try clock.run {
                    try await outbox.enqueue(Mutation(entity: "note-7", kind: "create"))
                    try await outbox.drain()
                }
                #expect(start.duration(to: clock.now) == .seconds(60))
                #expect(send.callCount == 2)
            }
        }
    }
#endif
