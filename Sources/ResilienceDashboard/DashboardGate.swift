#if Dashboard
    /// Decides whether a request to change something came from the page itself.
    ///
    /// Another site can send a request with the reader's cookies. But that site can't read the token from the page, and
    /// can't set the header without the browser's permission. The browser also states where the request comes from.
    struct DashboardGate: Sendable {
        /// New for each mount; 32 hexadecimal digits.
        let token: String

        init(using generator: inout some RandomNumberGenerator) { token = Self.random(using: &generator) }

        /// - Parameters:
        ///   - token: The token that the request carries in a header of its own.
        ///   - origin: The value of the header field Origin.
        ///   - authority: The host and port that the request was sent to.
        ///   - site: The value of the header field Sec-Fetch-Site, which newer browsers send.
        func allows(token: String?, origin: String?, authority: String?, site: String?) -> Bool {
            guard let token, token.utf8.elementsEqual(self.token.utf8) else { return false }
            guard let origin, let authority, !authority.isEmpty else { return false }
            let place = Self.lowerCase(origin)
            // The scheme is not compared: a proxy in front of the service may have terminated TLS.
            guard let separator = place.firstRange(of: Array("://".utf8)),
                place[separator.upperBound...].elementsEqual(Self.lowerCase(authority))
            else { return false }
            return site == nil || site == "same-origin"
        }

        /// Changes only ASCII letters: a browser's Origin has no others. Unicode's rules would make different hosts
        /// equal, such as a host with a Kelvin sign and a host with a k.
        private static func lowerCase(_ text: String) -> [UInt8] {
            text.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
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
