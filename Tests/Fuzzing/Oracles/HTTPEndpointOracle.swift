import Resilience
import ResilienceHTTP

/// An endpoint's key, of whatever parts.
package enum HTTPEndpointOracle {
    /// - Parameter input: scheme, host, port and template, a line each; what is missing is empty.
    /// - Returns: whether something had to be changed to be safe.
    package static func check(_ input: [UInt8]) throws -> Bool {
        let lines = input.split(separator: UInt8(ascii: "\n"), maxSplits: 3, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        func line(_ index: Int) -> String { index < lines.count ? lines[index] : "" }
        let (scheme, host, template) = (line(0), line(1), line(3))
        let port = Int(line(2))
        let key = HTTPEndpoint(scheme: scheme, host: host, port: port, template: template)
        let text = "\(key)"
        try expect(text.utf8.count <= 16 + 3 + 255 + 21 + 255, "\(text) is too long")
        try expect(text.utf8.allSatisfy(isHarmless), "\(text.debugDescription) has a character that it must not have")
        try expect(key.template.isEmpty || key.template.hasPrefix("/"), "\(text): its template is no path")
        let again = HTTPEndpoint(scheme: key.scheme, host: key.host, port: key.port, template: key.template)
        try expect(again == key, "\(text) becomes \(again)")
        let shouted = HTTPEndpoint(
            scheme: shout(scheme), host: shout(host), port: port, template: template)
        try expect(shouted == key, "the case matters: \(text), \(shouted)")
        let more = HTTPEndpoint(scheme: scheme, host: host, port: port, template: "\(template)?q=1#f")
        let isWhole = template.contains("?") || template.contains("#")
        try expect(isWhole || more == key || template.isEmpty, "the query counts: \(text), \(more)")
        return key.host != host || key.template != template || key.scheme != scheme
    }

    /// ASCII letters alone.
    private static func shout(_ text: String) -> String {
        String(decoding: text.utf8.map { (0x61...0x7a).contains($0) ? $0 & 0xdf : $0 }, as: UTF8.self)
    }

    private static func isHarmless(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        default: "-._~+[]:/{}*%".utf8.contains(byte)
        }
    }
}
