#if StubServer
    import Foundation
    import Resilience

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// A loopback server for one connection, which it reads and writes only when told to.
    ///
    /// So a test can stop an upload or a body in the middle.
    final class BareServer: Sendable {
        /// Thrown if the client did nothing for the longest time that a test may take.
        struct Silence: Error {}

        /// Far more bytes than the system's buffers hold: once these are sent, the other side has read most of them.
        static let large = 64_000_000

        private let url: URL
        private let listener: CInt
        private let connection = Locked<CInt?>(nil)

        init() throws {
            #if canImport(Glibc)
                let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
            #else
                let descriptor = socket(AF_INET, SOCK_STREAM, 0)
            #endif
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isListening = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, size) == 0 && listen(descriptor, 1) == 0
                        && getsockname(descriptor, $0, &size) == 0
                }
            }
            guard isListening, let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/") else {
                throw Silence()
            }
            listener = descriptor
            self.url = url
        }

        deinit {
            if let accepted = connection.withLock({ $0 }) { close(accepted) }
            close(listener)
        }

        var get: URLRequest { URLRequest(url: url, timeoutInterval: 100_000) }

        var put: URLRequest {
            var request = get
            request.httpMethod = "PUT"
            return request
        }

        /// Reads until at least this many bytes have come.
        func read(_ count: Int) async throws {
            try await onThread { [self] in
                var received = 0
                while received < count {
                    let length = try receive()
                    guard length > 0 else { throw Silence() }
                    received += length
                }
            }
        }

        /// Reads until the client has closed the connection.
        ///
        /// - Returns: The number of bytes that came.
        func readToEnd() async throws -> Int {
            try await onThread { [self] in
                var received = 0
                while case let length = try receive(), length > 0 { received += length }
                return received
            }
        }

        /// Writes bytes, and returns once the system has taken all of them.
        func write(_ data: Data) async throws {
            try await onThread { [self] in
                let connection = try accepted()
                #if canImport(Darwin)
                    let flags = MSG_DONTWAIT
                #else
                    let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
                #endif
                var rest = data
                while !rest.isEmpty {
                    try Self.wait(for: POLLOUT, on: connection)
                    let length = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, flags) }
                    guard length > 0 else { throw Silence() }
                    rest = rest.dropFirst(length)
                }
            }
        }

        /// - Returns: The number of bytes that came; 0 if the client has closed or reset the connection.
        private func receive() throws -> Int {
            let connection = try accepted()
            try Self.wait(for: POLLIN, on: connection)
            var buffer = [UInt8](repeating: 0, count: 65_536)
            return max(0, recv(connection, &buffer, buffer.count, 0))
        }

        /// The connection. The first call accepts it.
        private func accepted() throws -> CInt {
            if let known = connection.withLock({ $0 }) { return known }
            try Self.wait(for: POLLIN, on: listener)
            let accepted = accept(listener, nil, nil)
            guard accepted >= 0 else { throw Silence() }
            #if canImport(Darwin)
                var isOn: CInt = 1
                setsockopt(accepted, SOL_SOCKET, SO_NOSIGPIPE, &isOn, socklen_t(MemoryLayout<CInt>.size))
            #endif
            connection.withLock { $0 = accepted }
            return accepted
        }

        /// Waits until a socket is ready.
        private static func wait(for event: CInt, on descriptor: CInt) throws {
            var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
            var ready: CInt
            repeat { ready = poll(&entry, 1, 300_000) } while ready < 0 && errno == EINTR
            guard ready == 1 else { throw Silence() }
        }

        /// Runs blocking work on its own thread.
        private func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
            try await withCheckedThrowingContinuation { continuation in
                Thread.detachNewThread {
                    do {
                        continuation.resume(returning: try body())
                    } catch {
                        continuation.resume(throwing: error)
                    }
                }
            }
        }
    }
#endif
