#if GRPC
    import GRPCCore
    import Resilience
    import ResilienceGRPC
    import ResilienceTesting
    import Testing

    /// Permits, cancellations, deadlines and rejections of RPCs, against a server in this process.
    @Suite struct StreamedRPCTests {
        let clock = ManualClock()
        let bulkhead: Bulkhead
        let pipeline: Pipeline

        init() {
            let bulkhead = Bulkhead(limit: 1, queue: 1, timeBase: clock)
            self.bulkhead = bulkhead
            pipeline = Pipeline("test", timeBase: clock) {
                Retry(maxRetries: 2, backoff: .constant(.seconds(1)))
                bulkhead
            }
        }

        @Test("a bidirectional stream holds its permit until it ends", arguments: 0..<20 as Range<UInt64>)
        func conversation(_ seed: UInt64) throws {
            let echo: Handler = { request, _ in
                TextResponse { writer in
                    for try await message in request.messages { try await writer.write("echo " + message) }
                    return [:]
                }
            }
            let heard = try clock.run(seed: seed) {
                try await withService(echo, through: pipeline) { client in
                    let (turns, turn) = AsyncStream.makeStream(of: String.self)
                    return try await client.bidirectionalStreaming(
                        request: StreamingClientRequest<String> { writer in
                            for await text in turns { try await writer.write(text) }
                        }, descriptor: method, serializer: Text(), deserializer: Text(), options: .defaults
                    ) { response in
                        // The metadata came before anything was written.
                        turn.yield("1")
                        var heard: [String] = []
                        for try await message in response.messages {
                            heard.append(message)
                            #expect(bulkhead.status.inUse == 1)
                            if heard.count < 3 { turn.yield("\(heard.count + 1)") } else { turn.finish() }
                        }
                        #expect(bulkhead.status.inUse == 0)
                        return heard
                    }
                }
            }
            #expect(heard == ["echo 1", "echo 2", "echo 3"])
        }

        @Test("when a caller leaves a stream, its permit is returned, and the breaker counts nothing")
        func leaves() throws {
            let breaker = CircuitBreaker("breaker", tripping: .consecutiveFailures(1), timeBase: clock)
            let pipeline = Pipeline("test", timeBase: clock) {
                breaker
                bulkhead
            }
            let some: Handler = { _, _ in
                TextResponse { writer in
                    try await writer.write(contentsOf: Array(repeating: "x", count: 100))
                    return [:]
                }
            }
            let first = try clock.run {
                try await withService(some, through: pipeline) { client in
                    let first = try await client.serverStreaming(
                        request: ClientRequest(message: "a"), descriptor: method, serializer: Text(),
                        deserializer: Text(),
                        options: .defaults
                    ) { response in try await response.messages.first { _ in true } }
                    #expect(bulkhead.status.inUse == 0)
                    return first
                }
            }
            #expect(first == "x" && breaker.status.isAllowed)
        }

        @Test(
            "an RPC that is cancelled at any step holds no permit and no place in the queue",
            arguments: ["before", "queued", "head", "body", "backoff"])
        func cancelled(_ step: String) throws {
            let gate = Gate()
            let script = Script(
                step == "backoff"
                    ? fail(.unavailable)
                    : step == "body" ? answer("x", thenWaitFor: gate) : wait(for: gate, then: answer("x")))
            let error = try clock.run {
                try await withService(script.handle, through: pipeline) { client in
                    let held = step == "queued" ? try bulkhead.tryAcquire() : nil
                    let call = Task {
                        if step == "before" { withUnsafeCurrentTask { $0?.cancel() } }
                        return await client.failure()
                    }
                    await clock.runUntilIdle()
                    if step == "queued" { #expect(bulkhead.status.queued == 1) }
                    if step == "backoff" { #expect(clock.sleepers.count == 1) }
                    call.cancel()
                    let error = await call.value
                    if let held { held.complete(.success) }
                    #expect(bulkhead.status.inUse == 0 && bulkhead.status.queued == 0)
                    gate.open()
                    return error
                }
            }
            #expect(error?.code == .cancelled, "\(String(describing: error))")
            #expect(script.visits.count == (step == "before" || step == "queued" ? 0 : 1))
        }

        @Test("each attempt sends the server its remaining time")
        func timeouts() throws {
            let script = Script(fail(.unavailable), answer("x"))
            _ = try clock.run {
                try await withService(script.handle, through: pipeline) {
                    try await $0.send(options: .timeout(.seconds(30)))
                }
            }
            #expect(script.visits.map { $0.first("grpc-timeout") } == ["30000m", "29000m"])
        }

        @Test("a task's deadline, a run option and a client timeout reach the server")
        func deadlines() throws {
            let script = Script(answer("x"))
            let narrow = Pipeline("narrow", timeBase: clock) { ClientTimeout(limit: .seconds(4)) }
            try clock.run {
                try await withService(script.handle, through: pipeline) { client in
                    _ = try await CallDeadline(after: .seconds(5), on: clock).run { try await client.send() }
                    _ = try await client.send()
                }
                try await withService(script.handle, through: narrow) { _ = try await $0.send() }
                let options = RunOptions(deadline: clock.now + .seconds(3))
                try await withService(script.handle, through: narrow, options: options) { _ = try await $0.send() }
            }
            #expect(script.visits.map { $0.first("grpc-timeout") } == ["5000000u", nil, "4000000u", "3000000u"])
        }

        @Test("an RPC whose time runs out fails, before the head or within the body", arguments: [false, true])
        func timedOut(_ inBody: Bool) throws {
            let gate = Gate()
            let handler = inBody ? answer("x", thenWaitFor: gate) : wait(for: gate, then: answer("x"))
            let start = clock.now
            let error = try clock.run {
                try await withService(handler, through: pipeline) { client in
                    let error = await CallDeadline(after: .seconds(5), on: clock).run { await client.failure() }
                    #expect(bulkhead.status.inUse == 0)
                    gate.open()
                    return error
                }
            }
            #expect(error?.code == .deadlineExceeded && error?.cause is TimedOut, "\(String(describing: error))")
            #expect(clock.now == start + .seconds(5))
        }

        @Test(
            "an attempt that a timeout ends may have had its effect, and is repeated if that is safe",
            arguments: [nil, true] as [Bool?])
        func attemptTimedOut(isIdempotent: Bool?) throws {
            let gate = Gate()
            let script = Script(wait(for: gate, then: answer("late")), answer("x"))
            let pipeline = Pipeline("test", timeBase: clock) {
                Retry(maxRetries: 1, backoff: .none)
                Timeout(limit: .seconds(2))
                bulkhead
            }
            let options = RunOptions(isIdempotent: isIdempotent)
            let error = try clock.run {
                try await withService(script.handle, through: pipeline, options: options) { client in
                    defer { gate.open() }
                    return await client.failure()
                }
            }
            #expect(error?.code == (isIdempotent == true ? nil : .deadlineExceeded) && bulkhead.status.inUse == 0)
            #expect(script.visits.count == (isIdempotent == true ? 2 : 1))
        }

        @Test("an attempt whose timeout fires while it waits for a permit was not sent, and is repeated")
        func queuedTooLong() throws {
            let script = Script(answer("x"))
            let pipeline = Pipeline("test", timeBase: clock) {
                Retry(maxRetries: 1, backoff: .none)
                Timeout(limit: .seconds(2))
                bulkhead
            }
            let error = try clock.run {
                try await withService(script.handle, through: pipeline) { client in
                    let held = try bulkhead.tryAcquire()
                    let call = Task { await client.failure() }
                    await clock.runUntilIdle()
                    clock.advance(by: .seconds(2))
                    await clock.runUntilIdle()
                    held.complete(.success)
                    return await call.value
                }
            }
            #expect(error == nil && script.visits.count == 1 && bulkhead.status.inUse == 0)
        }

        @Test(
            "a client timeout ends an attempt even if the server is silent, before the head or within the body",
            arguments: [false, true])
        func clientTimeout(_ inBody: Bool) throws {
            let gate = Gate()
            let handler = inBody ? answer("x", thenWaitFor: gate) : wait(for: gate, then: answer("x"))
            let breaker = CircuitBreaker("breaker", tripping: .consecutiveFailures(1), timeBase: clock)
            let pipeline = Pipeline("test", timeBase: clock) {
                breaker
                bulkhead
                ClientTimeout(limit: .seconds(2))
            }
            let start = clock.now
            let error = try clock.run {
                try await withService(handler, through: pipeline) { client in
                    let error = await CallDeadline(after: .seconds(50), on: clock).run { await client.failure() }
                    #expect(bulkhead.status.inUse == 0)
                    gate.open()
                    return error
                }
            }
            #expect(error?.code == .deadlineExceeded && error?.cause is TimedOut, "\(String(describing: error))")
            #expect(clock.now == start + .seconds(2))
            #expect(!breaker.status.isAllowed)
        }

        @Test("an attempt that its client timeout ends may have had its effect, and is repeated if that is safe")
        func clientTimeoutRepeated() throws {
            for (isIdempotent, attempts) in [(nil, 1), (true, 2)] as [(Bool?, Int)] {
                let gate = Gate()
                let script = Script(wait(for: gate, then: answer("late")), answer("x"))
                let pipeline = Pipeline("test", timeBase: clock) {
                    Retry(maxRetries: 1, backoff: .none)
                    ClientTimeout(limit: .seconds(2))
                }
                let options = RunOptions(isIdempotent: isIdempotent)
                let error = try clock.run {
                    try await withService(script.handle, through: pipeline, options: options) { client in
                        defer { gate.open() }
                        return await client.failure()
                    }
                }
                #expect(script.visits.count == attempts && error?.code == (attempts == 1 ? .deadlineExceeded : nil))
            }
        }

        @Test("a timeout within the body fails the call at once, and a breaker counts it once")
        func timeoutInBody() throws {
            let gate = Gate()
            let script = Script(fail(.unavailable), answer("x", thenWaitFor: gate))
            let breaker = CircuitBreaker("breaker", tripping: .consecutiveFailures(9), timeBase: clock)
            let recorder = EventRecorder()
            let pipeline = Pipeline("test", timeBase: clock, observers: PolicyObservers(recorder)) {
                Retry(maxRetries: 5, backoff: .constant(.seconds(1)))
                breaker
                Timeout(limit: .seconds(2))
            }
            let start = clock.now
            let error = try clock.run {
                try await withService(script.handle, through: pipeline) { client in
                    defer { gate.open() }
                    return await client.failure()
                }
            }
            #expect(error?.code == .deadlineExceeded && error?.cause is TimedOut, "\(String(describing: error))")
            #expect(clock.now == start + .seconds(3) && script.visits.count == 2)
            #expect(breaker.status.failureCount == 2)
            #expect(recorder.count(Retry.Event.self) { $0.kind == "retrying" } == 1)
        }

        @Test("if a server fails without reading a long request, the client learns it, and the request's producer ends")
        func unread() throws {
            let script = Script({ _, _ in throw RPCError(code: .permissionDenied, message: "no") })
            let error = try clock.run {
                try await withService(script.handle, through: pipeline) { client in
                    do {
                        _ = try await client.clientStreaming(
                            request: StreamingClientRequest { writer in
                                while true { try await writer.write(String(repeating: "x", count: 10_000)) }
                            }, descriptor: method, serializer: Text(), deserializer: Text(), options: .defaults
                        ) { try $0.message }
                        return nil as RPCError?
                    } catch {
                        return error as? RPCError
                    }
                }
            }
            #expect(error?.code == .permissionDenied && bulkhead.status.inUse == 0)
        }

        @Test("a wait that would not end in time does not begin")
        func noTime() throws {
            let script = Script(fail(.unavailable, ["grpc-retry-pushback-ms": "31000"]))
            let start = clock.now
            let error = try clock.run {
                try await withService(script.handle, through: pipeline) {
                    await $0.failure(options: .timeout(.seconds(30)))
                }
            }
            #expect(error?.code == .unavailable && clock.now == start)
        }

        @Test("the error of a rejected call has a status and a cause")
        func rejected() throws {
            let script = Script(answer("x"))
            let breaker = CircuitBreaker("breaker", timeBase: clock)
            breaker.trip(for: .seconds(9))
            let open = Pipeline("open", timeBase: clock) { breaker }
            let full = Pipeline("full", timeBase: clock) { Bulkhead(limit: 1, timeBase: clock) }
            try clock.run {
                try await withService(script.handle, through: open) { client in
                    let error = await client.failure()
                    #expect(error?.code == .unavailable && error?.cause is CircuitOpen)
                    #expect(error?.metadata == ["grpc-retry-pushback-ms": "9000"])
                    #expect(error?.verdict == Verdict(.rejected, retryAfter: .seconds(9)))
                }
                let held = try await full.acquire()
                try await withService(script.handle, through: full) { client in
                    let error = await client.failure()
                    #expect(error?.code == .resourceExhausted && error?.cause is BulkheadFull)
                }
                held.complete(.success)
                try await withService(script.handle, through: pipeline) { client in
                    let error = await CallDeadline(after: .zero, on: clock).run { await client.failure() }
                    #expect(error?.code == .deadlineExceeded && error?.cause is DeadlinePassed)
                }
            }
            #expect(script.visits.isEmpty)
        }

        @Test("a breaker opens on statuses that mean failure, and not on others")
        func breaker() throws {
            let breaker = CircuitBreaker("breaker", tripping: .consecutiveFailures(2), timeBase: clock)
            let pipeline = Pipeline("test", timeBase: clock) { breaker }
            let script = Script(
                fail(.notFound), fail(.invalidArgument), fail(.internalError), fail(.unavailable), answer("x"))
            let codes = try clock.run {
                try await withService(script.handle, through: pipeline) { client in
                    var codes: [RPCError.Code?] = []
                    for _ in 0..<5 { codes.append(await client.failure()?.code) }
                    return codes
                }
            }
            let expected: [RPCError.Code?] = [.notFound, .invalidArgument, .internalError, .unavailable, .unavailable]
            #expect(codes == expected)
            #expect(script.visits.count == 4)
        }

        @Test("each method uses its own pipeline and options")
        func methods() throws {
            let script = Script(fail(.unknown))
            try clock.run {
                try await withService(
                    script.handle,
                    transport: {
                        PipelineClientTransport(
                            $0, options: { RunOptions(isIdempotent: $0 == otherMethod) },
                            pipeline: { _ in pipeline })
                    },
                    { client, _ in
                        _ = await client.failure(to: method)
                        #expect(script.visits.count == 1)
                        _ = await client.failure(to: otherMethod)
                        #expect(script.visits.count == 4)
                    })
            }
        }

        @Test("a burst of calls waits for the permits, and all succeed")
        func volley() throws {
            let script = Script(fail(.unavailable), answer("x"))
            let wide = Bulkhead(limit: 3, queue: 100, timeBase: clock)
            let pipeline = Pipeline("test", timeBase: clock) {
                Retry(maxRetries: 2, backoff: .none)
                wide
            }
            let count = try clock.run(seed: 7) {
                try await withService(script.handle, through: pipeline) { client in
                    try await withThrowingTaskGroup(of: String.self) { group in
                        for number in 0..<50 { group.addTask { try await client.send("\(number)") } }
                        return try await group.reduce(0) { count, _ in count + 1 }
                    }
                }
            }
            #expect(count == 50 && script.visits.count == 51 && wide.status.inUse == 0 && wide.status.queued == 0)
        }
    }
#endif
