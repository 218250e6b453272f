import Foundation
import FuzzOracles
import ResilienceHTTP
import ResilienceTesting
import TestSupport
import Testing

@Suite(.heavy) struct HTTPEndpointFuzzTests {
    // Foundation's URL has its own reader, which would take most of a fuzzer's tries.

    @Test("a random URL has the key of its scheme and authority, whatever its user, path, query and fragment")
    func authorities() throws {
        var random = RandomURLs(seed: 405)
        var keys: Set<HTTPEndpoint> = []
        for _ in 0..<5_000 {
            let (scheme, authority) = (random.scheme(), random.authority())
            let expected = HTTPEndpoint(scheme: scheme, authority: authority, template: "/x")
            let text = "\(scheme)://\(authority)\(random.rest())"
            let url = try #require(URL(string: text), "\(text)")
            let key = HTTPEndpoint(url, template: "/x")
            #expect(key == expected, "\(text)")
            try HTTPEndpointOracle.checkKey(key)
            keys.insert(key)
        }
        #expect(keys.count > 1_000)
    }

    @Test("random text that can be read as a URL gives a short and harmless key")
    func urls() throws {
        var random = RandomURLs(seed: 406)
        var taken = 0
        for _ in 0..<10_000 {
            let text = random.text()
            guard let url = URL(string: text) else { continue }
            taken += 1
            let key = HTTPEndpoint(url, template: text)
            do { try HTTPEndpointOracle.checkKey(key) } catch { Issue.record("\(text.debugDescription): \(error)") }
            #expect(key.port == nil || key.port == url.port, "\(text.debugDescription)")
        }
        #expect(taken > 100)
    }
}

/// Random URLs, from a seed.
private struct RandomURLs {
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    private mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &generator)]
    }

    mutating func scheme() -> String { pick(["http", "https", "HTTP", "Https", "ws", "wss", "ftp"]) }

    /// An authority by RFC 3986.
    mutating func authority() -> String {
        let number = Int.random(in: 0...65_535, using: &generator)
        let user = pick(["", "", "user@", "user:secret@"])
        let port = pick(["", "", ":", ":80", ":443", ":0443", ":\(number)"])
        return "\(user)\(host())\(port)"
    }

    private mutating func host() -> String {
        let brackets = ["[::1]", "[2001:db8::7]", "[2001:DB8::7]", "[::ffff:10.0.0.1]"]
        if Int.random(in: 0..<8, using: &generator) == 0 { return pick(brackets) }
        let pieces = ["a", "b", "C", "Z", "0", "7", "-", ".", "_", "~", "api", "Example", "%41", "%7e"]
        // The host begins with a letter: some readers treat a host of digits as an address.
        let count = Int.random(in: 0...12, using: &generator)
        return "h" + (0..<count).map { _ in pick(pieces) }.joined()
    }

    /// Text that may follow an authority.
    mutating func rest() -> String { pick(["", "/", "/users/7", "/a@b:9/c", "?q=1", "?u@x:7", "#f", "/a//b?c#d@e:8"]) }

    /// Any text: a mutated URL, or random bytes.
    mutating func text() -> String {
        var bytes = Array("\(scheme())://\(authority())\(rest())".utf8)
        if Int.random(in: 0..<4, using: &generator) == 0 {
            let count = Int.random(in: 0...40, using: &generator)
            bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        }
        for _ in 0..<Int.random(in: 0...4, using: &generator) {
            guard let index = bytes.indices.randomElement(using: &generator) else { break }
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
            case 1: bytes[index] = pick(Array("@:[]/?#%.\0 <".utf8))
            case 2: bytes.remove(at: index)
            case 3: bytes.insert(pick(Array("@:[]/?#%0".utf8)), at: index)
            default: bytes.insert(contentsOf: [UInt8](repeating: bytes[index], count: 300), at: index)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
