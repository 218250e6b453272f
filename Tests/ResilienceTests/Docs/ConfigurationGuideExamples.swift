import Foundation
import Resilience
import TestSupport
import Testing

/// The code of Sources/Resilience/Resilience.docc/ConfigurationGuide.md, word for word.
@Suite struct ConfigurationGuideExamples {
    struct EndpointSettings: Codable {
        var retry: Retry.Settings?
        var breaker: CircuitBreaker.Settings?
        var bulkhead: Bulkhead.Settings?
        var throttle: Throttle.Settings?
        var timeout: Timeout.Settings?
    }

    /// The guide's file.
    private func file() throws -> Data {
        let guide = try Guide("ConfigurationGuide").text
        let json = try #require(guide.components(separatedBy: "```json\n").last?.components(separatedBy: "\n```").first)
        return Data(json.utf8)
    }

    @Test("the guide's file is read, and makes policies")
    func read() throws {
        let file = try file()
        let endpoints = try JSONDecoder().decode(
            [String: EndpointSettings].self, from: file)
        let settings = endpoints["search"]
        let search = Pipeline("search", isIdempotent: true) {
            if let retry = settings?.retry { Retry(settings: retry) }
            if let breaker = settings?.breaker {
                CircuitBreaker("search", settings: breaker)
            }
            if let timeout = settings?.timeout { Timeout(settings: timeout) }
        }
        #expect(search.statuses.map(\.policy) == ["search"] && search.description.contains("5 retries"))
        #expect(settings?.bulkhead?.limit == 16 && settings?.throttle?.queue == 100)
        #expect(
            try JSONDecoder().decode([String: EndpointSettings].self, from: JSONEncoder().encode(endpoints)).count == 1)
    }

    @Test("the guide's settings without a decoder are made")
    func made() throws {
        let variables = ProcessInfo.processInfo.environment
        var retry = Retry.Settings(backoff: .exponential(from: .milliseconds(100)))
        if let count = variables["RETRIES"].flatMap({ Int($0) }) { retry.maxRetries = count }
        #expect(retry.backoff == .exponential(from: .milliseconds(100)))
    }

    @Test("the errors that the guide shows are thrown")
    func errors() throws {
        let guide = try Guide("ConfigurationGuide").text
        let found = [#"{"bulkhead": {"limit": 0}}"#, #"{"retry": {"maxRetires": 5}}"#].flatMap { json -> [String] in
            do {
                let json = Data(#"{"search": \#(json)}"#.utf8)
                _ = try JSONDecoder().decode([String: EndpointSettings].self, from: json)
                return []
            } catch {
                return (error as? InvalidSettings)?.problems.map(\.description) ?? []
            }
        }
        #expect(found.count == 2)
        for error in found {
            // The guide does not show all names.
            let shown = try #require(error.components(separatedBy: ": there are").first)
            #expect(guide.contains(shown))
        }
    }
}
