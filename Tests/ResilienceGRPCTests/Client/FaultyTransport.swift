#if GRPC
    import GRPCCore
    import GRPCInProcessTransport
    import Resilience
    import ResilienceGRPC
    import Testing

    /// The fault of one stream.
    enum Fault: Sendable {
        case none
        case noStream(any Error)
        /// The stream is lost before the first part of the response. nil: the response ends without a status.
        case lost((any Error)?)
        /// The same after the metadata and this many messages of the response.
        case lostAfter(messages: Int, (any Error)?)
        /// The stream works, but closing it fails.
        case afterTheEnd(any Error)
    }

    /// Counts the streams of a transport.
    final class StreamCount: Sendable {
        private let counts = Locked((asked: 0, open: 0))

        /// The number of requested streams.
        var asked: Int { counts.withLock { $0.asked } }
        /// The number of open streams.
        var open: Int { counts.withLock { $0.open } }

        /// Returns the number of streams before this one.
        func ask() -> Int {
            counts.withLock { counts in
                counts.asked += 1
                return counts.asked - 1
            }
        }

        func opened() { counts.withLock { $0.open += 1 } }
        func closed() { counts.withLock { $0.open -= 1 } }
    }

    /// Has a fault for each stream, and repeats the last fault.
    final class FaultyTransport: ClientTransport {
        typealias Bytes = [UInt8]

        private let base: InProcessTransport.Client
        private let faults: [Fault]
        private let streams: StreamCount

        init(_ base: InProcessTransport.Client, _ faults: [Fault], _ streams: StreamCount) {
            self.base = base
            self.faults = faults
            self.streams = streams
        }

        var retryThrottle: RetryThrottle? { base.retryThrottle }
        func connect() async throws { try await base.connect() }
        func beginGracefulShutdown() { base.beginGracefulShutdown() }
        func config(forMethod descriptor: MethodDescriptor) -> MethodConfig? { base.config(forMethod: descriptor) }

        @concurrent func withStream<T: Sendable>(
            descriptor: MethodDescriptor, options: CallOptions,
            _ closure: @concurrent (RPCStream<Inbound, Outbound>, ClientContext) async throws -> T
        ) async throws -> T {
            let fault = faults[min(streams.ask(), faults.count - 1)]
            if case .noStream(let error) = fault { throw error }
            streams.opened()
            defer { streams.closed() }
            let result: T = try await base.withStream(descriptor: descriptor, options: options) { stream, context in
                var stream = stream
                switch fault {
                case .none, .noStream, .afterTheEnd: break
                case .lost(let error):
                    let (lost, continuation) = AsyncThrowingStream.makeStream(of: RPCResponsePart<[UInt8]>.self)
                    continuation.finish(throwing: error)
                    stream.inbound = RPCAsyncSequence(wrapping: lost)
                case .lostAfter(let messages, let error):
                    stream.inbound = RPCAsyncSequence(
                        wrapping: LostParts(base: stream.inbound, messages: messages, error: error))
                }
                return try await closure(stream, context)
            }
            if case .afterTheEnd(let error) = fault { throw error }
            return result
        }
    }

    /// The parts of a response until its stream is lost.
    private struct LostParts: AsyncSequence, Sendable {
        typealias Element = RPCResponsePart<[UInt8]>
        typealias Failure = any Error

        let base: FaultyTransport.Inbound
        let messages: Int
        let error: (any Error)?

        func makeAsyncIterator() -> Iterator {
            Iterator(base: base.makeAsyncIterator(), messagesLeft: messages, error: error)
        }

        struct Iterator: AsyncIteratorProtocol {
            var base: FaultyTransport.Inbound.AsyncIterator
            var messagesLeft: Int
            let error: (any Error)?
            var hasBegun = false

            mutating func next() async throws -> Element? { try await next(isolation: nil) }

            mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> Element? {
                if hasBegun && messagesLeft == 0 {
                    if let error { throw error }
                    return nil
                }
                let part = try await base.next(isolation: actor)
                if case .message = part { messagesLeft -= 1 }
                hasBegun = true
                return part
            }
        }
    }

    typealias FaultyClient = GRPCClient<PipelineClientTransport<FaultyTransport>>

    /// Runs a server in this process, and a client that uses a pipeline and a transport with these faults.
    ///
    /// When `body` has returned, no stream may be open.
    /// - Returns: The result of `body`, and the number of requested streams.
    func withFaults<R: Sendable>(
        _ faults: [Fault], _ handler: @escaping Handler, interceptors: [any ServerInterceptor] = [],
        config: ServiceConfig = ServiceConfig(), through pipeline: Pipeline, replayLimit: Int = 256 * 1024,
        options: RunOptions = RunOptions(),
        _ body: (FaultyClient, GRPCServer<InProcessTransport.Server>) async throws -> R
    ) async throws -> (R, streams: Int) {
        let streams = StreamCount()
        let result = try await withService(
            handler, interceptors: interceptors, config: config,
            transport: { base in
                PipelineClientTransport(
                    FaultyTransport(base, faults, streams), through: pipeline, replayLimit: replayLimit
                ) { _ in options }
            },
            { client, server in
                let result = try await body(client, server)
                #expect(streams.open == 0)
                return result
            })
        return (result, streams.asked)
    }
#endif
