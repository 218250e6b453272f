#if Dashboard
    /// Decides whether a request to change something came from the page itself.
    ///
    /// Another site can send a request with the reader's cookies, but can neither read the token from the page nor set
    /// the header without the browser's leave, and the browser says where the request comes from.
    struct DashboardGate: Sendable {
        /// Made anew for each mount; 32 hexadecimal digits.
        let token: String

        init(using generator: inout some RandomNumberGenerator) { token = Self.random(using: &generator) }

        /// - Parameters:
        ///   - token: The token that the request carries in a header of its own.
        ///   - origin: The field Origin.
        ///   - authority: The host, with its port, that the request was sent to.
        ///   - site: The field Sec-Fetch-Site, which newer browsers send.
        func allows(token: String?, origin: String?, authority: String?, site: String?) -> Bool {
            guard let token, token.utf8.elementsEqual(self.token.utf8) else { return false }
            guard let origin, let authority, !authority.isEmpty else { return false }
            // The scheme is not compared: a proxy in front of the service may have ended TLS.
            guard let separator = origin.firstRange(of: "://"),
                origin[separator.upperBound...].lowercased() == authority.lowercased()
            else { return false }
            return site == nil || site == "same-origin"
        }

        /// Returns 128 random bits, as 32 hexadecimal digits.
        static func random(using generator: inout some RandomNumberGenerator) -> String {
            (0..<2).map { _ in
                let digits = String(generator.next() as UInt64, radix: 16)
                return String(repeating: "0", count: 16 - digits.count) + digits
            }.joined()
        }
    }
#endif
