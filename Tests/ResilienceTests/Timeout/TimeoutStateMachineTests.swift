@testable import Resilience
import Testing

@Suite struct TimeoutStateMachineTests {
    enum Input: CaseIterable { case limitPassed, callerCancelled, insideEnded }

    @Test(
        "whatever comes first decides, and only the first ends the inside",
        arguments: [
            (TimeoutStateMachine.running, Input.limitPassed, TimeoutStateMachine.expired, true),
            (.running, .callerCancelled, .cancelled, true),
            (.running, .insideEnded, .ended, false),
            (.expired, .limitPassed, .expired, false),
            (.expired, .callerCancelled, .expired, false),
            (.expired, .insideEnded, .expired, false),
            (.cancelled, .limitPassed, .cancelled, false),
            (.cancelled, .callerCancelled, .cancelled, false),
            (.cancelled, .insideEnded, .cancelled, false),
            (.ended, .limitPassed, .ended, false),
            (.ended, .callerCancelled, .ended, false),
            (.ended, .insideEnded, .ended, false),
        ])
    func table(from: TimeoutStateMachine, input: Input, to: TimeoutStateMachine, cancels: Bool) {
        var machine = from
        switch input {
        case .limitPassed: #expect(machine.limitPassed() == (cancels ? .cancelInside : .nothing))
        case .callerCancelled: #expect(machine.callerCancelled() == (cancels ? .cancelInside : .nothing))
        case .insideEnded: machine.insideEnded()
        }
        #expect(machine == to)
    }
}
