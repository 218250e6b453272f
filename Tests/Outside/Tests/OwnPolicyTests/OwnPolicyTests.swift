import Foundation
import InMemoryLogging
import Logging
import MetricsTestKit
import Resilience
import ResilienceConfiguration
import ResilienceObservability
import Testing

/// The policy of Docs/WritingAPolicy.md in another package: it describes itself once, and configuration, logs, metrics
/// and health show it.
@Suite struct OwnPolicyTests {
    private let backend = TestMetrics()
    private let handler = InMemoryLogHandler()
    private let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")

    private func write(_ quota: String) throws {
        let json = #"{"resilience": {"pipelines": {"pay": {"quota": \#(quota)}}}}"#
        try json.write(to: file, atomically: true, encoding: .utf8)
    }

    @Test(
        "a custom policy reads settings from a file, changes while it runs, and appears in logs, metrics and health"
    )
    func everywhere() async throws {
        try write(#"{"calls": 3}"#)
        defer { try? FileManager.default.removeItem(at: file) }
        let metrics = ResilienceMetrics(factory: backend)
        let logger = Logger(label: "l") { [handler] _ in handler }
        let observers = PolicyObservers(PolicyLogger(logger), metrics)
        let pipelines = try ConfiguredPipelinesOf<ShopSettings>(["pay"], file: file.path, observers: observers)
        let pipeline = try pipelines["pay"]
        metrics.watch { pipeline }
        for _ in 0..<5 { _ = try? await pipeline.run {} }
        let quota = try #require(pipeline.policies(of: Quota.self).first)

        let line = try #require(handler.entries.first { "\($0.message)" == "[pay/quota] all 3 calls are spent" })
        #expect(line.level == .warning && line.metadata["resilience.limit"]?.description == "3")
        await metrics.sample()
        let of = [("pipeline", "pay"), ("policy", "quota")]
        #expect(try backend.expectMeter("resilience_quota_used", of).lastValue == 5)
        #expect(try backend.expectCounter("resilience_events_total", of + [("event", "refused")]).totalValue == 2)

        let monitor = HealthMonitor { HealthSource(pipeline, isRequired: true) }
        let report = await monitor.report()
        #expect(report.status == .down && report.totals.states == ["spent": 1])
        #expect(report.prometheusText().contains(#"resilience_quota_used{pipeline="pay",policy="quota"} 5"#))
        let health = try #require(report.components[0].policies.first)
        #expect(health.actions.map(\.title) == ["Refill"] && quota.perform(health.actions[0].name))
        #expect(await monitor.report().status == .up)

        // The settings change while the quota keeps its count. Invalid settings change nothing, and the error names the
        // problem.
        try await pipeline.run {}
        try write(#"{"calls": 1}"#)
        pipelines.reload()
        #expect(try pipelines["pay"].policies(of: Quota.self).first === quota && quota.status.used == 1)
        await #expect(throws: QuotaSpent.self) { try await pipelines["pay"].run {} }
        try write(#"{"calls": 0, "cals": 7}"#)
        pipelines.reload()
        let rejected = try #require(handler.entries.first { "\($0.message)".contains("settings rejected") })
        #expect(
            "\(rejected.message)".contains("Quota: resilience.pipelines.pay.quota.calls is 0, and must be at least 1"))
        #expect(quota.settings.calls == 1)
    }
}
