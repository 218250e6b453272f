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

    @Test("a freed permit is handed to the first in the queue, and stays in use")
    func handOver() {
        var machine = BulkheadStateMachine(limit: 1, queueLimit: 2)
        _ = (machine.arrive(), machine.arrive(), machine.arrive())
        #expect(machine.leave() == 1)
        #expect(machine.inUse == 1 && machine.queued == 1)
        #expect(machine.leave() == 2)
        #expect(machine.leave() == nil)
        #expect(machine.inUse == 0)
    }

    @Test("a newcomer does not overtake those who queue")
    func noOvertaking() {
        var machine = BulkheadStateMachine(limit: 1, queueLimit: 9)
        _ = (machine.arrive(), machine.arrive())
        #expect(machine.leave() == 1)
        #expect(machine.arrive() == .queue(ticket: 2))
    }

    @Test("one that left the queue gets no permit (C7, P20)")
    func leftQueue() {
        var machine = BulkheadStateMachine(limit: 1, queueLimit: 9)
        _ = (machine.arrive(), machine.arrive(), machine.arrive())
        #expect(machine.leaveQueue(1) == true)
        #expect(machine.leave() == 2)
        #expect(machine.leave() == nil)
        #expect(machine.inUse == 0 && machine.queued == 0)
    }

    @Test("leaving the queue makes room in it for another (P20)")
    func roomInQueue() {
        var machine = BulkheadStateMachine(limit: 1, queueLimit: 1)
        _ = (machine.arrive(), machine.arrive())
        #expect(machine.arrive() == .reject)
        #expect(machine.leaveQueue(1) == true)
        #expect(machine.arrive() == .queue(ticket: 2))
    }

    @Test("one that was handed a permit no longer waits: it can't leave the queue (P34)")
    func handedOver() {
        var machine = BulkheadStateMachine(limit: 1, queueLimit: 1)
        _ = (machine.arrive(), machine.arrive(), machine.leave())
        #expect(machine.leaveQueue(1) == false)
        #expect(machine.leaveQueue(77) == false)
        #expect(machine.inUse == 1)
    }

    @Test(
        "200 000 random inputs give what a plain list gives, and never more in use than the limit",
        arguments: [(1, 0), (1, 5), (3, 40), (10, 500)])
    func walk(limit: Int, queueLimit: Int) {
        var random = SeededGenerator(seed: UInt64(limit * 1000 + queueLimit))
        var machine = BulkheadStateMachine(limit: limit, queueLimit: queueLimit)
        var inUse = 0
        var line: [UInt64] = []
        var tickets: UInt64 = 0
        var agrees = true
        for step in 0..<200_000 where agrees {
            // Spells of arriving and of leaving, so that the queue runs full and dry.
            let arrives = step / 1000 % 2 == 0 ? 6 : 4
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<arrives:
                let expected: BulkheadStateMachine.Answer
                if inUse < limit {
                    inUse += 1
                    expected = .enter
                } else if line.count < queueLimit {
                    tickets += 1
                    line.append(tickets)
                    expected = .queue(ticket: tickets)
                } else {
                    expected = .reject
                }
                agrees = machine.arrive() == expected
            case 8:
                let ticket = line.randomElement(using: &random) ?? UInt64.random(in: 0...(tickets + 1), using: &random)
                let index = line.firstIndex(of: ticket)
                if let index { line.remove(at: index) }
                agrees = machine.leaveQueue(ticket) == (index != nil)
            default:
                guard inUse > 0 else { continue }
                let next = line.isEmpty ? nil : line.removeFirst()
                if next == nil { inUse -= 1 }
                agrees = machine.leave() == next
            }
            agrees = agrees && machine.inUse == inUse && machine.queued == line.count && inUse <= limit
        }
        #expect(agrees)
    }
}
