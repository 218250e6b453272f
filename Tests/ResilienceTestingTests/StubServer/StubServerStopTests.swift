#if StubServer
    import FlyingSocks
    import Foundation
    import Resilience
    import ResilienceTesting
    import Testing

    @Suite(.timeLimit(.minutes(20))) struct StubServerStopTests {
        private static let get = "GET / HTTP/1.1\r\nHost: stub\r\n\r\n"

        @Test("stopping closes the connection of a held request without an answer")
        func held() async throws {
            let server = try await StubServer.start(fallback: .status(200))
            server.hold()
            let wire = try await Wire(to: server)
            try await wire.write(Self.get)
            await server.waitForRequests(1)
            await server.stop()
            #expect(await wire.readToEnd().text == "")
            #expect(server.running == 0)
        }

        @Test("stopping closes the connection of a delayed request without an answer, and cancels its alarm")
        func delayed() async throws {
            let clock = ManualClock()
            let server = try await StubServer.start([.status(200).delayed(by: .seconds(1))], timeBase: clock)
            let wire = try await Wire(to: server)
            try await wire.write(Self.get)
            await clock.waitForSleepers(1)
            await server.stop()
            #expect(await wire.readToEnd().text == "")
            #expect(clock.sleepers.isEmpty)
        }

        @Test("stopping closes idle connections, half-read requests and unread answers")
        func others() async throws {
            let large = StubAnswer.status(200, body: Data(count: 50_000_000))
            let server = try await StubServer.start([large])
            let idle = try await Wire(to: server)
            let halfRead = try await Wire(to: server)
            try await halfRead.write("PUT / HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf")
            let unread = try await Wire(to: server)
            try await unread.write(Self.get)
            await server.waitForRequests(1)
            await server.stop()
            #expect(await idle.readToEnd().text == "")
            #expect(await halfRead.readToEnd().text == "")
            #expect(await unread.readToEnd().text.utf8.count < 50_000_000)
        }

        @Test("after a stop its port is free for another server, and it may be stopped again")
        func port() async throws {
            let first = try await StubServer.start(fallback: .status(201))
            let client = HTTPClient()
            #expect(try await client.status(first.url) == 201)
            await first.stop()
            await first.stop()
            let second = try await StubServer.start(fallback: .status(202), port: first.port)
            #expect(second.url == first.url)
            #expect(try await HTTPClient().status(second.url) == 202)
            await second.stop()
        }

        @Test("a stopped server refuses connections")
        func rejected() async throws {
            let server = try await StubServer.start()
            await server.stop()
            await #expect(throws: SocketError.self) { try await Wire(to: server) }
        }

        @Test("starting on a taken port throws, and does not affect the port's holder")
        func taken() async throws {
            let holder = try await StubServer.start(fallback: .status(200))
            await #expect(throws: SocketError.self) { try await StubServer.start(port: holder.port) }
            #expect(try await HTTPClient().status(holder.url) == 200)
            await holder.stop()
        }

        @Test("twenty concurrent servers have their own ports, requests and answers")
        func many() async throws {
            let servers = try await withThrowingTaskGroup { group in
                for number in 0..<20 {
                    group.addTask { try await StubServer.start(fallback: .status(200, body: "\(number)")) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(servers.map(\.port)).count == 20)
            let client = HTTPClient()
            // Stopping one server does not affect the servers after it.
            for server in servers {
                let body = try await client.get(server.url).body
                #expect(server.fallback == .status(200, body: body))
                #expect(server.requests.count == 1)
                await server.stop()
            }
        }

        @Test("a server without references closes its connections")
        func letGo() async throws {
            var server: StubServer? = try await StubServer.start()
            let wire = try await Wire(to: #require(server))
            server = nil
            #expect(await wire.readToEnd().text == "")
        }
    }
#endif
