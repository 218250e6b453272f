import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// Real tasks on all cores.
@Suite(.timeLimit(.minutes(20))) struct AdaptiveBulkheadStressTests {
    @Test("however many calls come and go on many threads, permits stay exact, and no call waits in vain")
    func concurrent() async throws {
        let bulkhead = AdaptiveBulkhead(
            limit: .custom(Restless(), initial: 8, in: 1...16, window: .nanoseconds(1)), queue: 10_000)
        let most = Box((inside: 0, most: 0))
        try await withThrowingTaskGroup { group in
            for _ in 0..<10_000 {
                group.addTask {
                    try await bulkhead.run {
                        most.withLock {
                            $0.inside += 1; $0.most = max($0.most, $0.inside)
                        }
                        await Task { @concurrent in }.value
                        most.withLock { $0.inside -= 1 }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(
            bulkhead.status.bulkhead.inUse == 0 && bulkhead.status.bulkhead.queued == 0
                && most.withLock { $0.most } <= 16)
        try holdAll(bulkhead, left: bulkhead.status.bulkhead.limit)
    }

    /// Takes all permits, one at a time, and one too many.
    private func holdAll(_ bulkhead: AdaptiveBulkhead, left: Int) throws {
        guard left > 0 else {
            #expect(throws: WouldWait.self) { _ = try bulkhead.tryAcquire() }
            return
        }
        let permit = try bulkhead.tryAcquire()
        try holdAll(bulkhead, left: left - 1)
        permit.complete(.cancelled)
    }

    /// Moves up and down without reason.
    private struct Restless: LimitAlgorithm {
        private var count = 0
        var usesBaseline: Bool { false }
        mutating func limit(after window: LimitWindow) -> Double {
            count += 1
            return Double(1 + count * 7 % 16)
        }
        mutating func limitAfterOverload(_ limit: Double) -> Double { limit }
    }
}
