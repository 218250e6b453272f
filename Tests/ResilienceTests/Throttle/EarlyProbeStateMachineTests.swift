import TestSupport
import Testing

@testable import Resilience

private func at(_ second: Int64) -> MonotonicInstant { .second(second) }

/// A gate that a 429 holds for an hour, and that is probed after 5, 15, 35 and 55 minutes.
private final class HeldGate {
    var machine = ThrottleStateMachine(rate: nil, burst: 1)
    let settings: Throttle.Settings

    init(maxWait: Duration = .zero) {
        settings = Throttle.Settings(
            limit: .unlimited, maxWait: maxWait, queue: 10, holdOnThrottled: true,
            holdBackoff: .constant(.seconds(1), jitter: .none), maxHold: .seconds(3600),
            earlyProbe: .seconds(300))
        throttled(come(at: 0), .seconds(86_400), at: 0)
    }

    func asks(_ slot: ThrottleSlot = ThrottleSlot(PolicySlot()), at second: Int64) -> ThrottleStateMachine.Admission {
        machine.admit(slot, cost: 1, deadline: .distantFuture, settings, at: at(second))
    }

    func come(at second: Int64) -> ThrottleSlot? {
        guard case .enter(let slot) = asks(at: second) else { return nil }
        return slot
    }

    func told(at second: Int64) -> Duration? {
        guard case .reject(let wait) = asks(at: second) else { return nil }
        return wait
    }

    func throttled(_ slot: ThrottleSlot?, _ wait: Duration? = nil, at second: Int64) {
        ended(slot, .throttled(retryAfter: wait), at: second)
    }

    func ended(_ slot: ThrottleSlot?, _ verdict: Verdict, at second: Int64) {
        guard let slot else {
            Issue.record("no call at \(second)")
            return
        }
        _ = machine.end(slot, cost: 1, verdict, settings, at: at(second))
    }
}

@Suite struct EarlyProbeStateMachineTests {
    @Test("during a long hold single calls probe early, at intervals that double up to four times the first")
    func intervals() {
        let gate = HeldGate()
        var probes: [Int64] = []
        for second in stride(from: Int64(0), through: 3_600, by: 10) {
            guard let slot = gate.come(at: second) else { continue }
            #expect(slot.stage == .probe && gate.come(at: second) == nil)
            probes.append(second / 60)
            gate.throttled(slot, .seconds(86_400), at: second)
        }
        #expect(probes == [5, 15, 35, 55])
    }

    @Test("a successful early probe opens the gate for all")
    func opens() {
        let gate = HeldGate()
        let probe = gate.come(at: 300)
        gate.ended(probe, .success, at: 301)
        #expect(gate.machine.gate == .open && gate.come(at: 301)?.stage == .admitted && gate.machine.holds == 0)
    }

    @Test("an early probe that was cancelled, or that an inner policy rejected, changes nothing: the hold continues")
    func undecided() {
        for verdict in [Verdict.cancelled, .rejected] {
            let gate = HeldGate()
            gate.ended(gate.come(at: 300), verdict, at: 310)
            #expect(gate.machine.gate == .held(until: at(3600)) && gate.come(at: 310) == nil)
            #expect(gate.come(at: 900)?.stage == .probe)
        }
    }

    @Test("an early probe that never ends loses its place, and the hold continues")
    func lost() {
        let gate = HeldGate()
        let lost = gate.come(at: 300)
        #expect(gate.come(at: 360) == nil && gate.come(at: 899) == nil)
        let next = gate.come(at: 900)
        gate.ended(lost, .success, at: 901)
        #expect(gate.machine.gate != .open)
        gate.ended(next, .success, at: 902)
        #expect(gate.machine.gate == .open)
    }

    @Test("rejected calls get the time of the next early probe, not of the hold's end; a probe's 429 moves that time")
    func told() {
        let gate = HeldGate()
        #expect(gate.told(at: 10) == .seconds(290))
        let probe = gate.come(at: 300)
        // The early probe does not affect other calls.
        #expect(gate.told(at: 301) == .seconds(599) && gate.machine.status(at: at(301)).timeUntilNext == .seconds(599))
        #expect(gate.machine.status(at: at(301)).heldUntil == at(3600))
        gate.throttled(probe, .seconds(86_400), at: 302)
        #expect(gate.told(at: 302) == .seconds(600))
    }

    @Test("a hold no longer than the first interval has no early probe")
    func short() {
        var machine = ThrottleStateMachine(rate: nil, burst: 1)
        machine.hold(until: at(300), probingAfter: .seconds(300), at: at(0))
        #expect(machine.ask(at: at(299)) == .held(until: at(300)))
        #expect(machine.ask(at: at(300)) == .probe)
    }

