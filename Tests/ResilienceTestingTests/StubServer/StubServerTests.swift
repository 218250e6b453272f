#if StubServer
    import Foundation
    import Resilience
    import ResilienceTesting
    import Testing

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    // C8
    @Suite(.timeLimit(.minutes(20))) struct StubServerTests {
        private let client = HTTPClient()

        @Test("each request gets one answer, with its status, headers and body")
        func answers() async throws {
            let server = try await StubServer.start([.status(429, headers: ["Retry-After": "1"])])
            server.enqueue(.status(200, body: "text"), .json(201, #"{"id":1}"#))
            let rejected = try await client.get(server.url)
            #expect(rejected.response.statusCode == 429 && rejected.body.isEmpty)
            #expect(rejected.response.value(forHTTPHeaderField: "Retry-After") == "1")
            #expect(try await client.get(server.url).body == Data("text".utf8))
            let json = try await client.get(server.url)
            #expect(json.response.statusCode == 201 && json.body == Data(#"{"id":1}"#.utf8))
            #expect(json.response.value(forHTTPHeaderField: "Content-Type") == "application/json")
            await server.stop()
        }

        @Test("every request is recorded: its method, path with query, headers and body")
        func requests() async throws {
            let server = try await StubServer.start(fallback: .status(204))
            var post = URLRequest(url: try #require(URL(string: "v1/events?since=a%20b", relativeTo: server.url)))
            post.httpMethod = "POST"
            post.setValue("key-1", forHTTPHeaderField: "Idempotency-Key")
            post.httpBody = Data("payload".utf8)
            _ = try await client.send(post)
            _ = try await client.get(server.url)
            await server.waitForRequests(2)
            #expect(server.requests.map(\.method) == ["POST", "GET"])
            #expect(server.requests.map(\.path) == ["/v1/events?since=a%20b", "/"])
            #expect(server.requests.map(\.body) == [Data("payload".utf8), Data()])
            #expect(server.requests.map { $0.headers["idempotency-key"] } == ["key-1", nil])
            await server.stop()
        }

        @Test("the fallback answers when the script is used up, and may be changed")
        func fallback() async throws {
            let server = try await StubServer.start([.status(201)], fallback: .status(202))
            #expect(try await client.status(server.url) == 201)
            #expect(try await client.status(server.url) == 202)
            #expect(server.fallback == .status(202))
            server.fallback = .status(203)
            #expect(try await client.status(server.url) == 203)
            await server.stop()
        }

        @Test("a request without a scripted answer gets a 501 with the reason")
        func unscripted() async throws {
            let server = try await StubServer.start([.status(200)])
            _ = try await client.get(server.url)
            let (response, body) = try await client.get(server.url.appending(path: "more"))
            #expect(response.statusCode == 501)
            #expect(String(decoding: body, as: UTF8.self).contains("nothing is scripted for request 2, GET /more"))
            await server.stop()
        }

        @Test("a delay is measured by the server's time base, and counts as running")
        func delay() async throws {
            let clock = ManualClock()
            let server = try await StubServer.start([.status(200).delayed(by: .seconds(3600))], timeBase: clock)
            let call = Task { [client] in try await client.status(server.url) }
            await clock.waitForSleepers(1)
            #expect(server.running == 1)
            clock.advance(by: .seconds(3600))
            #expect(try await call.value == 200)
            #expect(server.running == 0 && server.mostRunning == 1)
            await server.stop()
        }

        @Test("held requests wait for their release, the oldest first")
        func hold() async throws {
            let server = try await StubServer.start([.status(201), .status(202)])
            server.hold()
            let first = Task { [client] in try await client.status(server.url) }
            await server.waitForRequests(1)
            let second = Task { [client] in try await client.status(server.url) }
            await server.waitForRequests(2)
            #expect(server.running == 2)
            server.release(1)
            #expect(try await first.value == 201)
            #expect(server.running == 1)
            server.release()
            #expect(try await second.value == 202)
            #expect(server.mostRunning == 2)
            await server.stop()
        }

        @Test("reset removes requests and answers, and releases held requests")
        func reset() async throws {
            let server = try await StubServer.start([.status(201), .status(202)], fallback: .status(203))
            server.hold()
            let held = Task { [client] in try await client.status(server.url) }
            await server.waitForRequests(1)
            server.reset()
            #expect(try await held.value == 201)
            #expect(server.requests.isEmpty && server.fallback == nil)
            #expect(try await client.status(server.url) == 501)
            await server.stop()
        }

        @Test("a hundred concurrent requests on fifty connections are all answered, and counted")
        func concurrent() async throws {
            let server = try await StubServer.start(fallback: .status(200, body: "ok"))
            let client = HTTPClient(connections: 50)
            server.hold()
            try await withThrowingTaskGroup { group in
                for number in 0..<100 {
                    group.addTask { try await client.get(server.url.appending(path: "\(number)")).body }
                }
                await server.waitForRequests(50)
                #expect(server.running == 50 && server.openConnections == 50)
                server.release()
                for try await body in group { #expect(body == Data("ok".utf8)) }
            }
            #expect(Set(server.requests.map(\.path)) == Set((0..<100).map { "/\($0)" }))
            #expect(server.mostRunning == 50)
            await server.stop()
        }

        @Test("a body of a megabyte arrives whole, in both directions")
        func large() async throws {
            let megabyte = Data((0..<1_048_576).map { UInt8(truncatingIfNeeded: $0 / 7) })
            let server = try await StubServer.start([.status(200, body: megabyte)])
            var put = URLRequest(url: server.url)
            put.httpMethod = "PUT"
            put.httpBody = megabyte
            #expect(try await client.send(put).body == megabyte)
            #expect(server.requests.map(\.body) == [megabyte])
            await server.stop()
        }

        @Test(
            "a connection that is closed before or within an answer is an error of the session",
            arguments: [.closeWithoutAnswer, .resetWithoutAnswer, .closeMidBody(after: 10), .resetMidBody(after: 10)]
                as [StubAnswer])
        func broken(answer: StubAnswer) async throws {
            let server = try await StubServer.start([answer, .status(200)])
            await #expect(throws: URLError.self) { try await client.get(server.url) }
            #expect(try await client.status(server.url) == 200)
            #expect(server.requests.count == 2)
            await server.stop()
        }

        @Test("after an answer that closes its connection, the session does not silently send the next request twice")
        func unseenRetry() async throws {
            let last = StubAnswer.status(200, headers: ["Connection": "close"])
            let server = try await StubServer.start([last, .closeWithoutAnswer], fallback: .status(200))
            _ = try await client.get(server.url)
            await #expect(throws: URLError.self) { try await client.get(server.url) }
            #expect(server.requests.count == 2)
            await server.stop()
        }

        @Test("a client that disconnects while its request is held does not affect the others")
        func goneClient() async throws {
            let server = try await StubServer.start(fallback: .status(200))
            server.hold()
            let gone = Task { [client] in try await client.status(server.url) }
            await server.waitForRequests(1)
            gone.cancel()
            await #expect(throws: (any Error).self) { try await gone.value }
            server.release()
            #expect(try await client.status(server.url) == 200)
            await server.stop()
        }
    }
#endif
