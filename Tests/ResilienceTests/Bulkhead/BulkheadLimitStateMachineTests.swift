import Testing

@testable import Resilience

@Suite struct BulkheadLimitStateMachineTests {
    @Test("a raised limit hands the new permits to those who wait, in their order (P24)")
    func raised() {
        var machine = busy(limit: 1, queue: 9, waiting: 3)
        #expect(machine.setLimit(3) == [1, 2])
        #expect(machine.inUse == 3 && machine.queued == 1)
        #expect(machine.arrive() == .queue(ticket: 4))
        #expect((0..<5).map { _ in machine.leave() } == [3, 4, nil, nil, nil])
        #expect(machine.inUse == 0)
    }

    @Test("a lowered limit lets those inside finish, and lets nobody in before fewer are inside (P24)")
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

    @Test("until fewer are inside than a lowered limit, the holds are remembered")
    func loweredRemembers() {
        var machine = busy(limit: 3, queue: 9, waiting: 1)
        _ = (machine.setLimit(1), machine.leave(after: 100))
        #expect(machine.serviceTime == 100 && machine.inUse == 2)
        #expect(machine.estimatedWait == 200)
        _ = machine.leave(after: 100)
        #expect(machine.serviceTime == 100 && machine.inUse == 1 && machine.queued == 1)
    }

    @Test("a shorter queue rejects nobody who waits already, and a newcomer until it has room (P24)")
    func shorterQueue() {
        var machine = busy(limit: 1, queue: 3, waiting: 3)
        machine.setQueueLimit(2)
        #expect(machine.queued == 3)
        #expect(machine.arrive() == .reject)
        _ = machine.leave()
        #expect(machine.arrive() == .reject)
        _ = machine.leave()
        #expect(machine.arrive() == .queue(ticket: 4))
    }

    private func busy(limit: Int, queue: Int, waiting: Int) -> BulkheadStateMachine {
        var machine = BulkheadStateMachine(limit: limit, queueLimit: queue)
        for _ in 0..<limit + waiting { _ = machine.arrive() }
        return machine
    }
}
