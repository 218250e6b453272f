#if StubServer
    import Foundation
    import Resilience
    import ResilienceHTTP
    import ResilienceTesting
    import Testing

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    @Suite(.timeLimit(.minutes(20))) struct URLSessionResponseTests {
        @Test("an answer of any status is returned with its body", arguments: [200, 404, 503])
        func answer(status: Int) async throws {
            try await Loopback.run([.status(status, body: "text")]) { loopback in
                let (data, response) = try await loopback.session.response(to: loopback.get)
                #expect(data == Data("text".utf8))
                #expect((response as? HTTPURLResponse)?.statusCode == status)
            }
        }

        @Test("an answer without a body is empty")
        func noBody() async throws {
            try await Loopback.run([.status(204)]) { loopback async throws in
                #expect(try await loopback.session.response(to: loopback.get).0.isEmpty)
            }
        }

        @Test("a failure is the session's own error")
        func failure() async throws {
            try await Loopback.run([.closeMidBody(after: 5)]) { loopback in
                await #expect(throws: URLError.self) { try await loopback.session.response(to: loopback.get) }
            }
        }

        @Test("the deadline fails the request, and nothing is sent after the deadline")
        func deadline() async throws {
            try await Loopback.run(fallback: .status(200)) { loopback in
                loopback.server.hold()
                let deadline = CallDeadline(after: .seconds(5), on: loopback.clock)
                let call = Task { try await loopback.session.response(to: loopback.get, until: deadline) }
                await loopback.server.waitForRequests(1)
                loopback.clock.advance(by: .seconds(5))
                await #expect(throws: URLError(.timedOut)) { try await call.value }
                await #expect(throws: URLError(.timedOut)) {
                    try await loopback.session.response(to: loopback.get, until: deadline)
                }
                #expect(loopback.server.requests.count == 1)
            }
        }

        @Test("an interval of any size is accepted", arguments: [.infinity, .greatestFiniteMagnitude, .nan, 1e18, 600])
        func intervals(interval: TimeInterval) async throws {
            try await Loopback.run([.status(200)]) { loopback in
                var request = loopback.get
                request.timeoutInterval = interval
                _ = try await loopback.session.response(
                    to: request, until: CallDeadline(at: .distantFuture, on: loopback.clock))
            }
        }

        @Test("a call whose session is invalidated throws the session's error, not a cancellation")
        func invalidated() async throws {
            try await Loopback.run(fallback: .status(200)) { loopback in
                loopback.server.hold()
                let configuration = URLSessionConfiguration.ephemeral
                // On a busy machine the session's usual minute may run out earlier.
                configuration.timeoutIntervalForRequest = 100_000
                let session = URLSession(configuration: configuration)
                let call = Task { try await session.response(to: loopback.get) }
                await loopback.server.waitForRequests(1)
                session.invalidateAndCancel()
                let error = await #expect(throws: URLError.self) { try await call.value }
                #expect(error?.code == .cancelled)
            }
        }
    }
#endif
