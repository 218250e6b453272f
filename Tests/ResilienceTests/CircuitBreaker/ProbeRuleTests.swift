import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite(.heavy) struct ProbeRuleTests {
    /// The state of a circuit that is half-open at second 60 and allows this many probes at once, after these probes
    /// ended: + a success, - a failure, o inconclusive.
    private func state(after ends: String, closing: ProbeRule, probes: Int) -> CircuitState {
        var circuit = ThreeStateCircuit(tripping: .consecutiveFailures(1), probes: probes, closing: closing)
        circuit.record(.transient, at: .second(0))
        circuit.timePassed(at: .second(60))
        for end in ends {
            guard case .allow(let ticket) = circuit.admit(at: .second(60)) else { return .open }
            circuit.record(
                end == "+" ? .success : end == "-" ? .transient : .cancelled, ticket: ticket, at: .second(60))
        }
        return circuit.state
    }

    @Test(
        "a round is decided as soon as no later probe can change the result",
        arguments: [
            (.successes(1), "", .halfOpen), (.successes(1), "+", .closed), (.successes(1), "-", .open),
            (.successes(3), "++", .halfOpen), (.successes(3), "+++", .closed), (.successes(3), "++-", .open),
            (.successes(2, of: 3), "-", .halfOpen), (.successes(2, of: 3), "-+", .halfOpen),
            (.successes(2, of: 3), "-++", .closed), (.successes(2, of: 3), "+-+", .closed),
            (.successes(2, of: 3), "--", .open), (.successes(2, of: 3), "+--", .open),
            (.failureRatio(0.5, of: 10), "----", .halfOpen), (.failureRatio(0.5, of: 10), "-----", .open),
            (.failureRatio(0.5, of: 10), "++++-----", .open), (.failureRatio(0.5, of: 10), "----+++++", .halfOpen),
            (.failureRatio(0.5, of: 10), "----++++++", .closed), (.failureRatio(1, of: 3), "--+", .closed),
            (.failureRatio(1, of: 3), "---", .open), (.failureRatio(0.001, of: 3), "-", .open),
            (.successes(2, of: 3), "oo-o+ooo+", .closed),
        ] as [(ProbeRule, String, CircuitState)])
    func rounds(closing: ProbeRule, ends: String, state: CircuitState) {
        #expect(self.state(after: ends, closing: closing, probes: 1) == state)
        #expect(self.state(after: ends, closing: closing, probes: closing.probes) == state)
    }

    @Test("a failure ratio becomes the smallest number of failures that reaches it, even if a double rounds the ratio")
    func ratios() {
        for (ratio, probes, failures) in [(0.1, 30, 3), (0.5, 10, 5), (0.5, 5, 3), (1, 7, 7), (0.29, 100, 29)] {
            #expect(ProbeRule.failureRatio(ratio, of: probes).failures == failures)
        }
    }

    @Test("the number of failures for a ratio equals a linear search's result, near each possible ratio")
    func ratiosAsBySearch() {
        for probes in 1...200 {
            let reached: [Double] = (0...probes).map { Double($0) / Double(probes) }
            var ratios: [Double] = [0.001, 0.1, 0.29, 1 / 3, 0.7]
            for share in reached { ratios += [share.nextDown, share, share.nextUp] }
            for ratio in ratios where ratio > 0 && ratio <= 1 {
                let failures = (1...probes).first { reached[$0] >= ratio }
                guard ProbeRule.failureRatio(ratio, of: probes).failures != failures else { continue }
                Issue.record("\(ratio) of \(probes) is \(failures ?? 0)")
            }
        }
    }

    @Test("the number of failures for a ratio is found at once for any number of probes, even in a settings check")
    func manyProbes() throws {
        #expect(ProbeRule.failureRatio(0.5, of: 10_000_001).failures == 5_000_001)
        for (ratio, successes) in [(.leastNonzeroMagnitude, .max), (1, 1)] as [(Double, Int)] {
            let rule = try PolicySettings.checked { ProbeRule.failureRatio(ratio, of: .max) }
            // The number of successes is exact to within the precision of a Double.
            #expect(rule.probes == .max && abs(rule.successes - successes) <= 512)
        }
    }

    @Test("while half-open, the status counts the round's probes, and each failure is reported with its number")
    func seen() throws {
        let clock = ManualClock()
        let recorder = EventRecorder()
        let breaker = CircuitBreaker(
            circuit: ThreeStateCircuit(tripping: .consecutiveFailures(5), closing: .successes(3, of: 5)),
            timeBase: clock, observers: PolicyObservers(recorder))
        for _ in 0..<5 { try breaker.tryAcquire().complete(.transient) }
        #expect(breaker.status.failureCount == 5 && breaker.status.failureLimit == 5)
        clock.advance(by: .seconds(60))
        #expect(breaker.status.failureCount == 0 && breaker.status.failureLimit == 3 && breaker.status.callCount == 0)
        recorder.reset()
        for verdict in [Verdict.transient, .success, .transient] { try breaker.tryAcquire().complete(verdict) }
        #expect(breaker.status.failureCount == 2 && breaker.status.callCount == 3)
        try breaker.tryAcquire().complete(.transient)
        #expect(breaker.status.failureCount == 5 && breaker.state == .open)
        let events = recorder.events().filter { (event: CircuitBreaker.Event) in event != .allowed(.halfOpen) }
        #expect(
            events == [.halfOpened, .failure(1, of: 3), .failure(2, of: 3), .reopened(for: .seconds(60))])
    }
}
