import Testing

@testable import Resilience

@Suite struct BulkheadSheddingStateMachineTests {
    private static let settings = LoadShedding(target: .nanoseconds(5), interval: .nanoseconds(100))

    private func busy(limit: Int = 1, queue: Int = 9, _ order: Bulkhead.Order = .firstInFirstOut)
        -> BulkheadStateMachine
    {
        var machine = BulkheadStateMachine(limit: limit, queueLimit: queue, order: order, shedding: Self.settings)
        for _ in 0..<limit { _ = machine.arrive() }
        return machine
    }

    @Test("a burst that finishes within the interval is served in order, and nothing is shed")
    func burst() {
        var machine = busy()
        for _ in 0..<9 { _ = machine.arrive(at: 0) }
        for turn in 1...9 {
            #expect(machine.leave(at: Int64(turn) * 11) == UInt64(turn))
            #expect(!machine.isShedding && machine.takeShed().isEmpty)
        }
    }

    @Test("when calls have waited for the whole interval, the newest call is next, and late calls are shed")
    func overload() {
        var machine = busy()
        for time in 0..<8 { _ = machine.arrive(at: Int64(time)) }
        #expect(machine.leave(at: 99) == 1 && !machine.isShedding)
        #expect(machine.leave(at: 100) == 8 && machine.isShedding)
        // Calls 2 to 7 have waited for 93 ns or more. One of them may stay, because there is one permit.
        #expect(machine.takeShed() == [2, 3, 4, 5, 6])
        #expect(machine.takeShed().isEmpty && machine.queued == 1)
        #expect(machine.learnsOfRemoval(4) == .shed)
        #expect(machine.learnsOfRemoval(4) == nil && machine.learnsOfRemoval(7) == nil)
        #expect(machine.leaveQueue(5) == false)
    }

    @Test("a call that asks later, with an older clock reading, does not end an overload")
    func earlierTime() {
        var machine = busy()
        for time in 0..<3 { _ = machine.arrive(at: Int64(time)) }
        _ = machine.arrive(at: 100)
        #expect(machine.takeShed() == [1, 2])
        #expect(machine.arrive(at: 50) == .queue(ticket: 5))
        #expect(machine.isShedding)
        #expect(machine.takeShed() == [3])
        #expect(machine.leave(at: 60) == 5)
        #expect(machine.isShedding)
        #expect(machine.leave(at: 106) == 4)
        #expect(!machine.isShedding)
    }

    @Test("a caller that queues again after each call does not wait forever, even if the queue is never empty")
    func comeBack() {
        var machine = busy(limit: 2, queue: 9)
        var turns = [machine.arrive(at: 0), machine.arrive(at: 0), machine.arrive(at: 0)]
        for time in 1...1_000 {
            let served = machine.leave(at: Int64(time) * 10)
            guard let caller = turns.firstIndex(where: { $0 == .queue(ticket: served ?? 0) }) else { continue }
            turns[caller] = machine.arrive(at: Int64(time) * 10)
        }
        #expect(machine.isShedding && machine.queued == 3 - machine.takeShed().count)
        let oldest = machine.lines[0].tickets.members.values.min() ?? 0
        #expect(oldest > 9_700, "one has waited since \(oldest)")
    }

    @Test("a clock that goes back or jumps does no harm")
    func clock() {
        var machine = busy()
        _ = machine.arrive(at: .max)
        #expect(machine.leave(at: .min) == 1 && !machine.isShedding)
        _ = (machine.arrive(at: .min), machine.arrive(at: .min))
        #expect(machine.leave(at: .max) == 2 && machine.isShedding)
    }
}
