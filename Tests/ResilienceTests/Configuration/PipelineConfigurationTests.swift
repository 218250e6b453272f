import Foundation
import Resilience
import ResilienceTraffic
import ResilienceTesting
import TestSupport
import Testing

@Suite struct PipelineConfigurationTests {
    private func decode(_ json: String) throws -> Pipeline.AllSettings {
        try decoded(json)
    }

    private func problems(_ json: String) -> [String] { TestSupport.problems { _ = try decode(json) } }

    @Test("a pipeline has the policies that have settings, in a fixed order, independent of the order in the file")
    func order() throws {
        let configuration = try decode(
            """
            {
                "chaos": {"faultRate": 0.1}, "attemptTimeout": {"limitSeconds": 5}, "bulkhead": {"limit": 3},
                "throttle": {"limit": {"kind": "rate", "calls": 10, "periodSeconds": 1}},
                "circuitBreaker": {"probes": 1}, "adaptiveThrottle": {"multiplier": 3}, "retry": {"maxRetries": 2}, "timeout": {"limitSeconds": 30},
                "hedge": {"delay": {"kind": "constant", "delaySeconds": 0.2}, "maxHedges": 2}
            }
            """)
        let names = [
            "timeout", "retry", "hedge", "adaptiveThrottle", "circuitBreaker", "throttle", "bulkhead", "attemptTimeout",
            "chaos",
        ]
        #expect(configuration.policies == names)
        let clock = ManualClock()
        let pipeline = Pipeline("search", settings: configuration, timeBase: clock)
        #expect(pipeline.name == "search" && pipeline.elements.map(\.name) == names)
        #expect(pipeline.timeBase === clock && pipeline.warnings.isEmpty)
        #expect(pipeline.policies(of: Timeout.self).map(\.limit) == [.seconds(30), .seconds(5)])
        let hedge = pipeline.policies(of: Hedge.self).first
        #expect(hedge?.status.delay == .milliseconds(200) && hedge?.timeBase === clock && hedge?.traits.maxCopies == 3)
    }

    @Test("a timeout enforced by the client is a ClientTimeout")
    func enforcedByClient() throws {
        let configuration = try decode(
            #"{"timeout": {"limitSeconds": 30}, "attemptTimeout": {"limitSeconds": 5, "enforcedBy": "client"}}"#)
        let pipeline = Pipeline("search", settings: configuration)
        #expect(pipeline.elements.map(\.name) == ["timeout", "attemptTimeout"])
        #expect(pipeline.policies(of: Timeout.self).map(\.limit) == [.seconds(30)])
        #expect(pipeline.policies(of: ClientTimeout.self).map(\.limit) == [.seconds(5)])
        let written = try JSONEncoder().encode(configuration)
        #expect(try JSONDecoder().decode(Pipeline.AllSettings.self, from: written) == configuration)
        #expect(
            problems(#"{"timeout": {"limitSeconds": 30, "enforcedBy": "server"}}"#) == [
                #"Timeout: timeout.enforcedBy is "server", and must be one of policy, client"#
            ])
    }

    @Test("written settings are read back, even without any policy")
    func coding() throws {
        let configurations = [
            Pipeline.AllSettings(), Pipeline.AllSettings(retry: .init(), attemptTimeout: .init(limit: .seconds(1))),
            Pipeline.AllSettings(circuitBreaker: .init(), bulkhead: .init(limit: 2)),
            Pipeline.AllSettings(hedge: .init()),
            Pipeline.AllSettings(hedge: .init(after: .constant(.milliseconds(200)), maxHedges: 3, on: .transient)),
            Pipeline.AllSettings(hedge: .init(after: .never)),
            Pipeline.AllSettings(hedge: .init(after: .percentile(0.99, atLeast: .seconds(1), minimumSamples: 7))),
        ]
        for configuration in configurations {
            let written = try JSONEncoder().encode(configuration)
            #expect(try JSONDecoder().decode(Pipeline.AllSettings.self, from: written) == configuration)
        }
    }

    @Test("a list of policies names exactly the policies, with default settings if they have any")
    func listed() throws {
        let configuration = try decode(
            #"{"policies": ["circuitBreaker", "retry", "hedge", "adaptiveThrottle", "chaos"], "bulkhead": {"limit": 3}, "retry": {"maxRetries": 7}}"#
        )
        #expect(
            configuration
                == Pipeline.AllSettings(
                    retry: .init(maxRetries: 7), hedge: .init(), adaptiveThrottle: .init(), circuitBreaker: .init(),
                    chaos: .init()))
        #expect(try decode(#"{"policies": []}"#).policies == [])
    }

    @Test(
        "an unknown name, and a policy without required settings, are errors",
        arguments: [
            ("{}", "Pipeline: policies is missing, and must be given if no policy has settings"),
            (
                #"{"bulkhed": {"limit": 1}, "policies": []}"#,
                "Pipeline: bulkhed is given, and is no setting: there are timeout, retry, hedge, adaptiveThrottle, circuitBreaker, throttle, bulkhead, adaptiveBulkhead, attemptTimeout, chaos, policies, isIdempotent"
            ),
            (
                #"{"policies": ["throttle"]}"#,
                "Pipeline: throttle is missing, and must be given, since policies lists it"
            ),
            (
                #"{"policies": ["bulkhead"], "bulkhead": {"limit": 0}}"#,
                "Bulkhead: bulkhead.limit is 0, and must be at least 1"
            ),
            (#"{"hedge": {"maxHedges": 11}}"#, "Hedge: hedge.maxHedges is 11, and must lie in 0...10"),
            (
                #"{"hedge": {"delay": {"kind": "constant"}}}"#,
                "HedgeDelay: hedge.delay.delaySeconds is missing, and must be given"
            ),
            (
                #"{"hedge": {"delay": {"kind": "never", "percentile": 0.9}}}"#,
                "HedgeDelay: hedge.delay.percentile is given, and is no setting: there are kind"
            ),
            (#"{"policies": {}}"#, "Pipeline: policies is something else, and must be a list of names"),
        ])
    func invalid(json: String, problem: String) {
        #expect(problems(json) == [problem])
    }
}
