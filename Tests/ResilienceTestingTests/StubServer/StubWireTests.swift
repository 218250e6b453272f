#if StubServer
    import Foundation
    import ResilienceTesting
    import Testing

    /// Requests and answers byte for byte, without a client's own behaviour.
    @Suite(.timeLimit(.minutes(20))) struct StubWireTests {
        private static let ok = "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok"

        private static func get(_ path: String = "/") -> String { "GET \(path) HTTP/1.1\r\nHost: stub\r\n\r\n" }

        @Test("a connection is kept for the next request, and two requests may be pipelined")
        func keepAlive() async throws {
            let server = try await StubServer.start(fallback: .status(200, body: "ok"))
            let wire = try await Wire(to: server)
            try await wire.write(Self.get("/1"))
            #expect(try await wire.read(Self.ok.utf8.count) == Self.ok)
            try await wire.write(Self.get("/2") + Self.get("/3"))
            #expect(try await wire.read(2 * Self.ok.utf8.count) == Self.ok + Self.ok)
            #expect(server.requests.map(\.path) == ["/1", "/2", "/3"])
            await server.stop()
        }

        @Test(
            "a connection is closed after the answer if the client asks for it",
            arguments: ["GET / HTTP/1.1\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"])
        func lastRequest(request: String) async throws {
            let server = try await StubServer.start([.status(200, body: "ok")])
            let wire = try await Wire(to: server)
            try await wire.write(request)
            let end = await wire.readToEnd()
            #expect(end == ("HTTP/1.1 200 \r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", wasReset: false))
            await server.stop()
        }

        @Test("a connection is closed after the answer if the answer asks for it")
        func lastAnswer() async throws {
            let server = try await StubServer.start([.status(200, headers: ["connection": "Close"])])
            let wire = try await Wire(to: server)
            try await wire.write(Self.get())
            let end = await wire.readToEnd()
            #expect(end == ("HTTP/1.1 200 \r\nContent-Length: 0\r\nconnection: Close\r\n\r\n", wasReset: false))
            await server.stop()
        }

        @Test(
            "an answer whose status or method excludes a body is sent without one",
            arguments: [
                ("HEAD", 200, "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\n"),
                ("GET", 204, "HTTP/1.1 204 \r\n\r\n"),
                ("GET", 304, "HTTP/1.1 304 \r\nContent-Length: 2\r\n\r\n"),
            ])
        func noBody(method: String, status: Int, expected: String) async throws {
            let server = try await StubServer.start([.status(status, body: "ok"), .status(200, body: "ok")])
            let wire = try await Wire(to: server)
            try await wire.write("\(method) / HTTP/1.1\r\n\r\n" + Self.get())
            #expect(try await wire.read((expected + Self.ok).utf8.count) == expected + Self.ok)
            await server.stop()
        }

        @Test("headers are sent unchanged, even a Content-Length")
        func headers() async throws {
            let answer = StubAnswer.status(200, headers: ["X-B": "2", "content-length": "1", "X-A": "1"], body: "ok")
            let server = try await StubServer.start([answer])
            let wire = try await Wire(to: server)
            try await wire.write(Self.get())
            let expected = "HTTP/1.1 200 \r\nX-A: 1\r\nX-B: 2\r\ncontent-length: 1\r\n\r\nok"
            #expect(try await wire.read(expected.utf8.count) == expected)
            await server.stop()
        }

        @Test("an answer that is cut within its body sends a part of the body, and then closes or resets")
        func midBody() async throws {
            let server = try await StubServer.start([.closeMidBody(after: 3), .resetMidBody(after: 0)])
            let closed = try await Wire(to: server)
            try await closed.write(Self.get())
            #expect(await closed.readToEnd() == ("HTTP/1.1 200 \r\nContent-Length: 4\r\n\r\nxxx", wasReset: false))
            let reset = try await Wire(to: server)
            try await reset.write(Self.get())
            #expect(await reset.readToEnd() == ("HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\n", wasReset: true))
            await server.stop()
        }

        @Test("without an answer nothing is sent, and the connection is closed or reset")
        func noAnswer() async throws {
            let server = try await StubServer.start([.closeWithoutAnswer, .resetWithoutAnswer])
            for isReset in [false, true] {
                let wire = try await Wire(to: server)
                try await wire.write(Self.get())
                #expect(await wire.readToEnd() == ("", wasReset: isReset))
            }
            #expect(server.requests.count == 2)
            await server.stop()
        }

        @Test("a request in pieces with a chunked body is assembled")
        func chunks() async throws {
            let server = try await StubServer.start(fallback: .status(200, body: "ok"))
            let wire = try await Wire(to: server)
            try await wire.write("POST / HTTP/1.1\r\nTransfer-Enc")
            try await wire.write("oding: chunked\r\n\r\n4\r\nWiki\r\nA;name=value\r\npedia in c")
            try await wire.write("\r\n0\r\nTrailer: 1\r\n\r\n" + Self.get())
            #expect(try await wire.read(2 * Self.ok.utf8.count) == Self.ok + Self.ok)
            #expect(server.requests.map(\.body) == [Data("Wikipedia in c".utf8), Data()])
            await server.stop()
        }

        @Test("a client that waits for permission to send its body gets it")
        func expectation() async throws {
            let server = try await StubServer.start([.status(200, body: "ok")])
            let wire = try await Wire(to: server)
            try await wire.write("PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
            let leave = "HTTP/1.1 100 Continue\r\n\r\n"
            #expect(try await wire.read(leave.utf8.count) == leave)
            #expect(server.requests.isEmpty)
            try await wire.write("body")
            #expect(try await wire.read(Self.ok.utf8.count) == Self.ok)
            #expect(server.requests.map(\.body) == [Data("body".utf8)])
            await server.stop()
        }

        @Test("a repeated field becomes one field with both values; names are in lower case")
        func repeatedField() async throws {
            let server = try await StubServer.start([.status(200, body: "ok")])
            let wire = try await Wire(to: server)
            try await wire.write("GET / HTTP/1.1\r\nAccept: a\r\nX-Empty:\r\naccept:  b \r\n\r\n")
            #expect(try await wire.read(Self.ok.utf8.count) == Self.ok)
            #expect(server.requests.map(\.headers) == [["accept": "a, b", "x-empty": ""]])
            await server.stop()
        }

        @Test(
            "bytes that are not HTTP get a 400, and neither count nor use the script",
            arguments: [
                "\r\n", "GET /\r\n", "GET / SPDY/3\r\n", "GET / HTTP/1.1\r\nno colon\r\n",
                "PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "PUT / HTTP/1.1\r\nContent-Length: ten\r\n\r\n",
                "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
                "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
                "PUT / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
            ])
        func malformed(request: String) async throws {
            let server = try await StubServer.start([.status(200, body: "ok")])
            let wire = try await Wire(to: server)
            try await wire.write(request)
            let expected = "HTTP/1.1 400 \r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            #expect(await wire.readToEnd().text == expected)
            #expect(server.requests.isEmpty)
            await server.stop()
        }

        @Test("an endless line is not read for ever")
        func endlessLine() async throws {
            let server = try await StubServer.start()
            let wire = try await Wire(to: server)
            let writing = Task {
                while true { try await wire.write(String(repeating: "a", count: 4096)) }
            }
            await #expect(throws: (any Error).self) { try await writing.value }
            await server.stop()
        }

        // MARK: Open connections

        @Test("a connection counts until the client or the server closes it, and every waiting task is notified")
        func openConnections() async throws {
            let server = try await StubServer.start(fallback: .status(200, body: "ok"))
            await server.waitForConnections(atMost: 0)
            #expect(server.openConnections == 0)
            var wires: [Wire] = []
            for number in 1...20 {
                let wire = try await Wire(to: server)
                try await wire.write(Self.get())
                #expect(try await wire.read(Self.ok.utf8.count) == Self.ok)
                wires.append(wire)
                #expect(server.openConnections == number)
            }
            for left in (10..<20).reversed() {
                async let other: Void = server.waitForConnections(atMost: left)
                wires.removeLast()
                await server.waitForConnections(atMost: left)
                await other
                #expect(server.openConnections == left)
            }
            for (left, wire) in zip((0..<10).reversed(), wires) {
                server.enqueue(left.isMultiple(of: 2) ? .closeWithoutAnswer : .resetMidBody(after: 3))
                try await wire.write(Self.get())
                await server.waitForConnections(atMost: left)
                #expect(server.openConnections == left)
            }
            await server.stop()
        }

        @Test("a connection whose client disconnects while its request is held counts until the release")
        func leftWhileHeld() async throws {
            let server = try await StubServer.start(fallback: .status(200, body: "ok"))
            server.hold()
            var wire: Wire? = try await Wire(to: server)
            try await wire?.write(Self.get())
            await server.waitForRequests(1)
            wire = nil
            #expect(server.openConnections == 1)
            server.release()
            // There can't be fewer than no connections.
            await server.waitForConnections(atMost: .min)
            #expect(server.openConnections == 0)
            await server.stop()
        }

        @Test("a task that waits for connections to end can be cancelled, and a stopping server closes all of them")
        func endOfWaiting() async throws {
            let server = try await StubServer.start(fallback: .status(200, body: "ok"))
            let wire = try await Wire(to: server)
            try await wire.write(Self.get())
            #expect(try await wire.read(Self.ok.utf8.count) == Self.ok)
            let waiting = Task { await server.waitForConnections(atMost: 0) }
            waiting.cancel()
            await waiting.value
            #expect(server.openConnections == 1)
            await server.stop()
            #expect(server.openConnections == 0)
            #expect(await wire.readToEnd().text == "")
        }
    }
#endif
