#if Redis
    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Musl)
        import Musl
    #else
        import Glibc
    #endif

    enum RedisAddress: Sendable {
        case host(String, UInt16)
        case path(String)
    }

    /// One connection, used by one thread at a time. Every wait ends at its deadline, even if bytes trickle in.
    struct RedisConnection: ~Copyable, Sendable {
        private let socket: Int32
        private var reader = RedisReplyReader()

        /// The present time, in nanoseconds of the monotonic clock.
        static var now: Int64 {
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        }

        init(to address: RedisAddress, until deadline: Int64) throws(RedisEngineError) {
            switch address {
            case .host(let host, let port): socket = try Self.socket(host, port, until: deadline)
            case .path(let path): socket = try Self.socket(path, until: deadline)
            }
        }

        deinit { close(socket) }

        // MARK: Connecting

        private static func socket(_ host: String, _ port: UInt16, until deadline: Int64) throws(RedisEngineError)
            -> Int32
        {
            var hints = addrinfo()
            hints.ai_socktype = stream
            hints.ai_flags = AI_NUMERICSERV
            var found: UnsafeMutablePointer<addrinfo>?
            let code = getaddrinfo(host, "\(port)", &hints, &found)
            guard code == 0, let first = found else {
                throw .unreachable("\(host):\(port): \(String(cString: gai_strerror(code)))")
            }
            defer { freeaddrinfo(first) }
            var problem = "it has no address"
            var next: UnsafeMutablePointer<addrinfo>? = first
            while let address = next {
                next = address.pointee.ai_next
                do throws(Problem) {
                    return try connected(
                        address.pointee.ai_family, address.pointee.ai_addr, address.pointee.ai_addrlen, until: deadline)
                } catch {
                    problem = error.text
                }
            }
            throw .unreachable("\(host):\(port): \(problem)")
        }

        private static func socket(_ path: String, until deadline: Int64) throws(RedisEngineError) -> Int32 {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(path.utf8)
            guard bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0) else {
                throw .unreachable("\(path): not a path of a socket")
            }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            do throws(Problem) {
                return try withUnsafePointer(to: address) { address throws(Problem) in
                    try address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address throws(Problem) in
                        try connected(AF_UNIX, address, socklen_t(MemoryLayout<sockaddr_un>.size), until: deadline)
                    }
                }
            } catch {
                throw .unreachable("\(path): \(error.text)")
            }
        }

        private struct Problem: Error {
            let text: String

            init(_ text: String) { self.text = text }

            init(code: Int32) { text = RedisConnection.text(code) }
        }

        private static func connected(
            _ family: Int32, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t, until deadline: Int64
        ) throws(Problem) -> Int32 {
            #if canImport(Darwin)
                let socket = Darwin.socket(family, stream, 0)
            #elseif canImport(Musl)
                let socket = Musl.socket(family, stream, 0)
            #else
                let socket = Glibc.socket(family, stream, 0)
            #endif
            guard socket >= 0 else { throw Problem(code: errno) }
            do throws(Problem) {
                _ = fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK)
                _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
                var (yes, size) = (Int32(1), socklen_t(MemoryLayout<Int32>.size))
                // This fails for a Unix domain socket, which does not need it.
                _ = setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, size)
                #if canImport(Darwin)
                    _ = setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &yes, size)
                #endif
                let code = connect(socket, address, length) == 0 ? 0 : errno
                guard code == 0 || code == EINPROGRESS else { throw Problem(code: code) }
                guard wait(for: socket, Int16(POLLOUT), until: deadline) else { throw Problem("no answer in time") }
                var error = Int32(0)
                _ = getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size)
                guard error == 0 else { throw Problem(code: error) }
                return socket
            } catch {
                close(socket)
                throw error
            }
        }

        #if canImport(Glibc)
            private static let stream = Int32(SOCK_STREAM.rawValue)
        #else
            private static let stream = SOCK_STREAM
        #endif

        #if canImport(Darwin)
            private static let peek = MSG_PEEK
        #else
            private static let peek = Int32(MSG_PEEK)
        #endif

        // MARK: Commands

        /// Whether the server has closed the connection, or has sent unrequested data.
        var hasEnded: Bool {
            var byte: UInt8 = 0
            return recv(socket, &byte, 1, Self.peek) >= 0 || !(errno == EAGAIN || errno == EINTR)
        }

        mutating func send(_ bytes: [UInt8], until deadline: Int64) throws(RedisEngineError) {
            var sent = 0
            while sent < bytes.count {
                let (count, code) = bytes[sent...].withUnsafeBytes { rest in
                    (systemSend(socket, rest.baseAddress, rest.count), errno)
                }
                if count > 0 {
                    sent += count
                } else if code == EAGAIN {
                    guard Self.wait(for: socket, Int16(POLLOUT), until: deadline) else {
                        throw .noAnswer("it accepts no data")
                    }
                } else if code != EINTR {
                    throw .noAnswer(Self.text(code))
                }
            }
        }

        /// Longer than any answer of our scripts, in bytes.
        private static let longestAnswer = 1 << 20

        /// Reads the next answer.
        mutating func receive(until deadline: Int64) throws(RedisEngineError) -> RedisReply {
            var budget = Self.longestAnswer
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while true {
                if let reply = try reader.next() { return reply }
                let (count, code) = buffer.withUnsafeMutableBytes { (recv(socket, $0.baseAddress, $0.count, 0), errno) }
                if count > 0 {
                    budget -= count
                    guard budget > 0 else { throw .unreadable("the answer is too long") }
                    try reader.feed(buffer[..<count])
                } else if count == 0 {
                    throw .noAnswer("it has closed the connection")
                } else if code == EAGAIN {
                    guard Self.wait(for: socket, Int16(POLLIN), until: deadline) else {
                        throw .noAnswer("no answer in time")
                    }
                } else if code != EINTR {
                    throw .noAnswer(Self.text(code))
                }
            }
        }

        /// - Returns: Whether the socket is ready; false at the deadline.
        private static func wait(for socket: Int32, _ events: Int16, until deadline: Int64) -> Bool {
            while true {
                let left = deadline - now
                guard left > 0 else { return false }
                var entry = pollfd(fd: socket, events: events, revents: 0)
                // Rounded up; otherwise the loop would spin during the last part of a millisecond.
                let ready = poll(&entry, 1, Int32(min((left + 999_999) / 1_000_000, 60_000)))
                if ready > 0 { return true }
                if ready < 0, errno != EINTR, errno != EAGAIN { return false }
            }
        }

        private static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
    }

    /// Sends without a signal if the other side has closed.
    private func systemSend(_ socket: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
        #if canImport(Darwin)
            Darwin.send(socket, bytes, count, 0)
        #elseif canImport(Musl)
            Musl.send(socket, bytes, count, Int32(MSG_NOSIGNAL))
        #else
            Glibc.send(socket, bytes, count, Int32(MSG_NOSIGNAL))
        #endif
    }
#endif
