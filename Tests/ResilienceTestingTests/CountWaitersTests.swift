import Testing

@testable import ResilienceTesting

@Suite struct CountWaitersTests {
    @Test("each is let go once its own number is reached, and once only")
    func numbers() {
        var watchers = CountWaiters()
        // The one who came first may wait longer.
        let (three, two) = (watchers.add(until: 3, present: 1), watchers.add(until: 2, present: 1))
        #expect(two != nil && three != nil && watchers.count == 2)
        let reached = [1, 2, 4, 4].map { watchers.remove(reached: $0) }
        #expect(reached.map(\.count) == [0, 1, 1, 0])
        #expect(reached[1].first === two && reached[2].first === three)
    }

    @Test("who finds enough does not wait")
    func enough() {
        var watchers = CountWaiters()
        #expect(watchers.add(until: 1, present: 1) == nil)
        #expect(watchers.add(until: 0, present: 0) == nil)
        let reached = watchers.remove(reached: .max)
        #expect(reached.isEmpty)
    }

    @Test("one who was cancelled leaves nothing behind, and the others stay")
    func cancelled() throws {
        var watchers = CountWaiters()
        let first = watchers.add(until: 1, present: 0)
        let (one, other) = (try #require(first), watchers.add(until: 1, present: 0))
        watchers.remove(one)
        let reached = watchers.remove(reached: 1)
        #expect(reached.count == 1 && reached.first === other && watchers.count == 0)
    }
}
