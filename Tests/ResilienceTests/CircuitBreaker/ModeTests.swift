import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite struct ModeTests {
    let clock = ManualClock()
    let recorder = EventRecorder()
    let breaker: CircuitBreaker

    init() {
        breaker = CircuitBreaker(
            tripping: .consecutiveFailures(2), openFor: .seconds(60), timeBase: clock,
            observers: PolicyObservers(recorder))
    }

    private func end(_ verdict: Verdict, times: Int = 1) {
        for _ in 0..<times { try? breaker.tryAcquire().complete(verdict) }
    }

    @Test("an isolated breaker rejects all calls, however much time passes (P11)")
    func isolated() {
        breaker.setMode(.isolated)
        for _ in 0..<3 {
            #expect(throws: CircuitOpen(policy: "breaker", reason: .isolated, retryAfter: nil)) {
                _ = try breaker.tryAcquire()
            }
            #expect(breaker.status.timeless == CircuitBreakerStatus(state: .open, failureCount: 0, mode: .isolated))
            clock.advance(by: .seconds(1_000_000))
        }
    }

    @Test(
        "a probe that a mode has interrupted loses its place: the next call probes (P1)",
        arguments: [CircuitBreaker.Mode.isolated, .disabled])
    func cutOffProbe(mode: CircuitBreaker.Mode) throws {
        let breaker = CircuitBreaker(
            circuit: ThreeStateCircuit(tripping: .consecutiveFailures(1), probes: 1), timeBase: clock)
        breaker.trip()
        clock.advance(by: .seconds(60))
        let probe = try breaker.tryAcquire()
        #expect(!breaker.status.isAllowed)
        breaker.setMode(mode)
        breaker.setMode(.automatic)
        #expect(breaker.state == .halfOpen && breaker.status.isAllowed)
        probe.complete(.transient)
        try breaker.tryAcquire().complete(.success)
        #expect(breaker.state == .closed)
    }

    private func configured(_ mode: CircuitBreaker.Mode?) throws -> CircuitBreaker {
        CircuitBreaker(
            settings: CircuitBreaker.Settings(tripping: .consecutiveFailures(1), mode: mode ?? .automatic),
            timeBase: clock, observers: PolicyObservers(recorder))
    }

    @Test("a mode from the settings applies from the start, without an event, and leaves the breaker at rest")
    func settled() throws {
        for mode in CircuitBreaker.Mode.allCases {
            let breaker = try configured(mode)
            #expect(breaker.mode == mode && breaker.isAtRest && recorder.events.isEmpty)
            #expect(breaker.canBeEvicted(unusedFor: .zero))
        }
        #expect(try configured(nil).mode == .automatic)
    }

    @Test("a mode set by hand survives a change of settings, unless the settings' mode changes")
    func settledAgain() throws {
        let breaker = try configured(nil)
        breaker.setMode(.observing)
        #expect(!breaker.isAtRest && !breaker.canBeEvicted(unusedFor: .seconds(9)))
        #expect(breaker.reconfigured(like: try configured(.automatic)) === breaker && breaker.mode == .observing)
        #expect(breaker.reconfigured(like: try configured(.disabled)) === breaker && breaker.mode == .disabled)
        breaker.setMode(.automatic)
        #expect(breaker.reconfigured(like: try configured(.disabled)) === breaker && breaker.mode == .automatic)
        #expect(breaker.reconfigured(like: try configured(.isolated)) === breaker && breaker.mode == .isolated)
        #expect(breaker.reconfigured(like: try configured(nil)) === breaker && breaker.mode == .automatic)
        let told = recorder.events(of: CircuitBreaker.Event.self).map(\.description)
        #expect(told.count == 5, "\(told)")
    }

    @Test("a snapshot stores only a mode set by hand: otherwise the mode of the settings applies after a restart")
    func settledSnapshot() throws {
        let disabled = try configured(.disabled)
        let snapshot = try #require(disabled.snapshot())
        let plain = try configured(nil)
        try plain.restore(snapshot)
        #expect(plain.mode == .automatic)
        try disabled.restore(try #require(plain.snapshot()))
        #expect(disabled.mode == .disabled)
        disabled.setMode(.isolated)
        let byHand = try #require(disabled.snapshot())
        let other = try configured(.disabled)
        try other.restore(byHand)
        #expect(other.mode == .isolated)
    }

    @Test("while a breaker is disabled, isTripped is false, though the break continues")
    func disabledWhileOpen() {
        breaker.trip()
        #expect(breaker.status.isTripped)
        breaker.setMode(.disabled)
        #expect(!breaker.status.isTripped && breaker.status.isAllowed && breaker.state == .open)
        breaker.setMode(.isolated)
        #expect(breaker.status.isTripped)
    }

    @Test("a breaker isolated while open gives no retryAfter to rejected calls, even without observers")
    func isolatedWhileOpen() throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        let open = CircuitOpen(policy: "breaker", reason: .open, retryAfter: .seconds(60))
        try breaker.tryAcquire().complete(.transient)
        #expect(throws: open) { _ = try breaker.tryAcquire() }
        breaker.setMode(.isolated)
        #expect(throws: CircuitOpen(policy: "breaker", reason: .isolated, retryAfter: nil)) {
            _ = try breaker.tryAcquire()
        }
        breaker.setMode(.automatic)
        #expect(throws: open) { _ = try breaker.tryAcquire() }
    }

    @Test("after a change by hand, a rejected call learns the new break, not the old break")
    func otherBreak() throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        func advice() -> Duration? {
            do { _ = try breaker.tryAcquire() } catch { return (error as? any Rejection)?.retryAfter }
            return nil
        }
        try breaker.tryAcquire().complete(.transient)
        let snapshot = try #require(breaker.snapshot(wallClock: 0))
        #expect(advice() == .seconds(60))
        breaker.trip(for: .seconds(10))
        #expect(advice() == .seconds(10))
        try breaker.restore(snapshot, wallClock: 20_000)
        #expect(advice() == .seconds(40))
        try breaker.restore(snapshot, wallClock: 30_000)
        #expect(advice() == .seconds(30))
    }

    @Test("neither a probe in flight nor a reset undoes an isolation (P11)")
    func probeAndReset() throws {
        end(.transient, times: 2)
        clock.advance(by: .seconds(60))
        let probe = try breaker.tryAcquire()
        breaker.setMode(.isolated)
        probe.complete(.success)
        breaker.reset()
        #expect(breaker.mode == .isolated && !breaker.status.isAllowed)
    }

    @Test("an observing breaker counts failures and reports when it would open, but never opens")
    func observing() {
        breaker.setMode(.observing)
        end(.transient, times: 3)
        #expect(
            breaker.status.timeless
                == CircuitBreakerStatus(state: .closed, failureCount: 3, failureLimit: 2, mode: .observing)
        )
        #expect(recorder.count { (event: CircuitBreaker.Event) in event == .wouldOpen } == 2)
        end(.success)
        #expect(breaker.status.failureCount == 0)
        end(.transient)
        breaker.setMode(.automatic)
        end(.transient)
        #expect(breaker.state == .open)
    }

    @Test("by default `observe` tries a failure on a copy of a custom circuit; the circuit itself stays closed")
    func ownCircuit() {
        struct Simple: CircuitStateMachine {
            var failures = 0
            var state: CircuitState { failures < 2 ? .closed : .open }
            var description: String { "simple" }
            func admit(at now: MonotonicInstant, using generator: SplitMix64) -> CircuitAdmission { .allow(ticket: 0) }
            mutating func record(_ end: CallEnd, ticket: UInt64, using generator: SplitMix64) -> Bool {
                if end.verdict == .transient { failures += 1 }
                return end.verdict == .transient
            }
            mutating func reset(keepingGrowth: Bool) { failures = 0 }
            func status(at now: MonotonicInstant) -> CircuitBreakerStatus {
                CircuitBreakerStatus(state: state, failureCount: failures)
            }
        }
        var simple = Simple()
        let failure = CallEnd(.transient, at: .second(0))
        #expect(!simple.observe(failure) && simple.observe(failure) && simple.observe(failure))
        #expect(simple.state == .closed && simple.failures == 1)
        let breaker = CircuitBreaker(circuit: Simple(), timeBase: clock)
        #expect(breaker.snapshot() == nil && !breaker.reconfigure(circuit: Simple()))
        #expect(breaker.isAtRest == false)
    }

    @Test("every mode set by hand is reported once")
    func told() {
        for mode in [CircuitBreaker.Mode.isolated, .isolated, .disabled, .observing, .automatic, .automatic] {
            breaker.setMode(mode)
        }
        #expect(
            recorder.events().compactMap { (event: CircuitBreaker.Event) in "\(event)" } == [
                "mode set → isolated", "mode set → disabled", "mode set → observing",
                "mode set → automatic",
            ])
    }
}
