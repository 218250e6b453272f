#if GRPC
    import GRPCCore
    import GRPCInProcessTransport
    import Resilience
    import ResilienceGRPC
    import ResilienceTesting
    import TestSupport
    import Testing

    /// Repeats of RPCs, against a server in this process.
    @Suite(.responsive) struct RetriedRPCTests {
        let clock = ManualClock()
        let bulkhead: Bulkhead

        init() { bulkhead = Bulkhead(limit: 4, timeBase: clock) }

        private func pipeline(maxRetries: Int = 2, backoff: Backoff = .constant(.seconds(1))) -> Pipeline {
            Pipeline("test", timeBase: clock) {
                Retry(maxRetries: maxRetries, backoff: backoff, throttledBackoff: backoff)
                bulkhead
            }
        }

        @Test(
            "an RPC of each kind is repeated, with its whole request, and its producer runs once",
            arguments: Shape.allCases)
        func shapes(_ shape: Shape) throws {
            let script = Script(fail(.unavailable), shape.handler)
            let start = clock.now
            let response = try clock.run {
                try await withService(script.handle, through: pipeline()) { try await shape.call($0) }
            }
            #expect(response == shape.response)
            #expect(script.visits.map(\.messages) == [shape.request, shape.request])
            #expect(script.visits.map { $0.first("grpc-previous-rpc-attempts") } == [nil, "1"])
            #expect(clock.now == start + .seconds(1))
            #expect(bulkhead.status.inUse == 0)
        }

        @Test("an RPC of each kind is repeated, in whatever order its tasks run", arguments: 0..<40 as Range<UInt64>)
        func seeds(_ seed: UInt64) throws {
            for shape in Shape.allCases {
                let early: Handler = { _, _ in throw RPCError(code: .unavailable, message: "without reading") }
                let script = Script(early, fail(.unavailable), shape.handler)
                let response = try clock.run(seed: seed) {
                    try await withService(script.handle, through: pipeline()) { try await shape.call($0) }
                }
                #expect(response == shape.response && script.visits.count == 3)
                #expect(script.visits[2].messages == shape.request)
                #expect(bulkhead.status.inUse == 0)
            }
        }

        @Test(
            "each status code is repeated if its verdict allows it; the caller gets the last status",
            arguments: allCodes
        )
        func codes(_ code: RPCError.Code) throws {
            let repeated: Set<RPCError.Code> = [.unavailable, .resourceExhausted]
            let ifIdempotent: Set<RPCError.Code> = [.unknown, .internalError, .deadlineExceeded]
            for (isIdempotent, again) in [
                (nil, repeated), (true, repeated.union(ifIdempotent)), (false, []),
            ] {
                let script = Script(fail(code, ["key": "value"]))
                let error = try clock.run {
                    try await withService(
                        script.handle, through: pipeline(), options: RunOptions(isIdempotent: isIdempotent)
                    ) { await $0.failure() }
                }
                #expect(error?.code == code && error?.message == "scripted" && error?.metadata == ["key": "value"])
                #expect(script.visits.count == (again.contains(code) ? 3 : 1), "\(String(describing: isIdempotent))")
                #expect(bulkhead.status.inUse == 0)
            }
        }

        @Test("a pushback sets the wait")
        func pushback() throws {
            let script = Script(
                fail(.unavailable, ["grpc-retry-pushback-ms": "7000"]),
                fail(.resourceExhausted, ["grpc-retry-pushback-ms": "3000"]), answer("x"))
            let start = clock.now
            let response = try clock.run {
                try await withService(script.handle, through: pipeline()) { try await $0.send() }
            }
            #expect(response == "x" && clock.now == start + .seconds(10))
        }

        @Test("a negative or unreadable pushback stops the repeats", arguments: ["-1", "later"])
        func stop(_ text: String) throws {
            let script = Script(fail(.unavailable, ["grpc-retry-pushback-ms": .string(text)]), answer("x"))
            let error = try clock.run {
                try await withService(script.handle, through: pipeline()) { await $0.failure() }
            }
            #expect(error?.code == .unavailable && script.visits.count == 1)
        }

        @Test("after the first message the caller gets the failure, with the messages before it")
        func afterMessage() throws {
            let script = Script(fail(.unavailable, after: "x", "y"), answer("z"))
            let (messages, error) = try clock.run {
                try await withService(script.handle, through: pipeline()) { try await $0.stream() }
            }
            #expect(messages == ["x", "y"] && error?.code == .unavailable && script.visits.count == 1)
            #expect(bulkhead.status.inUse == 0)
        }

        @Test("metadata that arrives before a failure commits the RPC, even if a rule asks for a repeat")
        func afterMetadata() throws {
            let eager = Pipeline("eager", timeBase: clock) {
                Retry(maxRetries: 3, backoff: .none, rules: { _ in .retry })
            }
            for pipeline in [pipeline(), eager] {
                let script = Script(fail(.unavailable, after: []), answer("z"))
                let error = try clock.run {
                    try await withService(script.handle, through: pipeline) { await $0.failure() }
                }
                #expect(error?.code == .unavailable && script.visits.count == 1)
            }
        }

        @Test("a request above the limit is sent once", arguments: [(6, 2), (5, 1), (0, 1), (-1, 1)])
        func replayLimit(_ limit: Int, _ visits: Int) throws {
            let script = Script(fail(.unavailable), answer("x"))
            let error = try clock.run {
                try await withService(script.handle, through: pipeline(), replayLimit: limit) { await $0.failure("a") }
            }
            #expect(script.visits.count == visits && (error == nil) == (visits == 2))
            #expect(script.visits[0].messages == ["a"])
        }

        @Test("a request whose producer fails is not repeated")
        func producer() throws {
            struct Own: Error {}
            let script = Script(answer("x"))
            let error = try clock.run {
                try await withService(script.handle, through: pipeline(), options: RunOptions(isIdempotent: true)) {
                    client in
                    do {
                        _ = try await client.bidirectionalStreaming(
                            request: StreamingClientRequest<String> { writer in
                                try await writer.write("a")
                                throw Own()
                            }, descriptor: method, serializer: Text(), deserializer: Text(), options: .defaults,
                            onResponse: { try await all($0) })
                        return RPCError?.none
                    } catch { return error as? RPCError }
                }
            }
            #expect(error != nil && script.visits.count == 1 && bulkhead.status.inUse == 0)
        }

        @Test("a service configuration's retries do not multiply the pipeline's")
        func configured() throws {
            let policy = RetryPolicy(
                maxAttempts: 5, initialBackoff: .nanoseconds(1), maxBackoff: .nanoseconds(1), backoffMultiplier: 1,
                retryableStatusCodes: [.unavailable])
            let config = ServiceConfig(methodConfig: [
                MethodConfig(names: [.init(service: "")], timeout: .seconds(60), executionPolicy: .retry(policy))
            ])
            let script = Script(fail(.unavailable))
            _ = try clock.run {
                try await withService(script.handle, config: config, through: pipeline()) { await $0.failure() }
            }
            #expect(script.visits.count == 3)
            #expect(script.visits[0].first("grpc-timeout") != nil, "the rest of the configuration is kept")
            let inProcess = InProcessTransport(serviceConfig: config)
            let without = PipelineClientTransport(inProcess.client, through: Pipeline { bulkhead })
            #expect(
                without.config(forMethod: method)?.executionPolicy == .retry(policy),
                "there is nothing to multiply with")
        }

        @Test("a call that asks gRPC for retries is repeated by gRPC, and each attempt is a call of the pipeline")
        func asked() async throws {
            // gRPC waits on its own clock, so this test uses the system's.
            var options = CallOptions.defaults
            options.executionPolicy = .retry(
                RetryPolicy(
                    maxAttempts: 2, initialBackoff: .nanoseconds(1), maxBackoff: .nanoseconds(1), backoffMultiplier: 1,
                    retryableStatusCodes: [.unavailable]))
            let script = Script(fail(.unavailable))
            let recorder = Bulkhead(limit: 4)
            let pipeline = Pipeline {
                Retry(maxRetries: 5, backoff: .none)
                recorder
            }
            let error = try await withService(script.handle, through: pipeline) { await $0.failure(options: options) }
            #expect(error?.code == .unavailable && script.visits.count == 2 && recorder.status.inUse == 0)
        }
    }

    /// Answers with only metadata, then fails.
    private func fail(_ code: RPCError.Code, after messages: [String]) -> Handler {
        { request, _ in
            for try await _ in request.messages {}
            return TextResponse { _ in throw RPCError(code: code, message: "scripted") }
        }
    }
#endif
