#if GRPC
    import GRPCCore
    import GRPCInProcessTransport
    import Resilience
    import ResilienceGRPC
    import ResilienceTesting
    import TestSupport
    import Testing

    @Suite(.responsive) struct PipelineServerInterceptorTests {
        let clock = ManualClock()
        let bulkhead: Bulkhead
        let pipeline: Pipeline

        init() {
            let bulkhead = Bulkhead(limit: 1, queue: 1, timeBase: clock)
            self.bulkhead = bulkhead
            pipeline = Pipeline("limits", timeBase: clock) { bulkhead }
        }

        private func serve<R: Sendable>(
            _ handler: @escaping Handler, _ interceptor: PipelineServerInterceptor? = nil,
            _ body:
                @escaping @Sendable (GRPCClient<InProcessTransport.Client>, GRPCServer<InProcessTransport.Server>)
                async throws
                -> R
        ) throws -> R {
            let interceptor = interceptor ?? PipelineServerInterceptor(through: pipeline)
            return try clock.run {
                try await withService(handler, interceptors: [interceptor], transport: { $0 }, body)
            }
        }

        @Test("an RPC of each kind passes, and returns its permit", arguments: Shape.allCases)
        func shapes(_ shape: Shape) throws {
            let script = Script(shape.handler)
            let response = try serve(script.handle) { client, _ in try await shape.call(client) }
            #expect(response == shape.response && script.visits.map(\.messages) == [shape.request])
            #expect(bulkhead.status.inUse == 0)
        }

        @Test("excess RPCs are rejected before their handler, and the others wait their turn")
        func limits() throws {
            let gate = Gate()
            let script = Script(wait(for: gate, then: answer("x")))
            try serve(script.handle) { client, _ in
                async let first = client.send()
                async let second = client.send()
                await clock.runUntilIdle()
                #expect(bulkhead.status.inUse == 1 && bulkhead.status.queued == 1)
                let error = await client.failure()
                #expect(error?.code == .resourceExhausted && error?.message == "There are too many calls now.")
                #expect(script.visits.count == 1)
                gate.open()
                let answers = try await [first, second]
                #expect(answers == ["x", "x"])
            }
            #expect(bulkhead.status.inUse == 0)
        }

        @Test("a rejection tells the client how long to wait, and our client obeys")
        func pushback() throws {
            let throttle = Throttle("rate", limit: .perSecond(1, burst: 1), timeBase: clock)
            let limits = Pipeline("limits", timeBase: clock) { throttle }
            try serve(answer("x"), PipelineServerInterceptor(through: limits)) { client, _ in
                #expect(await client.failure() == nil)
                let error = await client.failure()
                #expect(error?.code == .resourceExhausted && error?.metadata == ["grpc-retry-pushback-ms": "1000"])
                #expect(error?.verdict == .throttled(retryAfter: .seconds(1)))
                let retrying = Pipeline("client", timeBase: clock) { Retry(maxRetries: 1, throttledBackoff: .none) }
                let start = clock.now
                let answer = try await retrying.run { try await client.send() }
                #expect(answer == "x")
                #expect(clock.now == start + .seconds(1))
            }
        }

        @Test("an RPC's attempt travels with its handler's task, and its priority only if the interceptor reads it")
        func origin() throws {
            let seen = Journal()
            let handler: Handler = { _, _ in
                TextResponse { writer in
                    let origin = CallOrigin.current
                    seen.note("\(origin?.priority?.rawValue ?? 1) \(origin?.attempt ?? 0)")
                    try await writer.write("x")
                    return [:]
                }
            }
            for highest in [nil, CallPriority.normal] {
                let interceptor = PipelineServerInterceptor(through: pipeline, highestPriority: highest)
                try serve(handler, interceptor) { client, _ in
                    for metadata in [
                        [:], ["priority": "u=5", "grpc-previous-rpc-attempts": "1"], ["priority": "u=0"],
                        ["priority": "?", "grpc-previous-rpc-attempts": "-7"],
                        ["grpc-previous-rpc-attempts": "9223372036854775807"],
                    ] as [Metadata] {
                        let answer = try await client.send(metadata: metadata)
                        #expect(answer == "x")
                    }
                }
            }
            #expect(
                seen.lines == [
                    "1 1", "1 2", "1 1", "1 1", "1 \(Int.max)", "1 1", "-64 2", "0 1", "1 1", "1 \(Int.max)",
                ])
        }

        @Test("a client is told not to retry after its handler retried in vain, or at its third attempt")
        func advice() throws {
            let retrying = Pipeline(timeBase: clock) { Retry(maxRetries: 2, backoff: .none) }
            let asked = Journal()
            for early in [true, false] {
                let handler: Handler = { _, _ in
                    let ask: @Sendable () async throws -> Void = {
                        try await retrying.run {
                            asked.note("asked")
                            throw RPCError(code: .unavailable, message: "")
                        }
                    }
                    if early { try await ask() }
                    return TextResponse { _ in
                        try await ask()
                        return [:]
                    }
                }
                try serve(handler) { client, _ in
                    var pushbacks: [String?] = []
                    for attempts in ["0", "1", "2"] {
                        let error = await client.failure(metadata: ["grpc-previous-rpc-attempts": "\(attempts)"])
                        pushbacks.append(
                            error.flatMap { $0.metadata.first { $0.key == "grpc-retry-pushback-ms" } }.map {
                                "\($0.value)"
                            })
                    }
                    #expect(pushbacks.map { $0?.contains("-1") ?? false } == [true, false, true])
                }
            }
            #expect(asked.lines.count == 10)
        }

        @Test(
            "advice not to retry replaces a rejection's wait, and is added to a handler's error without a pushback")
        func adviceAndWaits() throws {
            struct Own: Error, RPCErrorConvertible {
                let rpcErrorMetadata: Metadata
                var rpcErrorCode: RPCError.Code { .unavailable }
                var rpcErrorMessage: String { "" }
            }
            let answers: [(error: any Error, pushback: String)] = [
                (CircuitOpen(policy: "a", retryAfter: .seconds(2)), "-1"), (Own(rpcErrorMetadata: [:]), "-1"),
                (Own(rpcErrorMetadata: ["grpc-retry-pushback-ms": "500"]), "500"),
                (RPCError(code: .unavailable, message: "", metadata: ["grpc-retry-pushback-ms": "500"]), "500"),
            ]
            for (error, pushback) in answers {
                let handler: Handler = { _, _ in throw error }
                try serve(handler) { client, _ in
                    let answer = await client.failure(metadata: ["grpc-previous-rpc-attempts": "2"])
                    #expect(answer?.metadata == ["grpc-retry-pushback-ms": .string(pushback)])
                }
            }
        }

        @Test("a stream holds its permit until it ends, with success or failure", arguments: [false, true])
        func streams(_ fails: Bool) throws {
            let gate = Gate()
            let handler: Handler = { _, _ in
                TextResponse { writer in
                    try await writer.write("x")
                    await gate.wait()
                    if fails { throw RPCError(code: .dataLoss, message: "") }
                    return [:]
                }
            }
            try serve(handler) { client, _ in
                try await client.serverStreaming(
                    request: ClientRequest(message: "a"), descriptor: method, serializer: Text(), deserializer: Text(),
                    options: .defaults
                ) { response in
                    do {
                        for try await _ in response.messages {
                            #expect(bulkhead.status.inUse == 1)
                            gate.open()
                        }
                        #expect(!fails)
                    } catch {
                        #expect(fails && (error as? RPCError)?.code == .dataLoss)
                    }
                }
                #expect(bulkhead.status.inUse == 0)
            }
        }

        @Test("a failing handler returns its permit, whatever it throws")
        func failures() throws {
            struct Own: Error {}
            struct Convertible: Error, RPCErrorConvertible {
                var rpcErrorCode: RPCError.Code { .notFound }
                var rpcErrorMessage: String { "converted" }
            }
            let errors: [(any Error, RPCError.Code)] = [
                (RPCError(code: .aborted, message: "own"), .aborted), (Own(), .unknown), (Convertible(), .notFound),
                (CancellationError(), .cancelled), (CircuitOpen(policy: "up", retryAfter: .seconds(2)), .unavailable),
                (BulkheadFull(policy: "up", reason: .full), .resourceExhausted), (DeadlinePassed(), .deadlineExceeded),
                (TimedOut(policy: "up", limit: .seconds(1), underlying: nil), .deadlineExceeded),
            ]
            for (error, code) in errors {
                for isLate in [false, true] {
                    let handler: Handler = { _, _ in
                        if !isLate { throw error }
                        return TextResponse { _ in throw error }
                    }
                    let answer = try serve(handler) { client, _ in await client.failure() }
                    #expect(answer?.code == code, "\(error)")
                    #expect(bulkhead.status.inUse == 0)
                    if error is CircuitOpen { #expect(answer?.metadata == ["grpc-retry-pushback-ms": "2000"]) }
                }
            }
        }

        @Test("a handler's response that means failure reaches the client, and the permit is returned")
        func refused() throws {
            let handler: Handler = { _, _ in TextResponse(error: RPCError(code: .outOfRange, message: "no")) }
            let error = try serve(handler) { client, _ in await client.failure() }
            #expect(error?.code == .outOfRange && error?.message == "no" && bulkhead.status.inUse == 0)
        }

        @Test(
            "the client's timeout travels to the handler and to the response's producer",
            arguments: [
                ("90S", .seconds(90)), ("99999999S", .seconds(99_999_999)), ("soon", nil), ("", nil), ("1", nil),
            ]
                as [(String, Duration?)])
        func deadlines(_ text: String, _ expected: Duration?) throws {
            let handler: Handler = { _, _ in
                let inHandler = CallDeadline.current?.remaining
                return TextResponse { writer in
                    try await writer.write("\(inHandler == expected) \(CallDeadline.current?.remaining == expected)")
                    return [:]
                }
            }
            let answer = try serve(handler) { client, _ in
                try await client.send(metadata: ["grpc-timeout": .string(text)])
            }
            #expect(answer == "true true")
        }

        @Test("without a timeout, the handler has no deadline, unless a client timeout of the pipeline sets one")
        func narrow() throws {
            let handler: Handler = { _, _ in
                TextResponse { writer in
                    try await writer.write("\(CallDeadline.current?.remaining.components.seconds ?? -1)")
                    return [:]
                }
            }
            let narrow = Pipeline("narrow", timeBase: clock) { ClientTimeout(limit: .seconds(4)) }
            #expect(try serve(handler) { client, _ in try await client.send() } == "-1")
            #expect(
                try serve(handler, PipelineServerInterceptor(through: narrow)) { client, _ in try await client.send() }
                    == "4")
        }

        @Test("an RPC never reaches its handler if its time runs out in the queue, or has already run out")
        func late() throws {
            let gate = Gate()
            let script = Script(wait(for: gate, then: answer("x")))
            try serve(script.handle) { client, _ in
                #expect(await client.failure(metadata: ["grpc-timeout": "0n"])?.code == .deadlineExceeded)
                async let first = client.send()
                await clock.runUntilIdle()
                let start = clock.now
                // gRPC's clock in the server is the system's: an hour won't pass. The bulkhead rejects an RPC that
                // waited until its deadline.
                #expect(await client.failure(metadata: ["grpc-timeout": "1H"])?.code == .resourceExhausted)
                #expect(clock.now == start + .seconds(3600))
                gate.open()
                _ = try await first
            }
            #expect(script.visits.count == 1 && bulkhead.status.inUse == 0 && bulkhead.status.queued == 0)
        }

        @Test("an RPC that its client cancels leaves the queue")
        func givenUp() throws {
            let gate = Gate()
            let script = Script(wait(for: gate, then: answer("x")))
            try serve(script.handle) { client, server in
                async let first = client.failure()
                await clock.runUntilIdle()
                async let second = client.failure()
                await clock.runUntilIdle()
                #expect(bulkhead.status.queued == 1)
                // A server that shuts down cancels its RPCs, like a client that leaves.
                server.beginGracefulShutdown()
                #expect(await second?.code == .cancelled)
                #expect(bulkhead.status.queued == 0 && bulkhead.status.inUse == 1)
                gate.open()
                _ = await first
            }
            #expect(script.visits.count == 1 && bulkhead.status.inUse == 0)
        }

        @Test("a cancelled RPC counts neither as success nor as failure")
        func neutral() throws {
            let breaker = CircuitBreaker("breaker", tripping: .consecutiveFailures(1), timeBase: clock)
            let guarded = Pipeline("guarded", timeBase: clock) { breaker }
            let handler: Handler = { request, context in
                if request.metadata.isEmpty { context.cancellation.cancel() }
                throw RPCError(code: .unavailable, message: "")
            }
            try serve(handler, PipelineServerInterceptor(through: guarded)) { client, _ in
                _ = await client.failure()
                #expect(breaker.status.isAllowed)
                _ = await client.failure(metadata: ["key": "value"])
                #expect(!breaker.status.isAllowed)
            }
        }

        @Test("each method uses its own pipeline and options")
        func methods() throws {
            let other = Bulkhead("other", limit: 1, timeBase: clock)
            let gate = Gate()
            let interceptor = PipelineServerInterceptor { descriptor in
                descriptor == method ? pipeline : Pipeline("other", timeBase: clock) { other }
            }
            try serve(wait(for: gate, then: answer("x")), interceptor) { client, _ in
                async let first = client.send(to: method)
                async let second = client.send(to: otherMethod)
                await clock.runUntilIdle()
                #expect(bulkhead.status.inUse == 1 && other.status.inUse == 1)
                gate.open()
                _ = try await (first, second)
            }
        }

        @Test("a response that is never produced returns its permit")
        func unproduced() async throws {
            let interceptor = PipelineServerInterceptor(through: pipeline)
            let context = ServerContext(
                descriptor: method, remotePeer: "", localPeer: "", cancellation: ServerContext.RPCCancellationHandle())
            let request = TextRequest(single: ServerRequest(metadata: [:], message: "a"))
            do {
                let response = try await interceptor.intercept(request: request, context: context) { _, _ in
                    TextResponse { _ in [:] }
                }
                #expect(bulkhead.status.inUse == 1)
                _ = consume response
            }
            #expect(bulkhead.status.inUse == 0)
        }
    }
#endif
