#if Hummingbird
    import HTTPTypes
    import Hummingbird
    import Logging
    import NIOCore
    import NIOPosix
    import Resilience
    import ServiceLifecycle

    extension Router {
        /// Runs a server on loopback.
        /// - Parameters:
        ///   - logger: The server's logger.
        ///   - body: Runs meanwhile, with the server's port. When it has returned, the server shuts down gracefully
        ///     before this function returns.
        func live<R: Sendable>(_ logger: Logger? = nil, _ body: @escaping @Sendable (Int) async throws -> R)
            async throws -> R
        where Context.Source == ApplicationRequestContextSource {
            let (ports, running) = AsyncStream<Int>.makeStream()
            let application = Application(
                router: self, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
                onServerRunning: { channel in
                    running.yield(channel.localAddress?.port ?? 0)
                    running.finish()
                },
                logger: logger)
            let services = ServiceGroup(
                configuration: ServiceGroupConfiguration(services: [application], logger: application.logger))
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    defer { running.finish() }
                    try await services.run()
                }
                var port = 0
                for await number in ports { port = number }
                do {
                    let result = try await body(port)
                    await services.triggerGracefulShutdown()
                    try await group.waitForAll()
                    return result
                } catch {
                    await services.triggerGracefulShutdown()
                    throw error
                }
            }
        }
    }

    /// The body of a response that goes on until a condition holds.
    ///
    /// Each part waits for the event loops. The writer alone waits only when a loop has told it to, and until then the
    /// loop gets work for seconds, during which other tests' connections time out.
    func dots(until isEnough: @escaping @Sendable () -> Bool = { false }) -> ResponseBody {
        ResponseBody { writer in
            let chunk = ByteBuffer(repeating: UInt8(ascii: "."), count: 65_536)
            while !isEnough() {
                try await writer.write(chunk)
                for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() { try await loop.submit {}.get() }
            }
            try await writer.finish(nil)
        }
    }

    /// A response as it came.
    struct Answer: Sendable {
        let status: HTTPResponse.Status
        let headers: HTTPFields
        let body: String
    }

    /// Sends one request on a connection of its own.
    @Sendable func send(
        _ uri: String, to port: Int, method: HTTPRequest.Method = .get, headers: HTTPFields = [:]
    ) async throws -> Answer {
        try await withConnection(to: port) { inbound, outbound in
            try await outbound.write(request(uri, method, headers))
            return try await inbound.answer(to: method)
        }
    }

    /// Sends requests in sequence on one connection.
    @Sendable func sequence(
        _ count: Int, to port: Int, _ headers: @escaping @Sendable (Int) -> HTTPFields
    ) async throws -> [Answer] {
        try await withConnection(to: port) { inbound, outbound in
            var answers: [Answer] = []
            for number in 0..<count {
                try await outbound.write(request("/", .get, headers(number)))
                answers.append(try await inbound.answer(to: .get))
            }
            return answers
        }
    }

    /// Sends requests at the same time, each on its own connection.
    @Sendable func volley(
        _ count: Int, to port: Int, _ request: @escaping @Sendable (Int) -> (uri: String, headers: HTTPFields)
    ) async throws -> [Answer] {
        try await withThrowingTaskGroup(of: Answer.self) { group in
            for number in 0..<count {
                group.addTask {
                    let (uri, headers) = request(number)
                    return try await send(uri, to: port, headers: headers)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func request(_ uri: String, _ method: HTTPRequest.Method, _ headers: HTTPFields) -> ByteBuffer {
        let lines = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
        return ByteBuffer(string: "\(method.rawValue) \(uri) HTTP/1.1\r\nhost: localhost\r\n\(lines)\r\n")
    }

    /// Opens a connection for bytes that no well-behaved client sends, and reads only what is asked for.
    ///
    /// The connection has no time limit: on a busy machine a limit would fail sound tests.
    @concurrent func withConnection<R: Sendable>(
        to port: Int,
        _ body:
            @concurrent (
                inout NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator, NIOAsyncChannelOutboundWriter<ByteBuffer>
            ) async throws -> R
    ) async throws -> R {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.minutes(10))
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var iterator = inbound.makeAsyncIterator()
            return try await body(&iterator, outbound)
        }
    }

    /// The connection ended before the response did.
    struct Incomplete: Error {}

    extension NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator {
        /// Reads up to a text, or to the end of the connection.
        @concurrent mutating func text(upTo end: String) async throws -> String {
            var text = ""
            while !text.contains(end), let buffer = try await next() { text += String(buffer: buffer) }
            return text
        }

        /// Reads a response whose fields give its length.
        @concurrent mutating func answer(to method: HTTPRequest.Method) async throws -> Answer {
            var text = try await text(upTo: "\r\n\r\n")
            guard let head = text.firstRange(of: "\r\n\r\n") else { throw Incomplete() }
            let lines = text[..<head.lowerBound].split(separator: "\r\n")
            var headers = HTTPFields()
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                if let name = HTTPField.Name(String(parts[0])) {
                    headers.append(HTTPField(name: name, value: String(parts.last ?? "")))
                }
            }
            let code = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
            guard let code else { throw Incomplete() }
            text.removeSubrange(..<head.upperBound)
            let hasBody = method != .head && code != 204 && code != 304
            let length = hasBody ? headers[.contentLength].flatMap { Int($0) } ?? 0 : 0
            while text.utf8.count < length {
                guard let buffer = try await next() else { throw Incomplete() }
                text += String(buffer: buffer)
            }
            return Answer(status: HTTPResponse.Status(code: code), headers: headers, body: text)
        }

        /// Reads up to the end of the connection.
        /// - Returns: The number of bytes.
        @concurrent mutating func countToEnd() async throws -> Int {
            var count = 0
            while let buffer = try await next() { count += buffer.readableBytes }
            return count
        }
    }

    /// The first policy of a pipeline, which counts the calls. A call counts as left once it has left all other
    /// policies.
    final class Tally: Policy {
        private struct State {
            var entered = 0
            var left = 0
            var verdicts: [Verdict.Kind] = []
            var waiting: [(entered: Int, left: Int, CheckedContinuation<Void, Never>)] = []

            mutating func takeReached() -> [CheckedContinuation<Void, Never>] {
                let reached = waiting.filter { $0.entered <= entered && $0.left <= left }
                waiting.removeAll { $0.entered <= entered && $0.left <= left }
                return reached.map(\.2)
            }
        }

        private let state = Locked(State())

        var entered: Int { state.withLock { $0.entered } }
        var left: Int { state.withLock { $0.left } }
        /// The verdicts of the ended calls.
        var verdicts: [Verdict.Kind] { state.withLock { $0.verdicts } }

        func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
            change { $0.entered += 1 }
            return .proceed
        }

        func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
            change { state in
                state.left += 1
                state.verdicts.append(outcome.verdict.kind)
            }
            return .pass
        }

        private func change(_ body: (inout State) -> Void) {
            let reached = state.withLock { state in
                body(&state)
                return state.takeReached()
            }
            for continuation in reached { continuation.resume() }
        }

        /// Waits until this many calls have entered and left.
        func wait(entered: Int = 0, left: Int = 0) async {
            await withCheckedContinuation { continuation in
                let reached = state.withLock { state in
                    state.waiting.append((entered, left, continuation))
                    return state.takeReached()
                }
                for continuation in reached { continuation.resume() }
            }
        }
    }

    /// Blocks each task until the gate is opened or the task is cancelled.
    final class Gate: Sendable {
        private let stream: AsyncStream<Void>
        private let continuation: AsyncStream<Void>.Continuation

        init() { (stream, continuation) = AsyncStream.makeStream() }

        func open() { continuation.finish() }

        func pass() async throws {
            for await _ in stream {}
            try Task.checkCancellation()
        }
    }

    extension HTTPFields {
        subscript(text name: String) -> String? { HTTPField.Name(name).flatMap { self[$0] } }
    }

    /// An error whose text must not reach a client.
    struct Secret: Error, CustomStringConvertible {
        var description: String { "password=hunter2" }
    }
#endif
