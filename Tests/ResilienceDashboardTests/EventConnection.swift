#if Dashboard
    import Foundation
    import NIOCore
    import NIOPosix

    /// One connection to a loopback server: sends a request unchanged, and reads the events of the answer.
    struct EventConnection {
        struct Event: Equatable {
            let name: String
            let data: String

            /// A value in the event's JSON.
            func value<T>(_ key: String, _: T.Type = T.self) -> T? {
                (try? JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any])?[key] as? T
            }

            var rows: [[String: Any]] { value("rows") ?? [] }

            /// The state of the first circuit in the event.
            var circuit: String? {
                rows.lazy.compactMap { $0["timeline"] as? [String: Any] }.first?["state"] as? String
            }
        }

        private var bytes: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        private var text = ""

        fileprivate init(_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>) { bytes = inbound.makeAsyncIterator() }

        /// - Parameter window: The size of the socket's buffer, in bytes; nil for the system's.
        static func run<R>(
            _ port: Int, _ path: String, window: Int? = nil, _ body: (inout EventConnection) async throws -> R
        ) async throws -> R {
            var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            if let window { bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: .init(window)) }
            let channel = try await bootstrap.connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
            return try await channel.executeThenClose { inbound, outbound in
                let request = "GET \(path) HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
                try await outbound.write(ByteBuffer(string: request))
                var connection = EventConnection(inbound)
                return try await body(&connection)
            }
        }

        /// The status line of the answer, and its fields.
        mutating func head() async throws -> String {
            while true {
                if let end = text.firstRange(of: "\r\n\r\n") {
                    let head = String(text[..<end.lowerBound])
                    text = String(text[end.upperBound...])
                    return head
                }
                guard try await more() else { return text }
            }
        }

        /// - Returns: The next event; nil at the end of the connection.
        mutating func next() async throws -> Event? {
            while true {
                if let found = text.firstMatch(of: /event: (\w+)\ndata: ([^\n]*)\n\n/) {
                    let event = Event(name: String(found.1), data: String(found.2))
                    text = String(text[found.range.upperBound...])
                    return event
                }
                guard try await more() else { return nil }
            }
        }

        /// - Returns: The next event that fits; nil at the end of the connection.
        mutating func next(where fits: (Event) -> Bool) async throws -> Event? {
            while let event = try await next() { if fits(event) { return event } }
            return nil
        }

        private mutating func more() async throws -> Bool {
            guard let buffer = try await bytes.next(isolation: #isolation) else { return false }
            text += String(buffer: buffer)
            return true
        }
    }
#endif
