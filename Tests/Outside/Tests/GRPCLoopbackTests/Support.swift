import GRPCCore
import GRPCNIOTransportHTTP2Posix
import NIOCore
import ResilienceGRPC
import Synchronization

typealias Handler =
    @Sendable (StreamingServerRequest<String>, ServerContext) async throws -> StreamingServerResponse<String>
typealias TextResponse = StreamingServerResponse<String>
typealias Client = GRPCClient<PipelineClientTransport<HTTP2ClientTransport.Posix>>

let method = MethodDescriptor(fullyQualifiedService: "test.Service", method: "Call")

struct Loopback: Sendable {
    let client: Client
    let server: GRPCServer<HTTP2ServerTransport.Posix>
    let listener: Channels
    let accepted: Channels
}

/// Messages that are their text.
struct Text: MessageSerializer, MessageDeserializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: String) throws -> Bytes { Bytes(Array(message.utf8)) }

    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> String {
        bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}

extension GRPCClient {
    func send(_ metadata: Metadata = [:], waitForReady: Bool? = nil) async throws -> String {
        var options = CallOptions.defaults
        options.waitForReady = waitForReady
        return try await unary(
            request: ClientRequest(message: "a", metadata: metadata), descriptor: method, serializer: Text(),
            deserializer: Text(), options: options
        ) { try $0.message }
    }

    /// The error of a call; nil if it succeeds.
    func failure() async -> RPCError? {
        do {
            _ = try await send()
            return nil
        } catch {
            return error as? RPCError ?? RPCError(code: .dataLoss, message: "not an RPCError: \(error)")
        }
    }

    /// The messages of a stream, and its error; nil if it succeeded.
    func stream(_ onMessage: @escaping @Sendable () -> Void) async -> ([String], RPCError?) {
        do {
            return try await serverStreaming(
                request: ClientRequest(message: "a"), descriptor: method, serializer: Text(), deserializer: Text(),
                options: .defaults
            ) { response -> ([String], RPCError?) in
                var messages: [String] = []
                do {
                    for try await message in response.messages {
                        messages.append(message)
                        onMessage()
                    }
                } catch {
                    return (messages, error as? RPCError)
                }
                return (messages, nil)
            }
        } catch {
            return ([], error as? RPCError)
        }
    }
}

/// Answers each RPC with its next handler; the last handler answers all further RPCs.
final class Script: Sendable {
    private let handlers: [Handler]
    private let count = Mutex(0)

    init(_ handlers: Handler...) { self.handlers = handlers }

    var visits: Int { count.withLock { $0 } }

    func handle(_ request: StreamingServerRequest<String>, _ context: ServerContext) async throws -> TextResponse {
        let index = count.withLock { count in
            count += 1
            return count - 1
        }
        return try await handlers[min(index, handlers.count - 1)](request, context)
    }
}

/// Reads the whole request, and answers with its metadata under keys that begin with "n".
let echo: Handler = { request, _ in
    for try await _ in request.messages {}
    let values = request.metadata.filter { $0.key.hasPrefix("n") }.map { $0.value.encoded() }
    let text = "\(values.count) values, \(values.joined().utf8.count) bytes"
    return TextResponse { writer in
        try await writer.write(text)
        return [:]
    }
}

/// Answers with a message, and stays open until its RPC is cancelled.
let endless: Handler = { _, context in
    TextResponse { writer in
        try await writer.write("x")
        try await context.cancellation.cancelled
        throw CancellationError()
    }
}

/// Fails before it sends anything.
func fail(_ code: RPCError.Code, _ metadata: Metadata) -> Handler {
    { request, _ in
        for try await _ in request.messages {}
        throw RPCError(code: code, message: "scripted", metadata: metadata)
    }
}

/// Answers with a message. With `inBody` it waits for the gate after the message. Otherwise it opens `waits`, and waits
/// for the gate before the message.
func slow(_ waits: Gate, _ gate: Gate, inBody: Bool) -> Handler {
    { _, _ in
        if !inBody {
            waits.open()
            await gate.wait()
        }
        return TextResponse { writer in
            try await writer.write("x")
            if inBody { await gate.wait() }
            return [:]
        }
    }
}

/// Opens once, for one waiter.
final class Gate: Sendable {
    private let (stream, continuation) = AsyncStream.makeStream(of: Void.self)

    func open() { continuation.finish() }
    func wait() async { for await _ in stream {} }
}

/// Tracks connections or streams of NIO until they are closed.
final class Channels: Sendable {
    private let state = Mutex<(opened: Int, open: [ObjectIdentifier: any Channel])>((0, [:]))

    /// How many have been opened so far.
    var opened: Int { state.withLock { $0.opened } }

    private var open: [any Channel] { state.withLock { Array($0.open.values) } }

    func add(_ channel: any Channel) -> EventLoopFuture<Void> {
        state.withLock { state in
            state.opened += 1
            state.open[ObjectIdentifier(channel)] = channel
        }
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { state in state.open[ObjectIdentifier(channel)] = nil }
        }
        return channel.eventLoop.makeSucceededVoidFuture()
    }

    func close() { for channel in open { channel.close(promise: nil) } }

    func waitUntilClosed() async throws { for channel in open { try await channel.closeFuture.get() } }
}
