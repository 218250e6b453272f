import Foundation
import ResilienceTesting
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// Policies made from settings: each setting reaches the policy.
@Suite struct ConfiguredPolicyTests {
    /// Settings that all differ from their defaults, and a description of the policy made from them.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let json: String
        /// Settings that can't be left out in this test.
        var required: Set<String> = []
        let made: @Sendable (Data) throws -> String

        var testDescription: String { name }
    }

    private static func read<C: Decodable>(_ json: Data, as type: C.Type = C.self) throws -> C {
        try JSONDecoder().decode(C.self, from: json)
    }

    static let rows: [Row] = [
        Row(
            name: "Retry",
            json: """
                {"maxRetries": 7, "maxElapsedSeconds": 44, "backoff": {"kind": "constant", "baseSeconds": 3},
                "throttledBackoff": {"kind": "constant", "baseSeconds": 4}, "verdicts": ["uncertain"],
                "retryAfterCeilingSeconds": 5, "wrapsLastError": true}
                """
        ) { json in
            let all = Retry(settings: try read(json)).settings
            return
                "\(all.maxRetries) \(all.maxElapsed as Any) \(all.backoff) \(all.throttledBackoff) \(all.verdicts) \(all.retryAfterCeiling) \(all.wrapsLastError)"
        },
        Row(
            name: "Hedge",
            json: #"{"delay": {"kind": "constant", "delaySeconds": 1}, "maxHedges": 3, "verdicts": ["throttled"]}"#
        ) { json in
            let all = Hedge(settings: try read(json)).settings
            return "\(all.delay) \(all.maxHedges) \(all.verdicts)"
        },
        Row(
            name: "AdaptiveThrottle",
            json:
                #"{"multiplier": 3, "windowSeconds": 7, "minimumCalls": 3, "maxRejection": 0.5, "failing": ["throttled"]}"#
        ) { json in "\(AdaptiveThrottle(settings: try read(json)).settings)" },
        Row(
            name: "Bulkhead",
            json: """
                {"limit": 7, "queue": 9, "order": "byPriority",
                "maxWaitSeconds": 3, "predictsWait": false, "shedding": {}}
                """, required: ["limit"]
        ) { json in
            let bulkhead = Bulkhead(settings: try read(json))
            let status = bulkhead.status
            return "\(status.limit) \(status.queueLimit) \(bulkhead.settings)"
        },
        Row(
            name: "AdaptiveBulkhead",
            json: """
                {"limit": {"kind": "vegas", "highest": 50}, "queue": 9, "order": "byPriority", "maxWaitSeconds": 3,
                "predictsWait": false, "shedding": {}}
                """
        ) { json in
            let bulkhead = AdaptiveBulkhead(settings: try read(json))
            return "\(bulkhead.status) \(bulkhead.settings)"
        },
        Row(
            name: "Throttle",
            json: """
                {"limit": {"kind": "rate", "calls": 7, "periodSeconds": 3, "burst": 2}, "maxWaitSeconds": 9, "queue": 8,
                "holdOnThrottled": true, "holdBackoff": {"kind": "constant", "baseSeconds": 4}, "maxHoldSeconds": 77,
                "rampSeconds": 6}
                """, required: ["limit", "holdOnThrottled"]
        ) { json in
            let throttle = Throttle(settings: try read(json))
            let (limit, ramp) = throttle.state.withLock { ($0.limit, $0.machine.ramp) }
            return "\(limit) \(ramp) \(throttle.settings)"
        },
        Row(
            name: "Throttle that does not hold", json: #"{"limit": {"kind": "unlimited"}, "holdOnThrottled": true}"#,
            required: ["limit"]
        ) { json in "\(Throttle(settings: try read(json)).settings.holdOnThrottled)" },
        Row(
            name: "Timeout", json: #"{"limitSeconds": 3, "enforcedBy": "client"}"#,
            required: ["limitSeconds", "enforcedBy"]
        ) {
            json in
            let configuration: Timeout.Settings = try read(json)
            return
                "\(Timeout(settings: configuration)) \(ClientTimeout(limit: configuration.limit)) \(AbandoningTimeout(limit: configuration.limit))"
        },
        Row(
            name: "CircuitBreaker",
            json: """
                {"tripping": {"kind": "consecutiveFailures", "limit": 3}, "openFor": {"kind": "constant", "lengthSeconds": 7},
                "closing": {"successes": 3}, "probeLeaseSeconds": 9, "excessWaitsSeconds": 4, "rampSeconds": 5}
                """
        ) { json in
            let breaker = CircuitBreaker(settings: try read(json))
            let machine = breaker.inner.withLock { $0.circuit.machine }
            let circuit = try #require(machine as? ThreeStateCircuit)
            return
                "\(circuit) \(circuit.maxProbes) \(circuit.closing) \(circuit.probeLease) \(circuit.excess) \(circuit.ramp)"
        },
        Row(
            name: "CircuitBreaker with several probes", json: #"{"probes": 2, "closing": {"successes": 3}}"#,
            required: ["closing"]
        ) { json in
            let machine = CircuitBreaker(settings: try read(json)).inner.withLock { $0.circuit.machine }
            return "\((machine as? ThreeStateCircuit)?.maxProbes ?? 0)"
        },
        Row(
            name: "EndpointPool",
            json: """
                {"choice": "roundRobin", "ejection": {"maxEjected": 0.3}, "slowStart": {"overSeconds": 3},
                "panicThreshold": 0.2, "failing": ["throttled"]}
                """
        ) { json in "\(EndpointPool<Int>("pool", [], settings: try read(json)).settings)" },
        Row(
            name: "OutlierEjection",
            json: """
                {"consecutiveFailures": 3, "deviation": {"factor": 3}, "failureShare": {"limit": 0.5}, "intervalSeconds": 3,
                "timeSeconds": 7, "maxTimeSeconds": 77, "jitter": 0.3, "maxEjected": 0.4}
                """
        ) { json in
            let ejection: OutlierEjection = try read(json)
            let configuration = EndpointPoolSettings(ejecting: ejection)
            return "\(EndpointPool<Int>("pool", [], settings: configuration).settings)"
        },
        Row(
            name: "CallCache",
            json: """
                {"freshForSeconds": 3, "staleWhileRevalidateSeconds": 4, "staleIfErrorSeconds": 5, "staleOn": ["throttled"],
                "failuresForSeconds": 6, "pauseAfterErrorSeconds": 7, "maxCount": 8, "maxCost": 9}
                """, required: ["freshForSeconds"]
        ) { json in
            let all = CallCache<Int, Int>(settings: try read(json)).settings
            return
                "\(all.lifetime) \(all.staleOn) \(all.failuresFor) \(all.pauseAfterError) \(all.maxCount) \(all.maxCost as Any)"
        },
        Row(
            name: "Chaos",
            json: """
                {"until": "2030-01-01T00:00:00Z", "faultRate": 0.1, "faultVerdict": "throttled", "faultAfterSeconds": 3,
                "lostAnswerRate": 0.2, "delayRate": 0.3, "delaySeconds": 4, "maxDelaySeconds": 5, "cancellationRate": 0.15,
                "script": ["fault"], "tags": ["a"], "maxPriority": 3, "limit": 7, "maxDelayed": 8}
                """
            ,
            // `ChaosTests` tests these by their effect.
            required: ["tags", "maxPriority", "limit", "maxDelayed"]
        ) { json in
            // One second before `until`.
            let chaos = Chaos(settings: try read(json), at: 1_893_455_999_000, timeBase: ManualClock())
            return "\(chaos.isOn) \(chaos)"
        },
    ]

    @Test("each setting reaches the policy made from it", arguments: rows)
    func reaches(row: Row) throws {
        let all = try #require(try JSONSerialization.jsonObject(with: Data(row.json.utf8)) as? [String: Any])
        let made = try row.made(Data(row.json.utf8))
        for key in all.keys where !row.required.contains(key) {
            var less = all
            less[key] = nil
            let other = try row.made(try JSONSerialization.data(withJSONObject: less))
            #expect(other != made, "\(key) does not reach the policy")
        }
    }

    @Test("each policy in a pipeline's settings is in the pipeline, with its own settings")
    func pipelines() throws {
        let json = """
            {"timeout": {"limitSeconds": 41}, "retry": {"maxRetries": 42}, "hedge": {"maxHedges": 4},
            "adaptiveThrottle": {"multiplier": 43}, "circuitBreaker": {"rampSeconds": 44},
            "throttle": {"limit": {"kind": "rate", "calls": 45, "periodSeconds": 1}}, "bulkhead": {"limit": 46},
            "attemptTimeout": {"limitSeconds": 47}, "chaos": {"faultRate": 0.48}}
            """
        let all = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        func made(_ object: [String: Any]) throws -> String {
            let configuration: Pipeline.AllSettings = try Self.read(try JSONSerialization.data(withJSONObject: object))
            let text = "\(Pipeline(settings: configuration))"
            let rewritten: Pipeline.AllSettings = try Self.read(try JSONEncoder().encode(configuration))
            #expect("\(Pipeline(settings: rewritten))" == text)
            return text
        }
        let full = try made(all)
        for key in all.keys {
            var less = all
            less[key] = nil
            #expect(try made(less) != full, "\(key) does not reach the pipeline")
        }
        for number in [41, 42, 43, 45, 46, 47] { #expect(full.contains("\(number)"), "\(number) in \(full)") }
    }

    @Test("a throttle made from settings counts only the verdicts in `failing` as failures")
    func failing() async throws {
        let configuration = AdaptiveThrottle.Settings(minimumCalls: 1, failing: .throttled)
        let throttle = AdaptiveThrottle(settings: configuration, timeBase: ManualClock())
        for _ in 0..<10 { _ = try? await throttle.run(judging: { _ in .transient }) {} }
        #expect(throttle.status == AdaptiveThrottleStatus(calls: 10, accepted: 10, rejection: 0))
    }
}
