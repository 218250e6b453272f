#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOHTTP1
    import Resilience
    import ResilienceAsyncHTTPClient
    import ResilienceHTTP
    import ResilienceTesting
    import TestSupport
    import Testing

    @Suite(.timeLimit(.minutes(20)), .responsive) struct SettingsTests {
        let bulkhead = Bulkhead("room", limit: 1)

        private var pipeline: Pipeline {
            Pipeline {
                Retry(maxRetries: 3, backoff: .none)
                bulkhead
            }
        }

        // MARK: Credentials

        @Test("after a 401, the attempt is repeated once with new credentials, which later attempts also use")
        func reauthorizes() async throws {
            let answers: [WireAnswer] = [
                .status(401, body: "old"), .status(503), .status(200), .status(401), .status(401),
            ]
            try await withServer(answers) { server, http async throws in
                let renewals = Count()
                var settings = ResilientHTTPClient.Settings()
                settings.reauthorize = { request in
                    renewals.add(1)
                    var request = request
                    request.headers.replaceOrAdd(name: "Authorization", value: "new")
                    request.body = .bytes(Array("other".utf8))
                    return request
                }
                let client = http.resilient(pipeline, settings: settings)
                var request = get(server.url())
                request.method = .PUT
                request.body = .bytes(Array("payload".utf8))
                #expect(try await client.execute(request).status == .ok)
                #expect(server.requests.map { $0.lowercased().contains("authorization: new") } == [false, true, true])
                #expect(server.requests.allSatisfy { $0.hasSuffix("payload") })
                // The connection of the 401 was kept.
                #expect(renewals.value == 1 && server.keptAll)
                #expect(try await client.execute(request).status == .unauthorized)
                #expect(renewals.value == 2 && server.received.value == 5 && bulkhead.inUse == 0)
            }
        }

        @Test("a POST that was answered with a redirect is not sent again with new credentials; a GET is")
        func redirectedToSignIn() async throws {
            let moved = WireAnswer.status(303, ["Location: /done"])
            try await withServer([moved, .status(401), moved, .status(401), .status(200)]) {
                server, http async throws in
                var settings = ResilientHTTPClient.Settings()
                settings.reauthorize = { $0 }
                let client = http.resilient(pipeline, settings: settings)
                #expect(try await client.execute(post(server.url())).status == .unauthorized)
                #expect(try await client.execute(get(server.url())).status == .ok)
                #expect(server.requests.map { $0.prefix(4) } == ["POST", "GET ", "GET ", "GET ", "GET "])
            }
        }

        @Test(
            "without other credentials, or with a consumed body, a 401 is returned; an error that the hook throws is thrown"
        )
        func noCredentials() async throws {
            struct SignedOut: Error, VerdictConvertible { let verdict = Verdict.permanent }
            try await withServer([.status(401), .status(401), .status(401), .status(401)]) {
                server, http async throws in
                var settings = ResilientHTTPClient.Settings()
                settings.reauthorize = { _ in nil }
                let without = http.resilient(pipeline, settings: settings)
                #expect(try await without.execute(get(server.url())).status == .unauthorized)
                settings.reauthorize = { _ in throw SignedOut() }
                let failing = http.resilient(pipeline, settings: settings)
                await #expect(throws: SignedOut.self) { try await failing.execute(get(server.url())) }
                settings.reauthorize = { $0 }
                var streamed = get(server.url())
                streamed.method = .PUT
                streamed.body = stream("payload")
                let response = try await http.resilient(pipeline, settings: settings).execute(streamed)
                #expect(response.status == .unauthorized && server.received.value == 3)
                _ = try await response.body.collect(upTo: 10)
                #expect(bulkhead.inUse == 0)
            }
        }

        @Test("a call that is cancelled while it reads a failure's body leaves nothing behind")
        func cancelledInFailure() async throws {
            let half = "HTTP/1.1 503 X\r\nContent-Length: 9\r\n\r\nhalf"
            try await withServer([.send(half)]) { server, http async throws in
                var settings = ResilientHTTPClient.Settings()
                // More than enough time for the test.
                settings.failureBufferingTime = .seconds(3600)
                let client = http.resilient(pipeline, settings: settings)
                let call = Task { try await client.execute(get(server.url())) }
                await server.received.wait(for: 1)
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
                await server.open.wait(for: 0)
                #expect(bulkhead.inUse == 0 && server.received.value == 1)
            }
        }

        // MARK: Bodies of requests

        @Test("a body of bytes is sent whole with each attempt")
        func bytes() async throws {
            try await withServer([.status(503), .status(200)]) { server, http in
                var request = post(server.url())
                request.body = .bytes(Array("payload".utf8))
                _ = try await http.resilient(pipeline).execute(request)
                #expect(server.requests.map { $0.hasSuffix("payload") } == [true, true])
            }
        }

        @Test("a streamed body is sent once: a failing response is returned, and an error is thrown unchanged")
        func streamedOnce() async throws {
            try await withServer([.status(503, body: "later"), .close(after: ""), .status(200)]) { server, http in
                let client = http.resilient(pipeline)
                var request = get(server.url())
                request.method = .PUT
                request.body = stream("payload")
                let response = try await client.execute(request)
                #expect(response.status == .serviceUnavailable)
                #expect(try await response.text() == "later")
                request.body = stream("payload")
                await #expect(throws: HTTPClientError.remoteConnectionClosed) { try await client.execute(request) }
                #expect(server.received.value == 2 && bulkhead.inUse == 0)
            }
        }

        @Test("a streamed body that is still unread is sent with the next attempt")
        func streamedNotSent() async throws {
            try await withServer([.status(200)]) { server, http in
                let here = server.url()
                var settings = ResilientHTTPClient.Settings()
                // The first attempt goes to an address without a listener.
                settings.prepare = { request, attempt in request.url = attempt.number == 1 ? WireServer.nowhere : here }
                var request = get("")
                request.method = .PUT
                request.body = stream("payload")
                let response = try await http.resilient(pipeline, settings: settings).execute(request)
                #expect(response.status == .ok)
                #expect(server.requests.first?.contains("payload") == true)
            }
        }

        @Test("a rule that repeats everything can't send a streamed body twice")
        func againstTheRule() async throws {
            try await withServer([.status(503), .status(200)]) { server, http in
                let pipeline = Pipeline { Retry(maxRetries: 1, backoff: .none, rules: { _ in .retry }) }
                var request = get(server.url())
                request.method = .PUT
                request.body = stream("payload")
                await #expect(throws: RequestBodyConsumed.self) { try await http.resilient(pipeline).execute(request) }
                #expect(server.received.value == 1)
            }
        }

        @Test("a body that is made for each attempt is streamed each time")
        func madeForEach() async throws {
            try await withServer([.status(503), .close(after: ""), .status(200)]) { server, http in
                var request = get(server.url())
                request.method = .PUT
                let response = try await http.resilient(pipeline).execute(request, body: { stream("payload") })
                #expect(response.status == .ok)
                #expect(server.requests.map { $0.contains("payload") } == [true, true, true])
            }
        }

        @Test("cancelling an upload while its body is read frees permit and connection")
        func cancelledUpload() async throws {
            try await withServer([]) { server, http in
                var request = get(server.url())
                request.method = .PUT
                let (parts, more) = AsyncStream<ByteBuffer>.makeStream()
                request.body = .stream(parts, length: .unknown)
                more.yield(ByteBuffer(string: "payl"))
                let client = http.resilient(pipeline)
                let call = Task { [request] in try await client.execute(request) }
                await server.accepted.wait(for: 1)
                call.cancel()
                await #expect(throws: CancellationError.self) { try await call.value }
                more.finish()
                await server.open.wait(for: 0)
                #expect(bulkhead.inUse == 0)
            }
        }

        @Test("a body that throws while it is read fails the call with its own error, once")
        func failingUpload() async throws {
            struct Broken: Error {}
            try await withServer([]) { server, http in
                var request = get(server.url())
                request.method = .PUT
                let (parts, more) = AsyncThrowingStream<ByteBuffer, any Error>.makeStream()
                request.body = .stream(parts, length: .unknown)
                more.yield(ByteBuffer(string: "payl"))
                more.finish(throwing: Broken())
                await #expect(throws: Broken.self) { try await http.resilient(pipeline).execute(request) }
                await server.open.wait(for: 0)
                #expect(bulkhead.inUse == 0 && server.accepted.value <= 1)
            }
        }

        // MARK: Bodies of responses

        @Test("a request whose short body is cut off is repeated like any failure, and a buffered body holds no permit")
        func buffered() async throws {
            let cut = WireAnswer.close(after: "HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\nabc")
            try await withServer([cut, .status(200, body: "0123456789")]) { server, http in
                var settings = ResilientHTTPClient.Settings()
                settings.buffering = 100
                let response = try await http.resilient(pipeline, settings: settings).execute(get(server.url()))
                #expect(bulkhead.inUse == 0)
                #expect(try await response.text() == "0123456789")
                #expect(server.received.value == 2)
            }
        }

        @Test("a body longer than the buffering limit is streamed without loss")
        func bufferedInPart() async throws {
            let long = String(repeating: "0123456789", count: 100_000)
            try await withServer([.status(200, body: long)]) { server, http in
                var settings = ResilientHTTPClient.Settings()
                settings.buffering = 5
                let response = try await http.resilient(pipeline, settings: settings).execute(get(server.url()))
                #expect(bulkhead.inUse == 1)
                #expect(try await response.text() == long)
                #expect(bulkhead.inUse == 0)
            }
        }

        @Test("a success whose body is incomplete at the attempt's deadline is a failure")
        func bufferedTooLate() async throws {
            try await withServer([.send("HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\nabc")]) { server, http in
                var settings = ResilientHTTPClient.Settings()
                settings.buffering = 100
                let pipeline = Pipeline { ClientTimeout(limit: .milliseconds(50)) }
                let error = await #expect(throws: TimedOut.self) {
                    try await http.resilient(pipeline, settings: settings).execute(get(server.url()))
                }
                #expect(error?.underlying as? HTTPClientError == .deadlineExceeded)
                await server.open.wait(for: 0)
            }
        }

        @Test("a request whose 200 contains an error is repeated")
        func remark() async throws {
            let wrong = WireAnswer.status(200, body: #"{"error":"busy"}"#)
            try await withServer([wrong, .status(200, body: #"{"ok":true}"#)]) { server, http in
                var settings = ResilientHTTPClient.Settings()
                settings.buffering = 1024
                settings.remark = { response, body in
                    response.status == .ok && String(buffer: body).hasPrefix(#"{"error""#) ? .means(.transient) : nil
                }
                let response = try await http.resilient(pipeline, settings: settings).execute(get(server.url()))
                #expect(try await response.text() == #"{"ok":true}"#)
                #expect(server.received.value == 2 && bulkhead.inUse == 0)
            }
        }

        @Test("a remark can turn a failure into a success, and the response's body can be read")
        func remarkedSuccess() async throws {
            try await withServer([.status(404, body: "none yet")]) { server, http in
                var settings = ResilientHTTPClient.Settings()
                settings.remark = { response, _ in response.status == .notFound ? .means(.success) : nil }
                let breaker = CircuitBreaker(tripping: .consecutiveFailures(1))
                let client = http.resilient(Pipeline { breaker }, settings: settings)
                let text2 = try await client.execute(get(server.url())).text()
                #expect(text2 == "none yet")
                #expect(breaker.state == .closed)
            }
        }

        // MARK: The rest

        @Test("the caller's own verdict on an error replaces the standard one")
        func ownVerdict() async throws {
            try await withServer([.close(after: ""), .status(200)]) { server, http in
                var settings = ResilientHTTPClient.Settings()
                settings.verdict = { error, request in
                    request.method == "POST" && error as? HTTPClientError == .remoteConnectionClosed ? .transient : nil
                }
                let client = http.resilient(pipeline, settings: settings)
                let answer1 = try await client.execute(post(server.url()))
                #expect(answer1.status == .ok)
                #expect(server.received.value == 2)
            }
        }

        @Test(
            "a server's remaining quota holds the throttles, if the settings allow it", arguments: [true, false])
        func quotas(notes: Bool) async throws {
            let clock = ManualClock()
            try await withServer([.status(200, [#"RateLimit: "default";r=0;t=30"#])]) { server, http in
                let throttle = Throttle(limit: .perSecond(100, burst: 20), timeBase: clock)
                var settings = ResilientHTTPClient.Settings()
                settings.notesQuotas = notes
                let client = http.resilient(Pipeline { throttle }, settings: settings)
                _ = try await client.execute(get(server.url()))
                #expect(throttle.status.isAllowed == !notes)
            }
        }

        @Test("the quota fields of a failing response hold no throttle: any wait is in its verdict")
        func quotasOfFailures() async throws {
            let spent = [#"RateLimit: "default";r=0;t=30"#]
            try await withServer([.status(500, spent), .status(404, spent), .status(200, spent)]) { server, http in
                let throttle = Throttle(limit: .unlimited, timeBase: ManualClock())
                var settings = ResilientHTTPClient.Settings()
                settings.notesQuotas = true
                settings.remark = { response, _ in response.status == .ok ? .means(.permanent) : nil }
                let client = http.resilient(Pipeline { throttle }, settings: settings)
                for _ in 0..<3 { _ = try await client.execute(get(server.url())) }
                #expect(throttle.status.isAllowed && server.received.value == 3)
            }
        }

        @Test("the attempt's deadline is sent if the settings ask for it, never later than the caller's own")
        func deadlineField() async throws {
            let clock = ManualClock()
            let name = DeadlineField.standard.name
            try await withServer(Array(repeating: .status(200), count: 4)) { server, http in
                var settings = ResilientHTTPClient.Settings()
                settings.deadlineField = .standard
                let pipeline = Pipeline(timeBase: clock) { ClientTimeout(limit: .nanoseconds(1_500_000_999_999)) }
                let client = http.resilient(pipeline, settings: settings)
                _ = try await client.execute(get(server.url()))
                for value in ["70", "7000000"] {
                    var request = get(server.url())
                    request.headers.add(name: name, value: value)
                    _ = try await client.execute(request)
                }
                _ = try await http.resilient(Pipeline(timeBase: clock) {}, settings: settings).execute(
                    get(server.url()))
                let told = server.requests.map { request in
                    request.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name) }?.split(separator: " ")
                        .last
                }
                #expect(told == ["1500000", "70", "1500000", nil])
                let short = http.resilient(
                    Pipeline(timeBase: clock) { ClientTimeout(limit: .microseconds(900)) }, settings: settings)
                await #expect(throws: HTTPClientError.deadlineExceeded) { try await short.execute(get(server.url())) }
                #expect(server.received.value == 4)
            }
        }

        @Test("the priority and the attempt number are sent if the settings ask for it; a request's own fields stay")
        func originFields() async throws {
            try await withServer(Array(repeating: .status(503), count: 4)) { server, http in
                var settings = ResilientHTTPClient.Settings()
                settings.originFields = .standard
                let retrying = Pipeline(timeBase: ManualClock()) { Retry(maxRetries: 1, backoff: .none) }
                let client = http.resilient(retrying, settings: settings)
                _ = try await client.execute(get(server.url()), options: RunOptions(priority: .low))
                try await CallOrigin(priority: .high, attempt: 3).run {
                    _ = try await client.execute(get(server.url()))
                    var own = get(server.url())
                    own.headers.add(name: "Priority", value: "u=0")
                    _ = try await client.execute(own)
                }
                func told(_ name: String) -> [Substring?] {
                    server.requests.map { request in
                        request.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name) }?
                            .split(separator: " ").last
                    }
                }
                #expect(told("priority") == ["u=5", "u=5", "u=1", "u=0"])
                #expect(told("x-envoy-attempt-count") == [nil, "2", "3", "3"])
            }
        }

        @Test("each attempt is prepared: the request can contain its number and its remaining time")
        func prepare() async throws {
            let clock = ManualClock()
            try await withServer([.status(503), .status(200)]) { server, http in
                var settings = ResilientHTTPClient.Settings()
                settings.prepare = { request, attempt in
                    request.headers.add(name: "X-Attempt", value: "\(attempt.number)")
                    let left = attempt.remaining(on: clock)
                    request.headers.add(name: "X-Seconds-Left", value: "\(left.components.seconds)")
                }
                let pipeline = Pipeline(timeBase: clock) {
                    Retry(maxRetries: 1, backoff: .none)
                    ClientTimeout(limit: .seconds(7000))
                }
                _ = try await http.resilient(pipeline, settings: settings).execute(get(server.url()))
                #expect(server.requests.map { $0.contains("X-Attempt: 1") } == [true, false])
                #expect(server.requests.map { $0.contains("X-Attempt: 2") } == [false, true])
                #expect(server.requests.allSatisfy { $0.contains("X-Seconds-Left: 7000") })
            }
        }

        @Test("negative settings count as zero")
        func belowZero() async throws {
            try await withServer([.status(500, body: "oh"), .status(200, body: "ok")]) { server, http in
                var settings = ResilientHTTPClient.Settings()
                settings.buffering = .min
                settings.failureBuffering = -1
                settings.failureBufferingTime = .seconds(-1)
                let client = http.resilient(pipeline, settings: settings)
                let text3 = try await client.execute(get(server.url())).text()
                #expect(text3 == "ok")
                #expect(bulkhead.inUse == 0)
            }
        }

        private func stream(_ text: String) -> HTTPClientRequest.Body {
            .stream(
                AsyncStream {
                    $0.yield(ByteBuffer(string: text)); $0.finish()
                } as AsyncStream<ByteBuffer>, length: .unknown)
        }
    }
#endif
