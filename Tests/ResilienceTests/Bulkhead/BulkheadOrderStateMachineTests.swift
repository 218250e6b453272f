import Testing

@testable import Resilience

@Suite struct BulkheadOrderStateMachineTests {
    @Test(
        "the permits go in the order that was chosen",
        arguments: [
            (Bulkhead.Order.firstInFirstOut, ["low", "high", "normal", "high 2", "low 2"]),
            (.lastInFirstOut, ["low 2", "high 2", "normal", "high", "low"]),
            (.byPriority, ["high", "high 2", "normal", "low", "low 2"]),
        ])
    func orders(order: Bulkhead.Order, expected: [String]) {
        var machine = full(limit: 1, queue: 5, order)
        var names: [UInt64: String] = [:]
        for (name, priority) in [
            ("low", CallPriority.low), ("high", .high), ("normal", .normal), ("high 2", .high), ("low 2", .low),
        ] {
            names[ticket(machine.arrive(priority: priority))] = name
        }
        #expect(expected.indices.map { _ in names[machine.leave() ?? 0] } == expected)
        #expect(machine.leave() == nil && machine.inUse == 0 && names.count == 5)
    }

    @Test("a full queue, newest first, rejects the oldest in the newcomer's place")
    func newestFirst() {
        var machine = full(limit: 1, queue: 2, .lastInFirstOut)
        _ = (machine.arrive(), machine.arrive())
        #expect(machine.arrive() == .queue(ticket: 3, displacing: 1))
        #expect(machine.arrive() == .queue(ticket: 4, displacing: 2))
        #expect(machine.queued == 2)
        #expect([machine.leave(), machine.leave(), machine.leave()] == [4, 3, nil])
    }

    @Test("a full queue by priority rejects the youngest of the least important in a more important one's place")
    func byPriority() {
        var machine = full(limit: 1, queue: 4, .byPriority)
        let low = ticket(machine.arrive(priority: .low))
        let younger = ticket(machine.arrive(priority: .low))
        let normal = ticket(machine.arrive())
        let high = ticket(machine.arrive(priority: .high))
        #expect(machine.arrive(priority: .low) == .reject)
        #expect(machine.arrive() == .queue(ticket: normal + 1, displacing: younger))
        #expect(machine.arrive() == .queue(ticket: normal + 2, displacing: low))
        #expect(machine.arrive() == .reject)
        #expect(machine.arrive(priority: .high) == .queue(ticket: high + 1, displacing: normal + 2))
        #expect(machine.queued == 4)
        #expect((0..<5).map { _ in machine.leave() } == [high, high + 1, normal, normal + 1, nil])
    }

    @Test("first come first served, a full queue rejects the newcomer, however important")
    func firstComeFirstServed() {
        var machine = full(limit: 1, queue: 1, .firstInFirstOut)
        #expect(machine.arrive(priority: .low) == .queue(ticket: 1))
        #expect(machine.arrive(priority: .high) == .reject)
    }

    @Test(
        "where there is no queue nobody can be displaced",
        arguments: [Bulkhead.Order.firstInFirstOut, .lastInFirstOut, .byPriority])
    func noQueue(order: Bulkhead.Order) {
        var machine = full(limit: 1, queue: 0, order)
        #expect(machine.arrive(priority: .high) == .reject)
        #expect(machine.removed.isEmpty)
    }

    @Test("after the queue has run dry, whoever was in it can't be displaced any more")
    func dry() {
        var machine = full(limit: 1, queue: 1, .byPriority)
        _ = (machine.arrive(priority: .low), machine.leave())
        machine.setQueueLimit(0)
        #expect(machine.arrive(priority: .high) == .reject)
    }

    @Test("one that may not displace is rejected by a full queue, and queues where there is room")
    func mayNotDisplace() {
        var machine = full(limit: 1, queue: 1, .lastInFirstOut)
        #expect(machine.arrive(mayDisplace: false) == .queue(ticket: 1))
        #expect(machine.arrive(mayDisplace: false) == .reject)
        #expect(machine.leave() == 1)
    }

    @Test("one that lost its place gets no permit, and learns of it once (P20)")
    func displaced() {
        var machine = full(limit: 1, queue: 1, .lastInFirstOut)
        _ = (machine.arrive(), machine.arrive())
        #expect(machine.leaveQueue(1) == false)
        #expect(machine.leave() == 2)
        #expect(machine.learnsOfRemoval(1) == .displaced)
        #expect(machine.learnsOfRemoval(1) == nil)
        #expect(machine.learnsOfRemoval(2) == nil)
        #expect(machine.leave() == nil && machine.inUse == 0)
    }

    @Test(
        "one that left the queue gets no permit, whatever the order (P20)",
        arguments: [
            (Bulkhead.Order.lastInFirstOut, CallPriority.normal, [3, 1] as [UInt64]), (.byPriority, .normal, [1, 3]),
        ])
    func left(order: Bulkhead.Order, priority: CallPriority, expected: [UInt64]) {
        var machine = full(limit: 1, queue: 3, order)
        for _ in 0..<3 { _ = machine.arrive(priority: priority) }
        #expect(machine.leaveQueue(2) == true)
        #expect(machine.leaveQueue(2) == false)
        #expect([machine.leave(), machine.leave()] == expected)
        #expect(machine.leave() == nil && machine.inUse == 0 && machine.queued == 0)
    }

    @Test("all 256 priorities have an order and tickets of their own")
    func allPriorities() {
        var machine = full(limit: 1, queue: 256, .byPriority)
        var tickets: [UInt64] = []
        for value in Int8.min...Int8.max {
            tickets.append(ticket(machine.arrive(priority: CallPriority(rawValue: value))))
        }
        #expect(Set(tickets).count == 256)
        #expect(machine.leaveQueue(tickets[0]) && machine.leaveQueue(tickets[255]))
        var served: [UInt64] = []
        while let next = machine.leave() { served.append(next) }
        #expect(served == tickets[1...254].reversed())
    }

    private func full(limit: Int, queue: Int, _ order: Bulkhead.Order) -> BulkheadStateMachine {
        var machine = BulkheadStateMachine(limit: limit, queueLimit: queue, order: order)
        for _ in 0..<limit { _ = machine.arrive() }
        return machine
    }

    private func ticket(_ answer: BulkheadStateMachine.Answer) -> UInt64 {
        guard case .queue(let ticket, nil) = answer else {
            Issue.record("\(answer)")
            return 0
        }
        return ticket
    }
}
