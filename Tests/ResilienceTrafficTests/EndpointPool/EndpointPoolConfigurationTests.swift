import Foundation
import Resilience
import ResilienceTraffic
import ResilienceTesting
import Testing

@Suite struct EndpointPoolConfigurationTests {
    private func decode(_ json: String) throws -> EndpointPoolSettings {
        try JSONDecoder().decode(EndpointPoolSettings.self, from: Data(json.utf8))
    }

    @Test("missing settings have the pool's defaults")
    func defaults() throws {
        let configuration = try decode("{}")
        #expect(configuration == (EndpointPoolSettings()))
        #expect(configuration.ejection == OutlierEjection() && configuration.slowStart == SlowStart())
        #expect(configuration.choice == .leastLoaded && configuration.panicThreshold == 0.5)
        #expect(configuration.failing == [.transient, .uncertain])
        let rules = try decode(#"{"ejection": {"failureShare": {}, "deviation": {}}}"#).ejection
        #expect(
            rules?.failureShare == OutlierEjection.FailureShare() && rules?.deviation == OutlierEjection.Deviation())
    }

    @Test("all settings are read, and written so that they read back")
    func all() throws {
        let configuration = try decode(
            """
            {
                "choice": "roundRobin", "panicThreshold": 0.25, "failing": ["throttled"],
                "ejection": {
                    "consecutiveFailures": 3, "intervalSeconds": 2.5, "timeSeconds": 1, "maxTimeSeconds": 7,
                    "jitter": 0.5, "maxEjected": 0.2,
                    "deviation": {"factor": 1, "minimumGap": 0.1, "minimumEndpoints": 3, "minimumCalls": 4},
                    "failureShare": {"limit": 0.5, "minimumEndpoints": 2, "minimumCalls": 6}
                },
                "slowStart": {"overSeconds": 4, "from": 0.2}
            }
            """)
        let expected = EndpointPoolSettings(
            choosing: .roundRobin,
            ejecting: OutlierEjection(
                afterConsecutive: 3,
                deviation: .init(factor: 1, minimumGap: 0.1, minimumEndpoints: 3, minimumCalls: 4),
                failureShare: .init(0.5, minimumEndpoints: 2, minimumCalls: 6), interval: .milliseconds(2_500),
                for: .seconds(1), upTo: .seconds(7), jitter: 0.5, maxEjected: 0.2),
            slowStart: SlowStart(over: .seconds(4), from: 0.2), panicThreshold: 0.25, failing: .throttled)
        #expect(configuration == expected)
        let again = try JSONDecoder().decode(
            EndpointPoolSettings.self, from: JSONEncoder().encode(configuration))
        #expect(again == configuration)
    }

    @Test("all problems are reported, with their paths")
    func invalid() {
        let error = #expect(throws: InvalidSettings.self) {
            try decode(
                """
                {
                    "choice": "random", "panicThreshold": 2, "ejections": 1,
                    "ejection": {"timeSeconds": 0, "deviation": {"minimumEndpoints": 1}},
                    "slowStart": {"from": 0}
                }
                """)
        }
        let paths = Set(error?.problems.map(\.parameter) ?? [])
        #expect(
            paths.isSuperset(of: [
                "choice", "ejections", "ejection.timeSeconds", "ejection.deviation.minimumEndpoints", "slowStart.from",
            ]), "\(paths)")
        let made = #expect(throws: InvalidSettings.self) {
            _ = try PolicySettings.checked {
                EndpointPoolSettings(
                    ejecting: OutlierEjection(jitter: 2), slowStart: SlowStart(over: .zero), panicThreshold: .nan
                ).valid()
            }
        }
        #expect(made?.problems.map(\.parameter) == ["jitter", "over", "panicThreshold"])
    }

    @Test("a pool adopts other settings while it is in use")
    func reconfigured() async throws {
        let clock = ManualClock()
        let strict = EndpointPoolSettings(ejecting: OutlierEjection(afterConsecutive: 1, jitter: 0))
        let pool = EndpointPool("search", [1, 2], settings: strict, timeBase: clock)
        try pool.pick().complete(.transient)
        #expect(pool.status.ejected == 1)
        pool.apply(EndpointPoolSettings(ejecting: OutlierEjection(maxEjected: 0)))
        #expect(pool.status.ejected == 0)
        for _ in 0..<20 { try pool.pick().complete(.transient) }
        #expect(pool.status.ejected == 0)
    }
}
