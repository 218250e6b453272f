#if StubServer
    import Foundation
    import Resilience
    import ResilienceTesting
    import Testing

    @testable import ResilienceHTTP

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// Over real connections on loopback. Each test counts the remaining permits and connections.
    @Suite(.timeLimit(.minutes(20))) struct ResilientSessionTests {
        // MARK: What an answer means

        @Test("a call succeeds despite a 429, a 503 and two answers that are cut off in the middle")
        func recovery() async throws {
            try await Loopback.run([
                .status(429, headers: ["Retry-After": "0"]), .status(503), .resetMidBody(after: 10),
                .closeMidBody(after: 10), .json(200, "{}"),
            ]) { loopback in
                let session = loopback.session.resilient(loopback.pipeline(retries: 4))
                let (data, response) = try await session.data(from: loopback.server.url)
                #expect(response.statusCode == 200 && data == Data("{}".utf8))
                #expect(loopback.server.requests.count == 5)
            }
        }

        @Test("when attempts run out, the last answer is returned")
        func lastAnswer() async throws {
            try await Loopback.run([.status(500), .status(503, body: "first"), .status(502, body: "last")]) {
                loopback in
                let session = loopback.session.resilient(loopback.pipeline(retries: 2))
                let (data, response) = try await session.data(for: loopback.get)
                #expect(response.statusCode == 502 && data == Data("last".utf8))
            }
        }

        @Test("a 200 that contains an error is a failure if the remark declares it one")
        func errorInside() async throws {
            let busy = StubAnswer.json(200, #"{"error":"busy"}"#)
            try await Loopback.run([busy, busy, .json(200, "{}"), busy]) { loopback in
                let session = loopback.session.resilient(
                    loopback.pipeline(), remark: { $0.statusCode == 200 && $1.count > 2 ? .means(.transient) : nil })
                let (data, _) = try await session.data(for: loopback.get)
                #expect(data == Data("{}".utf8))
                #expect(loopback.server.requests.count == 3)
            }
        }

        @Test("malformed fields are ignored, and an answer with huge fields is either accepted or an error")
        func hugeFields() async throws {
            let nonsense = StubAnswer.status(
                503,
                headers: [
                    "Retry-After": "soon", "X-RateLimit-Remaining": "-1e99", "X-RateLimit-Reset": "☃",
                    "RateLimit": String(repeating: "\"", count: 1000), "Date": "yesterday",
                    "X-Long": String(repeating: "x", count: 50_000),
                ])
            let tooLong = StubAnswer.status(200, headers: ["X-Long": String(repeating: "x", count: 1_000_000)])
            try await Loopback.run([nonsense, .status(204), tooLong], fallback: tooLong) { loopback async throws in
                let session = loopback.session.resilient(loopback.pipeline(retries: 1))
                #expect(try await session.data(for: loopback.get).1.statusCode == 204)
                // Both are correct: the client may or may not have room for such a field.
                do {
                    #expect(try await session.data(for: loopback.get).1.statusCode == 200)
                } catch {
                    #expect(error is URLError)
                }
            }
        }

        // MARK: What may be sent twice

        @Test("a lost POST is sent once and throws its own error; with a key it is sent again, like a GET")
        func lostPost() async throws {
            try await Loopback.run(fallback: .resetMidBody(after: 1)) { loopback in
                let session = loopback.session.resilient(loopback.pipeline(retries: 1))
                for (request, count) in [(loopback.post(), 1), (loopback.post(key: "k"), 2), (loopback.get, 2)] {
                    loopback.server.reset()
                    loopback.server.fallback = .resetMidBody(after: 1)
                    await #expect(throws: URLError.self) { try await session.data(for: request) }
                    #expect(loopback.server.requests.count == count)
                }
                // A caller may declare the repeat safe.
                loopback.server.reset()
                loopback.server.fallback = .resetMidBody(after: 1)
                await #expect(throws: URLError.self) {
                    try await session.data(for: loopback.post(), options: RunOptions(isIdempotent: true))
                }
                #expect(loopback.server.requests.count == 2)
                await loopback.waitForConnections(atMost: 0)
            }
        }

        @Test("a POST that was answered with 500 is not sent again; a POST that was answered with 429 or 503 is")
        func answeredPost() async throws {
            for (status, count) in [(500, 1), (429, 2), (503, 2)] {
                try await Loopback.run(fallback: .status(status)) { loopback async throws in
                    let session = loopback.session.resilient(loopback.pipeline(retries: 1))
                    #expect(try await session.data(for: loopback.post()).1.statusCode == status)
                    #expect(loopback.server.requests.count == count)
                }
            }
        }

        @Test("a request whose body is a stream is sent once: the stream can't be read again")
        func bodyStream() async throws {
            for answer in [StubAnswer.status(503), .status(429), .status(401), .resetMidBody(after: 1)] {
                try await Loopback.run([answer, .status(200)]) { loopback async throws in
                    let session = loopback.session.resilient(loopback.pipeline(retries: 1), reauthorize: { $0 })
                    var request = loopback.get
                    request.httpMethod = "PUT"
                    request.httpBodyStream = InputStream(data: Data("payload".utf8))
                    _ = try? await session.data(for: request)
                    #expect(loopback.server.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["payload"])
                }
            }
        }

        @Test("a streamed body is not sent a second time, even if a rule asks for it")
        func bodyStreamByRule() async throws {
            try await Loopback.run(fallback: .status(503)) { loopback async throws in
                let pipeline = Pipeline(timeBase: loopback.clock) {
                    Retry(maxRetries: 1, backoff: .none, rules: { _ in .retry })
                }
                var request = loopback.get
                request.httpMethod = "PUT"
                request.httpBodyStream = InputStream(data: Data("payload".utf8))
                await #expect(throws: URLError(.requestBodyStreamExhausted)) {
                    try await loopback.session.resilient(pipeline).data(
                        for: request, options: RunOptions(isIdempotent: true))
                }
                #expect(loopback.server.requests.count == 1)
            }
        }

        @Test("a POST to a server that is gone is retried: no server has seen it")
        func serverGone() async throws {
            try await Loopback.run { loopback in
                await loopback.server.stop()
                let attempts = EventRecorder()
                let pipeline = loopback.pipeline(retries: 2)
                pipeline.observers.add(attempts)
                let session = loopback.session.resilient(pipeline)
                let error = await #expect(throws: URLError.self) { try await session.data(for: loopback.post()) }
                #expect(error?.isOffline == true)
                #expect(attempts.events(of: Retry.Event.self).count == 3)
            }
        }

        @Test("a POST that times out is sent once, whichever timeout fires, and a GET is sent again")
        func timedOutPost() async throws {
            try await Loopback.run(fallback: .status(200)) { loopback async throws in
                let timeouts: [Pipeline] = [
                    loopback.pipeline(retries: 1) { Timeout("attempt", limit: .seconds(5000)) },
                    loopback.pipeline(retries: 1) { ClientTimeout("attempt", limit: .seconds(5000)) },
                ]
                for pipeline in timeouts {
                    let session = loopback.session.resilient(pipeline)
                    loopback.server.reset()
                    loopback.server.fallback = .status(200)
                    loopback.server.hold()
                    let post = Task { try await session.data(for: loopback.post()).1.statusCode }
                    await loopback.server.waitForRequests(1)
                    loopback.clock.advance(by: .seconds(5000))
                    await #expect(throws: TimedOut.self) { try await post.value }
                    #expect(loopback.server.requests.count == 1)

                    let get = Task { try await session.data(for: loopback.get).1.statusCode }
                    await loopback.server.waitForRequests(2)
                    loopback.clock.advance(by: .seconds(5000))
                    await loopback.server.waitForRequests(3)
                    loopback.server.release()
                    #expect(try await get.value == 200)
                }
            }
        }

        @Test("the pipeline's own classifier is asked first")
        func ownClassifier() async throws {
            try await Loopback.run(fallback: .closeMidBody(after: 3)) { loopback in
                let never = Classifier { $0 is URLError ? .permanent : nil }
                let session = loopback.session.resilient(loopback.pipeline(classifier: never))
                await #expect(throws: URLError.self) { try await session.data(for: loopback.get) }
                #expect(loopback.server.requests.count == 1)
                let always = Classifier { $0 is URLError ? .transient : nil }
                let other = loopback.session.resilient(loopback.pipeline(retries: 1, classifier: always))
                await #expect(throws: URLError.self) { try await other.data(for: loopback.post()) }
                #expect(loopback.server.requests.count == 3)
            }
        }

        @Test("the pipeline's policies apply to all of its requests")
        func sharedPolicies() async throws {
            try await Loopback.run([.status(500), .resetMidBody(after: 1)]) { loopback in
                let breaker = CircuitBreaker(tripping: .consecutiveFailures(2), timeBase: loopback.clock)
                let pipeline = loopback.pipeline(retries: 0) { breaker }
                let session = loopback.session.resilient(pipeline)
                _ = try await session.data(for: loopback.get)
                await #expect(throws: URLError.self) { try await session.data(for: loopback.post()) }
                await #expect(throws: CircuitOpen.self) { try await session.data(for: loopback.get) }
                await #expect(throws: CircuitOpen.self) { try await pipeline.run {} }
                #expect(loopback.server.requests.count == 2)
            }
        }

        @Test("each attempt uploads the body")
        func upload() async throws {
            try await Loopback.run([.status(503), .status(201)]) { loopback async throws in
                let session = loopback.session.resilient(loopback.pipeline())
                var request = loopback.post(key: "k")
                request.httpBody = nil
                let body = Data(repeating: 7, count: 100_000)
                #expect(try await session.upload(for: request, from: body).1.statusCode == 201)
                #expect(loopback.server.requests.map(\.body) == [body, body])
            }
        }

        @Test(
            "a request outside HTTP skips the pipeline", arguments: ["file:///etc/hosts", "ftp://a/b", "about:x"])
        func otherSchemes(url: String) async throws {
            let recorder = EventRecorder()
            let pipeline = Pipeline(observers: PolicyObservers(recorder)) {}
            let session = URLSession.shared.resilient(pipeline)
            let request = URLRequest(url: try #require(URL(string: url)))
            await #expect(throws: URLError(.unsupportedURL)) { try await session.data(for: request) }
            #expect(recorder.events.isEmpty)
        }

        // MARK: Deadlines

        @Test("a body that stops in the middle fails at the deadline, and is not in flight any more")
        func slowBody() async throws {
            let stalled = StubAnswer.status(200, headers: ["Content-Length": "10"], body: "abc")
            try await Loopback.run([stalled, stalled]) { loopback in
                for (count, options) in [
                    RunOptions(), RunOptions(deadline: loopback.clock.now + .seconds(10_500)),
                ].enumerated() {
                    let session = loopback.session.resilient(
                        loopback.pipeline(retries: 0) { if count == 0 { ClientTimeout(limit: .seconds(10_000)) } })
                    let call = Task { try await session.data(for: loopback.get, options: options) }
                    await loopback.server.waitForRequests(count + 1)
                    loopback.clock.advance(by: .seconds(10_000))
                    await #expect(throws: TimedOut.self) { try await call.value }
                    #expect(loopback.bulkhead.status.inUse == 0)
                    await loopback.waitForConnections(atMost: 0)
                }
            }
        }

        @Test("a task's deadline ends the request within the attempt")
        func travelling() async throws {
            try await Loopback.run(fallback: .status(200)) { loopback in
                loopback.server.hold()
                let session = loopback.session.resilient(loopback.pipeline(), deadlineField: .standard)
                let call = Task {
                    try await CallDeadline(after: .seconds(1500), on: loopback.clock).run {
                        try await session.data(for: loopback.get)
                    }
                }
                await loopback.server.waitForRequests(1)
                #expect(loopback.server.requests[0].headers["x-envoy-expected-rq-timeout-ms"] == "1500000")
                loopback.clock.advance(by: .seconds(1500))
                await #expect(throws: TimedOut.self) { try await call.value }
                await loopback.waitForConnections(atMost: 0)
            }
        }

        @Test("the attempt's deadline is sent if the settings ask for it, never later than the caller's own")
        func field() async throws {
            try await Loopback.run(fallback: .status(200)) { loopback in
                let name = DeadlineField.standard.name
                let pipeline = loopback.pipeline { ClientTimeout(limit: .nanoseconds(1_500_000_999_999)) }
                let silent = loopback.session.resilient(pipeline)
                let telling = loopback.session.resilient(pipeline, deadlineField: .standard)
                _ = try await silent.data(for: loopback.get)
                _ = try await telling.data(for: loopback.get)
                _ = try await loopback.session.resilient(loopback.pipeline(), deadlineField: .standard)
                    .data(for: loopback.get)
                for value in ["70", "7000000", "soon"] {
                    var request = loopback.get
                    request.setValue(value, forHTTPHeaderField: name)
                    _ = try await telling.data(for: request)
                }
                #expect(
                    loopback.server.requests.map { $0.headers[name] } == [
                        nil, "1500000", nil, "70", "1500000", "1500000",
                    ])
            }
        }

        @Test("the priority and the attempt number are sent if the settings ask for it; a request's own fields stay")
        func originFields() async throws {
            try await Loopback.run(fallback: .status(503)) { loopback in
                let telling = loopback.session.resilient(loopback.pipeline(retries: 1), originFields: .standard)
                let silent = loopback.session.resilient(loopback.pipeline(retries: 0))
                let low = RunOptions(priority: .low)
                _ = try await telling.data(for: loopback.get, options: low)
                try await CallOrigin(priority: .high, attempt: 3).run {
                    _ = try await telling.data(for: loopback.get)
                    _ = try await telling.data(for: loopback.get, options: low)
                    var own = loopback.get
                    own.setValue("u=0", forHTTPHeaderField: "Priority")
                    own.setValue("9", forHTTPHeaderField: "X-Envoy-Attempt-Count")
                    _ = try await telling.data(for: own)
                    _ = try await silent.data(for: loopback.get)
                }
                let headers = loopback.server.requests.map(\.headers)
                #expect(headers.map { $0["priority"] } == ["u=5", "u=5", "u=1", "u=5", "u=0", nil])
                #expect(headers.map { $0["x-envoy-attempt-count"] } == [nil, "2", "3", "3", "9", nil])
            }
        }

        @Test("a request with less than a millisecond left is not sent")
        func nothingLeft() async throws {
            try await Loopback.run(fallback: .status(200)) { loopback in
                let pipeline = loopback.pipeline(retries: 0) { ClientTimeout(limit: .microseconds(900)) }
                let session = loopback.session.resilient(pipeline, deadlineField: .standard)
                await #expect(throws: URLError(.timedOut)) { try await session.data(for: loopback.get) }
                #expect(loopback.server.requests.isEmpty)
            }
        }

        @Test("the idle timeout is lowered to the attempt's time, in whole seconds, and never raised")
        func silence() async throws {
            try await Loopback.run { loopback async throws in
                let session = loopback.session.resilient(loopback.pipeline())
                func interval(_ left: Duration?, of own: TimeInterval? = nil) throws -> TimeInterval {
                    var request = URLRequest(url: loopback.server.url)
                    if let own { request.timeoutInterval = own }
                    let deadline = left.map { loopback.clock.now + $0 } ?? .distantFuture
                    return try session.limited(request, by: CallAttempt(number: 1, deadline: deadline)).timeoutInterval
                }
                #expect(try interval(nil) == 60)
                #expect(try interval(.milliseconds(1200)) == 2)
                #expect(try interval(.nanoseconds(1)) == 1)
                #expect(try interval(.seconds(-5)) == 1)
                #expect(try interval(.seconds(30), of: 7) == 7)
                #expect(try interval(.seconds(300)) == 60)
                #expect(try interval(.seconds(Int64.max / 10)) == 60)
                #expect(try interval(.seconds(300), of: .infinity) == 300)
            }
        }

        // MARK: Cancellation

        /// Where a call is when it is cancelled.
        enum Step: CaseIterable {
            case before, queue, head, body, upload, reauthorize, backoff

            /// The server's answers.
            var answers: [StubAnswer] {
                switch self {
                case .reauthorize: [.status(401)]
                case .backoff: [.status(503)]
                case .before, .queue, .head, .body, .upload: []
                }
            }
        }

        @Test("a call that is cancelled at any step leaves nothing behind", arguments: Step.allCases)
        func cancelled(at step: Step) async throws {
            try await Loopback.run(step.answers, fallback: .status(200)) { loopback async throws in
                let bare = try BareServer()
                let recorder = EventRecorder()
                let bulkhead = Bulkhead(
                    limit: 1, queue: 1, timeBase: loopback.clock, observers: PolicyObservers(recorder))
                let pipeline = Pipeline(timeBase: loopback.clock) {
                    Retry(maxRetries: 1, backoff: .constant(.seconds(30)))
                    bulkhead
                }
                let renewals = ScriptedOperation<Void, String>(fallback: .success("Bearer new"))
                renewals.hold()
                let session = loopback.session.resilient(
                    pipeline,
                    reauthorize: { request in
                        var request = request
                        request.setValue(try await renewals(), forHTTPHeaderField: "Authorization")
                        return request
                    })
                let held = step == .queue ? try bulkhead.tryAcquire() : nil
                if step == .head { loopback.server.hold() }
                let call = Task {
                    if step == .before { withUnsafeCurrentTask { $0?.cancel() } }
                    if step == .upload {
                        _ = try await session.upload(for: bare.put, from: Data(count: BareServer.large))
                    } else {
                        _ = try await session.data(for: step == .body ? bare.get : loopback.get)
                    }
                }
                switch step {
                case .before: break
                case .queue: await recorder.waitForEvents(1)
                case .head: await loopback.server.waitForRequests(1)
                case .body:
                    try await bare.read(1)
                    let head = "HTTP/1.1 200 OK\r\nContent-Length: \(BareServer.large + 1)\r\n\r\n"
                    try await bare.write(Data(head.utf8) + Data(count: BareServer.large))
                case .upload: try await bare.read(1_000_000)
                case .reauthorize: await renewals.waitForCalls(1)
                case .backoff: try await loopback.clock.waitForSleeper(dueIn: .seconds(30))
                }
                call.cancel()
                if step == .backoff {
                    await #expect(throws: CancelledWhileWaiting.self) { try await call.value }
                } else {
                    await #expect(throws: CancellationError.self) { try await call.value }
                }

                #expect(bulkhead.status.inUse == (step == .queue ? 1 : 0) && bulkhead.status.queued == 0)
                if let held { held.complete(.success) }
                #expect(bulkhead.status.inUse == 0 && loopback.clock.sleepers == [])
                let isAnswered = step == .reauthorize || step == .backoff
                #expect(loopback.server.requests.count == (isAnswered || step == .head ? 1 : 0))
                // The connection of a complete answer stays for the next request.
                await loopback.waitForConnections(atMost: isAnswered ? 1 : 0)
                if step == .body || step == .upload {
                    // The upload stops long before all of it has come.
                    let rest = try await bare.readToEnd()
                    #expect(rest < BareServer.large / 2)
                }
            }
        }

        @Test("calls that are cancelled just as their answers come always end")
        func volley() async throws {
            try await Loopback.run(fallback: .status(200, body: "ok"), idle: 10) { loopback in
                let session = loopback.session.resilient(loopback.pipeline(retries: 0))
                for round in 1...20 {
                    loopback.server.hold()
                    let calls = (0..<10).map { _ in Task { try await session.data(for: loopback.get).1.statusCode } }
                    await loopback.server.waitForRequests(10 * round)
                    loopback.server.release()
                    for call in calls { call.cancel() }
                    for call in calls {
                        switch await call.result {
                        case .success(let status): #expect(status == 200)
                        case .failure(let error): #expect(error is CancellationError)
                        }
                    }
                }
            }
        }

        @Test(
            "a POST that was answered with a redirect is not sent again, whatever the redirect's target answers",
            arguments: ["/done", "/?id=1", "/"])
        func redirected(to place: String) async throws {
            let done = StubAnswer.status(303, headers: ["Location": place])
            try await Loopback.run([done, .status(503), done, .status(503), .status(200), .status(503), .status(200)]) {
                loopback async throws in
                let session = loopback.session.resilient(loopback.pipeline())
                #expect(try await session.data(for: loopback.post()).1.statusCode == 503)
                #expect(loopback.server.requests.map(\.method) == ["POST", "GET"])
                // Without a redirect, a 503 means that the server did not act. And a GET may be sent again.
                let options = RunOptions(isIdempotent: true)
                #expect(try await session.data(for: loopback.post(), options: options).1.statusCode == 200)
                #expect(try await session.data(for: loopback.post()).1.statusCode == 200)
                #expect(loopback.server.requests.count == 7)
            }
        }

        @Test("a POST that was answered with a redirect is not sent again even with new credentials; a GET is")
        func redirectedToSignIn() async throws {
            let moved = StubAnswer.status(303, headers: ["Location": "/done"])
            try await Loopback.run([moved, .status(401), moved, .status(401), .status(200)]) {
                loopback async throws in
                let session = loopback.session.resilient(loopback.pipeline(), reauthorize: { $0 })
                #expect(try await session.data(for: loopback.post()).1.statusCode == 401)
                #expect(try await session.data(for: loopback.get).1.statusCode == 200)
                #expect(loopback.server.requests.map(\.method) == ["POST", "GET", "GET", "GET", "GET"])
            }
        }

        @Test("a POST that was redirected to an address without a listener is not sent again")
        func redirectedToNowhere() async throws {
            let answers = [StubAnswer.status(303, headers: ["Location": "http://127.0.0.1:1/done"])]
            try await Loopback.run(answers, fallback: .status(200)) { loopback async throws in
                let session = loopback.session.resilient(loopback.pipeline())
                await #expect(throws: URLError.self) { try await session.data(for: loopback.post()) }
                #expect(loopback.server.requests.map(\.method) == ["POST"])
            }
        }

        // MARK: Quotas, credentials

        @Test("a successful answer's remaining quota holds the next call, if the settings ask for it")
        func quotas() async throws {
            let spent = StubAnswer.status(200, headers: ["RateLimit": #""a";r=0;t=30"#])
            try await Loopback.run(fallback: spent) { loopback in
                let throttle = Throttle(limit: .unlimited, timeBase: loopback.clock)
                let pipeline = loopback.pipeline { throttle }
                let silent = loopback.session.resilient(pipeline)
                for _ in 0..<2 { _ = try await silent.data(for: loopback.get) }
                let noting = loopback.session.resilient(pipeline, notesQuotas: true)
                _ = try await noting.data(for: loopback.get)
                let error = await #expect(throws: ThrottleExceeded.self) { try await noting.data(for: loopback.get) }
                #expect(error?.retryAfter == .seconds(30))
                #expect(loopback.server.requests.count == 3)
            }
        }

        @Test("the quota fields of a failing response hold no call: any wait is in its verdict")
        func quotasOfFailures() async throws {
            let spent = StubAnswer.status(500, headers: ["RateLimit": #""a";r=0;t=30"#])
            try await Loopback.run(fallback: spent) { loopback async throws in
                let throttle = Throttle(limit: .unlimited, timeBase: loopback.clock)
                let session = loopback.session.resilient(loopback.pipeline(retries: 0) { throttle }, notesQuotas: true)
                #expect(try await session.data(for: loopback.get).1.statusCode == 500)
                #expect(throttle.status.isAllowed)
            }
        }

        @Test("a 401 renews the credentials once per call, within the same attempt")
        func unauthorized() async throws {
            let answers = [401, 503, 200, 401, 503, 401].map { StubAnswer.status($0) }
            try await Loopback.run(answers) { loopback async throws in
                let renewals = ScriptedOperation<Void, String>(fallback: .success("Bearer new"))
                let session = loopback.session.resilient(
                    loopback.pipeline(retries: 1),
                    reauthorize: { request in
                        var request = request
                        request.setValue(try await renewals(), forHTTPHeaderField: "Authorization")
                        return request
                    })
                // The next attempt also has the new credentials.
                #expect(try await session.data(for: loopback.get).1.statusCode == 200)
                #expect(
                    loopback.server.requests.map { $0.headers["authorization"] } == [nil, "Bearer new", "Bearer new"])
                #expect(try await session.data(for: loopback.get).1.statusCode == 401)
                #expect(renewals.callCount == 2 && loopback.server.requests.count == 6)
            }
        }

        @Test("a 401 is returned without other credentials, or without the hook")
        func noCredentials() async throws {
            try await Loopback.run(fallback: .status(401)) { loopback async throws in
                let session = loopback.session.resilient(loopback.pipeline(), reauthorize: { _ in nil })
                #expect(try await session.data(for: loopback.get).1.statusCode == 401)
                let without = loopback.session.resilient(loopback.pipeline())
                #expect(try await without.data(for: loopback.get).1.statusCode == 401)
                #expect(loopback.server.requests.count == 2)
                struct SignedOut: Error, VerdictConvertible { let verdict = Verdict.permanent }
                let failing = loopback.session.resilient(loopback.pipeline(), reauthorize: { _ in throw SignedOut() })
                await #expect(throws: SignedOut.self) { try await failing.data(for: loopback.get) }
                #expect(loopback.server.requests.count == 3)
            }
        }

        @Test("after a failed renewal, a retry of the call does not ask for credentials again")
        func failedRenewal() async throws {
            try await Loopback.run(fallback: .status(401)) { loopback async throws in
                let renewals = ScriptedOperation<Void, URLRequest?>(fallback: .failure(Unreachable()))
                let session = loopback.session.resilient(
                    loopback.pipeline(retries: 1), reauthorize: { _ in try await renewals() })
                #expect(try await session.data(for: loopback.get).1.statusCode == 401)
                #expect(renewals.callCount == 1 && loopback.server.requests.count == 2)
            }
        }
    }

    private struct Unreachable: Error, VerdictConvertible { let verdict = Verdict.transient }
#endif
