#if Dashboard
    import Resilience
    import ResilienceTesting
    import TestSupport
    import Testing

    @testable import ResilienceDashboard

    /// Random requests to act: from the page itself, from the page with one change, and from anywhere.
    @Suite(.heavy) struct DashboardGateFuzzTests {
        @Test("a random request passes if token, origin and site are the page's own, and only then")
        func requests() {
            var random = RandomRequests(seed: 11)
            var allowed = 0
            for _ in 0..<20_000 {
                let gate = DashboardGate(using: &random.generator)
                let request = random.request(to: gate.token)
                let isAllowed = gate.allows(
                    token: request.token, origin: request.origin, authority: request.authority, site: request.site)
                #expect(isAllowed == request.isFromPage(with: gate.token), "\(request)")
                if isAllowed { allowed += 1 }
            }
            #expect(allowed > 1_000 && allowed < 15_000)
        }

        @Test(
            "a host that only looks like the service's is rejected",
            arguments: [
                // The Kelvin sign, which becomes a k in lower case, and a letter composed of two scalars.
                ("http://\u{212A}ost", "kost"), ("http://e\u{301}.example", "\u{e9}.example"),
                ("http://localhost\u{0}", "localhost"), ("http://localhost.", "localhost"),
                ("http://localhost@evil", "localhost"), ("http://evil://localhost", "localhost"),
                ("localhost", "localhost"), ("null", "null"), ("://", ""), ("http://localhost/", "localhost"),
            ])
        func lookalikes(origin: String, authority: String) {
            var generator = SeededGenerator(seed: 1)
            let gate = DashboardGate(using: &generator)
            #expect(!gate.allows(token: gate.token, origin: origin, authority: authority, site: nil))
            #expect(gate.allows(token: gate.token, origin: "http://localhost", authority: "LocalHost", site: nil))
        }
    }

    /// The fields of a request to act.
    private struct RequestedAction {
        var token: String?
        var origin: String?
        var authority: String?
        var site: String?

        /// The rule, byte by byte from the end: the token is the page's; the origin is a scheme without `://`, then
        /// `://`, then the authority in any ASCII case; and the browser's site, if given, is "same-origin".
        func isFromPage(with own: String) -> Bool {
            guard let token, let origin, let authority else { return false }
            var place = Array(origin.utf8)
            for byte in authority.utf8.reversed() {
                guard let last = place.popLast(), Self.isSame(last, byte) else { return false }
            }
            let separator = Array("://".utf8)
            guard place.suffix(3).elementsEqual(separator) else { return false }
            let isFirst = !(0..<place.count - 3).contains { place[$0..<$0 + 3].elementsEqual(separator) }
            let isSameSite = site.map { Array($0.utf8) == Array("same-origin".utf8) } ?? true
            return isFirst && isSameSite && authority.utf8.count > 0 && Array(token.utf8) == Array(own.utf8)
        }

        private static func isSame(_ one: UInt8, _ other: UInt8) -> Bool {
            let isLetter = (0x61...0x7a).contains(one | 0x20)
            return one == other || (isLetter && one | 0x20 == other | 0x20)
        }
    }

    /// Random requests, from a seed.
    private struct RandomRequests {
        var generator: SeededGenerator

        init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

        private mutating func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &generator) == 0 }

        private mutating func pick<Value>(_ values: [Value]) -> Value {
            values[Int.random(in: 0..<values.count, using: &generator)]
        }

        /// The page's own request, perhaps with a change.
        mutating func request(to token: String) -> RequestedAction {
            let authority = pick(["localhost", "localhost:8080", "Kubernetes.Example.com", "[::1]:8080", "10.0.0.1"])
            let scheme = pick(["http", "https", "HTTP", "", "chrome-extension"])
            let host = pick([authority, authority.lowercased(), authority.uppercased()])
            var request = RequestedAction(
                token: token, origin: "\(scheme)://\(host)", authority: authority, site: pick([nil, "same-origin"]))
            if one(in: 4) { request.token = changed(token, among: ["", String(token.dropLast()), token + "0"]) }
            if one(in: 4) {
                request.origin = changed(
                    request.origin ?? "",
                    among: [
                        "null", "://", "file://", "http://", "http://evil", "http://evil://\(authority)", authority,
                        "http://\(authority)@evil", "http://evil@\(authority)", "http://\(authority)/",
                        "http://\(authority.replacing("k", with: "\u{212A}").replacing("K", with: "\u{212A}"))",
                    ])
            }
            if one(in: 4) { request.authority = changed(authority, among: ["", "evil", "\(authority):80", "://"]) }
            if one(in: 4) {
                request.site = changed(
                    "same-origin", among: ["cross-site", "same-site", "none", "Same-Origin", " same-origin", ""])
            }
            return request
        }

        /// Nothing, another text, random bytes, or the text with some bytes changed.
        private mutating func changed(_ text: String, among others: [String]) -> String? {
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: return nil
            case 1, 2: return pick(others)
            case 3:
                let count = Int.random(in: 0...20, using: &generator)
                let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
                return String(decoding: bytes, as: UTF8.self)
            default:
                var bytes = Array(text.utf8)
                for _ in 0..<Int.random(in: 1...3, using: &generator) {
                    guard let index = bytes.indices.randomElement(using: &generator) else { break }
                    switch Int.random(in: 0..<4, using: &generator) {
                    case 0: bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
                    case 1: bytes[index] ^= 0x20
                    case 2: bytes.remove(at: index)
                    default: bytes.insert(bytes[index], at: index)
                    }
                }
                return String(decoding: bytes, as: UTF8.self)
            }
        }
    }
#endif
