import Foundation
import Resilience
import ResilienceHTTP
import ResilienceTesting
import Testing

@Suite struct HTTPEndpointTests {
    private func endpoint(_ url: String, _ template: String = "") throws -> HTTPEndpoint {
        HTTPEndpoint(try #require(URL(string: url)), template: template)
    }

    @Test(
        "URLs of one endpoint have one key",
        arguments: [
            ["https://example.com", "HTTPS://EXAMPLE.com:443/", "https://example.com/users/7?x=1#f"],
            ["http://example.com:80", "http://user:secret@example.com/a"],
            ["https://example.com:8443", "https://Example.COM:8443?q"],
            ["http://[::1]:8080", "http://[::1]:8080/x"], ["ws://example.com:80/", "ws://example.com"],
            ["http://%65xample.com", "http://example.com"],
        ])
    func same(urls: [String]) throws {
        let keys = Set(try urls.map { try endpoint($0) })
        #expect(keys.count == 1)
    }

    @Test("scheme, host, port and template distinguish endpoints")
    func different() throws {
        let keys: Set = [
            try endpoint("https://example.com"), try endpoint("http://example.com"),
            try endpoint("https://example.org"), try endpoint("https://example.com:80"),
            try endpoint("https://example.com", "/users/{id}"), try endpoint("https://example.com", "/Users/{id}"),
        ]
        #expect(keys.count == 6)
    }

    @Test("a key names its endpoint, without secrets")
    func text() throws {
        #expect(
            "\(try endpoint("https://u:p@API.example.com:443/users/7?token=x", "/users/{id}"))"
                == "https://api.example.com/users/{id}")
        #expect("\(try endpoint("http://[::1]:8080/", "users"))" == "http://[::1]:8080/users")
        #expect("\(HTTPEndpoint(scheme: "http", host: "::1"))" == "http://[::1]")
        #expect(HTTPEndpoint(scheme: "http", host: "::1") == HTTPEndpoint(scheme: "http", host: "[::1]", port: 80))
    }

    @Test("any key is harmless to show")
    func harmless() {
        let hostile = HTTPEndpoint(
            scheme: "java\u{0}script", host: "<script>alert('x')</script>\r\n", port: -1, template: "/\u{202e}\"&\u{0}%"
        )
        #expect(
            "\(hostile)"
                == "java%00script://%3Cscript%3Ealert%28%27x%27%29%3C%2Fscript%3E%0D%0A:-1/%E2%80%AE%22%26%00%25")
        let encoded = HTTPEndpoint(scheme: "http", host: "%3cscript%3e", template: "/%2f%7Bid%7D")
        #expect("\(encoded)" == "http://%3Cscript%3E/%2F%7Bid%7D")
    }

    @Test("an internationalised host keeps its spelling")
    func internationalised() {
        let unicode = HTTPEndpoint(scheme: "https", host: "bücher.example")
        #expect(unicode.host == "b%C3%BCcher.example")
        #expect(unicode != HTTPEndpoint(scheme: "https", host: "xn--bcher-kva.example"))
        #expect(unicode == HTTPEndpoint(scheme: "https", host: "b%c3%bccher.example"))
    }

    @Test("overlong parts are cut, but never within an escape")
    func long() {
        let long = HTTPEndpoint(
            scheme: String(repeating: "s", count: 1000), host: String(repeating: "<", count: 1_000_000),
            template: "/" + String(repeating: "t", count: 1_000_000))
        #expect(long.scheme.utf8.count == 16)
        #expect(long.host.utf8.count == 255 && long.host.hasSuffix("%3C"))
        #expect(long.template.utf8.count == 255)
        let odd = HTTPEndpoint(scheme: "", host: "a" + String(repeating: "<", count: 1000))
        #expect(odd.host.utf8.count == 253)
    }

    @Test("a URL without host or scheme also has a key", arguments: ["", "/path", "mailto:a@b", "file:///x"])
    func noHost(url: String) throws {
        #expect(HTTPEndpoint(URL(string: url) ?? URL(filePath: "/")).host == "")
    }

    // MARK: In a registry

    @Test("a registry has one pipeline for each endpoint, with separate circuits")
    func registry() async throws {
        struct Down: Error, VerdictConvertible { var verdict: Verdict { .transient } }
        let clock = ManualClock()
        let pipelines = HTTPEndpointRegistry { Pipeline.http("\($0)", maxRetries: 0, timeBase: clock) }
        let url = try #require(URL(string: "https://example.com/users/7"))
        for _ in 0..<5 {
            await #expect(throws: Down.self) {
                try await pipelines[url: url, template: "/users/{id}"].run { throw Down() }
            }
        }
        let same = try #require(URL(string: "HTTPS://example.com:443/users/8?x=1"))
        await #expect(throws: CircuitOpen.self) { try await pipelines[url: same, template: "/users/{id}"].run {} }
        try await pipelines[url: url, template: "/orders/{id}"].run {}
        try await pipelines[url: url].run {}
        #expect(pipelines.count == 3)
    }

    @Test("keys from outside never exceed a registry's capacity, and never evict an open circuit")
    func capacity() async throws {
        struct Down: Error, VerdictConvertible { var verdict: Verdict { .transient } }
        let clock = ManualClock()
        let pipelines = HTTPEndpointRegistry(capacity: 20) { Pipeline.http("\($0)", maxRetries: 0, timeBase: clock) }
        let down = HTTPEndpoint(scheme: "https", host: "down.example")
        for _ in 0..<5 { await #expect(throws: Down.self) { try await pipelines[down].run { throw Down() } } }
        for number in 0..<2_000 {
            try await pipelines[HTTPEndpoint(scheme: "https", host: "<\(number)>\u{0}", port: number)].run {}
        }
        #expect(pipelines.count <= 20)
        #expect(pipelines.existing(down)?.isAllowed == false)
    }
}
