#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOHTTP1
    import Resilience
    import ResilienceTraffic
    import ResilienceAsyncHTTPClient
    import ResilienceHTTP
    import ResilienceTesting
    import TestSupport
    import Testing

    /// Copies of requests, over connections on loopback.
    @Suite(.timeLimit(.minutes(20)), .responsive) struct HedgedRequestTests {
        private let clock = ManualClock()
        private let recorder = EventRecorder()
        private let room: Bulkhead

        init() { room = Bulkhead("room", limit: 8, timeBase: clock) }

        private var events: [Hedge.Event] { recorder.events() }

        private func pipeline(
            after delay: HedgeDelay = .constant(.seconds(1)),
            @PipelineBuilder _ inside: () -> [Pipeline.Element] = { [] }
        ) -> Pipeline {
            Pipeline("test", timeBase: clock, observers: PolicyObservers(recorder)) {
                Hedge(after: delay, timeBase: clock)
                room
                inside()
            }
        }

        @Test(
            "an unanswered request gets a copy; the loser's connection is closed, and the winner keeps its permit"
        )
        func copies() async throws {
            let head = "HTTP/1.1 200 X\r\nContent-Length: 6\r\n\r\nabc"
            try await withServer([.silence, .send(head)]) { server, http in
                let client = http.resilient(pipeline())
                let call = Task { try await client.execute(get(server.url())) }
                await server.received.wait(for: 1)
                try await clock.waitForSleeper(dueIn: .seconds(1))
                #expect(room.inUse == 1)
                clock.advance(by: .seconds(1))
                let response = try await call.value
                #expect(events == [.hedged(1, after: .seconds(1)), .won(1, after: .seconds(1))])
                await server.open.wait(for: 1)
                #expect(room.inUse == 1 && server.received.value == 2, "the body is still to come")
                try await server.send("def")
                #expect(try await response.text() == "abcdef")
                #expect(
                    room.inUse == 0
                        && recorder.events(of: Pipeline.Event.self).map(\.kind) == [
                            "attemptSucceeded", "succeeded",
                        ])
            }
        }

        @Test("a winner whose body nobody reads returns its permit, and its connection is closed")
        func dropped() async throws {
            let head = "HTTP/1.1 200 X\r\nContent-Length: 6\r\n\r\nabc"
            try await withServer([.silence, .send(head)]) { server, http in
                let client = http.resilient(pipeline(after: .constant(.zero)))
                do {
                    let response = try await client.execute(get(server.url()))
                    #expect(response.status == .ok && room.inUse == 1)
                }
                await server.open.wait(for: 0)
                #expect(room.inUse == 0)
            }
        }

        @Test("if both copies answer, the call gets one response; the other's connection is closed or kept idle")
        func bothAnswer() async throws {
            try await withServer([]) { server, http in
                let client = http.resilient(pipeline(after: .constant(.zero)) { ClientTimeout(limit: .seconds(60)) })
                for _ in 1...20 {
                    server.enqueue(.status(200, body: "found"), .status(200, body: "found"))
                    let response = try await client.execute(get(server.url()))
                    #expect(try await response.text() == "found")
                    #expect(room.inUse == 0)
                }
                #expect(clock.sleepers.isEmpty)
            }
        }

        @Test(
            "a lost request gets a copy at once; a lost POST with a key also does, even if a closure makes its bodies")
        func afterFailure() async throws {
            try await withServer([]) { server, http in
                let client = http.resilient(pipeline(after: .never))
                var keyed = post(server.url(), "payload")
                keyed.headers.add(name: "Idempotency-Key", value: "k")
                for request in [get(server.url()), keyed] {
                    server.enqueue(.close(after: ""), .status(201))
                    let answer = try await client.execute(request)
                    #expect(answer.status == .created)
                }
                server.enqueue(.close(after: ""), .status(201))
                let answer = try await client.execute(keyed, body: { .stream(pieces, length: .unknown) })
                #expect(answer.status == .created && server.requests.count == 6)
                #expect(server.requests[2...3].allSatisfy { $0.hasSuffix("payload") })
                #expect(server.requests[4...5].allSatisfy { $0.contains("one") && $0.contains("two") })
                #expect(events.filter { $0.kind == "won" }.count == 3 && room.inUse == 0)
            }
        }

        @Test("a request that must not or can't be sent twice gets no copy, and the hedge reports it (P65)")
        func notTwice() async throws {
            try await withServer([.status(201), .status(201), .status(201)]) { server, http in
                let pipeline = pipeline(after: .constant(.zero))
                let client = http.resilient(pipeline)
                _ = try await client.execute(post(server.url()))
                var streamed = get(server.url())
                streamed.method = .PUT
                streamed.body = .stream(pieces, length: .unknown)
                _ = try await client.execute(streamed)
                #expect(server.received.value == 2 && events == [.notCopied(.runOnce)])
                #expect(pipeline.policies(of: Hedge.self)[0].status.ranOnce == 2)
                _ = try await client.execute(get(server.url()), options: RunOptions(isIdempotent: false))
                #expect(server.received.value == 3 && room.inUse == 0)
                #expect(pipeline.policies(of: Hedge.self)[0].status.ranOnce == 2)
            }
        }

        @Test("when several copies are answered with 401, one renews the credentials, and all copies send the new ones")
        func renewsOnce() async throws {
            try await withServer([.status(401), .status(401)]) { server, http in
                let renewals = Count()
                let gate = ScriptedOperation<Void, String>(fallback: .success("Bearer new"))
                gate.hold()
                var settings = ResilientHTTPClient.Settings()
                settings.reauthorize = { request in
                    renewals.add(1)
                    var request = request
                    request.headers.replaceOrAdd(name: "Authorization", value: try await gate())
                    return request
                }
                server.enqueue(.status(200), .status(200))
                let client = http.resilient(pipeline(after: .constant(.zero)), settings: settings)
                let call = Task { try await client.execute(get(server.url())) }
                await server.received.wait(for: 2)
                await gate.waitForCalls(1)
                gate.release()
                let answer = try await call.value
                #expect(answer.status == .ok && renewals.value == 1)
                #expect(server.requests.dropFirst(2).allSatisfy { $0.contains("Authorization: Bearer new") })
            }
        }

        private var pieces: AsyncStream<ByteBuffer> {
            AsyncStream { continuation in
                for text in ["one", "two"] { continuation.yield(ByteBuffer(string: text)) }
                continuation.finish()
            }
        }
    }
#endif
