import Resilience
import ResilienceTraffic
import TestSupport
import Testing

/// The code of Sources/ResilienceTraffic/ResilienceTraffic.docc/AdaptiveThrottleGuide.md, unchanged.
@Suite struct AdaptiveThrottleGuideExamples {
    struct Client {
        func search() async throws -> String { "page" }
    }

    let client = Client()

    @Test("the examples run")
    func usual() async throws {
        let throttle = AdaptiveThrottle("search")
        let page = try await throttle.run { try await client.search() }
        #expect(page == "page")
        if throttle.status.rejection > 0 { print("\(throttle.status.accepted)") }
        let pipeline = Pipeline("search", isIdempotent: true) {
            Retry(maxRetries: 2)
            AdaptiveThrottle("search", multiplier: 1.5, over: .seconds(30))
            Timeout(limit: .seconds(5))
        }
        #expect(pipeline.warnings.isEmpty && throttle.status.calls == 1)
    }
}
