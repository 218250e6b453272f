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
        let pipeline: Pipeline

        init() {
            let bulkhead = Bulkhead(limit: 4, timeBase: clock)
            self.bulkhead = bulkhead
            pipeline = Pipeline("test", timeBase: clock) {
                Retry(maxRetries: 2, backoff: .constant(.seconds(1)))
                bulkhead
            }
        }

        private func failure(_ faults: Fault..., isIdempotent: Bool? = nil) throws -> (RPCError?, streams: Int) {
            let faulty = Locked<FaultyTransport?>(nil)
            let error = try clock.run {
                try await withService(
                    answer("x"),
                    transport: { base in
                        let transport = FaultyTransport(base, faults)
                        faulty.withLock { $0 = transport }
                        return PipelineClientTransport(transport, through: pipeline) { _ in
                            RunOptions(isIdempotent: isIdempotent)
                        }
                    }, { client, _ in await client.failure() })
            }
            #expect(bulkhead.status.inUse == 0)
            return (error, faulty.withLock { $0 }?.streams ?? -1)
        }

        private struct Other: Error {}

        @Test("an RPC that got no stream was not sent, and is repeated")
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

        @Test("the last error is the caller's if no stream comes at all")
        func never() throws {
            let result = try failure(.noStream(RPCError(code: .unavailable, message: "no connection")))
            #expect(result.0?.code == .unavailable && result.0?.message == "no connection" && result.streams == 3)
            let other = try failure(.noStream(Other()))
            #expect(other.0?.code == .unavailable && other.0?.cause is Other)
        }

        @Test("a transport that is closed is not asked again")
        func closed() throws {
            let result = try failure(.noStream(RPCError(code: .failedPrecondition, message: "closed")))
            #expect(result.0?.code == .failedPrecondition && result.streams == 1)
        }

        @Test("an RPC whose stream is lost may have had its effect, and is repeated only if that does no harm")
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

        @Test("what a transport throws after the RPC's end does not hide the end, and repeats nothing")
        func afterTheEnd() throws {
            for (handler, code) in [(fail(.internalError), RPCError.Code.internalError), (answer("x"), nil)] {
                let script = Script(handler)
                let error = try clock.run {
                    try await withService(
                        script.handle,
                        transport: { base in
                            PipelineClientTransport(
                                FaultyTransport(base, [.afterTheEnd(Other())]), through: pipeline)
                        }, { client, _ in await client.failure() })
                }
                #expect(error?.code == code && script.visits.count == 1)
            }
        }

        @Test("a server that is gone fails the call")
        func gone() throws {
            let error = try clock.run {
                try await withService(
                    answer("x"), transport: { PipelineClientTransport($0, through: pipeline) },
                    { client, server in
                        #expect(await client.failure() == nil)
                        server.beginGracefulShutdown()
                        await clock.runUntilIdle()
                        return await client.failure()
                    })
            }
            #expect(error?.code == .failedPrecondition && bulkhead.status.inUse == 0)
        }
    }

    enum Fault: Sendable {
        case none
        case noStream(any Error)
        /// nil: the response ends without a status.
        case lost((any Error)?)
        /// The stream is as it should be, and closing it fails.
        case afterTheEnd(any Error)
    }

    /// Has a fault for each stream, the last again and again.
    final class FaultyTransport: ClientTransport {
        typealias Bytes = [UInt8]

        private let base: InProcessTransport.Client
        private let faults: [Fault]
        private let count = Locked(0)

        init(_ base: InProcessTransport.Client, _ faults: [Fault]) {
            self.base = base
            self.faults = faults
        }

        /// The number of streams that it was asked for.
        var streams: Int { count.withLock { $0 } }

        var retryThrottle: RetryThrottle? { nil }
        func connect() async throws { try await base.connect() }
        func beginGracefulShutdown() { base.beginGracefulShutdown() }
        func config(forMethod descriptor: MethodDescriptor) -> MethodConfig? { nil }

        @concurrent func withStream<T: Sendable>(
            descriptor: MethodDescriptor, options: CallOptions,
            _ closure: @concurrent (RPCStream<Inbound, Outbound>, ClientContext) async throws -> T
        ) async throws -> T {
            let index = count.withLock { count in
                count += 1
                return min(count, faults.count) - 1
            }
            switch faults[index] {
            case .none: return try await base.withStream(descriptor: descriptor, options: options, closure)
            case .noStream(let error): throw error
            case .afterTheEnd(let error):
                _ = try await base.withStream(descriptor: descriptor, options: options, closure)
                throw error
            case .lost(let error):
                return try await base.withStream(descriptor: descriptor, options: options) { stream, context in
                    var stream = stream
                    let (lost, continuation) = AsyncThrowingStream.makeStream(of: RPCResponsePart<[UInt8]>.self)
                    continuation.finish(throwing: error)
                    stream.inbound = RPCAsyncSequence(wrapping: lost)
                    return try await closure(stream, context)
                }
            }
        }
    }

    private func == (lhs: (RPCError?, streams: Int), rhs: (RPCError?, Int)) -> Bool {
        lhs.0 == rhs.0 && lhs.streams == rhs.1
    }
#endif
