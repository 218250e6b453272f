import Testing

@testable import Resilience

@Suite struct BulkheadWaitStateMachineTests {
    @Test("without a measured service time no call is rejected for having little time (P23)")
    func noData() {
        var machine = busy(limit: 1, queue: 100, waiting: 99)
        #expect(machine.estimatedWait == nil)
        #expect(machine.arrive(patience: 1) == .queue(ticket: 100))
    }

    @Test(
        "a call with less time than the calls ahead need is rejected at once; any other call queues (P23)",
        arguments: [(1, 3, 300), (2, 4, 200), (3, 4, 133), (10, 9, 90), (1, 1, 100)])
    func tooLate(limit: Int, ahead: Int, wait: Int64) {
        var machine = measured(limit: limit, waiting: ahead, serviceTime: 100)
        #expect(machine.arrive(patience: wait - 1) == .tooLate)
        #expect(machine.queued == ahead && machine.inUse == limit)
        #expect(machine.arrive(patience: wait) != .tooLate)
        #expect(machine.queued == ahead + 1)
    }

    @Test("a call with no time left does not wait", arguments: [0, -1, Int64.min])
    func noTime(patience: Int64) {
        var machine = busy(limit: 1, queue: 9, waiting: 0)
        #expect(machine.arrive(patience: patience) == .tooLate)
        #expect(machine.queued == 0)
        _ = machine.leave()
        #expect(machine.arrive(patience: patience) == .enter)
    }

    @Test("by priority, only calls of the same or a higher priority are ahead")
    func byPriority() {
        var machine = measured(limit: 1, waiting: 3, serviceTime: 100, order: .byPriority)
        _ = machine.arrive(priority: .high)
        #expect(machine.arrive(priority: .high, patience: 99) == .tooLate)
        #expect(machine.arrive(priority: .high, patience: 100) != .tooLate)
        #expect(machine.arrive(patience: 499) == .tooLate)
        #expect(machine.arrive(patience: 500) != .tooLate)
        #expect(machine.arrive(priority: .low, patience: 599) == .tooLate)
    }

    @Test(
        "an eighth of each service time enters the average; it counts as at most 16 times the average, or 16 s (P23)",
        arguments: [
            ([100], 100), ([100, 180], 110), ([100, 20], 90), ([80, 0], 70), ([80, -5], 70), ([-5], 0),
            ([100, 107], 100),
            ([100, 108], 101), ([0, .max], 2_000_000), ([.max, 0], 14_000_000_000),
            ([100_000_000, 3_600_000_000_000], 287_500_000),
        ] as [([Int64], Int64)])
    func smoothing(holds: [Int64], expected: Int64) {
        var machine = busy(limit: 1, queue: 100, waiting: 100)
        for serviceTime in holds { _ = machine.leave(after: serviceTime) }
        #expect(machine.serviceTime == expected)
    }

    @Test("the estimate is the wait of one more call at the end of the queue, and does not overflow")
    func estimate() {
        #expect(measured(limit: 1, waiting: 0, serviceTime: 100).estimatedWait == 100)
        #expect(measured(limit: 4, waiting: 7, serviceTime: 100).estimatedWait == 200)
        #expect(measured(limit: 1, waiting: 7, serviceTime: .max).estimatedWait == 128_000_000_000)
        var machine = measured(limit: 1, waiting: 7, serviceTime: .max)
        #expect(machine.arrive(patience: .max) == .queue(ticket: 9))
    }

    private func busy(
        limit: Int, queue: Int, waiting: Int, order: Bulkhead.Order = .firstInFirstOut
    ) -> BulkheadStateMachine {
        var machine = BulkheadStateMachine(limit: limit, queueLimit: queue, order: order)
        for _ in 0..<limit + waiting { _ = machine.arrive() }
        return machine
    }

    private func measured(
        limit: Int, waiting: Int, serviceTime: Int64, order: Bulkhead.Order = .firstInFirstOut
    ) -> BulkheadStateMachine {
        var machine = busy(limit: limit, queue: 100, waiting: waiting + 1, order: order)
        _ = machine.leave(after: serviceTime)
        return machine
    }

    // MARK: The wait of rejected calls

    @Test("without a queue, a rejected call learns how soon permits came back after earlier rejections")
    func turnover() {
        var machine = busy(limit: 2, queue: 0, waiting: 0)
        #expect(machine.arrive() == .reject && machine.retryEstimate == nil)
        machine.rejects(at: 1_000)
        // Only the first rejection counts: all rejected calls need the same next permit.
        machine.rejects(at: 1_900)
        _ = machine.leave(measuredAt: 2_000)
        #expect(machine.retryEstimate == 1_000 && machine.estimatedWait == nil)
        #expect(machine.arrive() == .enter && machine.arrive() == .reject)
        machine.rejects(at: 5_000)
        _ = machine.leave(measuredAt: 5_200)
        #expect(machine.retryEstimate == 900)
    }

    @Test("the wait of a rejected call includes a turn for each queued call, and uses the service time if measured")
    func turnoverOfAQueue() {
        var machine = busy(limit: 1, queue: 3, waiting: 3)
        machine.rejects(at: 0)
        _ = machine.leave(measuredAt: 100)
        #expect(machine.queued == 2 && machine.retryEstimate == 300)
        _ = machine.leave(after: 50, measuredAt: 200)
        #expect(machine.queued == 1 && machine.retryEstimate == 100)
    }

    @Test("a rejection while a permit is free, or before a permit is returned without a time, measures nothing")
    func noTurnover() {
        var machine = busy(limit: 1, queue: 0, waiting: 0)
        _ = machine.leave(measuredAt: 100)
        machine.rejects(at: 200)
        #expect(machine.arrive() == .enter)
        _ = machine.leave(measuredAt: 300)
        #expect(machine.retryEstimate == nil)
        #expect(machine.arrive() == .enter)
        machine.rejects(at: 400)
        _ = machine.leave()
        #expect(machine.retryEstimate == nil && machine.rejectsSince == nil)
        #expect(machine.arrive() == .enter)
        // The return has an older clock reading than the rejection.
        machine.rejects(at: 900)
        _ = machine.leave(measuredAt: 800)
        #expect(machine.retryEstimate == 0)
    }
}
