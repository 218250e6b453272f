#if Logging && Metrics
    import InMemoryLogging
    import Logging
    import MetricsTestKit
    import Resilience
    import ResilienceObservability
    import ResilienceTesting
    import Testing

    /// A policy as somebody else's package has it: it says what it is once, and everything shows it.
    private final class Quota: Policy, StatusReporting {
        let name = "quota"
        private let used = Locked(0)

        func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
            let used = used.withLock { used in
                used += 1
                return used
            }
            guard used > 3 else { return .proceed }
            call.emit(Event.spent(used), from: name)
            return .reject(Spent())
        }

        var status: Status { Status(used: used.withLock { $0 }) }

        func perform(_ action: String) -> Bool {
            guard action == "refill" else { return false }
            used.withLock { $0 = 0 }
            return true
        }

        struct Spent: Error {}

        enum Event: PolicyEventDetail {
            case spent(Int)

            var kind: String { "spent" }
            var severity: PolicyEventSeverity { .warning }
            var fields: EventFields { ["asked": spent, "waits": nil as Duration?] }
            var description: String { "the quota is spent (\(spent))" }
            private var spent: Int {
                switch self {
                case .spent(let count): count
                }
            }
        }

        struct Status: PolicyStatusDetail {
            let used: Int

            static var kind: String { "dailyQuota" }
            var isAllowed: Bool { used < 3 }
            func condition(at now: MonotonicInstant) -> PolicyCondition {
                isAllowed ? PolicyCondition("some left", .up) : PolicyCondition("spent", .down)
            }
            func readings(at now: MonotonicInstant) -> [StatusReading] {
                [StatusReading("quota used", "Calls of today.", title: "used", used, of: 3)]
            }
            func actions(at now: MonotonicInstant) -> [PolicyAction] {
                isAllowed ? [] : [PolicyAction("refill", "Refill", "Refill %?")]
            }
        }
    }

    @Suite struct OwnPolicyTests {
        private let quota = Quota()
        private let handler = InMemoryLogHandler()
        private let backend = TestMetrics()
        private let clock = ManualClock()

        @Test("a policy of one's own is in logs, metrics and health, and can be operated, by what it says of itself")
        func everywhere() async throws {
            let metrics = ResilienceMetrics(factory: backend)
            let logger = Logger(label: "l") { [handler] _ in handler }
            let pipeline = Pipeline(
                "pay", timeBase: clock, observers: PolicyObservers(PolicyLogger(logger, timeBase: clock), metrics)
            ) { quota }
            metrics.watch { pipeline }
            for _ in 0..<5 { _ = try? await pipeline.run {} }

            let line = try #require(handler.entries.first { "\($0.message)" == "[pay/quota] the quota is spent (4)" })
            #expect(line.level == .warning && line.metadata["resilience.asked"]?.description == "4")
            #expect(line.metadata["resilience.waits_ms"] == nil)
            await metrics.sample()
            let of = [("pipeline", "pay"), ("policy", "quota")]
            #expect(try backend.expectMeter("resilience_quota_used", of).lastValue == 5)
            #expect(try backend.expectCounter("resilience_events_total", of + [("event", "spent")]).totalValue == 2)

            let monitor = HealthMonitor { HealthSource(pipeline, isRequired: true) }
            let report = await monitor.report()
            #expect(report.status == .down && report.totals.states == ["spent": 1])
            #expect(report.prometheusText().contains(#"resilience_quota_used{pipeline="pay",policy="quota"} 5"#))

            let health = try #require(report.components[0].policies.first)
            #expect(health.kind == "dailyQuota" && health.actions.map(\.title) == ["Refill"])
            #expect(monitor.policy(of: "0", at: 0)?.perform(health.actions[0].name) == true && quota.status.isAllowed)
            #expect(await monitor.report().status == .up)
        }
    }
#endif
