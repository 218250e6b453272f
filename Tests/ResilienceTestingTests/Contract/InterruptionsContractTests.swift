import Resilience
import TestSupport
import Testing

@testable import ResilienceTesting

/// Policies that break the contract in one way each; only one trial finds each way.
@Suite(.timeLimit(.minutes(20)), .heavy) struct InterruptionsContractTests {
    @Test(
        "if `abandon` does not release the slot's object, the contract finds this by the errors that stay in memory")
    func forgetfulAbandon() async {
        let report = await PolicyContract { _ in Hoarder(letsGo: false) }.check(calls: 500)
        #expect(
            report.violations == [
                ContractViolation(
                    trial: "cancelled between two attempts, on and on",
                    problem: "the errors of calls that were cancelled between two attempts are never released")
            ])
        let faultless = await PolicyContract { _ in Hoarder(letsGo: true) }.check(calls: 500)
        #expect(faultless.violations == [])
    }

    @Test("the contract finds a policy that decides differently under observation, and shows the first difference")
    func twoFaced() async {
        struct TwoFaced: Policy {
            let looks: Bool

            func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
                guard outcome.verdict == .transient, slot.first == 0 else { return .pass }
                if looks, call.isObserved() { return .pass }
                slot.first = 1
                return .again(at: call.now)
            }
        }
        let report = await PolicyContract { _ in TwoFaced(looks: true) }.check(calls: 500)
        #expect(report.violations.map(\.trial) == ["with and without an observer"])
        let difference = /^observed it decides differently: call \d+ throws Failure .*, and unobserved call \d+/
        #expect(report.violations.first?.problem.contains(difference) == true)
        let faultless = await PolicyContract { _ in TwoFaced(looks: false) }.check(calls: 500)
        #expect(faultless.violations == [])
    }

    @Test("the contract finds a policy whose forecast differs from its behaviour")
    func wrongForecast() async {
        final class Twenty: Policy {
            let isRight: Bool
            let inside = Locked(0)

            init(isRight: Bool) { self.isRight = isRight }

            func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
                let isFull = inside.withLock { inside in
                    if inside == 20 { return true }
                    inside += 1
                    return false
                }
                return isFull ? .reject(WouldWait(policy: name, retryAfter: nil)) : .proceed
            }

            func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
                inside.withLock { $0 -= 1 }
                return .pass
            }

            func forecast(_ call: inout PolicyCall) -> PolicyForecast {
                isRight && inside.withLock { $0 } == 20 ? .rejects(retryAfter: nil) : .proceeds
            }
        }
        let report = await PolicyContract { _ in Twenty(isRight: false) }.check(calls: 500)
        #expect(
            report.violations == [
                ContractViolation(
                    trial: "forecasts of calls that come one after another, and stay",
                    problem: "it forecasts that a call begins, and the call is rejected")
            ])
        let faultless = await PolicyContract { _ in Twenty(isRight: true) }.check(calls: 500)
        #expect(faultless.violations == [])
    }

    @Test("the contract finds a policy whose state a forecast changes")
    func costlyForecast() async {
        final class Costly: Policy {
            let pays: Bool
            let calls = Locked(0)

            init(pays: Bool) { self.pays = pays }

            func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
                let number = calls.withLock { calls in
                    calls += 1
                    return calls
                }
                guard outcome.verdict == .transient, slot.first == 0, number.isMultiple(of: 3) else { return .pass }
                slot.first = 1
                return .again(at: call.now)
            }

            func forecast(_ call: inout PolicyCall) -> PolicyForecast {
                if pays { calls.withLock { $0 += 1 } }
                return .proceeds
            }
        }
        let report = await PolicyContract { _ in Costly(pays: true) }.check(calls: 500)
        #expect(report.violations.map(\.trial) == ["with and without forecasts"])
        let difference = /^asked for forecasts it decides differently: call \d+ .*, and unasked call \d+/
        #expect(report.violations.first?.problem.contains(difference) == true)
        let faultless = await PolicyContract { _ in Costly(pays: false) }.check(calls: 500)
        #expect(faultless.violations == [])
    }

    @Test("a policy with its own randomness is not mistaken for one that depends on observers", arguments: 1...5)
    func chance(seed: UInt64) async {
        struct Dice: Policy {
            func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
                guard outcome.verdict == .transient, slot.first == 0 else { return .pass }
                slot.first = 1
                return .again(at: call.now + .nanoseconds(Int64.random(in: 0...1_000_000)))
            }
        }
        let report = await PolicyContract { _ in Dice() }.check(calls: 0, seed: seed)
        #expect(report.violations == [])
    }

    @Test("the contract finds a policy that loses a call after a late wake, without waiting for it")
    func lateWake() async {
        let report = await PolicyContract { _ in Punctual(minds: true) }.check(calls: 500)
        #expect(
            report.violations == [
                ContractViolation(
                    trial: "an hour passes at once while calls wait",
                    problem: "\(ManualClock.RunFailure.everybodyWaits)")
            ])
        let faultless = await PolicyContract { _ in Punctual(minds: false) }.check(calls: 500)
        #expect(faultless.violations == [])
    }

    @Test("after a jump, due alarms fire in order, all late")
    func jump() {
        let (clock, fired) = (ManualClock(), Notes<String>())
        let start = clock.now
        for seconds in [20, 10, 90] {
            _ = clock.schedule(at: start + .seconds(seconds)) {
                fired.note("\(seconds) at \(start.duration(to: clock.now).components.seconds)")
            }
        }
        clock.jump(by: .seconds(60))
        #expect(fired.all == ["10 at 60", "20 at 60"])
        clock.jump(by: .seconds(-5))
        #expect(clock.now == start + .seconds(60) && clock.sleepers == [start + .seconds(90)])
    }
}

