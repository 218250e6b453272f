#if GRPC
    import GRPCCore
    import GRPCInProcessTransport
    import Resilience
    import ResilienceGRPC
    import ResilienceTesting

    /// Messages that are their text.
    struct Text: MessageSerializer, MessageDeserializer {
        func serialize<Bytes: GRPCContiguousBytes>(_ message: String) throws -> Bytes { Bytes(Array(message.utf8)) }

        func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> String {
            bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
    }

    typealias TextRequest = StreamingServerRequest<String>
    typealias TextResponse = StreamingServerResponse<String>
    typealias Handler = @Sendable (TextRequest, ServerContext) async throws -> TextResponse

    let method = MethodDescriptor(fullyQualifiedService: "test.Service", method: "Call")
    let otherMethod = MethodDescriptor(fullyQualifiedService: "test.Service", method: "Other")

    /// Answers each RPC with its next handler, and all further RPCs with the last. Records what each handler received.
    final class Script: Sendable {
        struct Visit: Sendable {
            var metadata: Metadata
            var messages: [String] = []

            func first(_ key: String) -> String? { metadata[stringValues: key].first { _ in true } }
        }

        private let handlers: [Handler]
        private let state = Locked<[Visit]>([])

        init(_ handlers: Handler...) { self.handlers = handlers }

        var visits: [Visit] { state.withLock { $0 } }

        func handle(_ request: TextRequest, _ context: ServerContext) async throws -> TextResponse {
            let index = state.withLock { visits in
                visits.append(Visit(metadata: request.metadata))
                return visits.count - 1
            }
            var request = request
            request.messages = RPCAsyncSequence(
                wrapping: request.messages.map { message in
                    self.state.withLock { $0[index].messages.append(message) }
                    return message
                })
            return try await handlers[min(index, handlers.count - 1)](request, context)
        }
    }

    /// Reads the whole request, then answers with these messages.
    func answer(_ messages: String...) -> Handler {
        { request, _ in
            for try await _ in request.messages {}
            return TextResponse { writer in
                try await writer.write(contentsOf: messages)
                return ["done": "yes"]
            }
        }
    }

    /// Reads the whole request, then fails before it sends anything.
    func fail(_ code: RPCError.Code, _ metadata: Metadata = [:]) -> Handler {
        { request, _ in
            for try await _ in request.messages {}
            throw RPCError(code: code, message: "scripted", metadata: metadata)
        }
    }

    /// Answers with these messages, then fails.
    func fail(_ code: RPCError.Code, after messages: String...) -> Handler {
        { request, _ in
            for try await _ in request.messages {}
            return TextResponse { writer in
                try await writer.write(contentsOf: messages)
                throw RPCError(code: code, message: "scripted")
            }
        }
    }

    /// Waits until the gate is opened, then answers like another handler.
    func wait(for gate: Gate, then handler: @escaping Handler) -> Handler {
        { request, context in
            await gate.wait()
            return try await handler(request, context)
        }
    }

    /// Answers with a message, and ends when the gate is opened.
    func answer(_ message: String, thenWaitFor gate: Gate) -> Handler {
        { _, _ in
            TextResponse { writer in
                try await writer.write(message)
                await gate.wait()
                return [:]
            }
        }
    }

    /// Lets everyone pass once it is open.
    final class Gate: Sendable {
        private let state = Locked<(isOpen: Bool, waiters: [CheckedContinuation<Void, Never>])>((false, []))

        func open() {
            let waiters = state.withLock { state in
                state.isOpen = true
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }

        func wait() async {
            await withCheckedContinuation { continuation in
                let isOpen = state.withLock { state in
                    if !state.isOpen { state.waiters.append(continuation) }
                    return state.isOpen
                }
                if isOpen { continuation.resume() }
            }
        }
    }

    /// Runs a server and its client in this process until `body` has returned.
    func withService<T: ClientTransport, R: Sendable>(
        _ handler: @escaping Handler, interceptors: [any ServerInterceptor] = [],
        config: ServiceConfig = ServiceConfig(),
        transport: (InProcessTransport.Client) -> T,
        _ body: (GRPCClient<T>, GRPCServer<InProcessTransport.Server>) async throws -> R
    ) async throws -> R {
        let inProcess = InProcessTransport(serviceConfig: config)
        var router = RPCRouter<InProcessTransport.Server>()
        for method in [method, otherMethod] {
            router.registerHandler(forMethod: method, deserializer: Text(), serializer: Text(), handler: handler)
        }
        router.registerInterceptors(pipeline: interceptors.map { .apply($0, to: .all) })
        let server = GRPCServer(transport: inProcess.server, router: router)
        let client = GRPCClient(transport: transport(inProcess.client))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.serve() }
            group.addTask { try await client.runConnections() }
            defer {
                client.beginGracefulShutdown()
                server.beginGracefulShutdown()
            }
            return try await body(client, server)
        }
    }

    /// Runs a server, and a client that uses a pipeline. When `body` has returned, no stream may be open.
    func withService<R: Sendable>(
        _ handler: @escaping Handler, config: ServiceConfig = ServiceConfig(), through pipeline: Pipeline,
        replayLimit: Int = 256 * 1024, options: RunOptions = RunOptions(), _ body: (FaultyClient) async throws -> R
    ) async throws -> R {
        let (result, _) = try await withFaults(
            [.none], handler, config: config, through: pipeline, replayLimit: replayLimit, options: options
        ) { client, _ in try await body(client) }
        return result
    }

    /// The kinds of RPCs, as generated clients call them.
    enum Shape: CaseIterable {
        case unary, clientStreaming, serverStreaming, bidirectional

        var request: [String] { self == .unary || self == .serverStreaming ? ["a"] : ["a", "b", "c"] }
        var response: [String] { self == .unary || self == .clientStreaming ? ["x"] : ["x", "y", "z"] }

        var handler: Handler {
            self == .unary || self == .clientStreaming ? answer("x") : answer("x", "y", "z")
        }

        func call(_ client: GRPCClient<some ClientTransport>, options: CallOptions = .defaults) async throws -> [String]
        {
            let request = request
            switch self {
            case .unary:
                return try await client.unary(
                    request: ClientRequest(message: request[0]), descriptor: method, serializer: Text(),
                    deserializer: Text(), options: options
                ) { [try $0.message] }
            case .clientStreaming:
                return try await client.clientStreaming(
                    request: StreamingClientRequest { try await $0.write(contentsOf: request) }, descriptor: method,
                    serializer: Text(), deserializer: Text(), options: options
                ) { [try $0.message] }
            case .serverStreaming:
                return try await client.serverStreaming(
                    request: ClientRequest(message: request[0]), descriptor: method, serializer: Text(),
                    deserializer: Text(), options: options, onResponse: { try await all($0) })
            case .bidirectional:
                return try await client.bidirectionalStreaming(
                    request: StreamingClientRequest { try await $0.write(contentsOf: request) }, descriptor: method,
                    serializer: Text(), deserializer: Text(), options: options, onResponse: { try await all($0) })
            }
        }
    }

    func all(_ response: StreamingClientResponse<String>) async throws -> [String] {
        var messages: [String] = []
        for try await message in response.messages { messages.append(message) }
        return messages
    }

    extension GRPCClient {
        /// Sends one message, and returns the message of the answer.
        func send(
            _ message: String = "a", to descriptor: MethodDescriptor = method, metadata: Metadata = [:],
            options: CallOptions = .defaults
        ) async throws -> String {
            try await unary(
                request: ClientRequest(message: message, metadata: metadata), descriptor: descriptor,
                serializer: Text(),
                deserializer: Text(), options: options
            ) { try $0.message }
        }

        /// The call's error; nil if it succeeds.
        func failure(
            _ message: String = "a", to descriptor: MethodDescriptor = method, metadata: Metadata = [:],
            options: CallOptions = .defaults
        ) async -> RPCError? {
            do {
                _ = try await send(message, to: descriptor, metadata: metadata, options: options)
                return nil
            } catch {
                return error as? RPCError ?? RPCError(code: .dataLoss, message: "not an RPCError: \(error)")
            }
        }
    }

    extension GRPCClient {
        /// The messages of a stream, and its error; nil if it succeeded.
        func stream() async throws -> ([String], RPCError?) {
            try await serverStreaming(
                request: ClientRequest(message: "a"), descriptor: method, serializer: Text(), deserializer: Text(),
                options: .defaults
            ) { response -> ([String], RPCError?) in
                var messages: [String] = []
                do {
                    for try await message in response.messages { messages.append(message) }
                } catch {
                    return (messages, error as? RPCError ?? RPCError(code: .dataLoss, message: "not an RPCError"))
                }
                return (messages, nil)
            }
        }
    }

    extension CallOptions {
        static func timeout(_ timeout: Duration) -> CallOptions {
            var options = CallOptions.defaults
            options.timeout = timeout
            return options
        }
    }

    let allCodes: [RPCError.Code] = (1...16).compactMap { Status.Code(rawValue: $0).flatMap { RPCError.Code($0) } }
#endif
