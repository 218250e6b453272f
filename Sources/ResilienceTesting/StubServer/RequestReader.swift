#if StubServer
    import FlyingSocks
    import Foundation

    /// Reads the requests of one connection, in order (RFC 9112).
    struct RequestReader {
        private static let longestLine = 65_536
        private let socket: AsyncSocket
        private var buffer: [UInt8] = []

        init(_ socket: AsyncSocket) { self.socket = socket }

        /// - Returns: The next request, and whether it is the last one to answer on this connection.
        /// - Throws: `SocketError.disconnected` if the client disconnects, ``MalformedRequest``, `CancellationError`.
        mutating func next() async throws -> (request: StubRequest, isLast: Bool) {
            let start = try await line().split(separator: " ")
            guard start.count == 3, start[2].hasPrefix("HTTP/1.") else { throw MalformedRequest() }
            let headers = try await headers()
            if headers["expect"]?.lowercased() == "100-continue" {
                try await socket.write(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8))
            }
            let request = StubRequest(
                method: String(start[0]), path: String(start[1]), headers: headers, body: try await body(headers))
            return (request, start[2] == "HTTP/1.0" || headers["connection"]?.lowercased() == "close")
        }

        private mutating func headers() async throws -> [String: String] {
            var headers: [String: String] = [:]
            while case let line = try await line(), !line.isEmpty {
                guard let colon = line.firstIndex(of: ":") else { throw MalformedRequest() }
                let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
                let name = line[..<colon].lowercased()
                headers[name] = headers[name].map { "\($0), \(value)" } ?? value
            }
            return headers
        }

        private mutating func body(_ headers: [String: String]) async throws -> Data {
            if headers["transfer-encoding"]?.lowercased() == "chunked" { return try await chunks() }
            guard let length = headers["content-length"] else { return Data() }
            return Data(try await bytes(count(length)))
        }

        private mutating func chunks() async throws -> Data {
            var body = Data()
            while case let size = try await count(line().prefix { $0 != ";" }, radix: 16), size > 0 {
                body += try await bytes(size)
                guard try await line().isEmpty else { throw MalformedRequest() }
            }
            while try await !line().isEmpty {}  // trailers
            return body
        }

        private func count(_ digits: some StringProtocol, radix: Int = 10) throws -> Int {
            guard let count = Int(digits, radix: radix), count >= 0 else { throw MalformedRequest() }
            return count
        }

        private mutating func line() async throws -> String {
            var searched = 0
            while true {
                if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                    let line = String(decoding: buffer[..<end], as: UTF8.self)
                    buffer.removeSubrange(...end)
                    return line.hasSuffix("\r") ? String(line.dropLast()) : line
                }
                searched = buffer.count
                guard searched <= Self.longestLine else { throw MalformedRequest() }
                buffer += try await socket.read(atMost: 4096)
            }
        }

        private mutating func bytes(_ count: Int) async throws -> [UInt8] {
            while buffer.count < count { buffer += try await socket.read(atMost: 4096) }
            defer { buffer.removeSubrange(..<count) }
            return Array(buffer[..<count])
        }
    }

    struct MalformedRequest: Error {}
#endif
