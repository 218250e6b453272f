import Resilience
import ResilienceTesting
import Synchronization
import TestSupport
import Testing

/// Real tasks on all cores: no test relies on the order in which they run.
@Suite(.timeLimit(.minutes(20))) struct BulkheadStressTests {
    /// Counts the calls inside, and the greatest number of calls at the same time.
    private final class Room: Sendable {
        private let inside = Atomic(0)
        private let most = Atomic(0)
        private let total = Atomic(0)
        private let elsewhere = Elsewhere()

        var highWater: Int { most.load(ordering: .relaxed) }
        var visits: Int { total.load(ordering: .relaxed) }

        func visit() async {
            total.add(1, ordering: .relaxed)
            most.max(inside.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
            await elsewhere.visit()
            inside.subtract(1, ordering: .relaxed)
        }
    }

    @Test("5 000 concurrent calls all run, and the calls inside never exceed the limit", arguments: [1, 3, 16])
    func highWater(limit: Int) async throws {
        let bulkhead = Bulkhead(limit: limit, queue: 5_000)
        let room = Room()
        try await withThrowingTaskGroup { group in
            for _ in 0..<5_000 { group.addTask { try await bulkhead.run { await room.visit() } } }
            try await group.waitForAll()
        }
        #expect(room.visits == 5_000 && room.highWater <= limit)
        #expect(bulkhead.inUse == 0 && bulkhead.queued == 0)
    }

    @Test(
        "after thousands of calls with random cancellation no permit is lost, and no call is left in the queue (P20)",
        arguments: 0..<4
    )
    func cancellation(seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let bulkhead = Bulkhead(limit: 3, queue: 100)
        let room = Room()
        var tasks: [Task<Void, any Error>] = []
        for _ in 0..<5_000 {
            tasks.append(Task { try await bulkhead.run { await room.visit() } })
            if Bool.random(using: &random) { tasks.suffix(20).randomElement(using: &random)?.cancel() }
            if Int.random(in: 0..<20, using: &random) == 0 {
                _ = await tasks.suffix(40).randomElement(using: &random)?.result
            }
        }
        for task in tasks { _ = await task.result }
        #expect(bulkhead.inUse == 0 && bulkhead.queued == 0 && room.highWater <= 3)
        try await bulkhead.run {}
    }

    @Test(
        "while the limit changes and calls are cancelled, no permit is lost or created, in any order (P24)",
        arguments: [Bulkhead.Order.firstInFirstOut, .lastInFirstOut, .byPriority])
    func changing(order: Bulkhead.Order) async throws {
        var random = SeededGenerator(seed: 5)
        let bulkhead = Bulkhead(limit: 3, queue: 50, order: order)
        let room = Room()
        var tasks: [Task<Void, any Error>] = []
        for _ in 0..<3_000 {
            let priority = CallPriority(rawValue: Int8.random(in: -1...1, using: &random))
            tasks.append(
                Task { try await bulkhead.run(options: RunOptions(priority: priority)) { await room.visit() } })
            if Int.random(in: 0..<4, using: &random) == 0 {
                tasks.suffix(20).randomElement(using: &random)?.cancel()
            }
            if Int.random(in: 0..<20, using: &random) == 0 {
                bulkhead.setLimit(Int.random(in: 1...5, using: &random))
                bulkhead.setQueue(Int.random(in: 0...100, using: &random))
                _ = await tasks.suffix(40).randomElement(using: &random)?.result
            }
        }
        for task in tasks { _ = await task.result }
        #expect(room.highWater <= 5)
        bulkhead.setLimit(2)
        #expect(
            bulkhead.status == BulkheadStatus(limit: 2, inUse: 0, queueLimit: bulkhead.status.queueLimit, queued: 0))
        let first = try bulkhead.tryAcquire()
        let second = try bulkhead.tryAcquire()
        #expect(throws: (any Error).self) { _ = try bulkhead.tryAcquire() }
        first.complete(.success)
        second.complete(.success)
        #expect(bulkhead.inUse == 0)
    }

    @Test("after thousands of calls through a stack of policies, with random cancellation, no policy holds anything")
    func stack() async throws {
        var random = SeededGenerator(seed: 9)
        let bulkhead = Bulkhead(limit: 4, queue: 50, maxWait: .seconds(60))
        let throttle = Throttle(
            limit: .perSecond(1_000_000, burst: 1_000), maxWait: .seconds(60), holdOnThrottled: true)
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1_000_000))
        let room = Room()
        let pipeline = Pipeline {
            Timeout("total", limit: .seconds(60))
            Retry(maxRetries: 2, backoff: .none)
            breaker
            throttle
            bulkhead
            Timeout("attempt", limit: .seconds(60))
        }
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<4_000 {
            tasks.append(
                Task {
                    try await pipeline.run {
                        await room.visit()
                        if number % 7 == 0 { throw Outage() }
                    }
                })
            if Bool.random(using: &random) { tasks.suffix(20).randomElement(using: &random)?.cancel() }
            if Int.random(in: 0..<20, using: &random) == 0 {
                _ = await tasks.suffix(40).randomElement(using: &random)?.result
            }
        }
        for task in tasks { _ = await task.result }
        #expect(bulkhead.inUse == 0 && bulkhead.queued == 0 && throttle.queued == 0 && room.highWater <= 4)
    }
}
