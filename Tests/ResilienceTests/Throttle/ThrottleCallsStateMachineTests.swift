import Testing

@testable import Resilience

/// A call's entry, its wait in line, and its end, as decided by the machine.
@Suite struct ThrottleCallsStateMachineTests {
    private let patient = Self.settings()

    private static func settings(
        maxWait: Duration = .seconds(10), queue: Int = 10, holdBackoff: Backoff? = nil,
        maxHold: Duration = .seconds(100)
    ) -> Throttle.Settings {
        Throttle.Settings(
            limit: .unlimited, maxWait: maxWait, queue: queue, holdOnThrottled: holdBackoff != nil,
            holdBackoff: holdBackoff ?? .none, maxHold: maxHold, earlyProbe: .zero)
    }

    private func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }

    private func come(
        _ machine: inout ThrottleStateMachine, _ slot: ThrottleSlot = ThrottleSlot(PolicySlot()), cost: Int = 1,
        deadline: MonotonicInstant = .distantFuture, under settings: Throttle.Settings? = nil,
        at now: MonotonicInstant
    ) -> ThrottleStateMachine.Admission {
        machine.admit(slot, cost: cost, deadline: deadline, settings ?? patient, at: now)
    }

    private func waiting(_ admission: ThrottleStateMachine.Admission) throws -> (
        slot: ThrottleSlot, until: MonotonicInstant
    ) {
        guard case .wait(let slot, _, let until) = admission else {
            Issue.record("\(admission)")
            throw CancellationError()
        }
        return (slot, until)
    }

    @Test("a waiting call gets its turn, sleeps until then, and goes")
    func turn() throws {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 1)
        guard case .enter = come(&machine, at: at(0)) else { throw CancellationError() }
        let second = come(&machine, at: at(0))
        guard case .wait(let slot, turn: at(1), until: at(1)) = second else {
            Issue.record("\(second)")
            return
        }
        #expect(machine.line[slot.ticket]?.sleepsUntil == at(1) && machine.wakes() == (nil, nil))
        guard case .enter = come(&machine, slot, at: at(1)) else { throw CancellationError() }
        #expect(machine.line.isEmpty)
    }

    @Test("a call waits only for a turn that comes in time, even if it comes at the last possible instant")
    func inTime() throws {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 1)
        _ = come(&machine, at: at(0))
        let short = Self.settings(maxWait: .seconds(1) - .nanoseconds(1))
        #expect(come(&machine, under: short, at: at(0)) == .reject(retryAfter: .seconds(1)))
        #expect(come(&machine, deadline: at(1), at: at(0)) == .reject(retryAfter: .seconds(1)))
        #expect(come(&machine, deadline: at(0), at: at(0)) == .reject(retryAfter: .seconds(1)))
        #expect(come(&machine, under: Self.settings(maxWait: .zero), at: at(0)) == .reject(retryAfter: .seconds(1)))
        #expect(machine.line.isEmpty)
        let just = try waiting(
            come(&machine, deadline: at(1) + .nanoseconds(1), under: Self.settings(maxWait: .seconds(1)), at: at(0)))
        #expect(just.until == at(1) && just.slot.latest == at(1))
    }

    @Test("a call that can never go is rejected without a retryAfter")
    func never() {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 2)
        #expect(come(&machine, cost: 3, at: at(0)) == .reject(retryAfter: nil))
    }

    @Test("the line takes as many calls as its limit, and calls in a full line keep their places")
    func full() throws {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 1)
        let one = Self.settings(queue: 1)
        _ = come(&machine, under: one, at: at(0))
        let first = try waiting(come(&machine, under: one, at: at(0)))
        #expect(come(&machine, under: one, at: at(0)) == .reject(retryAfter: .seconds(2)))
        #expect(try waiting(come(&machine, first.slot, under: one, at: at(0))).slot == first.slot)
    }

    @Test("a call that asks again and can't go in time leaves the line")
    func leaves() throws {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 1)
        _ = come(&machine, at: at(0))
        let call = try waiting(come(&machine, under: Self.settings(maxWait: .seconds(2)), at: at(0)))
        machine.hold(until: at(9))
        #expect(come(&machine, call.slot, at: at(1)) == .reject(retryAfter: .seconds(8)))
        #expect(machine.line.isEmpty)
    }

    @Test("a call waiting for a probe in flight has no known turn, and sleeps until the probe's lease ends")
    func probing() throws {
        var machine = ThrottleStateMachine(rate: nil, burst: 1)
        machine.hold(until: at(1))
        guard case .enter(let probe) = come(&machine, at: at(1)) else { throw CancellationError() }
        #expect(probe.stage == .probe)
        let long = Self.settings(maxWait: .seconds(1000))
        guard case .wait(let slot, turn: nil, until: at(61)) = come(&machine, under: long, at: at(1)) else {
            Issue.record("no wait for the probe")
            return
        }
        #expect(machine.end(probe, cost: 1, .success, patient, at: at(2)) == nil)
        #expect(machine.wakes() == (slot.ticket, nil) && machine.wakes() == (nil, nil))
        guard case .enter(let own) = come(&machine, slot, under: long, at: at(2)) else { throw CancellationError() }
        #expect(own.stage == .admitted)
    }

    @Test("when the first in line gives up, the next two are woken for their earlier turns")
    func givesUp() throws {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 1)
        _ = come(&machine, at: at(0))
        let calls = try (0..<4).map { _ in try waiting(come(&machine, at: at(0))) }
        #expect(machine.wakes() == (nil, nil))
        #expect(machine.end(calls[0].slot, cost: 1, .cancelled, patient, at: at(0)) == nil)
        let woken = machine.wakes()
        #expect(woken.0 == calls[1].slot.ticket && woken.1 == calls[2].slot.ticket)
        #expect(machine.line.count == 3)
    }

    @Test("a 429 holds for its wait, or for the backoff, and at most for maxHold")
    func holds() {
        let backoff = Backoff.exponential(from: .seconds(3), cap: .seconds(60), jitter: .none)
        for (wait, until) in [(Duration?.none, at(3)), (.seconds(7), at(7)), (.seconds(200), at(100))] {
            var machine = ThrottleStateMachine(rate: nil, burst: 1)
            let settings = Self.settings(holdBackoff: backoff)
            guard case .enter(let slot) = come(&machine, under: settings, at: at(0)) else {
                Issue.record("not let in")
                return
            }
            #expect(machine.end(slot, cost: 1, .throttled(retryAfter: wait), settings, at: at(0)) == until)
            #expect(machine.heldUntil == until)
            // A call admitted before the hold prolongs the hold only by the wait of its own 429.
            #expect(machine.end(slot, cost: 1, .throttled(retryAfter: wait), Self.settings(), at: at(0)) == nil)
        }
    }

    @Test("an inner policy's rejection refunds a call's permit, and a success does not")
    func givesBack() throws {
        var machine = ThrottleStateMachine(rate: .perSecond(1), burst: 2)
        guard case .enter(let first) = come(&machine, at: at(0)), case .enter(let second) = come(&machine, at: at(0))
        else { throw CancellationError() }
        #expect(machine.available(at: at(0)) == 0)
        _ = machine.end(first, cost: 1, .success, patient, at: at(0))
        #expect(machine.available(at: at(0)) == 0)
        _ = machine.end(second, cost: 1, .rejected, patient, at: at(0))
        #expect(machine.available(at: at(0)) == 1)
    }
}
