import Testing

@testable import Resilience

@Suite struct BulkheadOrderStateMachineTests {
    @Test(
        "calls get permits in the chosen order",
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

    @Test(
        "by priority, a full queue rejects the youngest call of the lowest priority if a more important call comes")
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

    @Test("calls of all 256 priorities have different tickets, and run in the order of priority")
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
