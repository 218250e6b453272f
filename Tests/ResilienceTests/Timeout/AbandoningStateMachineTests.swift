import Testing

@testable import Resilience

@Suite struct AbandoningStateMachineTests {
    @Test("an operation begins only before its deadline, and only while its caller waits")
    func beginning() {
        let deadline = MonotonicInstant(nanoseconds: 100)
        for (now, isInTime) in [(99, true), (100, false), (101, false)] as [(Int64, Bool)] {
            let now = MonotonicInstant(nanoseconds: now)
            #expect(AbandoningStateMachine.running.mayBegin(at: now, before: deadline) == isInTime)
            #expect(!AbandoningStateMachine.abandoned.mayBegin(at: now, before: deadline))
        }
    }

    @Test(
        "an operation's end is late only after its caller has left",
        arguments: [
            (AbandoningStateMachine.running, AbandoningStateMachine.ended, false),
            (.ended, .ended, false),
            (.abandoned, .endedLate, true),
            (.endedLate, .endedLate, true),
        ])
    func end(from: AbandoningStateMachine, to: AbandoningStateMachine, isLate: Bool) {
        var machine = from
        #expect(machine.operationEnded() == isLate)
        #expect(machine == to)
    }

    @Test(
        "a caller that leaves takes the result if there is one, and otherwise abandons the operation",
        arguments: [
            (
                AbandoningStateMachine.running, AbandoningStateMachine.abandoned,
                AbandoningStateMachine.Departure.abandon
            ),
            (.ended, .ended, .takeResult),
            (.abandoned, .abandoned, .abandon),
            (.endedLate, .endedLate, .abandon),
        ])
    func departure(
        from: AbandoningStateMachine, to: AbandoningStateMachine, departure: AbandoningStateMachine.Departure
    ) {
        var machine = from
        #expect(machine.callerLeaves() == departure)
        #expect(machine == to)
    }
}
