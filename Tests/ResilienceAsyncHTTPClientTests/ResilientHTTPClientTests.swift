#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOHTTP1
    import NIOPosix
    import Resilience
    import ResilienceAsyncHTTPClient
    import ResilienceHTTP
    import ResilienceTesting
    import Synchronization
    import TestSupport
    import Testing

    /// The whole path to a response: policies, verdicts, the client, and a server on loopback.
    @Suite(.timeLimit(.minutes(20)), .responsive) struct ResilientHTTPClientTests {
        let bulkhead = Bulkhead("room", limit: 1)
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(10))

        /// Retries without waits, and two policies that show leaks.
        private func pipeline(
            retries: Int = 3, timeBase: (any TimeBase)? = nil, observers: PolicyObservers? = nil
        ) -> Pipeline {
            Pipeline("test", timeBase: timeBase, observers: observers) {
                Retry(maxRetries: retries, backoff: .none, throttledBackoff: .none)
                breaker
                bulkhead
            }
        }

        @Test("a GET gets its answer in one call, despite a 429, a 503 and a lost connection")
        func recovery() async throws {
            try await withServer([
                .status(429, ["Retry-After: 0"]), .close(after: ""), .status(503), .status(200, body: "done"),
            ]) { server, http in
                let response = try await http.resilient(pipeline()).execute(get(server.url()), timeout: .hours(1))
                #expect(response.status == .ok && bulkhead.inUse == 1)
                #expect(try await response.text() == "done")
                #expect(bulkhead.inUse == 0 && breaker.status.failureCount == 0)
                #expect(server.received.value == 4)
                // Only the connection that the server closed is lost.
                #expect(server.accepted.value == server.open.value + 1)
            }
        }

        @Test(
            "when attempts run out, the last response is returned with its body; earlier responses hold no connection"
        )
        func exhausted() async throws {
            let answers = (1...3).map { WireAnswer.status(503, ["X-Number: \($0)"], body: "sorry \($0)") }
            try await withServer(answers) { server, http in
                let response = try await http.resilient(pipeline(retries: 2)).execute(get(server.url()))
                #expect(response.status == .serviceUnavailable)
                #expect(response.headers["X-Number"] == ["3"])
                // The call has ended: its body is a copy.
                #expect(bulkhead.inUse == 0 && breaker.status.failureCount == 3)
                #expect(try await response.text() == "sorry 3")
                #expect(server.received.value == 3 && server.keptAll)
            }
        }

        @Test("a failure whose body is too long to read ahead loses its connection when the next attempt begins")
        func longFailures() async throws {
            let long = String(repeating: "x", count: 300_000)
            try await withServer([.status(500, body: long), .status(500, body: long)]) { server, http in
                var settings = ResilientHTTPClient.Settings()
                settings.failureBuffering = 10
                let client = http.resilient(pipeline(retries: 1), settings: settings)
                let response = try await client.execute(get(server.url()))
                await server.open.wait(for: 1)
                #expect(server.accepted.value == 2)
                // The part that was read ahead is not lost.
                #expect(try await response.text() == long)
                #expect(bulkhead.inUse == 0)
            }
        }

        @Test("a failure's late body is closed: the response is returned, and reading its body throws")
        func slowFailure() async throws {
            let clock = ManualClock()
            let head = "HTTP/1.1 500 X\r\nContent-Length: 10\r\n\r\nabc"
            try await withServer([.send(head)]) { server, http in
                let pipeline = Pipeline(timeBase: clock) { ClientTimeout(limit: .seconds(6000)) }
                let call = Task { try await http.resilient(pipeline).execute(get(server.url())) }
                try await clock.waitForSleeper(dueIn: .seconds(1))
                clock.advance(by: .seconds(1))
                let response = try await call.value
                #expect(response.status == .internalServerError)
                await server.open.wait(for: 0)
                await #expect(throws: (any Error).self) { try await response.text() }
            }
        }

        @Test("a POST is repeated after a failure without effect on the server, but not after an uncertain failure")
        func idempotence() async throws {
            try await withServer([.close(after: ""), .status(500), .status(503), .status(201)]) { server, http in
                let client = http.resilient(pipeline())
                await #expect(throws: HTTPClientError.remoteConnectionClosed) {
                    try await client.execute(post(server.url()))
                }
                #expect(server.received.value == 1)
                // The server may have acted on the request before it failed.
                let answer1 = try await client.execute(post(server.url()))
                #expect(answer1.status == .internalServerError)
                #expect(server.received.value == 2)
                // A 503 means that the server did not act on the request.
                let answer2 = try await client.execute(post(server.url()))
                #expect(answer2.status == .created)
                #expect(server.received.value == 4)
                #expect(bulkhead.inUse == 0)
            }
        }

        @Test("a POST with an idempotency key is repeated like a GET, with the same body and the same key")
        func idempotencyKey() async throws {
            try await withServer([.close(after: ""), .status(500), .status(201)]) { server, http in
                var request = post(server.url(), "payload")
                request.headers.add(name: "Idempotency-Key", value: "k1")
                let answer3 = try await http.resilient(pipeline()).execute(request)
                #expect(answer3.status == .created)
                #expect(server.requests.count == 3)
                #expect(server.requests.allSatisfy { $0.hasSuffix("payload") && $0.contains("Idempotency-Key: k1") })
            }
        }

        @Test(
            "a POST that times out in the client is not repeated, whichever timeout ends it", arguments: [true, false])
        func postTimesOut(byClient: Bool) async throws {
            try await withServer([.silence, .status(200)]) { server, http in
                let pipeline = Pipeline {
                    Retry(maxRetries: 3, backoff: .none)
                    if byClient { ClientTimeout(limit: .milliseconds(50)) } else { Timeout(limit: .milliseconds(50)) }
                }
                await #expect(throws: TimedOut.self) {
                    try await http.resilient(pipeline).execute(post(server.url()))
                }
                await server.open.wait(for: 0)
                #expect(server.received.value <= 1)
            }
        }

        @Test("without a listener, any method is repeated, and the last error is thrown")
        func refused() async throws {
            try await withServer([]) { _, http in
                let recorder = EventRecorder()
                let client = http.resilient(pipeline(retries: 2, observers: PolicyObservers(recorder)))
                // A refused connection throws `NIOConnectionError`, or `IOError` if the host has only one address.
                let error = await #expect(throws: (any Error).self) {
                    try await client.execute(post(WireServer.nowhere))
                }
                #expect(error is NIOConnectionError || (error as? ExchangeFailed)?.underlying is IOError)
                #expect(recorder.count(Pipeline.Event.self) { $0.kind == "attemptFailed" } == 3)
                #expect(bulkhead.inUse == 0 && breaker.status.failureCount == 3)
            }
        }

        @Test("an invalid request fails permanently, without a repeat, and the breaker ignores it")
        func wrongRequest() async throws {
            try await withServer([]) { server, http in
                await #expect(throws: HTTPClientError.unsupportedScheme("gopher")) {
                    try await http.resilient(pipeline()).execute(get("gopher://127.0.0.1/"))
                }
                await #expect(throws: HTTPClientError.self) { try await http.resilient(pipeline()).execute(get("")) }
                #expect(breaker.status.failureCount == 0 && bulkhead.inUse == 0 && server.accepted.value == 0)
            }
        }

        @Test(
            "an answer that is not HTTP, or whose fields never end, is a failure like a lost connection",
            arguments: [
                "EHLO mail\r\n\r\n", "HTTP/1.1 200 X\r\nX-Long: \(String(repeating: "y", count: 200_000))",
                "HTTP/1.1 9999 X\r\n\r\n",
            ])
        func nonsense(text: String) async throws {
            try await withServer([.close(after: text), .close(after: text), .status(200)]) { server, http in
                await #expect(throws: (any Error).self) {
                    try await http.resilient(pipeline()).execute(post(server.url()))
                }
                #expect(server.received.value == 1 && breaker.status.failureCount == 1)
                let answer4 = try await http.resilient(pipeline()).execute(get(server.url()))
                #expect(answer4.status == .ok)
                #expect(server.received.value == 3 && bulkhead.inUse == 0)
            }
        }

        @Test("a POST that was answered with a redirect is not sent again, whatever the redirect's target answers")
        func redirected() async throws {
            let done = WireAnswer.status(303, ["Location: /done"])
            try await withServer([done, .status(503), done, .status(429), done, .status(503), .status(200)]) {
                server, http in
                let client = http.resilient(pipeline())
                let (busy, limited) = (
                    try await client.execute(post(server.url())), try await client.execute(post(server.url()))
                )
                #expect(busy.status == .serviceUnavailable && limited.status == .tooManyRequests)
                #expect(server.received.value == 4)
                let options = RunOptions(isIdempotent: true)
                let repeated = try await client.execute(post(server.url()), options: options)
                #expect(repeated.status == .ok && server.received.value == 7)
            }
        }

        @Test("malformed fields are ignored, and only the status counts")
        func nonsensicalFields() async throws {
            let fields = [
                "Retry-After: soon", "RateLimit: ;;;=", "X-RateLimit-Reset: -1e99", "X-Should-Retry: perhaps",
            ]
            try await withServer([.status(503, fields), .status(200)]) { server, http in
                var settings = ResilientHTTPClient.Settings()
                settings.notesQuotas = true
                let answer5 = try await http.resilient(pipeline(), settings: settings).execute(get(server.url()))
                #expect(answer5.status == .ok)
                #expect(server.received.value == 2)
            }
        }

        @Test("a retry waits as long as a 429 asks, on the pipeline's clock")
        func retryAfter() async throws {
            let clock = ManualClock()
            try await withServer([.status(429, ["Retry-After: 30"]), .status(200, body: "ok")]) { server, http in
                let pipeline = Pipeline(timeBase: clock) { Retry(maxRetries: 1, throttledBackoff: .none) }
                let call = Task { try await http.resilient(pipeline).execute(get(server.url())).text() }
                try await clock.waitForSleeper(dueIn: .seconds(30))
                #expect(server.received.value == 1)
                clock.advance(by: .seconds(30))
                #expect(try await call.value == "ok")
            }
        }

        @Test("an open circuit sends nothing")
        func open() async throws {
            try await withServer([.status(500)]) { server, http in
                let pipeline = Pipeline { CircuitBreaker(tripping: .consecutiveFailures(1)) }
                let client = http.resilient(pipeline)
                _ = try await client.execute(get(server.url()))
                await #expect(throws: CircuitOpen.self) { try await client.execute(get(server.url())) }
                #expect(server.received.value == 1)
            }
        }

        // MARK: Deadlines

        @Test(
            "a call after its deadline is rejected before any work",
            arguments: [TimeAmount.zero, .seconds(-1), .nanoseconds(.min)])
        func deadlineOver(timeout: TimeAmount) async throws {
            try await withServer([]) { server, http in
                let client = http.resilient(pipeline())
                await #expect(throws: DeadlinePassed.self) {
                    try await client.execute(get(server.url()), timeout: timeout)
                }
                await #expect(throws: DeadlinePassed.self) {
                    try await client.execute(get(server.url()), deadline: .distantPast)
                }
                await #expect(throws: DeadlinePassed.self) {
                    try await CallDeadline(after: .zero).run { try await client.execute(get(server.url())) }
                }
                #expect(server.accepted.value == 0 && bulkhead.inUse == 0)
            }
        }

        @Test("a huge timeout never fires", arguments: [TimeAmount.nanoseconds(.max), .hours(24 * 365 * 200)])
        func hugeTimeout(timeout: TimeAmount) async throws {
            try await withServer([.status(200, body: "ok")]) { server, http in
                let response = try await http.resilient(pipeline()).execute(get(server.url()), timeout: timeout)
                #expect(try await response.text() == "ok")
            }
        }

        @Test(
            "the client ends a request at its attempt's deadline, and the timeout error has the client's error as its cause"
        )
        func clientTimeout() async throws {
            try await withServer([.silence, .silence]) { server, http in
                let recorder = EventRecorder()
                let pipeline = Pipeline(observers: PolicyObservers(recorder)) {
                    Retry(maxRetries: 1, backoff: .none)
                    bulkhead
                    ClientTimeout("attempt", limit: .milliseconds(50))
                }
                let error = await #expect(throws: TimedOut.self) {
                    try await http.resilient(pipeline).execute(get(server.url()))
                }
                #expect(error?.policy == "attempt" && error?.underlying as? HTTPClientError == .deadlineExceeded)
                #expect(recorder.events(of: Timeout.Event.self).count == 2)
                await server.open.wait(for: 0)
                #expect(bulkhead.inUse == 0)
            }
        }

        @Test(
            "a call's own timeout ends the call with all its attempts, and its error has the client's error as its cause"
        )
        func callTimeout() async throws {
            try await withServer([.silence]) { server, http in
                let error = await #expect(throws: TimedOut.self) {
                    try await http.resilient(pipeline()).execute(get(server.url()), timeout: .milliseconds(50))
                }
                #expect(error?.policy == "deadline" && error?.underlying as? HTTPClientError == .deadlineExceeded)
                await server.open.wait(for: 0)
                #expect(bulkhead.inUse == 0)
            }
        }

        // MARK: Cancellation

        @Test("a call that is cancelled before it begins sends nothing")
        func cancelledBefore() async throws {
            try await withServer([]) { server, http in
                let client = http.resilient(pipeline())
                let url = server.url()
                let call = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await client.execute(get(url))
                }
                await #expect(throws: CancellationError.self) { try await call.value }
                #expect(server.accepted.value == 0 && bulkhead.inUse == 0)
            }
        }

        @Test("a call that is cancelled while it waits for the head closes its connection and is not repeated")
        func cancelledAtHead() async throws {
            try await withServer([.silence, .status(200)]) { server, http in
                let client = http.resilient(pipeline())
                let url = server.url()
                let call = Task { try await client.execute(get(url)) }
                await server.received.wait(for: 1)
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
                await server.open.wait(for: 0)
                #expect(bulkhead.inUse == 0 && breaker.status.failureCount == 0 && server.received.value == 1)
            }
        }

        @Test("a call that is cancelled while it waits for another attempt leaves nothing behind")
        func cancelledInBackoff() async throws {
            let clock = ManualClock()
            let bulkhead = Bulkhead(limit: 1, timeBase: clock)
            try await withServer([.status(503, ["Retry-After: 30"], body: "later")]) { server, http in
                let pipeline = Pipeline(timeBase: clock) {
                    Retry(maxRetries: 1)
                    bulkhead
                }
                let url = server.url()
                let call = Task { try await http.resilient(pipeline).execute(get(url)) }
                try await clock.waitForSleeper(dueIn: .seconds(30))
                #expect(bulkhead.inUse == 0)
                call.cancel()
                await #expect(throws: CancelledWhileWaiting.self) { try await call.value }
                #expect(server.open.value == 1 && clock.sleepers.isEmpty)
            }
        }

        @Test("a call that is cancelled while it waits for a permit sends nothing")
        func cancelledInQueue() async throws {
            try await withServer([]) { server, http in
                let recorder = EventRecorder()
                let bulkhead = Bulkhead(limit: 1, queue: 1, observers: PolicyObservers(recorder))
                let inside = try bulkhead.tryAcquire()
                let url = server.url()
                let call = Task { try await http.resilient(Pipeline { bulkhead }).execute(get(url)) }
                await recorder.waitForEvents(1)
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
                inside.complete(.success)
                #expect(bulkhead.inUse == 0 && bulkhead.queued == 0 && server.accepted.value == 0)
            }
        }
    }
#endif
