@testable import Resilience
import ResilienceTesting
import TestSupport
import Testing

// C1
@Suite(.heavy) struct BulkheadStateMachineTests {
    @Test("calls enter up to the limit, then queue up to the queue's limit, then are rejected")
    func limits() {
        var machine = BulkheadStateMachine(limit: 2, queueLimit: 1)
        #expect(machine.arrive() == .enter)
        #expect(machine.arrive() == .enter)
        #expect(machine.arrive() == .queue(ticket: 1))
        #expect(machine.arrive() == .reject)
        #expect(machine.inUse == 2 && machine.queued == 1)
    }

    @Test("a returned permit goes to the first call in the queue, and stays in use")
    func handOver() {
        var machine = BulkheadStateMachine(limit: 1, queueLimit: 2)
        _ = (machine.arrive(), machine.arrive(), machine.arrive())
        #expect(machine.leave() == 1)
        #expect(machine.inUse == 1 && machine.queued == 1)
        #expect(machine.leave() == 2)
        #expect(machine.leave() == nil)
        #expect(machine.inUse == 0)
    }

    @Test("a call that left the queue gets no permit (C7, P20)")
    func leftQueue() {
        var machine = BulkheadStateMachine(limit: 1, queueLimit: 9)
        _ = (machine.arrive(), machine.arrive(), machine.arrive())
        #expect(machine.leaveQueue(1) == true)
        #expect(machine.leave() == 2)
        #expect(machine.leave() == nil)
        #expect(machine.inUse == 0 && machine.queued == 0)
    }
}
