#if GRPC
    import GRPCCore
    import GRPCInProcessTransport
    import Resilience
    import ResilienceGRPC
    import ResilienceTesting
    import TestSupport
    import Testing

    /// RPCs on a transport that has no stream, or loses it.
    @Suite(.responsive) struct LostStreamTests {
        let clock = ManualClock()
        let bulkhead: Bulkhead
        let breaker: CircuitBreaker
        let pipeline: Pipeline

        init() {
            let bulkhead = Bulkhead(limit: 4, timeBase: clock)
            let breaker = CircuitBreaker("breaker", tripping: .consecutiveFailures(100), timeBase: clock)
            self.bulkhead = bulkhead
            self.breaker = breaker
            pipeline = Pipeline("test", timeBase: clock) {
                Retry(maxRetries: 2, backoff: .constant(.seconds(1)))
                breaker
                bulkhead
            }
        }

        /// No permit may be in use afterwards; `withFaults` counts the streams.
        private func run<R: Sendable>(
            _ faults: [Fault], _ handler: @escaping Handler, isIdempotent: Bool? = nil,
            _ body: @escaping @Sendable (FaultyClient, GRPCServer<InProcessTransport.Server>) async throws -> R
        ) throws -> (R, streams: Int) {
            let options = RunOptions(isIdempotent: isIdempotent)
            let result = try clock.run {
                try await withFaults(faults, handler, through: pipeline, options: options, body)
            }
            #expect(bulkhead.status.inUse == 0)
            return result
        }

        private func failure(_ faults: Fault..., isIdempotent: Bool? = nil) throws -> (RPCError?, streams: Int) {
            try run(faults, answer("x"), isIdempotent: isIdempotent) { client, _ in await client.failure() }
        }

        private struct Other: Error {}

        @Test("an RPC without a stream was not sent, and is repeated")
        func notOpened() throws {
            for error in [
                RPCError(code: .unavailable, message: "no connection"), RPCError(code: .unknown, message: ""), Other(),
            ]
                as [any Error]
            {
                let result = try failure(.noStream(error), .noStream(error), .none)
                #expect(result == (nil, 3))
            }
        }

        @Test("if no stream opens, the caller gets the last error")
        func never() throws {
            let result = try failure(.noStream(RPCError(code: .unavailable, message: "no connection")))
            #expect(result.0?.code == .unavailable && result.0?.message == "no connection" && result.streams == 3)
            let other = try failure(.noStream(Other()))
            #expect(other.0?.code == .unavailable && other.0?.cause is Other)
        }

        @Test("a closed transport is not asked again")
        func closed() throws {
            let result = try failure(.noStream(RPCError(code: .failedPrecondition, message: "closed")))
            #expect(result.0?.code == .failedPrecondition && result.streams == 1)
        }

        @Test("an RPC whose stream is lost may have had its effect, and is repeated only if that is safe")
        func lost() throws {
            for error in [RPCError(code: .unavailable, message: "reset"), Other()] as [any Error] {
                let once = try failure(.lost(error), .none)
                #expect(once.0?.code == .unavailable && once.streams == 1)
                let twice = try failure(.lost(error), .none, isIdempotent: true)
                #expect(twice == (nil, 2))
            }
        }

        @Test("a response that ends without a status is a lost stream")
        func empty() throws {
            let once = try failure(.lost(nil), .none)
            #expect(once.0?.code == .internalError && once.streams == 1)
            #expect(try failure(.lost(nil), .none, isIdempotent: true) == (nil, 2))
        }

        @Test(
            "a stream that is lost after its metadata or some messages fails, is not repeated, and counts once",
            arguments: 0...3)
        func lostInBody(_ count: Int) throws {
            for error in [RPCError(code: .unavailable, message: "reset"), Other(), nil] as [(any Error)?] {
                let failures = breaker.status.failureCount
                let (heard, streams) = try run(
                    [.lostAfter(messages: count, error), .none], answer("x", "y", "z"), isIdempotent: true
                ) { client, _ in try await client.stream() }
                let code: RPCError.Code = error == nil ? .internalError : .unavailable
                #expect(heard.0 == Array(["x", "y", "z"].prefix(count)) && heard.1?.code == code && streams == 1)
                #expect(breaker.status.failureCount == failures + 1)
            }
        }

        @Test("a unary RPC that is lost after its message fails, and is not repeated")
        func lostUnary() throws {
            let result = try failure(.lostAfter(messages: 1, Other()), .none, isIdempotent: true)
            #expect(result.0?.code == .unavailable && result.0?.cause is Other && result.streams == 1)
        }

        @Test("if the transport fails after the RPC's end, the RPC keeps its result and is not repeated")
        func afterTheEnd() throws {
            for (handler, code) in [(fail(.internalError), RPCError.Code.internalError), (answer("x"), nil)] {
                let script = Script(handler)
                let (error, streams) = try run([.afterTheEnd(Other())], script.handle) { client, _ in
                    await client.failure()
                }
                #expect(error?.code == code && streams == 1 && script.visits.count == 1)
            }
        }

        @Test("an RPC to a server that is gone fails")
        func gone() throws {
            let (error, _) = try run([.none], answer("x")) { client, server in
                #expect(await client.failure() == nil)
                server.beginGracefulShutdown()
                await clock.runUntilIdle()
                return await client.failure()
            }
            #expect(error?.code == .failedPrecondition)
        }
    }

    private func == (lhs: (RPCError?, streams: Int), rhs: (RPCError?, Int)) -> Bool {
        lhs.0 == rhs.0 && lhs.streams == rhs.1
    }
#endif
