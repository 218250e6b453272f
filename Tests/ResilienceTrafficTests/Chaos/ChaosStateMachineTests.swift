import Testing

@testable import Resilience
@testable import ResilienceTraffic

@Suite struct ChaosStateMachineTests {
    /// Always draws the same number, of which `Double.random` takes the lowest 53 bits. Never 0, for which
    /// `Int64.random` would draw again without end.
    private struct Fixed: RandomNumberGenerator {
        let share: Double

        func next() -> UInt64 { UInt64(share * 0x1p53) | 1 }
    }

    /// Fails the test if a number is drawn.
    private struct Undrawn: RandomNumberGenerator {
        func next() -> UInt64 {
            Issue.record("a number was drawn")
            return 0
        }
    }

    private typealias Machine = ChaosStateMachine
    private typealias Plan = ChaosStateMachine.Plan

    private let start = MonotonicInstant(nanoseconds: 0)

    private static func machine(
        _ plans: [Plan] = [], script: [Plan?] = [], limit: Int = .max, maxDelayed: Int = .max, on length: Int64? = 100
    ) -> Machine {
        var machine = Machine(.init(plans: plans, script: script, limit: limit, maxDelayed: maxDelayed))
        if let length { _ = machine.turnOn(until: instant(length), at: instant(0)) }
        return machine
    }

    private static func instant(_ nanoseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds) }

    private func choose(
        _ machine: inout Machine, _ share: Double = 0, at now: Int64 = 0, mayWait: Bool = true
    ) -> Machine.Answer {
        var fixed = Fixed(share: share)
        return machine.choose(at: Self.instant(now), mayWait: mayWait, using: &fixed)
    }

    @Test("while it is off, chaos touches no call and draws no number")
    func off() {
        var machine = Self.machine([Plan(kind: .fault, rate: 1)], script: [Plan(kind: .fault, rate: 1)], on: nil)
        var undrawn = Undrawn()
        let answer = machine.choose(at: start, mayWait: true, using: &undrawn)
        #expect(answer == .none && machine.counts == Machine.Counts() && machine.scriptLeft == 1)
        #expect(!machine.isOn(at: start))
    }

    @Test("a share of 1 touches every call, and a share of 0 none, without a draw")
    func edges() {
        var all = Self.machine([Plan(kind: .fault, rate: 1)])
        let last = choose(&all, 0.999_999_999)
        #expect(last == .now(.chance(0)))
        var none = Self.machine([Plan(kind: .fault, rate: 0)])
        var undrawn = Undrawn()
        let untouched = none.choose(at: start, mayWait: true, using: &undrawn)
        #expect(untouched == .none)
    }

    @Test("each call takes the script's next step; after the last step, chance decides")
    func script() {
        let fault = Plan(kind: .fault, rate: 0)
        var machine = Self.machine([Plan(kind: .behavior, rate: 1)], script: [fault, nil, fault])
        let answers = (0..<5).map { _ in choose(&machine) }
        #expect(
            answers == [.now(.script(0)), .none, .now(.script(2)), .now(.chance(0)), .now(.chance(0))])
        #expect(machine.counts.faults == 2 && machine.counts.behaviors == 2 && machine.scriptLeft == 0)
    }

    @Test("no more calls are touched than the limit allows, and turning chaos on restarts the count")
    func limit() {
        var machine = Self.machine([Plan(kind: .fault, rate: 1)], limit: 2)
        let answers = (0..<3).map { _ in choose(&machine) }
        #expect(answers == [.now(.chance(0)), .now(.chance(0)), .none] && machine.isExhausted)
        _ = machine.turnOff(at: start)
        _ = machine.turnOn(until: Self.instant(10), at: start)
        let again = choose(&machine)
        #expect(again == .now(.chance(0)) && machine.counts.faults == 3)
        var none = Self.machine([Plan(kind: .fault, rate: 1)], limit: 0)
        let untouched = choose(&none)
        #expect(untouched == .none)
    }

    @Test("a delay is drawn from its range, both ends included", arguments: [0, 0.5, 0.999_999])
    func range(share: Double) {
        var machine = Self.machine([Plan(kind: .delay, rate: 1, delay: 10...12)])
        guard case .after(let delay, _, _) = choose(&machine, share) else {
            Issue.record("not delayed")
            return
        }
        #expect((10...12).contains(delay))
        var widest = Self.machine([Plan(kind: .delay, rate: 1, delay: 0...Int64.max)])
        let answer = choose(&widest, share)
        #expect(answer != .timeIsOver)
    }

    @Test("a call that can't wait is not delayed; the injection after its delay comes at once")
    func mayNotWait() {
        var machine = Self.machine(script: [
            Plan(kind: .delay, rate: 0, delay: 5...5), Plan(kind: .fault, rate: 0, delay: 5...5),
            Plan(kind: .delay, rate: 0),
        ])
        let first = choose(&machine, mayWait: false)
        let second = choose(&machine, mayWait: false)
        // A zero delay is no delay.
        let third = choose(&machine)
        #expect(first == .none && second == .now(.script(1)) && third == .none)
        #expect(machine.counts.delays == 0 && machine.counts.faults == 1 && machine.touched == 1)
    }

    @Test("an injection after a delay counts when it happens, and not earlier")
    func countsLater() {
        var machine = Self.machine([Plan(kind: .fault, rate: 1, delay: 5...5)])
        _ = choose(&machine)
        _ = choose(&machine)
        #expect(machine.counts.faults == 0 && machine.touched == 2)
        let early = machine.woke(1, isDue: false, at: Self.instant(4))
        #expect(!early && machine.counts.faults == 0)
        let due = machine.woke(2, at: Self.instant(5))
        #expect(due && machine.counts.faults == 1 && machine.delayed == 0)
        _ = choose(&machine)
        let late = machine.woke(3, at: Self.instant(100))
        #expect(!late && machine.counts.faults == 1)
    }

    @Test("after a reset the machine is like a new one")
    func reset() {
        let plans = [Plan(kind: .delay, rate: 1, delay: 5...5)]
        var machine = Self.machine(plans)
        _ = choose(&machine)
        machine.reset()
        #expect(!machine.isOn(at: start) && machine.pending.isEmpty && machine.counts == Machine.Counts())
        #expect(machine.status(at: start) == ChaosStatus(isOn: false))
    }
}
