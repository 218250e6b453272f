import Testing

@testable import ResilienceTesting

@Suite struct CountWaitersTests {
    @Test("each waiter is released once, when its own number is reached")
    func numbers() {
        var watchers = CountWaiters()
        // The first waiter may wait longer.
        let (three, two) = (watchers.add(until: 3, present: 1), watchers.add(until: 2, present: 1))
        #expect(two != nil && three != nil && watchers.count == 2)
        let reached = [1, 2, 4, 4].map { watchers.remove(reached: $0) }
        #expect(reached.map(\.count) == [0, 1, 1, 0])
        #expect(reached[1].first === two && reached[2].first === three)
    }

    @Test("a waiter that finds enough does not wait")
    func enough() {
        var watchers = CountWaiters()
        #expect(watchers.add(until: 1, present: 1) == nil)
        #expect(watchers.add(until: 0, present: 0) == nil)
        let reached = watchers.remove(reached: .max)
        #expect(reached.isEmpty)
    }

    @Test("a cancelled waiter leaves nothing behind, and the others stay")
    func cancelled() throws {
        var watchers = CountWaiters()
        let first = watchers.add(until: 1, present: 0)
        let (one, other) = (try #require(first), watchers.add(until: 1, present: 0))
        watchers.remove(one)
        let reached = watchers.remove(reached: 1)
        #expect(reached.count == 1 && reached.first === other && watchers.count == 0)
    }
}
