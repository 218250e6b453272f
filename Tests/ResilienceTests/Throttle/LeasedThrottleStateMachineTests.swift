import Testing

@testable import Resilience

/// A machine with leased permits: a call waits until the machine knows whether there are permits.
@Suite struct LeasedThrottleStateMachineTests {
    private let start = MonotonicInstant(nanoseconds: 3_600_000_000_000)
    private let permits = LeasedPermits(largest: 10, patience: .milliseconds(110))

    private func settings(maxWait: Duration) -> Throttle.Settings {
        Throttle.Settings(limit: .unlimited, maxWait: maxWait, queue: 10, maxHold: .seconds(100))
    }

    private func come(
        _ machine: inout ThrottleStateMachine, _ slot: ThrottleSlot = ThrottleSlot(PolicySlot()),
        maxWait: Duration = .zero, after time: Duration
    ) -> ThrottleStateMachine.Admission {
        machine.admit(
            slot, cost: 1, deadline: .distantFuture, settings(maxWait: maxWait), at: start + time)
    }

    /// Delivers the number of permits, and when there may be more.
    private func tell(_ machine: inout ThrottleStateMachine, count: Int = 0, next: Duration, after time: Duration) {
        var grant = PermitGrant()
        (grant.count, grant.ends, grant.next) = (count, start + .seconds(1), start + next)
        machine.take(grant, asLeased: permits, at: start + time)
    }

    @Test(
        "with maxWait zero, a call waits only until it learns that there are no permits",
        arguments: [Duration.milliseconds(20), .milliseconds(900)])
    func noLonger(next: Duration) throws {
        var machine = ThrottleStateMachine(Limiter(permits))
        let first = come(&machine, after: .zero)
        let second = come(&machine, after: .zero)
        guard case .wait(let one, nil, let until) = first, case .wait(let two, nil, _) = second else {
            Issue.record("\(first), \(second)")
            return
        }
        #expect(until == start + .milliseconds(110))
        tell(&machine, next: next, after: .milliseconds(1))
        let woken = machine.wakes()
        #expect(woken.0 == one.ticket && woken.1 == two.ticket)
        for slot in [one, two] {
            let answer = come(&machine, slot, after: .milliseconds(1))
            #expect(answer == .reject(retryAfter: next - .milliseconds(1)))
        }
        #expect(machine.line.isEmpty)
    }

    @Test("a call with a maxWait stays if its turn comes in time")
    func inTime() throws {
        var machine = ThrottleStateMachine(Limiter(permits))
        guard case .wait(let slot, nil, _) = come(&machine, maxWait: .milliseconds(50), after: .zero) else {
            Issue.record("it does not wait")
            return
        }
        tell(&machine, next: .milliseconds(20), after: .milliseconds(1))
        let woken = machine.wakes().0
        #expect(woken == slot.ticket)
        let turn = start + .milliseconds(20)
        let answer = come(&machine, slot, maxWait: .milliseconds(50), after: .milliseconds(1))
        #expect(answer == .wait(slot, turn: turn, until: turn))
        tell(&machine, next: .milliseconds(60), after: .milliseconds(21))
        let late = come(&machine, slot, maxWait: .milliseconds(50), after: .milliseconds(21))
        #expect(late == .reject(retryAfter: .milliseconds(39)))
    }

    @Test("a call goes when permits arrive")
    func goes() throws {
        var machine = ThrottleStateMachine(Limiter(permits))
        guard case .wait(let slot, nil, _) = come(&machine, after: .zero) else {
            Issue.record("it does not wait")
            return
        }
        tell(&machine, count: 1, next: .zero, after: .milliseconds(1))
        guard case .enter = come(&machine, slot, after: .milliseconds(1)) else {
            Issue.record("it does not go")
            return
        }
    }

    @Test("while the permits are unknown, a call waits for the longest answer time, and is then rejected")
    func unknown() throws {
        var machine = ThrottleStateMachine(Limiter(permits))
        guard case .wait(let slot, nil, _) = come(&machine, after: .zero) else {
            Issue.record("it does not wait")
            return
        }
        let woken = machine.wakes().0
        #expect(woken == nil)
        guard case .wait = come(&machine, slot, after: .milliseconds(109)) else {
            Issue.record("it does not wait")
            return
        }
        guard case .reject = come(&machine, slot, after: .milliseconds(110)) else {
            Issue.record("it is not rejected")
            return
        }
    }

    @Test("a call waiting for an answer is woken when the machine begins to count without leases")
    func standAlone() throws {
        var machine = ThrottleStateMachine(Limiter(permits))
        let first = come(&machine, after: .zero)
        let second = come(&machine, after: .zero)
        guard case .wait(let one, nil, _) = first, case .wait(let two, nil, _) = second else {
            Issue.record("\(first), \(second)")
            return
        }
        machine.standAlone(.perSecond(1, burst: 1), at: start + .milliseconds(50))
        let woken = machine.wakes()
        #expect(woken.0 == one.ticket && woken.1 == two.ticket)
        guard case .enter = come(&machine, one, after: .milliseconds(50)) else {
            Issue.record("it does not go")
            return
        }
        let answer = come(&machine, two, after: .milliseconds(50))
        #expect(answer == .reject(retryAfter: .seconds(1)))
    }
}
