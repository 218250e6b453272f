#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOHTTP1
    import Resilience
    import ResilienceAsyncHTTPClient
    import ResilienceTesting
    import TestSupport
    import Testing

    /// A call stays inside its policies until the end of the response's body.
    @Suite(.timeLimit(.minutes(20)), .responsive) struct ResponseBodyTests {
        let bulkhead = Bulkhead("room", limit: 1)
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(10))
        let recorder = EventRecorder()

        private static let head = "HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\nabc"

        private var pipeline: Pipeline {
            Pipeline("test", observers: PolicyObservers(recorder)) {
                Retry(maxRetries: 3, backoff: .none)
                breaker
                bulkhead
            }
        }

        private var callEnds: [String] {
            recorder.events(of: Pipeline.Event.self).map(\.kind).filter { !$0.hasPrefix("attempt") }
        }

        @Test("a call keeps its bulkhead permit while the body streams, and returns it at the end")
        func streaming() async throws {
            try await withServer([.send(Self.head)]) { server, http in
                let response = try await http.resilient(pipeline).execute(get(server.url()))
                var body = response.body.makeAsyncIterator()
                #expect(try await body.next() == ByteBuffer(string: "abc"))
                #expect(bulkhead.inUse == 1 && callEnds == [])
                await #expect(throws: BulkheadFull.self) {
                    try await http.resilient(pipeline).execute(get(server.url()))
                }
                recorder.reset()
                try await server.send("defghij")
                var rest = ByteBuffer()
                while var part = try await body.next() { rest.writeBuffer(&part) }
                #expect(rest == ByteBuffer(string: "defghij"))
                #expect(bulkhead.inUse == 0 && callEnds == ["succeeded"])
                #expect(try await body.next() == nil)
                // The next request can use the connection.
                server.enqueue(.status(200))
                _ = try await http.resilient(pipeline).execute(get(server.url()))
                #expect(server.keptAll && bulkhead.inUse == 0)
            }
        }

        @Test("a connection lost in the middle of a body is a failure for the breaker, and nothing is repeated")
        func cut() async throws {
            for answer in [WireAnswer.close(after: Self.head), .reset(after: Self.head)] {
                recorder.reset()
                try await withServer([answer, .status(200)]) { server, http in
                    await #expect(throws: (any Error).self) {
                        _ = try await http.resilient(pipeline).execute(get(server.url())).text()
                    }
                    #expect(server.received.value == 1)
                    #expect(bulkhead.inUse == 0 && callEnds == ["failed"])
                    #expect(recorder.events(of: Retry.Event.self) == [])
                }
            }
            #expect(breaker.status.failureCount == 2)
        }

        @Test(
            "if a body is dropped unread, its permit becomes free, its connection closes, and its call succeeds (P56)")
        func dropped() async throws {
            try await withServer([.send(Self.head)]) { server, http in
                var response: HTTPClientResponse? = try await http.resilient(pipeline).execute(get(server.url()))
                #expect(response?.status == .ok && bulkhead.inUse == 1)
                response = nil
                await server.open.wait(for: 0)
                #expect(bulkhead.inUse == 0 && callEnds == ["succeeded"])
            }
        }

        @Test("if a reader stops within a body, permit and connection become free, even while the response exists")
        func stoppedReading() async throws {
            try await withServer([.send(Self.head)]) { server, http in
                let response = try await http.resilient(pipeline).execute(get(server.url()))
                for try await part in response.body {
                    #expect(part == ByteBuffer(string: "abc"))
                    break
                }
                #expect(bulkhead.inUse == 0)
                await server.open.wait(for: 0)
                #expect(response.status == .ok)
            }
        }

        @Test("cancelling a reader within a body frees permit and connection, and is not a failure (P56)")
        func cancelledReading() async throws {
            try await withServer([.send(Self.head)]) { server, http in
                let client = http.resilient(pipeline)
                let url = server.url()
                let firstPart = Count()
                let call = Task {
                    for try await _ in try await client.execute(get(url)).body { firstPart.add(1) }
                }
                await firstPart.wait(for: 1)
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
                await server.open.wait(for: 0)
                #expect(bulkhead.inUse == 0 && breaker.status.failureCount == 0 && callEnds == ["cancelled"])
            }
        }

        @Test("if a collected body is larger than allowed, the permit becomes free")
        func tooLarge() async throws {
            try await withServer([.status(200, body: "0123456789")]) { server, http in
                let response = try await http.resilient(pipeline).execute(get(server.url()))
                await #expect(throws: NIOTooManyBytesError.self) { try await response.body.collect(upTo: 5) }
                #expect(bulkhead.inUse == 0)
            }
        }

        @Test(
            "if a response has no body, the call ends when the head has come",
            arguments: [
                "HTTP/1.1 204 X\r\n\r\n", "HTTP/1.1 304 X\r\nContent-Length: 7\r\n\r\n",
                "HTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n",
            ])
        func noBody(text: String) async throws {
            try await withServer([.send(text), .send(text)]) { server, http in
                let first = try await http.resilient(pipeline).execute(get(server.url()))
                #expect(bulkhead.inUse == 0 && callEnds == ["succeeded"])
                #expect(try await first.text() == "")
                _ = try await http.resilient(pipeline).execute(get(server.url()))
                #expect(server.keptAll)
            }
        }

        @Test("the answer to a HEAD has no body, whatever its Content-Length")
        func head() async throws {
            try await withServer([.send("HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\n")]) { server, http in
                var request = get(server.url())
                request.method = .HEAD
                let response = try await http.resilient(pipeline).execute(request)
                #expect(bulkhead.inUse == 0)
                #expect(try await response.text() == "")
            }
        }

        @Test("a body that ends with its connection is complete")
        func closedByServer() async throws {
            try await withServer([.close(after: "HTTP/1.1 200 X\r\n\r\nto the end")]) { server, http in
                let text1 = try await http.resilient(pipeline).execute(get(server.url())).text()
                #expect(text1 == "to the end")
                #expect(bulkhead.inUse == 0 && callEnds == ["succeeded"])
            }
        }

        // MARK: Deadlines

        @Test("a body that has not come by its call's deadline is closed and counts as a failure")
        func deadline() async throws {
            let clock = ManualClock()
            let breaker = CircuitBreaker(tripping: .consecutiveFailures(5), timeBase: clock)
            let bulkhead = Bulkhead(limit: 1, timeBase: clock)
            let pipeline = Pipeline(timeBase: clock) {
                breaker
                bulkhead
            }
            try await withServer([.send(Self.head)]) { server, http in
                let response = try await http.resilient(pipeline).execute(get(server.url()), timeout: .seconds(10_000))
                clock.advance(by: .seconds(4000))
                let reading = Task { try await response.text() }
                // NIO's clock has moved meanwhile, so the deadline is not exactly 10 000 seconds away.
                await clock.waitForSleepers(1)
                // The deadline is the same, whether the first part has come or not.
                clock.advance(by: .seconds(7000))
                let error = await #expect(throws: TimedOut.self) { try await reading.value }
                #expect(error?.policy == "body")
                await server.open.wait(for: 0)
                #expect(bulkhead.inUse == 0 && breaker.status.failureCount == 1)
            }
        }

        @Test("a body is not read after its deadline")
        func deadlineOver() async throws {
            let clock = ManualClock()
            try await withServer([.send(Self.head)]) { server, http in
                let pipeline = Pipeline(timeBase: clock) { ClientTimeout(limit: .seconds(5000)) }
                let response = try await http.resilient(pipeline).execute(get(server.url()))
                clock.advance(by: .seconds(5000))
                await #expect(throws: TimedOut.self) { try await response.text() }
                await server.open.wait(for: 0)
            }
        }

        @Test("a stream may continue after its deadline if the settings allow it")
        func stream() async throws {
            let clock = ManualClock()
            var settings = ResilientHTTPClient.Settings()
            settings.endsBodyAtDeadline = false
            try await withServer([.send(Self.head)]) { server, http in
                let pipeline = Pipeline(timeBase: clock) { ClientTimeout(limit: .seconds(5000)) }
                let client = http.resilient(pipeline, settings: settings)
                let response = try await client.execute(get(server.url()), timeout: .seconds(9000))
                clock.advance(by: .seconds(60_000))
                try await server.send("defghij")
                #expect(try await response.text() == "abcdefghij")
                #expect(clock.sleepers.isEmpty)
            }
        }
    }
#endif
