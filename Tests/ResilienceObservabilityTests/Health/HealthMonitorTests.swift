import Foundation
import Resilience
import ResilienceTraffic
import ResilienceSync
import ResilienceTesting
import Testing

@testable import ResilienceObservability

@Suite(.timeLimit(.minutes(20))) struct HealthMonitorTests {
    private struct Broken: Error, CustomStringConvertible {
        var description: String { "disk full" }
    }

    private let clock = ManualClock()

    private func breaker(_ name: String) -> CircuitBreaker {
        CircuitBreaker(name, tripping: .consecutiveFailures(2), openFor: .seconds(60), timeBase: clock)
    }

    @Test("pipelines, policies, registries and queues are reported with their details")
    func everything() async throws {
        let payments = breaker("payments breaker")
        let store = TotalsStore()
        store.answer(.totals(QueueTotals(pending: 3, bytes: 30, dead: 1)))
        let breakers = CircuitBreakerRegistry<String>(timeBase: clock) { breaker($0) }
        let hosts = PipelineRegistry<String>(timeBase: clock) { host in
            Pipeline(host, timeBase: clock) { Bulkhead(host, limit: 2, timeBase: clock) }
        }
        (_, _) = (breakers["/a"], hosts["eu"])
        let throttle = Throttle("search", limit: .perSecond(10, burst: 20), timeBase: clock)
        let monitor = HealthMonitor("orders") {
            HealthSource(Pipeline("payments", timeBase: clock) { payments }, isRequired: true)
            throttle
            HealthSource(breakers, name: "endpoints")
            hosts
            SyncQueue(idle: "outbox", store, on: clock)
        }
        var report = await monitor.report()
        #expect(report.status == .up && report.totals.components == 5)
        #expect(report.components.map(\.name) == ["payments", "search", "/a", "eu", "outbox"])
        #expect(report.components.map(\.id) == ["0", "1", "2/%", "3/eu", "4"].map { $0.replacing("%", with: "/a") })
        #expect(report.components[2].group == "endpoints" && report.components[3].group == nil)
        func reading(_ component: Int, _ name: String) -> Double? {
            report.components[component].policies.first?.readings.first { $0.name == name }?.value
        }
        #expect(reading(1, "throttle_available") == 20 && reading(3, "permits_limit") == 2)
        #expect(reading(4, "sync_pending") == 3)

        payments.trip()
        clock.advance(by: .seconds(20))
        report = await monitor.report()
        #expect(report.status == .down && report.components[0].status == .down)
        #expect(report.totals.down == 1 && report.totals.states == ["open": 1])
        #expect(reading(0, "circuit_probe_seconds") == 40)

        payments.reset(keepingGrowth: false)
        breakers["/a"].setMode(.isolated)
        throttle.hold(for: .seconds(7))
        clock.advance(by: .seconds(1))
        report = await monitor.report()
        #expect(report.status == .degraded && report.totals.degraded == 2)
        #expect(report.components.first { $0.name == "search" }?.policies.first?.condition.timeLeft == .seconds(6))
    }

    @Test("a report has each component's details, by name")
    func coding() async throws {
        let one = breaker("a")
        one.trip()
        let throttle = Throttle("t", limit: .unlimited, timeBase: clock)
        throttle.hold(for: .seconds(3))
        let store = TotalsStore()
        store.answer(.totals(QueueTotals(pending: 1, bytes: 1)))
        let failing = TotalsStore()
        failing.answer(.failure(Broken()))
        let report = await HealthMonitor {
            one
            throttle
            Bulkhead("b", limit: 2, timeBase: clock)
            SyncQueue(idle: "q", store, on: clock)
            SyncQueue(idle: "f", failing, on: clock)
        }.report()
        let data = try JSONEncoder().encode(report)
        let object = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
        let components = try #require(object["components"] as? [[String: Any]])
        func policy(_ name: String) throws -> [String: Any] {
            let component = try #require(components.first { $0["name"] as? String == name })
            return try #require((component["policies"] as? [[String: Any]])?.first)
        }
        #expect(try policy("a")["state"] as? String == "open" && policy("a")["level"] as? String == "down")
        #expect(try (policy("a")["readings"] as? [String: Double])?["circuit_probe_seconds"] == 60)
        #expect(try policy("t")["timeLeftSeconds"] as? Double == 3 && policy("t")["isAllowed"] as? Bool == false)
        #expect(try policy("q")["kind"] as? String == "queue")
        let failed = try #require(components.first { $0["name"] as? String == "f" })
        #expect(
            failed["problem"] as? String == "the store failed: disk full" && failed["status"] as? String == "degraded")
    }

    @Test(
        "hostile names are data in the JSON, and nothing else",
        arguments: ["\"},{\"x\":\"", "a\nb\r\0\u{1b}[31m", "</script><script>alert(1)</script>", "\u{2028}\\", ""])
    func hostile(name: String) async throws {
        let breakers = CircuitBreakerRegistry<String>(timeBase: clock) { breaker($0) }
        _ = breakers[name]
        let report = await HealthMonitor(name) { HealthSource(breakers, name: name) }.report()
        let data = try JSONEncoder().encode(report)
        #expect(!data.contains(0x0A))
        let object = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
        let components = try #require(object["components"] as? [[String: Any]])
        #expect(object["name"] as? String == name && components.count == 1)
        #expect(components.first?["name"] as? String == name && components.first?["group"] as? String == name)
    }

    // MARK: Queues

    @Test(
        "a failing store is a problem of its queue, and of the service if the queue is required",
        arguments: [false, true])
    func failingStore(isRequired: Bool) async throws {
        let store = TotalsStore()
        store.answer(.failure(Broken()))
        let monitor = HealthMonitor {
            HealthSource(SyncQueue(idle: "q", store, on: clock), isRequired: isRequired)
            breaker("b")
        }
        let report = await monitor.report()
        #expect(report.status == (isRequired ? .down : .degraded))
        let queue = try #require(report.components.first)
        #expect(queue.problem == "the store failed: disk full" && queue.policies.isEmpty)
    }

    @Test("a store that hangs delays a report by its time limit, and occupies one task for any number of reports")
    func hangingStore() throws {
        let (store, other) = (TotalsStore(), TotalsStore())
        store.answer(.never)
        other.answer(.never)
        let start = clock.now
        let monitor = HealthMonitor(queueTimeout: .seconds(2)) {
            SyncQueue(idle: "q", store, on: clock)
            SyncQueue(idle: "r", other, on: clock)
            breaker("b")
        }
        let reports = try clock.run { [clock] in
            async let one = monitor.report()
            async let two = monitor.report()
            let both = await [one, two]
            #expect(clock.now == start + .seconds(2))
            return both + [await monitor.report()]
        }
        for report in reports {
            #expect(report.status == .degraded && report.totals.components == 3)
            #expect(report.components.first?.problem == "the store did not answer within 2 s")
        }
        #expect(store.readings == 1 && other.readings == 1 && clock.now == start + .seconds(4))
        store.finish(QueueTotals(pending: 4))
        other.finish()
        let later = try clock.run { await monitor.report() }
        #expect(later.status == .degraded || !later.components[0].policies.isEmpty)
        store.answer(.totals(QueueTotals()))
        other.answer(.totals(QueueTotals()))
        store.finish()
        other.finish()
    }

    @Test("the first caller's deadline does not end a store's reading: others wait for the same reading")
    func deadlines() throws {
        let store = TotalsStore()
        let monitor = HealthMonitor { SyncQueue(idle: "q", store, on: clock) }
        let report = try clock.run { [clock] in
            await CallDeadline(after: .seconds(1), on: clock).run { await monitor.report() }
        }
        #expect(report.status == .up && store.readings == 1 && !store.hadDeadline)
    }

    @Test("a cancelled report waits for no store")
    func cancelled() throws {
        let store = TotalsStore()
        store.answer(.never)
        let start = clock.now
        let monitor = HealthMonitor { SyncQueue(idle: "q", store, on: clock) }
        let report = try clock.run {
            let task = Task { await monitor.report() }
            task.cancel()
            return await task.value
        }
        #expect(clock.now == start)
        #expect(report.components.first?.problem == "the report was cancelled before the store answered")
        store.finish()
    }

    @Test("repeated requests get a slow store's last answer while it is recent")
    func patience() throws {
        let store = TotalsStore()
        store.answer(.totals(QueueTotals(pending: 1)))
        let monitor = HealthMonitor(queueTimeout: .seconds(1)) { SyncQueue(idle: "q", store, on: clock) }
        let start = clock.now
        try clock.run { [clock] in
            func pending() async -> Int? {
                let status = await monitor.report(limit: 9, patience: .milliseconds(100)).components.first?.policies
                    .first?
                    .status
                return (status as? SyncStatus)?.pending
            }
            #expect(await pending() == 1)
            store.answer(.never)
            #expect(await pending() == 1)
            #expect(clock.now == start + .milliseconds(100))
            try await clock.sleep(for: .seconds(1))
            // The answer is no longer recent. From now on the store is known to be late.
            #expect(await pending() == nil)
            let late = clock.now
            #expect(await pending() == nil)
            #expect(clock.now == late + .milliseconds(100))
            store.answer(.totals(QueueTotals(pending: 3)))
            store.finish(QueueTotals(pending: 2))
            #expect(await pending() != nil)
        }
    }

    @Test("after a late store has answered, the next slow answer is awaited again")
    func onTimeAgain() throws {
        let store = TotalsStore()
        store.answer(.never)
        let monitor = HealthMonitor(queueTimeout: .seconds(1)) { SyncQueue(idle: "q", store, on: clock) }
        try clock.run { [clock] in
            func took() async -> Duration {
                let start = clock.now
                _ = await monitor.report(limit: 9, patience: .milliseconds(100))
                return start.duration(to: clock.now)
            }
            #expect(await took() == .seconds(1))
            #expect(await took() == .milliseconds(100), "it is known to be late")
            store.answer(.totals(QueueTotals()))
            store.finish()
            await clock.runUntilIdle()
            // The store's answer is no longer recent.
            try await clock.sleep(for: .seconds(5))
            store.answer(.never)
            #expect(await took() == .seconds(1), "it was not known to be late")
            store.finish()
        }
    }

    @Test("once its break has ended, a circuit without calls is not degraded any more; the first call decides")
    func idleCircuit() async throws {
        let breaker = breaker("b")
        let monitor = HealthMonitor { breaker }
        for _ in 0..<2 { try breaker.tryAcquire().complete(.transient) }
        #expect(await monitor.report().status == .degraded)
        clock.advance(by: .seconds(3_600))
        #expect(await monitor.report().status == .up)
        let probe = try breaker.tryAcquire()
        #expect(await monitor.report().status == .degraded)
        probe.complete(.transient)
        #expect(await monitor.report().status == .degraded)
    }

    @Test("unlimited numbers and endless times are not written as numbers of 19 digits in JSON")
    func unlimited() async throws {
        let gate = Throttle("gate", limit: .unlimited, timeBase: clock)
        let held = Throttle("held", limit: .unlimited, timeBase: clock)
        held.hold(for: .seconds(Int64.max))
        let report = await HealthMonitor {
            Pipeline("p", timeBase: clock) {
                Retry(budget: .tokens(capacity: 28))
                gate
                held
                Bulkhead("room", limit: .max, queue: .max, timeBase: clock)
            }
        }.report()
        let statuses: [any PolicyStatusDetail] = [
            HedgeStatus(delay: nil, samples: 0, hedgesLeft: .max), gate.status, held.status,
            AdaptiveBulkheadStatus(
                bulkhead: BulkheadStatus(limit: .max, inUse: 0, queueLimit: .max, queued: 0),
                adaptive: AdaptiveLimitStatus(range: 1...Int.max)),
        ]
        let reports =
            [report]
            + statuses.map { status in
                HealthReport(
                    name: "", status: .up, totals: HealthTotals(),
                    components: [
                        HealthComponent(
                            id: "", name: "",
                            policies: [PolicyHealth(PolicyStatus(policy: "p", detail: status), at: clock.now)])
                    ])
            }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        for report in reports {
            let data = try encoder.encode(report)
            #expect(!String(decoding: data, as: UTF8.self).contains("9223372036854775807"))
        }
        #expect(report.components.first?.policies.first?.status as? RetryStatus == RetryStatus(retriesLeft: 2))
    }

    @Test("a limit of zero or less does not wait", arguments: [Duration.zero, .seconds(-5)])
    func noTime(limit: Duration) throws {
        let store = TotalsStore()
        store.answer(.never)
        let start = clock.now
        let monitor = HealthMonitor(queueTimeout: limit) { SyncQueue(idle: "q", store, on: clock) }
        let report = try clock.run { await monitor.report() }
        #expect(report.status == .degraded && clock.now == start)
        store.finish()
    }

    // MARK: Bounds

    @Test("of 20 000 keys the important ones are listed, and the others are counted")
    func manyKeys() async throws {
        let breakers = CircuitBreakerRegistry<Int>(capacity: 40_000, timeBase: clock) { breaker("\($0)") }
        for key in 0..<20_000 { _ = breakers[key] }
        for key in [19_999, 5, 7000] { breakers[key].trip() }
        let monitor = HealthMonitor(limit: 50) { HealthSource(breakers, name: "tenants") }
        let report = await monitor.report()
        #expect(report.components.count == 50 && report.totals.components == 20_000)
        #expect(report.totals.omitted == 19_950 && report.totals.states == ["open": 3])
        #expect(report.components.prefix(3).map(\.name).sorted() == ["19999", "5", "7000"])
        #expect(await monitor.report(limit: 0).components.isEmpty)
        #expect(try JSONEncoder().encode(report).count < 20_000)
    }

    @Test("a custom rule decides, key by key")
    func ownRule() async {
        let breakers = CircuitBreakerRegistry<String>(timeBase: clock) { breaker($0) }
        for key in ["a", "b"] { breakers[key].trip() }
        let required = HealthMonitor { HealthSource(breakers, isRequired: { $0 == "b" }) }
        #expect(await required.report().components.map(\.status) == [.down, .degraded])
        let calm = HealthMonitor(rule: HealthRule { $0.name == "a" ? .up : HealthRule.standard.status(of: $0) }) {
            breakers
        }
        let calmed = await calm.report()
        #expect(calmed.status == .degraded && calmed.totals.degraded == 1)
    }

    private struct Stubborn: PolicyStatusDetail {
        static var kind: String { "stubborn" }
        var isAllowed: Bool { false }
        init() {}
        init(from decoder: any Decoder) throws { throw Broken() }
        func encode(to encoder: any Encoder) throws { throw Broken() }
    }

    private struct StubbornPolicy: Policy, StatusReporting {
        var status: Stubborn { Stubborn() }
    }

    @Test("a custom status that can't be written does not break the report")
    func ownStatus() async throws {
        let report = await HealthMonitor { StubbornPolicy() }.report()
        #expect(report.status == .degraded && report.components.first?.policies.first?.kind == "stubborn")
        #expect(throws: Never.self) { try JSONEncoder().encode(report) }
    }

    @Test("the list of components accepts conditions and loops")
    func builder() async {
        let names = ["a", "b"]
        func source(_ isOn: Bool) -> HealthMonitor {
            HealthMonitor {
                if isOn { breaker("on") }
                if isOn { breaker("yes") } else { breaker("no") }
                for name in names { breaker(name) }
            }
        }
        #expect(await source(true).report().components.map(\.name) == ["on", "yes", "a", "b"])
        #expect(await source(false).report().components.map(\.name) == ["no", "a", "b"])
    }

    // MARK: For the dashboard

    @Test(
        "changes of circuits are reported with component and place, even for keys and for pipelines with two breakers")
    func changes() throws {
        let (one, two) = (breaker("one"), breaker("two"))
        let hosts = PipelineRegistry<String>(timeBase: clock) { host in
            Pipeline(host, timeBase: clock) {
                breaker("outer")
                Bulkhead("b", limit: 2, timeBase: clock)
                breaker("inner")
            }
        }
        let monitor = HealthMonitor {
            Pipeline("p", timeBase: clock) {
                one
                Bulkhead("b", limit: 2, timeBase: clock)
                two
            }
            hosts
        }
        let told = Locked<[String]>([])
        try clock.run { [clock] in
            let tasks = monitor.watch { component, change in
                told.withLock { $0.append("\(component)#\(change.policy) \(change.transition.to) \(change.age)") }
            }
            two.trip()
            try await clock.sleep(for: .seconds(1))
            one.trip()
            try await clock.sleep(for: .seconds(1))
            hosts["eu"].policies(of: CircuitBreaker.self)[1].trip()
            try await clock.sleep(for: .seconds(1))
            for task in tasks { task.cancel() }
        }
        #expect(
            told.withLock { $0 } == ["0#2 open 0.0 seconds", "0#0 open 0.0 seconds", "1/eu#2 open 0.0 seconds"])
        #expect(monitor.policy(of: "0", at: 2) as? CircuitBreaker === two)
        #expect(!(monitor.policy(of: "0", at: 1) is CircuitBreaker))
        #expect(monitor.policy(of: "1/eu", at: 2)?.name == "inner")
    }

    @Test(
        "a component or place that does not exist leads to no breaker, and does not trap",
        arguments: ["", "/", "0/", "0/x", "1", "1/none", "-1", "9", "99999999999999999999", "0#2", "1/eu/x"])
    func noBreaker(component: String) {
        let breakers = CircuitBreakerRegistry<String>(timeBase: clock) { breaker($0) }
        _ = breakers["eu"]
        let monitor = HealthMonitor {
            breaker("p")
            breakers
        }
        for place in [0, 1, -1, .max, .min] { #expect(monitor.policy(of: component, at: place) == nil) }
        for place in [1, -1, .max, .min] { #expect(monitor.policy(of: "0", at: place) == nil) }
        #expect(monitor.policy(of: "0", at: 0)?.name == "p" && monitor.policy(of: "1/eu", at: 0)?.name == "eu")
    }
}
