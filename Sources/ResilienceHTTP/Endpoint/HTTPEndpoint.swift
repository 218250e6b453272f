/// The unit that one policy or pipeline guards in an HTTP service: scheme, host, port, and a template of the path.
///
/// ```swift
/// let endpoint = HTTPEndpoint(
///     scheme: "https", host: "API.example.com", port: 443,
///     template: "/users/{id}")
/// // https://api.example.com/users/{id}
/// print(endpoint)
/// ```
///
/// It is a key for registries and metrics, and outsiders may choose parts of it. So equivalent parts are made equal
/// (RFC 3986 §6.2), short, and safe to show:
///
/// - The case of scheme and host, and the scheme's own port, do not matter.
/// - User and password, query and fragment are dropped.
/// - All characters but the unreserved ones (RFC 3986 §2.3) are percent-encoded. The scheme may also have `+`, the
///   host `[`, `]` and `:`, the template `/`, `{`, `}`, `*` and `:`. A host with non-ASCII letters is percent-encoded,
///   not converted: it differs from the same host in Punycode.
/// - A host and a template are cut after 255 bytes, a scheme after 16. So several long endpoints may become one key.
///
/// Choose the template: name the route, not the path. With identifiers in the template, each identifier would have its
/// own breaker, which never sees enough calls to open.
public struct HTTPEndpoint: Sendable, Hashable, CustomStringConvertible {
    /// The scheme in lower case, such as "https"; empty if there is none.
    public let scheme: String
    /// The host in lower case; empty if there is none.
    public let host: String
    /// The port; nil if it is the scheme's own, or none is given.
    public let port: Int?
    /// The template of the path, beginning with `/`; empty for the whole host.
    public let template: String

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - scheme: The scheme; any text.
    ///   - host: The host, without user and port; any text. An IPv6 address may be in brackets.
    ///   - port: The port; any number. nil, the default, is the scheme's own.
    ///   - template: The template of the path, such as `/users/{id}`; any text. Empty, the default, for the whole host.
    public init(scheme: String, host: String, port: Int? = nil, template: String = "") {
        self.scheme = Self.safe(scheme, besides: "+", limit: 16, foldsCase: true)
        let isBareIPv6 = host.utf8.contains(UInt8(ascii: ":")) && !host.hasPrefix("[")
        self.host = Self.safe(isBareIPv6 ? "[\(host)]" : host, besides: "[]:", limit: 255, foldsCase: true)
        self.port = port == Self.ports[self.scheme] ? nil : port
        let path = Substring(template.unicodeScalars.prefix { $0 != "?" && $0 != "#" })
        self.template = Self.safe(
            path.isEmpty || path.hasPrefix("/") ? String(path) : "/\(path)", besides: "/{}*:", limit: 255)
    }

    /// Creates the key of a request by its authority.
    /// - Parameters:
    ///   - scheme: The scheme; any text.
    ///   - authority: `[ user "@" ] host [ ":" port ]` (RFC 3986 §3.2); any text. The host may be an IPv6 address in
    ///     brackets. A port that is not a number from 0 to 65535 counts as none.
    ///   - template: The template of the path; empty, the default, for the whole host.
    package init(scheme: String, authority: String, template: String = "") {
        // Splits by bytes, not characters: a combining mark would hide the separator before it, and so reveal a
        // password.
        var rest = authority.utf8[...]
        if let at = rest.lastIndex(of: UInt8(ascii: "@")) { rest = rest[rest.index(after: at)...] }
        var port: Int?
        if let colon = rest.lastIndex(of: UInt8(ascii: ":")), !rest[colon...].contains(UInt8(ascii: "]")) {
            port = Self.port(rest[rest.index(after: colon)...])
            rest = rest[..<colon]
        }
        self.init(scheme: scheme, host: String(decoding: rest, as: UTF8.self), port: port, template: template)
    }

    /// The port in digits; nil for any other text.
    private static func port(_ digits: Substring.UTF8View) -> Int? {
        guard digits.allSatisfy(\.isDigit) else { return nil }
        return UInt16(String(decoding: digits, as: UTF8.self)).map { Int($0) }
    }

    private static let ports = ["http": 80, "https": 443, "ws": 80, "wss": 443]

    /// The key as a URL with the template as its path, in ASCII: `https://api.example.com:8443/users/{id}`.
    public var description: String { "\(scheme)://\(host)\(port.map { ":\($0)" } ?? "")\(template)" }
}

// MARK: - Characters

extension HTTPEndpoint {
    /// The text with unreserved characters decoded and all others encoded, except those in `besides`. Idempotent.
    private static func safe(_ text: String, besides: String, limit: Int, foldsCase: Bool = false) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let first = rest.popFirst() {
            var (byte, wasEncoded) = (first, false)
            if first == UInt8(ascii: "%"), let decoded = UInt8(hexadecimal: rest.prefix(2)) {
                rest.removeFirst(2)
                (byte, wasEncoded) = (decoded, true)
            }
            let stays = byte.isUnreserved || !wasEncoded && besides.utf8.contains(byte)
            let piece = stays ? [foldsCase ? byte.lowerCase : byte] : byte.percentEncoded
            guard bytes.count + piece.count <= limit else { break }
            bytes += piece
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate init?(hexadecimal digits: Substring.UTF8View) {
        let values = digits.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard values.count == 2 else { return nil }
        self = UInt8(values[0] << 4 | values[1])
    }

    fileprivate var isUnreserved: Bool { isLetter || isDigit || "-._~".utf8.contains(self) }

    fileprivate var lowerCase: UInt8 { isUpperCase ? self | 0x20 : self }

    fileprivate var percentEncoded: [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "%"), digits[Int(self >> 4)], digits[Int(self & 15)]]
    }
}
