import Foundation
import Resilience
import ResilienceTesting
import TestSupport
import Testing

/// The code of Sources/Resilience/Resilience.docc/RegistryGuide.md, word for word.
@Suite(.timeLimit(.minutes(20))) struct RegistryGuideExamples {
    private struct Client: Sendable {
        func streams() async throws -> [Int] { [1] }
        func upload() async throws {}
    }

    private let client = Client()
    private let journal = Journal()

    private var log: @Sendable (String) -> Void {
        { [journal] line in journal.note(line) }
    }

    @Test("the guide's breakers run, take new settings except for an override, and are read and reset")
    func breakers() async throws {
        let breakers = CircuitBreakerRegistry<String> { endpoint in
            CircuitBreaker(endpoint)
        }
        let streams = try await breakers["/api/streams"].run {
            try await client.streams()
        }
        breakers.setOverride("/search") {
            CircuitBreaker("/search", tripping: .consecutiveFailures(10))
        }
        let kept = breakers.reconfigure { endpoint in
            CircuitBreaker(endpoint, tripping: .consecutiveFailures(3))
        }
        if !kept.isEmpty { log("these keep their old settings: \(kept)") }
        #expect(breakers["/search"].status.failureLimit == 10 && breakers["/api/streams"].status.failureLimit == 3)
        breakers.setOverride("/search", make: nil)  // as all others again
        #expect(breakers["/search"].status.failureLimit == 3)
        try breakers["/search"].tryAcquire().complete(.transient)
        for (endpoint, status) in breakers.statuses {
            log("\(endpoint): \(status.state), \(status.failureCount) failed")
        }
        let isFree = breakers.isAllowed("/search")  // true for an unknown key, and makes no breaker
        breakers.reset("/search")
        breakers.resetAll()
        #expect(journal.lines.sorted() == ["/api/streams: closed, 0 failed", "/search: closed, 1 failed"])
        #expect(streams == [1] && isFree && breakers["/search"].status.failureCount == 0)
    }

    private struct Loaded: Sendable {
        var failures = 7
        var limits = ["small": 2, "broken": 0]
    }

    @Test("the guide's external settings apply if valid, and change nothing if not")
    func outside() throws {
        let breakers = CircuitBreakerRegistry<String> { CircuitBreaker($0) }
        _ = breakers["/a"]
        func reload(_ loaded: Loaded) throws -> [String] {
            let rejected = try PolicySettings.checked {
                breakers.reconfigure {
                    CircuitBreaker($0, tripping: .consecutiveFailures(loaded.failures))
                }
            }
            return rejected
        }
        #expect(try reload(Loaded()) == [] && breakers["/a"].status.failureLimit == 7)
        #expect(throws: InvalidSettings.self) { try reload(Loaded(failures: 0)) }
        #expect(breakers["/a"].status.failureLimit == 7 && breakers["/new"].status.failureLimit == 7)

        let loaded = Loaded()
        let tenants = BulkheadRegistry<String> { tenant in
            let own = try? PolicySettings.checked {
                Bulkhead(tenant, limit: loaded.limits[tenant] ?? 16)
            }
            return own ?? Bulkhead(tenant, limit: 16)
        }
        #expect(["small", "broken", "other"].map { tenants[$0].status.limit } == [2, 16, 16])
    }

    @Test("the guide's circuits survive a restart")
    func restart() throws {
        let breakers = CircuitBreakerRegistry<String> { CircuitBreaker($0) }
        breakers["/a"].trip()
        let stored = try JSONEncoder().encode(breakers.snapshots())
        let snapshots = try JSONDecoder().decode(
            [String: CircuitSnapshot].self, from: stored)
        breakers.resetAll()
        let unusable = breakers.restore(snapshots)
        if !unusable.isEmpty {
            log("their snapshots fit no longer, they begin anew: \(unusable)")
        }
        #expect(breakers["/a"].state == .open && journal.lines.isEmpty)
    }

    @Test("the guide's loop logs every key's changes")
    func watching() async throws {
        // The clock stands still: on a slow machine a break could end before the loop does.
        let clock = ManualClock()
        let breakers = CircuitBreakerRegistry<String> {
            CircuitBreaker($0, tripping: .consecutiveFailures(1), timeBase: clock)
        }
        let transitions = breakers.transitions()  // includes later keys
        for key in ["/a", "/b"] { try breakers[key].tryAcquire().complete(.transient) }
        let reader = Task { [journal] in
            var seen = 0
            func log(_ line: String) {
                journal.note(line)
                seen += 1
                if seen == 2 { withUnsafeCurrentTask { $0?.cancel() } }
            }
            for await change in transitions {
                log("\(change.key): \(change.transition.to)")
            }
        }
        await reader.value
        #expect(journal.lines == ["/a: open", "/b: open"])
    }

    @Test("the guide's pipelines run, each with its own breaker")
    func pipelines() async throws {
        let budget = RetryBudget.tokens()
        let pipelines = PipelineRegistry<String>(capacity: 1000) { host in
            Pipeline(host) {
                Retry(maxRetries: 3, budget: budget)
                CircuitBreaker(host)
                Throttle(limit: .perSecond(10, burst: 20), maxWait: .seconds(5))
                Timeout(limit: .seconds(5))
            }
        }
        try await pipelines["api.example.com"].run { try await client.upload() }
        #expect(pipelines.count == 1 && pipelines["api.example.com"].warnings.isEmpty)
        let health = try JSONEncoder().encode(pipelines.statuses)
        let told = try JSONSerialization.jsonObject(with: health) as? [String: [[String: Any]]]
        #expect(told?["api.example.com"]?.map { $0["kind"] as? String } == ["retry", "circuitBreaker", "throttle"])
    }
}
