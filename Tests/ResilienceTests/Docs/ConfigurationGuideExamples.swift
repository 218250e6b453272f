import Foundation
import Resilience
import TestSupport
import Testing

/// The code of Sources/Resilience/Resilience.docc/ConfigurationGuide.md, as it stands there.
@Suite struct ConfigurationGuideExamples {
    struct EndpointSettings: Codable {
        var retry: RetryConfiguration?
        var breaker: CircuitBreakerConfiguration?
        var bulkhead: BulkheadConfiguration?
        var throttle: ThrottleConfiguration?
        var timeout: TimeoutConfiguration?
    }

    /// The file as the guide shows it.
    private func file() throws -> Data {
        let guide = try Guide("ConfigurationGuide").text
        let json = try #require(guide.components(separatedBy: "```json\n").last?.components(separatedBy: "\n```").first)
        return Data(json.utf8)
    }

    @Test("the guide's file is read, and its policies are made")
    func read() throws {
        let file = try file()
        let endpoints = try JSONDecoder().decode(
            [String: EndpointSettings].self, from: file)
        let settings = endpoints["search"]
        let search = Pipeline("search", isIdempotent: true) {
            if let retry = settings?.retry { Retry(configuration: retry) }
            if let breaker = settings?.breaker {
                CircuitBreaker("search", configuration: breaker)
            }
            if let timeout = settings?.timeout { Timeout(configuration: timeout) }
        }
        #expect(search.statuses.map(\.policy) == ["search"] && search.description.contains("5 retries"))
        #expect(settings?.bulkhead?.limit == 16 && settings?.throttle?.queue == 100)
        #expect(
            try JSONDecoder().decode([String: EndpointSettings].self, from: JSONEncoder().encode(endpoints)).count == 1)
    }

    @Test("the guide's configuration without a decoder is made")
    func made() throws {
        let variables = ProcessInfo.processInfo.environment
        let retry = try RetryConfiguration(
            maxRetries: variables["RETRIES"].flatMap { Int($0) },
            backoff: .exponential(from: .milliseconds(100)))
        #expect(retry.backoff == .exponential(from: .milliseconds(100)))
    }

    @Test("the guide's errors are what is thrown")
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

    @Test("the guide names everything that a configuration writes")
    func names() throws {
        let guide = try Guide("ConfigurationGuide").text
        let breakers = [
            try CircuitBreakerConfiguration(
                tripping: .anyOf(
                    .consecutiveFailures(5), .failures(3, over: .time(.seconds(10))), .failureRatio(1),
                    .slowCalls(1, longerThan: .seconds(1)), .allOf(.consecutiveFailures(1))),
                openFor: .exponential(), excess: .waits(upTo: .seconds(1))),
            try CircuitBreakerConfiguration(openFor: .retryAfter(otherwise: .linear().jittered())),
            try CircuitBreakerConfiguration(openFor: .seconds(1)),
        ]
        let backoffs: [Backoff] = [
            .constant(.zero, jitter: .proportional(1)), .linear(.zero, jitter: .equal), .exponential(),
            .exponential(jitter: .decorrelated), .sequence([.zero]), .sequence([.zero], atEnd: .stop),
        ]
        let throttles = try [
            ThrottleLimit.unlimited, .perSecond(1), .slidingWindow(1, per: .seconds(1)),
            .fixedWindow(1, per: .seconds(1)),
        ].map { try ThrottleConfiguration(limit: $0) }
        let bulkheads = try Bulkhead.Order.allCases.map {
            try BulkheadConfiguration(limit: 1, order: $0, maxWait: .zero)
        }
        let retries = try backoffs.map { try RetryConfiguration(maxElapsed: .zero, backoff: $0) }
        let timeout = try TimeoutConfiguration(limit: .seconds(1))
        let encoder = JSONEncoder()
        let written = try [
            encoder.encode(breakers), encoder.encode(throttles), encoder.encode(bulkheads), encoder.encode(retries),
            encoder.encode([timeout]),
        ]
        let verdicts: Set = ["success", "transient", "uncertain", "throttled", "permanent", "rejected", "cancelled"]
        let names = Set(written.flatMap { String(decoding: $0, as: UTF8.self).split(separator: "\"") }.map(String.init))
            .filter { $0.allSatisfy(\.isLetter) }.subtracting(verdicts)
        #expect(names.count > 60)
        for name in names.sorted() {
            #expect(guide.contains("`\(name)`") || guide.contains("\"\(name)\""), "\(name)")
        }
    }
}
