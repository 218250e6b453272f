#if StubServer
    import Foundation
    import Resilience
    import ResilienceTraffic
    import ResilienceTesting
    import Testing

    @testable import ResilienceHTTP

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// Copies of requests, over real connections on loopback.
    @Suite(.timeLimit(.minutes(20))) struct HedgedSessionTests {
        private let recorder = EventRecorder()

        private var events: [Hedge.Event] { recorder.events() }

        private func pipeline(_ loopback: Loopback, after delay: HedgeDelay = .constant(.seconds(1))) -> Pipeline {
            Pipeline(timeBase: loopback.clock, observers: PolicyObservers(recorder)) {
                Hedge(after: delay, timeBase: loopback.clock)
                loopback.bulkhead
            }
        }

        @Test(
            "a request that may be sent twice gets a copy after the delay; the loser is cancelled",
            arguments: [false, true])
        func copies(isPost: Bool) async throws {
            try await Loopback.run(fallback: .status(200, body: "found"), idle: 2) { loopback async throws in
                loopback.server.hold()
                let session = loopback.session.resilient(pipeline(loopback), originFields: .standard)
                let call = Task { try await session.data(for: isPost ? loopback.post(key: "k") : loopback.get) }
                await loopback.server.waitForRequests(1)
                try await loopback.clock.waitForSleeper(dueIn: .seconds(1))
                loopback.clock.advance(by: .seconds(1))
                await loopback.server.waitForRequests(2)
                #expect(loopback.bulkhead.inUse == 2)
                // The loser is not answered before the call has ended.
                loopback.server.release(1)
                let (data, response) = try await call.value
                #expect(response.statusCode == 200 && data == Data("found".utf8))
                #expect(loopback.bulkhead.inUse == 0)
                let requests = loopback.server.requests
                #expect(requests[0].body == requests[1].body && requests[0].body.isEmpty == !isPost)
                #expect(requests.allSatisfy { $0.headers["x-envoy-attempt-count"] == nil }, "a copy is no retry")
                #expect(events.filter { $0.kind == "hedged" }.count == 1)
            }
        }

        @Test("a lost request gets a copy at once, and the call returns its answer")
        func afterFailure() async throws {
            try await Loopback.run([.resetWithoutAnswer, .status(200, body: "found")]) { loopback async throws in
                let session = loopback.session.resilient(pipeline(loopback, after: .never))
                let (data, _) = try await session.data(from: loopback.server.url)
                #expect(data == Data("found".utf8) && loopback.server.requests.count == 2)
                #expect(events.map(\.kind) == ["hedged", "won"])
            }
        }

        @Test("a request that must not or can't be sent twice gets no copy, and the hedge reports it (P65)")
        func notTwice() async throws {
            try await Loopback.run(fallback: .status(200)) { loopback async throws in
                let pipeline = pipeline(loopback, after: .constant(.zero))
                let session = loopback.session.resilient(pipeline)
                _ = try await session.data(for: loopback.post())
                var streamed = loopback.get
                streamed.httpMethod = "PUT"
                streamed.httpBodyStream = InputStream(data: Data("payload".utf8))
                _ = try await session.data(for: streamed)
                #expect(loopback.server.requests.count == 2)
                #expect(events == [.notCopied(.runOnce)])
                #expect(pipeline.policies(of: Hedge.self)[0].status.ranOnce == 2)
                // A caller that forbids repeats gets no report.
                _ = try await session.data(for: loopback.get, options: RunOptions(isIdempotent: false))
                #expect(pipeline.policies(of: Hedge.self)[0].status.ranOnce == 2)
            }
        }

        @Test("when several copies are answered with 401, one renews the credentials, and all copies send the new ones")
        func renewsOnce() async throws {
            try await Loopback.run([.status(401), .status(401)], fallback: .status(200), idle: 2) {
                loopback async throws in
                loopback.server.hold()
                let renewals = ScriptedOperation<Void, String>(fallback: .success("Bearer new"))
                renewals.hold()
                let session = loopback.session.resilient(
                    pipeline(loopback, after: .constant(.zero)),
                    reauthorize: { request in
                        var request = request
                        request.setValue(try await renewals(), forHTTPHeaderField: "Authorization")
                        return request
                    })
                let call = Task { try await session.data(for: loopback.get) }
                await loopback.server.waitForRequests(2)
                loopback.server.release()
                await renewals.waitForCalls(1)
                renewals.release()
                let response = try await call.value.1
                #expect(response.statusCode == 200 && renewals.inputs.count == 1)
                let fields = loopback.server.requests.map { $0.headers["authorization"] }
                #expect(fields.prefix(2) == [nil, nil] && fields.dropFirst(2).allSatisfy { $0 == "Bearer new" })
            }
        }

        @Test("each copy sends the server the time that the call has left when the copy begins")
        func deadlines() async throws {
            try await Loopback.run(fallback: .status(200), idle: 2) { loopback async throws in
                loopback.server.hold()
                let session = loopback.session.resilient(pipeline(loopback), deadlineField: .standard)
                let options = RunOptions(deadline: loopback.clock.now + .seconds(10_000))
                let call = Task { try await session.data(for: loopback.get, options: options) }
                await loopback.server.waitForRequests(1)
                try await loopback.clock.waitForSleeper(dueIn: .seconds(1))
                loopback.clock.advance(by: .seconds(1))
                await loopback.server.waitForRequests(2)
                loopback.server.release()
                _ = try await call.value
                let name = DeadlineField.standard.name
                #expect(loopback.server.requests.map { $0.headers[name] } == ["10000000", "9999000"])
            }
        }
    }
#endif
