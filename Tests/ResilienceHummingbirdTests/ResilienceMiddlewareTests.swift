#if Hummingbird
    import HTTPTypes
    import Hummingbird
    import NIOCore
    import Resilience
    import ResilienceHTTP
    import ResilienceHummingbird
    import ResilienceTesting
    import ServiceLifecycle
    import TestSupport
    import Testing

    @Suite(.timeLimit(.minutes(20)), .responsive) struct ResilienceMiddlewareTests {
        private let tally = Tally()

        /// A pipeline with counted permits.
        private func serving(_ bulkhead: Bulkhead) -> Pipeline {
            Pipeline("serving") {
                tally
                bulkhead
            }
        }

        /// A server whose handler waits for a gate.
        private func router(_ bulkhead: Bulkhead, _ served: Tally, _ gate: Gate) -> Router<BasicRequestContext> {
            let router = Router()
            router.add(middleware: ResilienceMiddleware(serving(bulkhead)))
            router.get("/") { _, _ in
                try await served.run { try await gate.pass() }
                return "served"
            }
            return router
        }

        // MARK: Admission

        @Test("in a burst, as many requests as the limit are served, and all others get 503")
        func volleyOverTheLimit() async throws {
            let (bulkhead, gate) = (Bulkhead(limit: 4), Gate())
            let served = Tally()
            let router = router(bulkhead, served, gate)
            let responses = try await router.live { [tally] port in
                async let responses = volley(20, to: port) { _ in ("/", [:]) }
                await tally.wait(entered: 20, left: 16)
                #expect(bulkhead.status.inUse == 4)
                gate.open()
                return try await responses
            }
            #expect(responses.count { $0.status == .ok } == 4 && served.entered == 4)
            #expect(responses.count { $0.status == .serviceUnavailable } == 16)
            #expect(tally.left == 20 && bulkhead.status.inUse == 0 && bulkhead.status.queued == 0)
        }

        @Test("a client that leaves while its request is queued takes no permit with it")
        func leavesQueue() async throws {
            let (recorder, gate) = (EventRecorder(), Gate())
            let bulkhead = Bulkhead(limit: 1, queue: 1, observers: PolicyObservers(recorder))
            let served = Tally()
            let router = router(bulkhead, served, gate)
            let answers = try await router.live { [tally] port in
                async let first = send("/", to: port)
                await served.wait(entered: 1)
                try await withConnection(to: port) { _, outbound in
                    try await outbound.write(ByteBuffer(string: "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"))
                    await recorder.waitForEvents(1)
                    #expect(bulkhead.status.inUse == 1 && bulkhead.status.queued == 1)
                }
                gate.open()
                let answer = try await first
                await tally.wait(left: 2)
                #expect(bulkhead.status.inUse == 0 && bulkhead.status.queued == 0)
                return [answer, try await send("/", to: port)]
            }
            #expect(answers.map(\.status) == [.ok, .ok])
            #expect(recorder.events(of: Bulkhead.Event.self) == [.queued])
            #expect(tally.entered == 3 && bulkhead.status.inUse == 0)
        }

        @Test(
            "if the circuit is open or the service's own throttle rejects, the answer is a 503 with a time to come back"
        )
        func fields() async throws {
            let clock = ManualClock()
            let breaker = CircuitBreaker(openFor: .milliseconds(29_500), timeBase: clock)
            breaker.trip()
            let throttle = Throttle(limit: .perMinute(1), timeBase: clock)
            let router = Router()
            router.group("breaker").add(
                middleware: ResilienceMiddleware(Pipeline(timeBase: clock) { breaker })
            ).get { _, _ in "served" }
            router.group("throttle").add(
                middleware: ResilienceMiddleware(Pipeline(timeBase: clock) { throttle })
            ).get { _, _ in "served" }
            router.group("tenant").add(
                middleware: ResilienceMiddleware { _, _ in Pipeline(timeBase: clock) { throttle } }
            ).get { _, _ in "served" }
            try throttle.tryAcquire().complete(.success)
            try await router.live { port in
                for (uri, status, wait) in [("breaker", 503, "30"), ("throttle", 503, "60"), ("tenant", 429, "60")] {
                    let response = try await send("/\(uri)", to: port)
                    #expect(response.status.code == status && response.headers[text: "retry-after"] == wait, "\(uri)")
                }
            }
        }

        @Test("a request without a pipeline is not guarded")
        func unguarded() async throws {
            let router = Router()
            router.add(middleware: ResilienceMiddleware { request, _ in request.uri.path == "/a" ? closed : nil })
            router.get(":name") { _, _ in "served" }
            let statuses = try await router.live { port in
                try await [send("/a", to: port), send("/b", to: port)].map(\.status)
            }
            #expect(statuses == [.serviceUnavailable, .ok])
        }

        /// A pipeline that admits nobody.
        private var closed: Pipeline {
            let breaker = CircuitBreaker()
            breaker.setMode(.isolated)
            return Pipeline { breaker }
        }

        // MARK: Bodies

        @Test("a streamed response holds its permit until its body has been written (P56)")
        func streaming() async throws {
            let (bulkhead, gate) = (Bulkhead(limit: 1), Gate())
            let router = Router()
            router.add(middleware: ResilienceMiddleware(serving(bulkhead)))
            router.get("/") { _, _ in
                Response(
                    status: .ok,
                    body: ResponseBody { writer in
                        try await writer.write(ByteBuffer(string: "begin"))
                        try await gate.pass()
                        try await writer.write(ByteBuffer(string: "end"))
                        try await writer.finish(nil)
                    })
            }
            try await router.live { [tally] port in
                try await withConnection(to: port) { inbound, outbound in
                    try await outbound.write(ByteBuffer(string: "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"))
                    _ = try await inbound.text(upTo: "begin")
                    #expect(bulkhead.status.inUse == 1 && tally.left == 0)
                    let other = try await send("/", to: port)
                    #expect(other.status == .serviceUnavailable)
                    gate.open()
                    _ = try await inbound.text(upTo: "end")
                    await tally.wait(left: 2)
                }
            }
            #expect(bulkhead.status.inUse == 0)
            #expect(tally.verdicts.sorted { $0.rawValue < $1.rawValue } == [.success, .rejected])
        }

        @Test("a client that disconnects during a response returns its permit, and counts as cancelled")
        func disconnect() async throws {
            let bulkhead = Bulkhead(limit: 8)
            let router = Router()
            router.add(middleware: ResilienceMiddleware(serving(bulkhead)))
            router.get("/") { _, _ in Response(status: .ok, body: dots()) }
            try await router.live { [tally] port in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            try await withConnection(to: port) { inbound, outbound in
                                try await outbound.write(
                                    ByteBuffer(string: "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"))
                                _ = try await inbound.text(upTo: "....")
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                await tally.wait(left: 8)
                #expect(bulkhead.status.inUse == 0)
            }
            #expect(tally.verdicts == [Verdict.Kind](repeating: .cancelled, count: 8))
        }

        /// Echoes the body, and opens the gate after its first four bytes.
        private func echo(_ bulkhead: Bulkhead, _ halfway: Gate) -> Router<BasicRequestContext> {
            let router = Router()
            router.add(middleware: ResilienceMiddleware(serving(bulkhead)))
            router.post("/") { request, _ -> String in
                var text = ""
                for try await part in request.body {
                    text += String(buffer: part)
                    if text.utf8.count >= 4 { halfway.open() }
                }
                return text
            }
            return router
        }

        private static let halfRequest = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 8\r\n\r\nslow"

        @Test("a request whose body comes slowly holds its permit as soon as its head has come")
        func slowUpload() async throws {
            let (bulkhead, halfway) = (Bulkhead(limit: 1), Gate())
            try await echo(bulkhead, halfway).live { [tally] port in
                try await withConnection(to: port) { inbound, outbound in
                    try await outbound.write(ByteBuffer(string: Self.halfRequest))
                    try await halfway.pass()
                    #expect(bulkhead.status.inUse == 1 && tally.left == 0)
                    let other = try await send("/", to: port, method: .post)
                    #expect(other.status == .serviceUnavailable)
                    try await outbound.write(ByteBuffer(string: " but"))
                    let answer = try await inbound.answer(to: .post)
                    #expect(answer.status == .ok && answer.body == "slow but")
                    await tally.wait(left: 2)
                }
            }
            #expect(bulkhead.status.inUse == 0)
            #expect(tally.verdicts.sorted { $0.rawValue < $1.rawValue } == [.success, .rejected])
        }

        @Test("if a client leaves while it sends its body, its permit is returned")
        func leavesUpload() async throws {
            let (bulkhead, halfway) = (Bulkhead(limit: 1), Gate())
            try await echo(bulkhead, halfway).live { [tally] port in
                try await withConnection(to: port) { _, outbound in
                    try await outbound.write(ByteBuffer(string: Self.halfRequest))
                    try await halfway.pass()
                    #expect(bulkhead.status.inUse == 1 && tally.left == 0)
                }
                await tally.wait(left: 1)
                #expect(bulkhead.status.inUse == 0)
                let next = try await send("/", to: port, method: .post)
                #expect(next.status == .ok)
            }
        }

        @Test("a client that reads slowly holds its permit until it has read everything")
        func slowReader() async throws {
            let bulkhead = Bulkhead(limit: 1)
            let isEnough = Locked(false)
            let router = Router()
            router.add(middleware: ResilienceMiddleware(serving(bulkhead)))
            router.get("/") { _, _ in
                Response(status: .ok, body: dots { isEnough.withLock { $0 } })
            }
            try await router.live { [tally] port in
                try await withConnection(to: port) { inbound, outbound in
                    let request = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
                    try await outbound.write(ByteBuffer(string: request))
                    _ = try await inbound.text(upTo: "....")
                    #expect(bulkhead.status.inUse == 1 && tally.left == 0)
                    isEnough.withLock { $0 = true }
                    let rest = try await inbound.countToEnd()
                    #expect(rest > 0)
                    await tally.wait(left: 1)
                }
            }
            #expect(bulkhead.status.inUse == 0 && tally.verdicts == [.success])
        }

        @Test("a body's time limit ends the response, and closes the connection, if the client does not read")
        func bodyLimit() async throws {
            let clock = ManualClock()
            let recorder = EventRecorder()
            let bulkhead = Bulkhead(limit: 1, timeBase: clock)
            let pipeline = Pipeline("serving", timeBase: clock, observers: PolicyObservers(recorder)) {
                tally
                bulkhead
            }
            let router = Router()
            router.add(middleware: ResilienceMiddleware(pipeline, bodyLimit: .seconds(30)))
            router.get("/") { _, _ in Response(status: .ok, body: dots()) }
            try await router.live { [tally] port in
                try await withConnection(to: port) { inbound, outbound in
                    try await outbound.write(ByteBuffer(string: "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"))
                    _ = try await inbound.text(upTo: "....")
                    await clock.waitForSleepers(1)
                    clock.advance(by: .seconds(30))
                    await tally.wait(left: 1)
                    #expect(bulkhead.status.inUse == 0)
                    // The server closes it; otherwise this would read for ever.
                    _ = try? await inbound.countToEnd()
                }
            }
            #expect(recorder.contains(inOrder: [Timeout.Event.timedOut(.seconds(30))]))
        }

        @Test("if a body fails while it is produced, the permit is returned, and the call counts as a failure")
        func bodyFails() async throws {
            let bulkhead = Bulkhead(limit: 1)
            let router = Router()
            router.add(middleware: ResilienceMiddleware(serving(bulkhead)))
            router.get("/") { _, _ in
                Response(
                    status: .ok,
                    body: ResponseBody { writer in
                        try await writer.write(ByteBuffer(string: "begin"))
                        throw Secret()
                    })
            }
            try await router.live { [tally] port in
                try await withConnection(to: port) { inbound, outbound in
                    try await outbound.write(ByteBuffer(string: "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"))
                    let text = try? await inbound.text(upTo: "hunter2")
                    #expect(text?.contains("hunter2") != true)
                    await tally.wait(left: 1)
                }
            }
            #expect(bulkhead.status.inUse == 0 && tally.verdicts == [.uncertain])
        }

        private struct Replacing: RouterMiddleware {
            typealias Context = BasicRequestContext

            func handle(
                _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
            ) async throws -> Response {
                _ = try await next(request, context)
                return Response(status: .notModified)
            }
        }

        @Test("a response that is dropped unwritten returns its permit")
        func dropped() async throws {
            let bulkhead = Bulkhead(limit: 1)
            let router = Router()
            router.add(middleware: Replacing())
            router.add(middleware: ResilienceMiddleware(serving(bulkhead)))
            router.get("/") { _, _ in Response(status: .ok, body: dots()) }
            let statuses = try await router.live { [tally] port in
                var statuses: [Int] = []
                for number in 1...3 {
                    statuses.append(try await send("/", to: port).status.code)
                    await tally.wait(left: number)
                }
                return statuses
            }
            #expect(statuses == [304, 304, 304])
            #expect(bulkhead.status.inUse == 0 && tally.verdicts == [.cancelled, .cancelled, .cancelled])
        }

        @Test(
            "a response without a body returns its permit, with the response's verdict", arguments: [204, 404, 500])
        func empty(status: Int) async throws {
            let bulkhead = Bulkhead(limit: 1)
            let router = Router(options: .autoGenerateHeadEndpoints)
            router.add(middleware: ResilienceMiddleware(serving(bulkhead)))
            router.get("/") { _, _ in Response(status: .init(code: status)) }
            router.get("/text") { _, _ in Response(status: .init(code: status), body: dots()) }
            try await router.live { [tally] port in
                let get = try await send("/", to: port)
                let head = try await send("/text", to: port, method: .head)
                #expect(get.status.code == status && head.status.code == status)
                await tally.wait(left: 2)
            }
            let kind: Verdict.Kind = status < 500 ? .success : .transient
            #expect(bulkhead.status.inUse == 0 && tally.verdicts == [kind, kind])
        }

        // MARK: Handlers

        @Test("a handler that throws returns its permit, and its error is answered as without the middleware")
        func throwing() async throws {
            let bulkhead = Bulkhead(limit: 1)
            let router = Router()
            router.add(middleware: ResilienceMiddleware(serving(bulkhead)))
            router.get("/http") { _, _ -> String in throw HTTPError(.conflict) }
            router.get("/bug") { _, _ -> String in throw Secret() }
            router.get("/rejected") { _, _ -> String in
                throw FailedRequest(rejected, answer: .init(rejecting: rejected))
            }
            let statuses = try await router.live { port in
                var statuses: [Int] = []
                for uri in ["/http", "/bug", "/rejected"] { statuses.append(try await send(uri, to: port).status.code) }
                return statuses
            }
            #expect(statuses == [409, 500, 504])
            #expect(bulkhead.status.inUse == 0 && tally.verdicts == [.success, .uncertain, .rejected])
        }

        private let rejected = CallFailure(DeadlinePassed())

        @Test("an inner rejection is not a failure for outer policies, even if a throttle between them adds its fields")
        func rejectedFurtherIn() async throws {
            let router = Router()
            router.add(middleware: ResilienceMiddleware(serving(Bulkhead(limit: 1))))
            for name in ["minute", "day"] {
                router.add(middleware: ThrottleMiddleware(name, limit: .perMinute(10, burst: 10)) { _, _ in nil })
            }
            router.add(middleware: ResilienceMiddleware(closed))
            router.get("/") { _, _ in "served" }
            let response = try await router.live { try await send("/", to: $0) }
            #expect(response.status == .serviceUnavailable && response.headers[text: "ratelimit"] != nil)
            #expect(tally.verdicts == [.rejected])
        }

        @Test(
            "a client that asks for too little time does not open the service's circuit",
            arguments: ["handler", "translated", "timeout"])
        func impatient(ended: String) async throws {
            let clock = ManualClock()
            let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
            let serving = Pipeline(timeBase: clock) {
                tally
                breaker
                if ended == "timeout" { Timeout(limit: .seconds(60)) }
            }
            let upstream = Pipeline(timeBase: clock) { Retry() }
            let (begun, began) = AsyncStream.makeStream(of: Void.self)
            let router = Router()
            router.add(middleware: CallDeadlineMiddleware(timeBase: clock))
            router.add(middleware: ResilienceMiddleware(serving))
            if ended == "translated" { router.add(middleware: CallFailureMiddleware()) }
            router.get("/") { _, _ in
                let work = {
                    began.finish()
                    try await Gate().pass()
                }
                if ended == "timeout" { try await work() } else { try await upstream.run(work) }
                return "served"
            }
            let response = try await router.live { port in
                let field = HTTPField.Name(DeadlineField.standard.name)!
                async let response = send("/", to: port, headers: [field: "5"])
                for await _ in begun {}
                clock.advance(by: .milliseconds(5))
                return try await response
            }
            #expect(response.status == .gatewayTimeout)
            #expect(tally.verdicts == [.cancelled] && breaker.status.state == .closed)
        }

        @Test("a timeout cancels the handler, and the request is answered with 504", arguments: [true, false])
        func timeout(isFirst: Bool) async throws {
            let clock = ManualClock()
            let recorder = EventRecorder()
            let bulkhead = Bulkhead(limit: 1, timeBase: clock)
            let pipeline = Pipeline("serving", timeBase: clock, observers: PolicyObservers(recorder)) {
                if isFirst { Timeout(limit: .seconds(5)) }
                tally
                bulkhead
                if !isFirst { Timeout(limit: .seconds(5)) }
            }
            let router = Router()
            router.add(middleware: ResilienceMiddleware(pipeline))
            router.get("/") { _, _ in
                try await Gate().pass()
                return "served"
            }
            let response = try await router.live { [tally] port in
                async let response = send("/", to: port)
                await tally.wait(entered: 1)
                await clock.waitForSleepers(1)
                clock.advance(by: .seconds(5))
                return try await response
            }
            #expect(response.status == .gatewayTimeout)
            #expect(bulkhead.status.inUse == 0 && tally.left == 1)
            #expect(recorder.count(Timeout.Event.self) == 1)
            // The pipeline's parts send no call events of their own.
            #expect(recorder.count(Pipeline.Event.self) == 2)
        }

        @Test("a client timeout's deadline travels to the pipelines of the handler")
        func travels() async throws {
            let clock = ManualClock()
            let pipeline = Pipeline("serving", timeBase: clock) { ClientTimeout(limit: .seconds(5)) }
            let router = Router()
            router.add(middleware: ResilienceMiddleware(pipeline))
            router.get("/") { _, _ in "\(CallDeadline.current?.remaining ?? .zero)" }
            let response = try await router.live { try await send("/", to: $0) }
            #expect(response.body == "\(Duration.seconds(5))")
        }

        @Test("requests that are queued at the server's shutdown are served, and return their permits")
        func shutdown() async throws {
            let bulkhead = Bulkhead(limit: 1, queue: 8)
            let router = Router()
            router.add(middleware: ResilienceMiddleware(serving(bulkhead)))
            router.get("/") { _, _ in
                // The handler runs until the shutdown has begun.
                try await gracefulShutdown()
                return "served"
            }
            let responses = Locked<[Task<Answer, any Error>]>([])
            try await router.live { [tally] port in
                let tasks = (0..<5).map { _ in Task { try await send("/", to: port) } }
                responses.withLock { $0 = tasks }
                await tally.wait(entered: 5)
            }
            for task in responses.withLock({ $0 }) {
                let response = try await task.value
                #expect(response.status == .ok && response.body == "served")
            }
            #expect(tally.left == 5 && bulkhead.status.inUse == 0 && bulkhead.status.queued == 0)
        }
    }
#endif
