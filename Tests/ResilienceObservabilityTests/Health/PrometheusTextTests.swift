import Foundation
import Resilience
import ResilienceTraffic
import ResilienceSync
import ResilienceTesting
import Testing

@testable import ResilienceObservability

@Suite(.timeLimit(.minutes(20))) struct PrometheusTextTests {
    private let clock = ManualClock()

    @Test("a report and counts are written in the format, with their values")
    func values() async throws {
        let store = TotalsStore()
        store.answer(.totals(QueueTotals(pending: 12, bytes: 340, dead: 2)))
        let breaker = CircuitBreaker("b", openFor: .seconds(60), timeBase: clock)
        breaker.trip()
        clock.advance(by: .milliseconds(10_500))
        let counter = EventCounter()
        let pipeline = Pipeline("pay", timeBase: clock, observers: PolicyObservers(counter)) {
            breaker
            Throttle("open", limit: .unlimited, timeBase: clock)
            Bulkhead("room", limit: 3, queue: 5, timeBase: clock)
            Hedge("twice", after: .constant(.milliseconds(200)), budget: .tokens(capacity: 28))
            Hedge("unknown", timeBase: clock)
            EndpointPool("pool", ["a", "b", "c"], timeBase: clock)
        }
        for _ in 0..<2 { try? await pipeline.run {} }
        breaker.reset(keepingGrowth: false)
        try await pipeline.run {}
        breaker.trip()
        clock.advance(by: .milliseconds(10_500))
        let report = await HealthMonitor("s") {
            HealthSource(pipeline, isRequired: true)
            SyncQueue(idle: "out", store, on: clock)
        }.report()
        let read = try ExpositionParser(report.prometheusText(counts: counter.counts))
        let labels = ["pipeline": "pay", "policy": "b"]
        for (state, value) in [("open", 1.0), ("closed", 0), ("half_open", 0)] {
            #expect(read.value("resilience_circuits", labels.merging(["state": state]) { $1 }) == value)
        }
        #expect(read.value("resilience_circuit_probe_seconds", labels) == 49.5)
        #expect(read.value("resilience_throttle_available", ["pipeline": "pay", "policy": "open"]) == nil)
        #expect(read.value("resilience_throttle_wait_seconds", ["pipeline": "pay", "policy": "open"]) == 0)
        #expect(read.value("resilience_permits_limit", ["pipeline": "pay", "policy": "room"]) == 3)
        #expect(read.value("resilience_permits_in_use", ["pipeline": "pay", "policy": "room"]) == 0)
        #expect(read.value("resilience_shedding", ["pipeline": "pay", "policy": "room"]) == 0)
        #expect(read.value("resilience_adaptive_limit_latency_seconds", ["pipeline": "pay", "policy": "room"]) == nil)
        #expect(read.value("resilience_hedge_delay_seconds", ["pipeline": "pay", "policy": "twice"]) == 0.2)
        #expect(read.value("resilience_hedges_left", ["pipeline": "pay", "policy": "twice"]) == 2)
        #expect(read.value("resilience_hedge_delay_seconds", ["pipeline": "pay", "policy": "unknown"]) == nil)
        #expect(read.value("resilience_hedges_left", ["pipeline": "pay", "policy": "unknown"]) == 100)
        #expect(read.value("resilience_endpoints", ["pipeline": "pay", "policy": "pool"]) == 3)
        #expect(read.value("resilience_endpoints_ejected", ["pipeline": "pay", "policy": "pool"]) == 0)
        #expect(read.value("resilience_endpoint_panic", ["pipeline": "pay", "policy": "pool"]) == 0)
        #expect(read.value("resilience_sync_pending", ["pipeline": "none", "policy": "out"]) == 12)
        #expect(read.value("resilience_sync_bytes", ["pipeline": "none", "policy": "out"]) == 340)
        #expect(read.value("resilience_status_known", ["pipeline": "none", "policy": "out"]) == 1)
        #expect(read.value("resilience_health_status") == 2)
        #expect(read.value("resilience_components", ["status": "down"]) == 1)
        #expect(read.value("resilience_calls_total", ["pipeline": "pay", "outcome": "success"]) == 1)
        #expect(read.value("resilience_calls_total", ["pipeline": "pay", "outcome": "rejected"]) == 2)
        #expect(read.value("resilience_attempts_total", ["pipeline": "pay", "outcome": "success"]) == 1)
        #expect(read.value("resilience_events_total", ["pipeline": "pay", "policy": "b", "event": "rejected"]) == 2)
        #expect(read.types["resilience_calls_total"] == "counter" && read.types["resilience_sync_pending"] == "gauge")
    }

    @Test(
        "any name is one label value, and reads back unchanged",
        arguments: [
            #"a"b"#, #"a\b"#, #"\"#, #"\n"#, "a\nb", "a\r\nb", "\r", "}", "{a=\"b\"} 1\n# TYPE x counter", "é😀",
            #"\""#, " ", "a,b=c",
        ])
    func hostile(name: String) async throws {
        let counter = EventCounter()
        counter.receive(
            PolicyEvent(policy: name, pipeline: name, time: clock.now, detail: CircuitBreaker.Event.halfOpened))
        let breakers = CircuitBreakerRegistry<String>(timeBase: clock) { CircuitBreaker($0, timeBase: clock) }
        _ = breakers[name]
        let report = await HealthMonitor(name) { HealthSource(breakers, name: name) }.report()
        let read = try ExpositionParser(report.prometheusText(counts: counter.counts))
        #expect(
            read.value("resilience_circuit_failures", ["pipeline": "none", "policy": name]) == 0)
        #expect(read.value("resilience_component_status", ["registry": name, "component": name]) == 0)
        #expect(
            read.value("resilience_events_total", ["pipeline": name, "policy": name, "event": "halfOpened"]) == 1)
    }

    @Test("a null character, which readers may treat as the end, is replaced; an empty name has no label")
    func null() async throws {
        let report = await HealthMonitor { CircuitBreaker("a\0b", timeBase: clock) }.report()
        let read = try ExpositionParser(report.prometheusText())
        let name = "a\u{FFFD}b"
        #expect(read.value("resilience_circuit_failures", ["pipeline": "none", "policy": name]) == 0)
        let unnamed = await HealthMonitor { CircuitBreaker("", timeBase: clock) }.report()
        #expect(
            try ExpositionParser(unnamed.prometheusText())
                .value("resilience_circuit_failures", ["pipeline": "none"]) == 0)
    }

    private struct Explained: PolicyStatusDetail {
        static var kind: String { "explained" }
        var isAllowed: Bool { true }
        func readings(at now: MonotonicInstant) -> [StatusReading] {
            [
                StatusReading("own", "in C:\\queue \"now\"\r\n\u{1B}", 1),
                StatusReading("call_duration_seconds", "No gauge.", 1),
            ]
        }
    }

    @Test("a custom policy's explanation is escaped as readers expect, and its names never clash with a histogram's")
    func explained() {
        let status = PolicyStatus(policy: "p", detail: Explained())
        let component = HealthComponent(
            id: "0", name: "p", policies: [PolicyHealth(status, at: MonotonicInstant(nanoseconds: 0))])
        let text = HealthReport(name: "s", status: .up, totals: HealthTotals(), components: [component])
            .prometheusText()
        #expect(text.contains(#"# HELP resilience_own in C:\\queue "now"\\r\\n\\u{1B}"# + "\n"))
        #expect(!text.contains("resilience_call_duration_seconds"))
    }

    @Test("gauges of equal names are summed; components of equal names get stable numbers")
    func twins() async throws {
        let (one, two) = (CircuitBreaker("b", timeBase: clock), CircuitBreaker("b", timeBase: clock))
        let monitor = HealthMonitor {
            Pipeline("p", timeBase: clock) {
                one
                Throttle("b", limit: .unlimited, timeBase: clock)
            }
            Pipeline("p", timeBase: clock) { two }
        }
        two.trip()
        let read = try ExpositionParser(await monitor.report().prometheusText())
        for state in ["open", "closed"] {
            #expect(read.value("resilience_circuits", ["pipeline": "p", "policy": "b", "state": state]) == 1)
        }
        #expect(read.value("resilience_component_status", ["component": "p"]) == 0)
        #expect(read.value("resilience_component_status", ["component": "p#2"]) == 1)
    }

    @Test("calls have the outcomes of their verdicts, and their durations")
    func calls() throws {
        let counter = EventCounter()
        for detail in [
            Pipeline.Event.attemptFailed(1, .throttled, took: .milliseconds(30)),
            .failed(
                .throttled, took: .milliseconds(30), attempts: 2,
                waits: [PolicyWait(policy: "retry", duration: .seconds(3))]),
            .failed(.throttled, took: .seconds(90), attempts: 1), .rejected(took: .zero, attempts: 0),
            .failed(.rejected, took: .zero, attempts: 1),
        ] {
            counter.receive(PolicyEvent(policy: "call", pipeline: "pay", time: clock.now, detail: detail))
        }
        let report = HealthReport(name: "s", status: .up, totals: HealthTotals(), components: [])
        let read = try ExpositionParser(report.prometheusText(counts: counter.counts))
        func value(_ name: String, _ outcome: String, le: String? = nil) -> Double? {
            var labels = ["pipeline": "pay", "outcome": outcome]
            labels["le"] = le
            return read.value("resilience_\(name)", labels)
        }
        #expect(value("calls_total", "throttled") == 2 && value("attempts_total", "throttled") == 1)
        #expect(value("calls_total", "rejected") == 1 && value("calls_total", "rejected_inside") == 1)
        #expect(value("call_duration_seconds_bucket", "throttled", le: "0.025") == 0)
        #expect(value("call_duration_seconds_bucket", "throttled", le: "0.05") == 1)
        #expect(value("call_duration_seconds_bucket", "throttled", le: "60") == 1)
        #expect(value("call_duration_seconds_bucket", "throttled", le: "+Inf") == 2)
        #expect(value("call_duration_seconds_count", "throttled") == 2)
        #expect(value("call_duration_seconds_sum", "throttled") == 90.03)
        #expect(value("call_attempts_sum", "throttled") == 3)
        #expect(read.value("resilience_wait_duration_seconds_sum", ["pipeline": "pay", "policy": "retry"]) == 3)
        #expect(read.types["resilience_call_duration_seconds"] == "histogram")
        #expect(!read.samples.contains { $0.name == "resilience_events_total" })
    }

    @Test("two pages of the same state are the same text")
    func stable() async {
        let breakers = CircuitBreakerRegistry<Int>(timeBase: clock) { CircuitBreaker("\($0)", timeBase: clock) }
        for key in 0..<50 { _ = breakers[key] }
        let monitor = HealthMonitor { breakers }
        let first = await monitor.report().prometheusText()
        #expect(await monitor.report().prometheusText() == first && first.utf8.last == 0x0A)
    }

    @Test(
        "numbers are written in the format's notation",
        arguments: [
            (0.0, "0"), (-0.0, "0"), (1.5, "1.5"), (-2, "-2"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"),
            (1e300, "1e+300"), (9_007_199_254_740_991, "9007199254740991"), (Double(Int.max), "9.223372036854776e+18"),
            (1e-9, "1e-09"),
        ])
    func numbers(value: Double, text: String) {
        #expect(PrometheusText.number(value) == text)
    }

    @Test("counts beyond the limit share one counter, and a counter without a pipeline is marked")
    func others() async throws {
        let counter = EventCounter(limit: 1)
        for policy in ["a", "b", "c"] {
            counter.receive(
                PolicyEvent(policy: policy, pipeline: nil, time: clock.now, detail: CircuitBreaker.Event.halfOpened))
        }
        let read = try ExpositionParser(await HealthMonitor {}.report().prometheusText(counts: counter.counts))
        #expect(read.value("resilience_events_total", ["pipeline": "none", "policy": "a", "event": "halfOpened"]) == 1)
        #expect(read.value("resilience_events_uncounted_total") == 2)
    }

    @Test("the parser of these tests is strict")
    func strict() {
        let head = "# HELP a_total h\n# TYPE a_total counter\n"
        #expect(throws: Never.self) { try ExpositionParser(head + "a_total{b=\"c\"} 1\n") }
        for wrong in [
            "a_total 1", "b 1\n", "a_total 1 \n", "a_total{b=c} 1\n", "a_total{b=\"c\" 1\n", "a_total{b=\"\\x\"} 1\n",
            "a_total inf\n", "a_total 1\na_total 1\n", "a_total{b=\"c\",b=\"c\"} 1\n", "\n", "a_total{} 1\n",
        ] {
            #expect(throws: ExpositionParser.Malformed.self, "\(wrong)") { try ExpositionParser(head + wrong) }
        }
    }
}
