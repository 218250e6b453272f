#if GRPC
    import GRPCCore
    import GRPCInProcessTransport
    import Resilience
    import ResilienceTraffic
    import ResilienceGRPC
    import ResilienceTesting
    import TestSupport
    import Testing

    /// Copies of RPCs, against a server in this process.
    @Suite(.responsive) struct HedgedRPCTests {
        private let clock = ManualClock()
        private let recorder = EventRecorder()
        private let bulkhead: Bulkhead
        private let breaker: CircuitBreaker

        init() {
            bulkhead = Bulkhead(limit: 8, timeBase: clock)
            breaker = CircuitBreaker(tripping: .consecutiveFailures(5), timeBase: clock)
        }

        private var events: [Hedge.Event] { recorder.events() }

        private func pipeline(after delay: HedgeDelay = .constant(.seconds(1)), maxHedges: Int = 1) -> Pipeline {
            Pipeline("test", timeBase: clock, observers: PolicyObservers(recorder)) {
                Hedge(after: delay, maxHedges: maxHedges, timeBase: clock)
                breaker
                bulkhead
            }
        }

        private let repeatable = RunOptions(isIdempotent: true)

        /// Answers after a delay.
        private func slow(_ time: Duration, _ handler: @escaping Handler) -> Handler {
            { [clock] request, context in
                try await clock.sleep(for: time)
                return try await handler(request, context)
            }
        }

        @Test(
            "an RPC of each kind that gets no answer gets a copy, with its whole request",
            arguments: Shape.allCases)
        func shapes(_ shape: Shape) throws {
            let script = Script(slow(.seconds(100), shape.handler), shape.handler)
            let begun = clock.now
            let took = Locked(Duration.zero)
            let response = try clock.run {
                try await withService(script.handle, through: pipeline(), options: repeatable) { client in
                    let response = try await shape.call(client)
                    took.withLock { $0 = begun.duration(to: clock.now) }
                    return response
                }
            }
            #expect(response == shape.response && took.withLock { $0 } == .seconds(1))
            #expect(script.visits.count == 2 && script.visits[1].messages == shape.request)
            #expect(script.visits.map { $0.first("grpc-previous-rpc-attempts") } == [nil, "1"])
            #expect(events == [.hedged(1, after: .seconds(1)), .won(1, after: .seconds(1))])
            #expect(bulkhead.inUse == 0 && breaker.status.failureCount == 0)
        }

        @Test("an RPC of each kind gets its copy, whatever the order of the tasks", arguments: 0..<40 as Range<UInt64>)
        func seeds(_ seed: UInt64) throws {
            for shape in Shape.allCases {
                let script = Script(shape.handler)
                let response = try clock.run(seed: seed) {
                    try await withService(
                        script.handle, through: pipeline(after: .constant(.zero), maxHedges: 3), options: repeatable
                    ) { try await shape.call($0) }
                }
                #expect(response == shape.response && (1...4).contains(script.visits.count))
                #expect(bulkhead.inUse == 0 && breaker.status.failureCount == 0)
            }
        }

        @Test("after a status that means nothing was done, the next copy begins at once; any other status ends the RPC")
        func failures() throws {
            for (code, count) in [(RPCError.Code.unavailable, 2), (.notFound, 1), (.resourceExhausted, 1)] {
                let script = Script(fail(code), answer("x"))
                let error = try clock.run {
                    try await withService(script.handle, through: pipeline(after: .never), options: repeatable) {
                        await $0.failure()
                    }
                }
                #expect(script.visits.count == count && error?.code == (count == 2 ? nil : code))
            }
            #expect(bulkhead.inUse == 0)
        }

        @Test("a pushback that stops retries also stops copies; a pushback with a wait delays the next copy")
        func pushback() throws {
            for (text, count) in [("-1", 2), ("5000", 3)] {
                let script = Script(
                    slow(.seconds(100), answer("late")), fail(.unavailable, ["grpc-retry-pushback-ms": .string(text)]),
                    answer("x"))
                let begun = clock.now
                let took = Locked(Duration.zero)
                let response = try clock.run {
                    try await withService(script.handle, through: pipeline(maxHedges: 2), options: repeatable) {
                        client in
                        let response = try await client.send()
                        took.withLock { $0 = begun.duration(to: clock.now) }
                        return response
                    }
                }
                #expect(script.visits.count == count && response == (count == 2 ? "late" : "x"))
                #expect(took.withLock { $0 } == .seconds(count == 2 ? 100 : 6))
            }
            #expect(bulkhead.inUse == 0)
        }

        @Test("once a response has begun no copy begins, however long the stream continues")
        func stream() throws {
            let clock = clock
            let streaming: Handler = { _, _ in
                TextResponse { writer in
                    try await writer.write("x")
                    try await clock.sleep(for: .seconds(100))
                    try await writer.write("y")
                    return [:]
                }
            }
            let script = Script(streaming)
            let (messages, error) = try clock.run {
                try await withService(script.handle, through: pipeline(maxHedges: 3), options: repeatable) {
                    try await $0.stream()
                }
            }
            #expect(messages == ["x", "y"] && error == nil && script.visits.count == 1)
            #expect(events == [] && bulkhead.inUse == 0)
        }

        @Test(
            "the copy whose response begins first becomes the RPC; the other copy is cancelled while the stream continues"
        )
        func streamWins() throws {
            let clock = clock
            let streaming: Handler = { _, _ in
                TextResponse { writer in
                    try await writer.write("x")
                    try await clock.sleep(for: .seconds(50))
                    try await writer.write("y")
                    return [:]
                }
            }
            let script = Script(slow(.seconds(100), answer("late")), streaming)
            let seen = Locked(0)
            let room = bulkhead
            let messages = try clock.run {
                try await withService(script.handle, through: pipeline(), options: repeatable) { client in
                    try await client.serverStreaming(
                        request: ClientRequest(message: "a"), descriptor: method, serializer: Text(),
                        deserializer: Text(), options: .defaults
                    ) { response in
                        var messages: [String] = []
                        for try await message in response.messages {
                            messages.append(message)
                            if message == "y" { seen.withLock { $0 = room.inUse } }
                        }
                        return messages
                    }
                }
            }
            #expect(messages == ["x", "y"] && seen.withLock { $0 } == 1)
            #expect(script.visits.count == 2 && bulkhead.inUse == 0 && breaker.status.failureCount == 0)
        }

        @Test("if all copies fail, the RPC fails like the last copy, and an outer retry begins again")
        func allFail() throws {
            let script = Script(fail(.unavailable))
            let retried = Pipeline("retried", timeBase: clock) {
                Retry(maxRetries: 1, backoff: .none)
                Hedge(after: .never, timeBase: clock)
                bulkhead
            }
            let error = try clock.run {
                try await withService(script.handle, through: retried, options: repeatable) { await $0.failure() }
            }
            #expect(error?.code == .unavailable && script.visits.count == 4)
            #expect(script.visits.map { $0.first("grpc-previous-rpc-attempts") } == [nil, "1", "2", "3"])
            #expect(bulkhead.inUse == 0)
        }

        @Test("an RPC gets no copies if gRPC itself retries it, or if it must not be repeated (P65)")
        func notTwice() throws {
            let script = Script(answer("x"))
            let repeated = CallOptions.repeatedByGRPC
            let pipeline = pipeline(after: .constant(.zero))
            try clock.run {
                try await withService(script.handle, through: pipeline) {
                    _ = try await $0.send(options: repeated)
                }
            }
            #expect(script.visits.count == 1 && events == [.notCopied(.runOnce)])
            try clock.run {
                try await withService(script.handle, through: pipeline, options: RunOptions(isIdempotent: false)) {
                    _ = try await $0.send()
                }
            }
            #expect(script.visits.count == 2 && events.count == 1 && bulkhead.inUse == 0)
        }
    }

    extension CallOptions {
        fileprivate static var repeatedByGRPC: CallOptions {
            var options = CallOptions.defaults
            options.executionPolicy = .retry(
                RetryPolicy(
                    maxAttempts: 2, initialBackoff: .seconds(1), maxBackoff: .seconds(1), backoffMultiplier: 1,
                    retryableStatusCodes: [.unavailable]))
            return options
        }
    }
#endif