/// Makes every other call wait for a second.
private final class Punctual: Policy {
    /// Whether it loses a call that returns much later.
    private let minds: Bool
    private let calls = Locked(0)

    init(minds: Bool) { self.minds = minds }

    func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let now = call.now
        guard slot.first != 0 else {
            let number = calls.withLock { calls in
                calls += 1
                return calls
            }
            guard number.isMultiple(of: 2) else { return .proceed }
            let turn = min(now + .seconds(1), call.deadline)
            slot.first = UInt64(turn.nanoseconds)
            return .sleep(until: turn)
        }
        let turn = MonotonicInstant(nanoseconds: Int64(slot.first))
        return minds && now > turn + .seconds(60) ? .park(PolicyWaiter(), until: call.deadline) : .proceed
    }

    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        slot.first = 0
        return .pass
    }

    func forecast(_ call: inout PolicyCall) -> PolicyForecast {
        calls.withLock { $0.isMultiple(of: 2) } ? .proceeds : .waits(.seconds(1))
    }
}

/// Retries each failed call once, and keeps its error in the slot during the wait.
private struct Hoarder: Policy {
    private final class Kept {
        let error: (any Error)?

        init(_ error: (any Error)?) { self.error = error }
    }

    /// Whether it releases the error if the round does not come.
    let letsGo: Bool

    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        let isFirst = slot.first == 0
        letGo(&slot)
        let next = call.now + .milliseconds(1)
        guard isFirst, outcome.error != nil, outcome.verdict != .cancelled, next <= call.deadline else { return .pass }
        slot.first = UInt64(UInt(bitPattern: Unmanaged.passRetained(Kept(outcome.error)).toOpaque()))
        return .again(at: next)
    }

    func abandon(_ call: inout PolicyCall, _ slot: inout PolicySlot) {
        if letsGo { letGo(&slot) }
    }

    private func letGo(_ slot: inout PolicySlot) {
        if let kept = UnsafeRawPointer(bitPattern: UInt(slot.first)) { Unmanaged<Kept>.fromOpaque(kept).release() }
        slot.first = 0
    }
}
