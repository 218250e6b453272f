#if Redis
    import Foundation
    import Resilience
    import Synchronization

    /// A way to the server, over TCP on loopback, that can be cut. A cut link forwards nothing and accepts nothing,
    /// without an error.
    final class Link: Sendable {
        let port: UInt16
        private let listener: Int32
        private let path: String
        private let isCut = Atomic(false)

        struct Failed: Error {
            let code = errno
        }

        /// - Parameter path: The server's socket.
        init(to path: String) throws {
            self.path = path
            listener = socket(AF_INET, Self.stream, 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let listener = listener
            let code = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    guard bind(listener, address, size) == 0, listen(listener, 128) == 0 else { return Int32(-1) }
                    return getsockname(listener, address, &size)
                }
            }
            guard code == 0 else { throw Failed() }
            port = UInt16(bigEndian: address.sin_port)
            _ = fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK)
            _ = fcntl(listener, F_SETFD, FD_CLOEXEC)
            Thread.detachNewThread { self.acceptAll() }
        }

        func cut() { isCut.store(true, ordering: .sequentiallyConsistent) }

        func mend() {
            // The system has accepted these connections. Over a network that is cut they would not exist.
            while let late = accepted() { close(late) }
            isCut.store(false, ordering: .sequentiallyConsistent)
        }

        private func accepted() -> Int32? {
            let client = accept(listener, nil, nil)
            return client >= 0 ? client : nil
        }

        /// Accepts connections until the process exits.
        private func acceptAll() {
            while true {
                wait([listener])
                guard !isCut.load(ordering: .sequentiallyConsistent), let client = accepted() else { continue }
                _ = fcntl(client, F_SETFD, FD_CLOEXEC)
                Thread.detachNewThread { self.forward(client) }
            }
        }

        private func forward(_ client: Int32) {
            defer { close(client) }
            let server = socket(AF_UNIX, Self.stream, 0)
            guard server >= 0 else { return }
            defer { close(server) }
            _ = fcntl(server, F_SETFD, FD_CLOEXEC)
            var yes = Int32(1)
            _ = setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
            let code = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(server, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            guard code == 0 else { return }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let ready = wait([client, server])
                // While the link is cut, bytes stay in the system's buffers, as they would stay at a sender that
                // retransmits.
                if isCut.load(ordering: .sequentiallyConsistent) { continue }
                for (from, to) in [(client, server), (server, client)] where ready.contains(from) {
                    let count = read(from, &buffer, buffer.count)
                    guard count > 0 else { return }
                    var sent = 0
                    while sent < count {
                        let more = buffer[sent..<count].withUnsafeBytes { write(to, $0.baseAddress, $0.count) }
                        guard more > 0 else { return }
                        sent += more
                    }
                }
            }
        }

        /// Waits until a socket is readable, 10 ms at most; while the link is cut, waits 10 ms.
        @discardableResult private func wait(_ sockets: [Int32]) -> [Int32] {
            let watched = isCut.load(ordering: .sequentiallyConsistent) ? [] : sockets
            var entries = watched.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            poll(&entries, nfds_t(entries.count), 10)
            return entries.filter { $0.revents != 0 }.map(\.fd)
        }

        #if canImport(Glibc)
            private static let stream = Int32(SOCK_STREAM.rawValue)
        #else
            private static let stream = SOCK_STREAM
        #endif
    }
#endif
