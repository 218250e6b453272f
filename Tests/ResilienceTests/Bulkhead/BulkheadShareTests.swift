import Testing

@testable import Resilience

/// The share of each priority in a bulkhead that is always full.
@Suite struct BulkheadShareTests {
    private static let priorities: [CallPriority] = [.low, .normal, .high]

    @Test(
        "a priority that is higher by 64 gets eight times as many turns, with any queue limit",
        arguments: [1, 2, 3, 8, 1_000])
    func shares(queue: Int) {
        var machine = BulkheadStateMachine(limit: 1, queueLimit: queue, order: .byPriority)
        _ = machine.arrive()
        var turns: [CallPriority: Int] = [:]
        for _ in 0..<73_000 {
            // More calls of each priority than there are turns.
            for priority in Self.priorities {
                if case .queue(_, let displaced?) = machine.arrive(priority: priority) {
                    #expect(machine.learnsOfRemoval(displaced) == .displaced)
                }
            }
            guard let next = machine.leave() else { break }
            turns[BulkheadStateMachine.PriorityLine.priority(of: next), default: 0] += 1
        }
        for (priority, share) in zip(Self.priorities, [1_000, 8_000, 64_000]) {
            let got = turns[priority] ?? 0
            #expect((share * 9 / 10...share * 11 / 10).contains(got), "\(priority.rawValue): \(got) of \(share)")
        }
    }

    @Test("a priority gets its share even if its calls give up, or accept only a short wait", arguments: [true, false])
    func patience(gaveUp: Bool) {
        var machine = BulkheadStateMachine(limit: 1, queueLimit: 100, order: .byPriority)
        _ = machine.arrive()
        var served = 0
        for _ in 0..<10_000 {
            for _ in 0..<2 {
                if case .queue(_, let loser?) = machine.arrive(priority: .high) { _ = machine.learnsOfRemoval(loser) }
            }
            // The call accepts a wait of less than two turns.
            let low = machine.arrive(priority: .low, patience: gaveUp ? .max : 1)
            let next = machine.leave(after: 1)
            if case .queue(let ticket, _) = low {
                if ticket == next { served += 1 } else { _ = machine.leaveQueue(ticket) }
            }
        }
        #expect(served >= 100, "\(served)")
    }

    @Test("a few important calls all run before one less important call that came first")
    func few() {
        var machine = BulkheadStateMachine(limit: 1, queueLimit: 99, order: .byPriority)
        _ = machine.arrive()
        let low = machine.arrive(priority: .low)
        for _ in 0..<63 { _ = machine.arrive(priority: .high) }
        var before = 0
        while let next = machine.leave(), .queue(ticket: next) != low { before += 1 }
        #expect(before == 63)
    }

    @Test("a waiting call gets its turn after 64 turns for each call before it, however many calls come later")
    func bound() {
        var machine = BulkheadStateMachine(limit: 1, queueLimit: 99, order: .byPriority)
        _ = machine.arrive()
        let low = machine.arrive(priority: .low)
        for turn in 1...65 {
            _ = (machine.arrive(priority: .high), machine.arrive(priority: .high))
            if let next = machine.leave(), .queue(ticket: next) == low {
                #expect(turn >= 64)
                return
            }
        }
        Issue.record("starved")
    }

    @Test("a turn that no call takes is lost, not saved for later calls")
    func noSavings() {
        var machine = BulkheadStateMachine(limit: 1, queueLimit: 99, order: .byPriority)
        _ = machine.arrive()
        for _ in 0..<1_000 {
            _ = machine.arrive(priority: .high)
            _ = machine.leave()
        }
        for _ in 0..<9 { _ = machine.arrive(priority: .low) }
        for _ in 0..<9 { _ = machine.arrive(priority: .high) }
        let first = (0..<9).compactMap { _ in machine.leave() }
        #expect(first.allSatisfy { BulkheadStateMachine.PriorityLine.priority(of: $0) == .high })
    }

    @Test("once a permit is free, a priority keeps no turn from an earlier call")
    func forgets() {
        var machine = BulkheadStateMachine(limit: 1, queueLimit: 1, order: .byPriority)
        _ = (machine.arrive(), machine.arrive(priority: .high))
        #expect(machine.arrive(priority: .low) == .reject)
        #expect(machine.lines.last?.keepsTurn == true)
        _ = (machine.leave(), machine.leave())
        #expect(machine.inUse == 0 && machine.lines.allSatisfy { !$0.keepsTurn })
    }

    @Test("each priority has more weight than the priority below, and eight times the weight of the priority 64 below")
    func weights() {
        let weights = (Int8.min...Int8.max).map { CallPriority(rawValue: $0).weight }
        #expect(zip(weights, weights.dropFirst()).allSatisfy(<))
        #expect(zip(weights, weights.dropFirst(64)).allSatisfy { abs(Double($1) / Double($0) - 8) < 0.001 })
        #expect(weights.first == 64 && weights.last == 256_000)
    }

    @Test("no number overflows, even if very many calls wait for very long")
    func huge() {
        var machine = BulkheadStateMachine(limit: 1, queueLimit: .max, order: .byPriority)
        _ = machine.arrive()
        let lowest = CallPriority(rawValue: .min)
        for _ in 0..<10_000 { _ = machine.arrive(priority: lowest) }
        #expect(BulkheadStateMachine.PriorityLine(lowest).turn(ofLast: .max) == .max)
        #expect(BulkheadStateMachine.PriorityLine(lowest).turns(before: .max, wins: true) == 0)
        for _ in 0..<10_000 { _ = (machine.arrive(priority: .high), machine.leave()) }
        #expect(machine.queued == 10_000)
    }
}