    @Test(
        "with early probes off, or in a hold by hand, for a quota or for the backoff, no call probes early")
    func never() {
        let gate = HeldGate()
        gate.machine.hold(until: at(3_600), counts: false)
        let early = (1..<360).filter { gate.come(at: Int64(10 * $0)) != nil }
        #expect(early == [] && gate.come(at: 3_600)?.stage == .probe)

        // A hold by hand that a 429 prolongs is still a hold by hand.
        for (byHand, first) in [(Int64?.none, Duration.zero), (1_000, .seconds(300))] {
            var machine = ThrottleStateMachine(rate: nil, burst: 1)
            if let byHand { machine.hold(until: at(byHand), counts: false) }
            machine.hold(until: at(3_600), probingAfter: first, at: at(0))
            let early = (1..<360).filter { machine.ask(at: at(Int64(10 * $0))).lets }
            #expect(early == [])
        }
    }

    @Test("after a good probe or a reset the intervals begin with the first again")
    func forgets() {
        let gate = HeldGate()
        gate.throttled(gate.come(at: 300), .seconds(86_400), at: 300)
        gate.ended(gate.come(at: 900), .success, at: 900)
        gate.throttled(gate.come(at: 1_000), .seconds(86_400), at: 1_000)
        #expect(gate.come(at: 1_299) == nil && gate.come(at: 1_300)?.stage == .probe)
        gate.machine.reset(at: at(1_310))
        gate.throttled(gate.come(at: 1_320), .seconds(86_400), at: 1_320)
        #expect(gate.told(at: 1_320) == .seconds(300))
    }

    @Test("the first call in line probes, and calls behind it get the time of the next probe")
    func line() {
        let gate = HeldGate(maxWait: .seconds(30))
        #expect(gate.told(at: 200) == .seconds(100))
        guard case .wait(let first, let turn, let until) = gate.asks(at: 280) else {
            Issue.record("the first does not wait for the early probe")
            return
        }
        #expect(turn == at(300) && until == at(300))
        #expect(gate.told(at: 280) == .seconds(20))
        guard case .enter(let probe) = gate.asks(first, at: 300), probe.stage == .probe else {
            Issue.record("the first is no probe")
            return
        }
        #expect(gate.told(at: 300) == .seconds(600))
    }

    @Test("after endHold the next call probes; an early probe in flight continues as an ordinary probe")
    func endedByHand() {
        let other = HeldGate()
        let ended = (1...2).map { _ in other.machine.endHold(at: at(5)) }
        #expect(ended == [true, false] && other.come(at: 5)?.stage == .probe)
        let gate = HeldGate()
        let probe = gate.come(at: 300)
        let isEnded = gate.machine.endHold(at: at(301))
        #expect(isEnded)
        gate.ended(probe, .cancelled, at: 302)
        #expect(gate.come(at: 302)?.stage == .probe)
    }

    @Test("at the ends of time, and with extreme intervals, a gate does not trap, and does not probe early")
    func extremes() {
        for start in [MonotonicInstant.distantPast, .distantFuture + .seconds(-5)] {
            for first in [Duration.nanoseconds(1), .seconds(Int64.max)] {
                var machine = ThrottleStateMachine(rate: nil, burst: 1)
                machine.hold(until: .distantFuture, probingAfter: first, at: start)
                for step in [Duration.zero, .nanoseconds(1), .seconds(1), .seconds(Int64.max)] {
                    _ = machine.ask(at: start + step)
                    _ = machine.status(at: start + step)
                }
            }
        }
    }

    @Test("a call rejected during an early probe gets the next early probe's time, not the end of the probe's lease")
    func toldNoLease() {
        var machine = ThrottleStateMachine(rate: nil, burst: 1)
        let settings = Throttle.Settings(
            limit: .unlimited, maxWait: .zero, queue: 10, holdOnThrottled: true,
            holdBackoff: .constant(.seconds(1), jitter: .none), maxHold: .seconds(3600),
            earlyProbe: .seconds(2))
        func asks(at second: Int64) -> ThrottleStateMachine.Admission {
            machine.admit(ThrottleSlot(PolicySlot()), cost: 1, deadline: .distantFuture, settings, at: at(second))
        }
        guard case .enter(let slot) = asks(at: 0) else {
            Issue.record("no call")
            return
        }
        _ = machine.end(slot, cost: 1, .throttled(retryAfter: .seconds(3000)), settings, at: at(0))
        guard case .enter = asks(at: 2) else {
            Issue.record("no probe")
            return
        }
        #expect(asks(at: 2) == .reject(retryAfter: .seconds(4)))
        #expect(machine.timeUntilNext(at: at(2)) == .seconds(4))
        // The probe is late: until it ends, no other probe goes.
        #expect(asks(at: 10) == .reject(retryAfter: .seconds(1)) && machine.available(at: at(10)) == 0)
    }
}
