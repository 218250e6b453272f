import Resilience
import Testing

@testable import ResilienceSync

extension WidthSearch {
    fileprivate mutating func sent(inFlight: Int) { sent(inFlight: inFlight, at: .distantPast) }

    fileprivate mutating func runEnded(isRateKnown: Bool) -> Bool {
        runEnded(sentAt: .distantFuture, isRateKnown: isRateKnown)
    }

    /// A run with more and more requests in flight, up to this width. It ends after this many further acknowledgements.
    fileprivate mutating func run(upTo widest: Int, thenAcknowledged: Int = 0, isRateKnown: Bool = false) -> Bool {
        runBegan(beside: 0)
        for inFlight in 1...widest {
            sent(inFlight: inFlight)
            if inFlight < widest { acknowledgedOne() }
        }
        for _ in 0..<thenAcknowledged { acknowledgedOne() }
        return runEnded(isRateKnown: isRateKnown)
    }

    /// As many requests in flight as the limit allows, for this many acknowledgements.
    fileprivate mutating func hold(for acknowledgements: Int) {
        sent(inFlight: limit ?? 1)
        for _ in 0..<acknowledgements { acknowledgedOne() }
    }

    /// The limit changes exactly at the last of these acknowledgements.
    fileprivate mutating func expectMore(after acknowledgements: Int, limit expected: Int) {
        let before = limit
        hold(for: acknowledgements - 1)
        #expect(limit == before)
        acknowledgedOne()
        #expect(limit == expected)
    }

    fileprivate static func limited(to limit: Int) -> WidthSearch {
        var search = WidthSearch()
        _ = search.run(upTo: limit + 1)
        return search
    }
}

@Suite struct WidthSearchTests {
    @Test("if a run ends at its greatest width, the limit is one less; the first such run also counts for the rate")
    func told() {
        var search = WidthSearch()
        let first = search.run(upTo: 4)
        #expect(!first && search.limit == 3)
        let second = search.run(upTo: 4)
        #expect(second && search.limit == 3)
    }

    @Test("the rate was the cause if the next run ends below that limit, or long after reaching it", arguments: [2, 3])
    func rate(widest: Int) {
        var search = WidthSearch.limited(to: 3)
        let isTooWide = search.run(upTo: widest, thenAcknowledged: widest == 3 ? 7 : 0)
        #expect(!isTooWide && search.limit == nil)
    }

    @Test(
        "a width held for long, a width of two, or a known rate shows no limit",
        arguments: [(4, 9, false), (2, 0, false), (4, 0, true)])
    func notTold(widest: Int, more: Int, isRateKnown: Bool) {
        var search = WidthSearch()
        for _ in 0..<3 {
            let isTooWide = search.run(upTo: widest, thenAcknowledged: more, isRateKnown: isRateKnown)
            #expect(!isTooWide && search.limit == nil)
        }
    }

    @Test(
        "from two to eight requests in flight, another goes only after an acknowledgement, and never beyond a limit"
    )
    func careful() {
        var search = WidthSearch()
        for inFlight in 1...9 {
            search.sent(inFlight: inFlight)
            #expect(search.most == ((2..<8).contains(inFlight) ? inFlight : .max))
            search.acknowledgedOne()
            #expect(search.most == .max)
        }
        #expect(WidthSearch.limited(to: 3).most == 3)
    }

    @Test("after 1 000 acknowledgements at the limit, one more request is tried; after a failed try, after 2 000")
    func patience() {
        var search = WidthSearch.limited(to: 2)
        for patience in [1000, 2000] {
            search.runBegan(beside: 0)
            search.sent(inFlight: 2)
            for _ in 1..<patience { search.acknowledgedOne() }
            #expect(search.limit == 2)
            search.acknowledgedOne()
            #expect(search.limit == 3)
            search.sent(inFlight: 3)
            let isTooWide = search.runEnded(isRateKnown: false)
            #expect(isTooWide && search.limit == 2)
        }
    }

    @Test(
        "a failed step is undone as a whole, wherever in it the 429 came; then the limit is raised by one",
        arguments: [4, 5])
    func stepFails(width: Int) {
        var search = WidthSearch.limited(to: 2)
        search.runBegan(beside: 0)
        search.hold(for: 1000)
        search.hold(for: 1000)
        #expect(search.limit == 5)
        search.sent(inFlight: width)
        let isTooWide = search.runEnded(isRateKnown: false)
        #expect(isTooWide && search.limit == 3)
        search.runBegan(beside: 0)
        search.expectMore(after: 2000, limit: 4)
        // The step succeeds. The next step takes as long and adds two; the steps after that are as quick as at first.
        search.expectMore(after: 2000, limit: 6)
        search.expectMore(after: 1000, limit: 10)
    }

    @Test("a repeatedly reached width counts as held since it was first reached", arguments: [3, 4])
    func reachedAgain(inFlight: Int) {
        var search = WidthSearch()
        for _ in 0..<3 {
            search.runBegan(beside: 0)
            search.sent(inFlight: 4)
            for _ in 0..<9 {
                search.acknowledgedOne()
                search.sent(inFlight: inFlight)
            }
            let isTooWide = search.runEnded(isRateKnown: false)
            #expect(!isTooWide && search.limit == nil)
        }
    }

    @Test("at most a million acknowledgements are needed before one more in flight is tried")
    func mostPatience() {
        var search = WidthSearch.limited(to: 2)
        for doublings in 0...10 {
            search.runBegan(beside: 0)
            search.expectMore(after: min(1000 << doublings, 1_000_000), limit: 3)
            search.sent(inFlight: 3)
            _ = search.runEnded(isRateKnown: false)
        }
    }

    @Test("a run that ends within the limit, or a lone request that is rejected, disproves the limit")
    func disproved() {
        var search = WidthSearch.limited(to: 3)
        _ = search.run(upTo: 2)
        #expect(search.limit == nil)
        search = .limited(to: 3)
        search.runBegan(beside: 0)
        search.sent(inFlight: 1)
        search.probeRejected()
        #expect(search.limit == nil)
    }

    @Test("slow requests of earlier runs do not count for a width; three requests of this run beside them do")
    func besideSlowOnes() {
        var search = WidthSearch()
        for (beside, widest, limit) in [(2, 3, nil), (2, 4, nil), (2, 5, 4)] {
            search.runBegan(beside: beside)
            for inFlight in (beside + 1)...widest { search.sent(inFlight: inFlight) }
            _ = search.runEnded(isRateKnown: false)
            #expect(search.limit == limit)
        }
    }

    @Test("a rejected probe beside slow requests does not disprove the limit")
    func rejectedBesideOthers() {
        var search = WidthSearch.limited(to: 3)
        search.runBegan(beside: 0)
        search.sent(inFlight: 2)
        search.probeRejected()
        #expect(search.limit == 3)
    }
}
