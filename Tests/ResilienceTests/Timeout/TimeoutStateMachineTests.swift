@testable import Resilience
import Testing

// C1
@Suite struct TimeoutStateMachineTests {
    enum Input: CaseIterable { case limitPassed, callerCancelled, insideEnded }

    @Test(
        "the first input decides, and only the first cancels the operation",
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

    @Test(
        "an operation that begins after something ended the call is cancelled at once",
        arguments: [
            (TimeoutStateMachine.running, TimeoutStateMachine.Answer.nothing), (.expired, .cancelInside),
            (.cancelled, .cancelInside),
        ])
    func begins(machine: TimeoutStateMachine, answer: TimeoutStateMachine.Answer) {
        #expect(machine.insideBegins == answer)
    }

    @Test(
        "an error that a client throws at the limit counts as a timeout, even before the alarm",
        arguments: [
            (TimeoutStateMachine.running, Int64(104), TimeoutStateMachine.ended), (.running, 105, .expired),
            (.running, 106, .expired), (.expired, 104, .expired), (.cancelled, 106, .cancelled), (.ended, 106, .ended),
        ])
    func threw(from: TimeoutStateMachine, now: Int64, to: TimeoutStateMachine) {
        var machine = from
        machine.insideThrew(at: at(now), expiry: at(105))
        #expect(machine == to)
    }

    @Test(
        "the earlier of limit and deadline is the operation's deadline, and after it no operation begins",
        arguments: [
            (
                limit: Int64(5), deadline: Int64(200),
                entry: TimeoutStateMachine.Entry.begin(until: at(105))
            ),
            (limit: 5, deadline: 103, entry: .begin(until: at(105))),
            (limit: 1, deadline: 101, entry: .begin(until: at(101))),
            (limit: 5, deadline: 100, entry: .deadlinePassed),
            (limit: 5, deadline: .min, entry: .deadlinePassed),
            (limit: 0, deadline: 200, entry: .timedOut),
            (limit: .min, deadline: 200, entry: .timedOut),
            // The timeout's own error, because an outer retry may repeat it.
            (limit: 0, deadline: 100, entry: .timedOut),
            (limit: .max, deadline: .max, entry: .begin(until: .distantFuture)),
        ])
    func entries(limit: Int64, deadline: Int64, entry: TimeoutStateMachine.Entry) {
        #expect(TimeoutStateMachine.enter(at: at(100), limit: limit, deadline: at(deadline)) == entry)
    }
}

private func at(_ nanoseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds) }
