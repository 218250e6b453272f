#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOHTTP1
    import Resilience
    import ResilienceAsyncHTTPClient
    import ResilienceTesting
    import TestSupport
    import Testing

    /// Difficult ends of bodies and attempts.
    ///
    /// The client's own deadline is on the system's clock, as far away as the deadline on the manual clock. A busy
    /// machine may need more than a few seconds to connect, so both deadlines are thousands of seconds away.
    @Suite(.timeLimit(.minutes(20)), .responsive) struct LateEndTests {
        private static let head = "HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\nabc"

        @Test(
            "a streamed PUT that times out in the client throws its attempt's error, and is not sent again",
            arguments: [nil, true] as [Bool?])
        func streamedPutTimesOut(isIdempotent: Bool?) async throws {
            try await withServer([.silence]) { server, http in
                let recorder = EventRecorder()
                let pipeline = Pipeline(observers: PolicyObservers(recorder)) {
                    Retry(maxRetries: 3, backoff: .none)
                    ClientTimeout("attempt", limit: .milliseconds(50))
                }
                var request = get(server.url())
                request.method = isIdempotent == nil ? .PUT : .POST
                request.body = .stream(AsyncStream<ByteBuffer> { $0.finish() }, length: .unknown)
                let options = RunOptions(isIdempotent: isIdempotent)
                let error = await #expect(throws: TimedOut.self) {
                    try await http.resilient(pipeline).execute(request, options: options)
                }
                #expect(error?.underlying as? HTTPClientError == .deadlineExceeded)
                #expect(recorder.events(of: Retry.Event.self) == [])
                await server.open.wait(for: 0)
            }
        }

        @Test("a body that times out in the middle is not repeated, and no retry event is sent")
        func lateBody() async throws {
            let clock = ManualClock()
            let recorder = EventRecorder()
            let pipeline = Pipeline(timeBase: clock, observers: PolicyObservers(recorder)) {
                Retry(maxRetries: 3, backoff: .none)
                ClientTimeout("attempt", limit: .seconds(5000))
            }
            try await withServer([.send(Self.head)]) { server, http in
                let response = try await http.resilient(pipeline).execute(get(server.url()))
                clock.advance(by: .seconds(5000))
                await #expect(throws: TimedOut.self) { try await response.text() }
                #expect(recorder.events(of: Retry.Event.self) == [])
                #expect(recorder.events(of: Timeout.Event.self).count == 1)
            }
        }

        @Test("the deadline also covers the body of a returned failure")
        func failureBodyLate() async throws {
            let clock = ManualClock()
            var settings = ResilientHTTPClient.Settings()
            settings.failureBuffering = 0
            let pipeline = Pipeline(timeBase: clock) { ClientTimeout("attempt", limit: .seconds(5000)) }
            try await withServer([.send("HTTP/1.1 404 X\r\nContent-Length: 10\r\n\r\nabc")]) { server, http in
                let response = try await http.resilient(pipeline, settings: settings).execute(get(server.url()))
                #expect(response.status == .notFound)
                clock.advance(by: .seconds(5000))
                await #expect(throws: TimedOut.self) { try await response.text() }
                await server.open.wait(for: 0)
            }
        }

        @Test(
            "a reader that stops within a body that was read ahead closes the connection, even while the response exists"
        )
        func stoppedReadingAhead() async throws {
            var settings = ResilientHTTPClient.Settings()
            settings.buffering = 1
            try await withServer([.send(Self.head)]) { server, http in
                let client = http.resilient(Pipeline {}, settings: settings)
                let response = try await client.execute(get(server.url()))
                for try await part in response.body {
                    #expect(part == ByteBuffer(string: "abc"))
                    break
                }
                await server.open.wait(for: 0)
                #expect(response.status == .ok)
            }
        }

        @Test("a stream that is lost after the time limit for its head counts as failed, not as timed out")
        func lostStream() async throws {
            let clock = ManualClock()
            let recorder = EventRecorder()
            let pipeline = Pipeline(timeBase: clock, observers: PolicyObservers(recorder)) {
                ClientTimeout("head", limit: .seconds(5000))
            }
            var settings = ResilientHTTPClient.Settings()
            settings.endsBodyAtDeadline = false
            try await withServer([.send(Self.head)]) { server, http in
                let response = try await http.resilient(pipeline, settings: settings).execute(get(server.url()))
                clock.advance(by: .seconds(60_000))
                try await server.cut()
                await #expect(throws: (any Error).self) { try await response.text() }
                #expect(recorder.events(of: Timeout.Event.self) == [])
                #expect(recorder.count(Pipeline.Event.self) { $0.kind == "failed" } == 1)
            }
        }

        @Test("a failure whose body is late is returned, and reading the body throws")
        func failureBodySlow() async throws {
            var settings = ResilientHTTPClient.Settings()
            settings.failureBufferingTime = .zero
            try await withServer([.send("HTTP/1.1 404 X\r\nContent-Length: 10\r\n\r\nabc")]) { server, http in
                let response = try await http.resilient(Pipeline {}, settings: settings).execute(get(server.url()))
                #expect(response.status == .notFound)
                await #expect(throws: TimedOut.self) { try await response.text() }
                await server.open.wait(for: 0)
            }
        }
    }
#endif
