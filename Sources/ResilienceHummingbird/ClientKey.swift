#if Hummingbird
    import HTTPTypes
    public import Hummingbird
    public import NIOCore
    import Resilience
    import ResilienceHTTP

    /// Keys for limits of clients known only by their address.
    public enum ClientKey {
        /// Returns the key of the client at the other end of a connection.
        ///
        /// ```swift
        /// ThrottleMiddleware(limit: .perMinute(10)) { request, context in
        ///     ClientKey.address(context.remoteAddress)
        /// }
        /// ```
        ///
        /// `remoteAddress` is a property of your context: see Hummingbird's `RemoteAddressRequestContext`. Behind a
        /// proxy it is the proxy's address; use ``forwarded(_:proxies:)`` there.
        /// - Parameter address: The address of the other end.
        /// - Returns: An IPv4 address; or the first 64 bits of an IPv6 address, which one client gets from its
        ///   network, such as "2001:db8:0:7::/64". nil if there is no such address.
        public static func address(_ address: SocketAddress?) -> String? { address?.ipAddress.map(network) }

        /// Returns the key of a client behind your own proxies, from `X-Forwarded-For`.
        ///
        /// Each proxy adds the address of its own client at the end of the field, after any text that this client may
        /// have written. So only the last `proxies` addresses can be trusted, and the first of these is the client's.
        ///
        /// - Parameters:
        ///   - request: The request.
        ///   - proxies: The number of your own proxies on the path of each request, 1 or more. 1 by default. If it is
        ///     too high, clients can choose their keys; if it is too low, all clients of a proxy share one key.
        /// - Returns: A key as from ``address(_:)``. nil if the field has too few addresses, or something else in
        ///   that place.
        public static func forwarded(_ request: Request, proxies: Int = 1) -> String? {
            forwarded(request.headers[values: forwardedFor], proxies: proxies)
        }

        // Never nil: the name is our own, and valid.
        private static let forwardedFor = HTTPField.Name("X-Forwarded-For")!

        static func forwarded(_ values: [String], proxies: Int) -> String? {
            var left = max(1, proxies)
            for value in values.reversed() {
                for entry in value.split(separator: ",", omittingEmptySubsequences: false).reversed() {
                    left -= 1
                    if left == 0 { return address(in: entry).map(network) }
                }
            }
            return nil
        }

        /// The address in an entry: alone, or with a port, as some proxies write it.
        private static func address(in entry: Substring) -> String? {
            var entry = Substring(entry.trimmingPrefix { $0 == " " || $0 == "\t" })
            while entry.last == " " || entry.last == "\t" { entry.removeLast() }
            // No address is longer, including brackets and port.
            guard entry.utf8.count <= 64 else { return nil }
            if entry.first == "[", let end = entry.firstIndex(of: "]") {
                entry = entry[entry.index(after: entry.startIndex)..<end]
            } else if entry.count(where: { $0 == ":" }) == 1, let colon = entry.firstIndex(of: ":") {
                entry = entry[..<colon]
            }
            return (try? SocketAddress(ipAddress: String(entry), port: 0))?.ipAddress
        }

        /// The network of an address in the system's text form.
        static func network(_ address: String) -> String {
            guard address.utf8.contains(UInt8(ascii: ":")) else { return address }
            // An IPv4 client of a dual-stack socket.
            if address.hasPrefix("::ffff:"), address.contains(".") { return String(address.dropFirst(7)) }
            let halves = address.split(separator: "::", maxSplits: 1, omittingEmptySubsequences: false)
            let head = halves.first?.split(separator: ":") ?? []
            let tail = halves.count > 1 ? halves.last?.split(separator: ":") ?? [] : []
            // A final IPv4 address counts as two groups.
            let written = head.count + tail.count + (address.contains(".") ? 1 : 0)
            let zeros = [Substring](repeating: "0", count: max(0, 8 - written))
            return (head + zeros + tail).prefix(4).joined(separator: ":") + "::/64"
        }

        /// The longest key that is kept as it is, in bytes.
        static var longest: Int { 128 }

        /// Returns a key of limited length. A longer key is hashed, not cut: all tokens of one issuer begin alike.
        static func bounded(_ key: String) -> String {
            guard key.utf8.count > longest else { return key }
            return "#\(digest(key, 0))\(digest(key, 1))"
        }

        /// The key of one of the 64 throttles that clients share when there are too many.
        static func shared(by key: String) -> String { "#shared \(digest(key, 2) % 64)" }

        /// The seed is the process's own, so outsiders can't search for two keys with the same digest.
        private static func digest(_ key: String, _ salt: Int) -> UInt {
            var hasher = Hasher()
            hasher.combine(salt)
            hasher.combine(key)
            return UInt(bitPattern: hasher.finalize())
        }
    }
#endif
