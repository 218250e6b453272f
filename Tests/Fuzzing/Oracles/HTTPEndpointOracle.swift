import Resilience
package import ResilienceHTTP

/// Checks the key of an endpoint, made from any parts or from any authority.
package enum HTTPEndpointOracle {
    /// - Parameter input: Scheme, host, port and template, a line each; missing ones are empty. The host's line is also
    ///   read as a request's authority.
    /// - Returns: Whether the key had to change something to be safe.
    package static func check(_ input: [UInt8]) throws -> Bool {
        let lines = input.split(separator: UInt8(ascii: "\n"), maxSplits: 3, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        func line(_ index: Int) -> String { index < lines.count ? lines[index] : "" }
        let (scheme, host, template) = (line(0), line(1), line(3))
        let port = Int(line(2))
        let key = HTTPEndpoint(scheme: scheme, host: host, port: port, template: template)
        try checkKey(key)
        let shouted = HTTPEndpoint(
            scheme: shout(scheme), host: shout(host), port: port, template: template)
        try expect(shouted == key, "the case matters: \(key), \(shouted)")
        let more = HTTPEndpoint(scheme: scheme, host: host, port: port, template: "\(template)?q=1#f")
        let isWhole = template.contains("?") || template.contains("#")
        try expect(isWhole || more == key || template.isEmpty, "the query counts: \(key), \(more)")
        try checkAuthority(host, scheme, template)
        return key.host != host || key.template != template || key.scheme != scheme
    }

    /// Checks the rules of every key.
    package static func checkKey(_ key: HTTPEndpoint) throws {
        let text = "\(key)"
        try expect(text.utf8.count <= 16 + 3 + 255 + 21 + 255, "\(text) is too long")
        try expect(text.utf8.allSatisfy(isHarmless), "\(text.debugDescription) has a character that it must not have")
        try expect(isLowerCase(key.scheme) && isLowerCase(key.host), "\(text) has a capital letter")
        try expect(key.template.isEmpty || key.template.hasPrefix("/"), "\(text): its template is no path")
        let again = HTTPEndpoint(scheme: key.scheme, host: key.host, port: key.port, template: key.template)
        try expect(again == key, "\(text) becomes \(again)")
    }

    // MARK: Authorities

    private static func checkAuthority(_ authority: String, _ scheme: String, _ template: String) throws {
        func key(_ authority: String) -> HTTPEndpoint {
            HTTPEndpoint(scheme: scheme, authority: authority, template: template)
        }
        let read = key(authority)
        try checkKey(read)
        try expect(read.port.map { (0...65_535).contains($0) } ?? true, "\(read): there is no such port")
        let parts = AuthorityParts(authority)
        let expected = HTTPEndpoint(scheme: scheme, host: parts.host, port: parts.port, template: template)
        try expect(read == expected, "\(authority.debugDescription) is read as \(read), not as \(expected)")
        try expect(key(shout(authority)) == read, "the case of \(authority.debugDescription) matters")
        try expect(key("user:secret@\(authority)") == read, "a password counts: \(key("user:secret@\(authority)"))")
        guard !parts.hasPort else { return }
        try expect(key("\(authority):") == read, "an empty port counts: \(key("\(authority):"))")
        if let own = ["http": 80, "https": 443, "ws": 80, "wss": 443][read.scheme] {
            try expect(key("\(authority):\(own)") == read, "the scheme's own port counts: \(read)")
            try expect(key("\(authority):0\(own + 1)").port == own + 1, "another port does not count: \(read)")
        }
    }

    // MARK: Characters

    /// Changes only ASCII letters.
    private static func shout(_ text: String) -> String {
        String(decoding: text.utf8.map { (0x61...0x7a).contains($0) ? $0 & 0xdf : $0 }, as: UTF8.self)
    }

    private static func isHarmless(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        default: "-._~+[]:/{}*%".utf8.contains(byte)
        }
    }

    /// Whether only escapes contain capital letters.
    private static func isLowerCase(_ text: String) -> Bool {
        var escape = 0
        for byte in text.utf8 {
            if byte == UInt8(ascii: "%") {
                escape = 2
            } else if escape > 0 {
                escape -= 1
            } else if (0x41...0x5a).contains(byte) {
                return false
            }
        }
        return true
    }
}

/// A second reader of an authority's host and port: from the left, in one pass.
private struct AuthorityParts {
    let host: String
    /// nil if it is missing or impossible.
    let port: Int?
    /// Whether the host is followed by a colon.
    let hasPort: Bool

    init(_ authority: String) {
        var host: [UInt8] = []
        // The text after the last colon, as long as it may be a port.
        var rest: [UInt8]?
        for byte in authority.utf8 {
            switch byte {
            case UInt8(ascii: "@"): (host, rest) = ([], nil)
            case UInt8(ascii: ":"):
                if let before = rest { host += [byte] + before }
                rest = []
            case UInt8(ascii: "]"):
                if let before = rest { host += [UInt8(ascii: ":")] + before }
                host.append(byte)
                rest = nil
            default:
                if rest == nil { host.append(byte) } else { rest?.append(byte) }
            }
        }
        self.host = String(decoding: host, as: UTF8.self)
        hasPort = rest != nil
        port = rest.flatMap(Self.number)
    }

    private static func number(_ digits: [UInt8]) -> Int? {
        var number = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            number = min(number * 10 + Int(digit - 0x30), 100_000)
        }
        return digits.isEmpty || number > 65_535 ? nil : number
    }
}
