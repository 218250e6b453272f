import Resilience
import ResilienceTraffic
import TestSupport
import Testing

/// The code of Sources/ResilienceTraffic/ResilienceTraffic.docc/ChaosGuide.md, unchanged.
@Suite struct ChaosGuideExamples {
    struct Client {
        func search() async throws -> String { "page" }
        func status() async throws -> Int { 200 }
    }

    let client = Client()

    @Test("the examples run")
    func usual() async throws {
        let chaos = Chaos(
            "search.chaos",
            injecting: [
                .fault(.throttled(retryAfter: .seconds(5)), at: 0.1),
                .delay(.milliseconds(200)...(.seconds(2)), at: 0.2),
            ])
        let pipeline = Pipeline("search", isIdempotent: true) {
            Retry(maxRetries: 2)
            CircuitBreaker("search")
            Timeout(limit: .seconds(5))
            chaos
        }
        #expect(pipeline.warnings.isEmpty)
        let careful = Chaos(
            "careful", injecting: [.fault(at: 0.5)],
            scope: ChaosScope(tags: ["game-day"], maxPriority: .normal) { call in
                call.pipeline == "search"
            },
            limit: 1_000, maxDelayed: 20)
        let touched = try? await Chaos.tagged("game-day") {
            try await careful.run { try await client.search() }
        }
        #expect(touched == "page")
        let status = try await pipeline.run(
            judging: { $0 < 500 ? .success : .transient }
        ) {
            try await careful.run(answering: { _ in 503 }) {
                try await client.status()
            }
        }
        #expect(status == 200)
    }

    @Test("the guide's switch turns chaos on and off")
    func switched() async {
        // Nothing is injected, so that the test takes no time.
        let chaos = Chaos()
        let pipeline = Pipeline("search", isIdempotent: true) { chaos }
        chaos.turnOn(for: .seconds(900))
        let page = try? await pipeline.run { try await client.search() }
        print("\(chaos.status.faults) of the calls have failed")
        chaos.turnOff()
        #expect(page == "page" && !chaos.isOn)
    }

    @Test("the guide's script runs")
    func scripted() {
        let scripted = Chaos("outage", script: [.fault(), .fault(), nil, .lostAnswer()])
        scripted.turnOn(for: .seconds(60))
        scripted.play([.cancellation(), .delay(.seconds(3))])
        #expect(scripted.status.scriptLeft == 2)
    }
}
