import Testing

@testable import Resilience

@Suite struct BulkheadLimitStateMachineTests {
    @Test("a raised limit hands the new permits to waiting calls, in order (P24)")
    func raised() {
        var machine = busy(limit: 1, queue: 9, waiting: 3)
        #expect(machine.setLimit(3) == [1, 2])
        #expect(machine.inUse == 3 && machine.queued == 1)
        #expect(machine.arrive() == .queue(ticket: 4))
        #expect((0..<5).map { _ in machine.leave() } == [3, 4, nil, nil, nil])
        #expect(machine.inUse == 0)
    }

    @Test("a lowered limit lets running calls finish; no call is admitted until fewer than the limit are inside (P24)")
    func lowered() {
        var machine = busy(limit: 3, queue: 9, waiting: 0)
        #expect(machine.setLimit(2) == [])
        #expect(machine.inUse == 3)
        #expect(machine.arrive() == .queue(ticket: 1))
        #expect(machine.leave() == nil)
        #expect(machine.inUse == 2 && machine.queued == 1)
        #expect(machine.leave() == 1)
        #expect(machine.inUse == 2)
        #expect(machine.leave() == nil)
        #expect(machine.arrive() == .enter)
        #expect(machine.arrive() == .queue(ticket: 2))
    }

    private func busy(limit: Int, queue: Int, waiting: Int) -> BulkheadStateMachine {
        var machine = BulkheadStateMachine(limit: limit, queueLimit: queue)
        for _ in 0..<limit + waiting { _ = machine.arrive() }
        return machine
    }
}
