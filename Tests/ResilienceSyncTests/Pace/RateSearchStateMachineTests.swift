import Resilience
import Testing

@testable import ResilienceSync

private typealias Run = RateSearch.Run

/// A run with this many requests, ten per second; the requests of one second gathered during the silence.
private func ten(_ admitted: Int = 20, catchUp: Double = 9) -> Run {
    Run(admitted: admitted, silence: 1, activity: Double(admitted) / 10 - 1, catchUp: catchUp)
}

extension RateSearch {
    /// Acknowledges this many requests that the pace held back, in sequence.
    fileprivate mutating func acknowledge(_ count: Int) {
        for _ in 0..<count {
            acknowledged(sentAt: MonotonicInstant(nanoseconds: 0), at: MonotonicInstant(nanoseconds: 0))
        }
    }

    /// The number of acknowledgements before the search changes its pace, and the new pace.
    fileprivate func nextPace() -> (after: Int, pace: Double) {
        var search = self
        for count in 1...100_000 {
            search.acknowledge(1)
            if search.pace != pace { return (count, search.pace) }
        }
        return (.max, pace)
    }
}

@Suite struct RateSearchStateMachineTests {
    @Test("the first run shows the rate, and the pace stays half a percent below")
    func first() {
        let search = RateSearch(from: ten(), maxRate: 100)
        #expect(search.limit == 10 && abs(search.pace - 9.95) < 1e-9)
        #expect(RateSearch(from: ten(), maxRate: 7).limit == 7)
    }

    @Test("a changed limit is measured again, but falls by at most three tenths per 429")
    func fallen() {
        var search = RateSearch(from: ten(200), maxRate: 100)
        let slower = Run(admitted: 50, silence: 1, activity: 9, catchUp: 0)
        var limits: [Double] = []
        for _ in 0..<8 {
            search.learn(from: slower)
            limits.append(search.limit)
        }
        #expect(zip(limits, limits.dropFirst()).allSatisfy { $1 >= $0 * 0.69 && $1 <= $0 })
        #expect(abs(limits[0] - 9.95 * 0.7) < 1e-9 && limits[7] == 5)
    }

    @Test("the limit never exceeds the highest rate, however much a run admitted")
    func mostAllowed() {
        var search = RateSearch(limit: 5, maxRate: 5)
        search.learn(from: Run(admitted: 100, silence: 1, activity: 1, catchUp: 0))
        #expect(search.limit == 5)
    }

    @Test(
        "boldness halves if a 429 comes within 1.3 silences, and under nine tenths of the catch-up were admitted",
        arguments: [
            (Run(admitted: 30, silence: 10, activity: 1, catchUp: 1), 0.5),
            (Run(admitted: 30, silence: 10, activity: 1, catchUp: 0.99), 1),
            (Run(admitted: 150, silence: 10, activity: 12.9, catchUp: 50), 0.5),
            (Run(admitted: 150, silence: 10, activity: 13, catchUp: 50), 1),
            (Run(admitted: 99, silence: 10, activity: 1, catchUp: 50), 0.5),
            (Run(admitted: 100, silence: 10, activity: 1, catchUp: 50), 1),
        ] as [(RateSearch.Run, Double)])
    func bold(after run: RateSearch.Run, boldness: Double) {
        var search = RateSearch(from: ten(), maxRate: 100)
        search.learn(from: run)
        #expect(search.catchUp(after: 0.01) == boldness * search.limit * 0.01)
    }

    @Test("after a catch-up that failed, a smaller catch-up is expected after the next pause")
    func catchUpFails() {
        var search = RateSearch(from: ten(200), maxRate: 100)
        #expect(search.catchUp(after: 2) == 20)
        // Only six of the twenty expected requests were available.
        search.learn(from: Run(admitted: 7, silence: 2, activity: 0.1, catchUp: 19))
        #expect(search.catchUp(after: 2) < 5)
        #expect(search.limit >= 0.89 * 9.95, "that says little about the rate")
        // The small catch-up is tried again, and grows with each run that goes well.
        var last = search.catchUp(after: 2)
        for _ in 0..<3 {
            search.learn(from: Run(admitted: 100, silence: 2, activity: 9.5, catchUp: last))
            #expect(search.catchUp(after: 2) > last)
            last = search.catchUp(after: 2)
        }
    }

    @Test(
        "the wait between requests is ten seconds at most, or a quarter more than the server's own silence",
        arguments: [0.5, 60])
    func slowest(silence: Double) {
        var search = RateSearch(from: Run(admitted: 0, silence: silence, activity: 0, catchUp: 0), maxRate: 100)
        #expect(search.limit == 1 / max(10, 1.25 * silence))
        for _ in 0..<50 { search.learn(from: Run(admitted: 0, silence: silence, activity: 0, catchUp: 0)) }
        #expect(search.limit >= 1 / max(10, 1.25 * silence) && search.limit.isFinite)
    }

    @Test("the more the pace trusts the limit, the more requests go before it rises; it rises faster with each step")
    func rise() {
        var search = RateSearch(from: ten(200), maxRate: 1_000)
        for _ in 0..<5 { search.learn(from: ten(200)) }
        // It holds for 80 requests; the first step is 1 percent, and each step holds for a fifth as long.
        #expect(search.nextPace().after == 96)
        var factors: [Double] = []
        for _ in 0..<5 {
            let (after, pace) = search.nextPace()
            factors.append((pace / search.pace * 1000).rounded() / 1000)
            search.acknowledge(after)
        }
        #expect(factors == [1.013, 1.025, 1.04, 1.04, 1.04])
    }

    @Test(
        "after one admission in an unnamed silence, the pace doubles every three requests until a 429 corrects it",
        arguments: [(1, 0.0, true), (2, 0, false), (1, 1, false)])
    func floor(admitted: Int, named: Double, isDoubled: Bool) {
        var search = RateSearch(
            from: Run(admitted: admitted, silence: 1, activity: 0, catchUp: 0, named: named), maxRate: 1_000)
        let first = search.pace
        search.acknowledge(9)
        #expect((search.pace == 8 * first) == isDoubled)
        guard isDoubled else { return }
        search.learn(from: Run(admitted: 10, silence: 1, activity: 6, catchUp: 0))
        #expect(search.limit == 4 * first)
        // Then the pace holds.
        #expect(search.nextPace().after > 8 && search.nextPace().pace < 1.5 * search.pace)
    }

    @Test("a slow pace also tries a higher rate within ten seconds, and in large steps")
    func slow() {
        let run = Run(admitted: 20, silence: 2, activity: 38, catchUp: 0, named: 1)
        var search = RateSearch(from: run, maxRate: 1_000)
        for _ in 0..<5 { search.learn(from: run) }
        // One request in two seconds: five take ten seconds, and a step takes two.
        let (after, pace) = search.nextPace()
        #expect(after <= 8 && pace > 1.19 * search.pace)
        // One request in ten seconds: the pace rises with each request, and by more than a share of itself.
        let slowest = RateSearch(limit: 0.1, maxRate: 1_000)
        #expect(slowest.nextPace().after == 2 && slowest.nextPace().pace > 2 * slowest.pace)
    }

    /// Waits of an hour, with two requests between them.
    private static let twoAnHour = Run(admitted: 2, silence: 3600, activity: 0.1, catchUp: 0, named: 3600, rest: 3600)

    @Test(
        "if a server admits a few requests per long named wait, the pace holds for two waits, then doubles with each step"
    )
    func slowServer() {
        var search = RateSearch(from: Self.twoAnHour, maxRate: 1_000)
        let (before, (after, pace)) = (search.pace, search.nextPace())
        #expect(after <= 6 && pace == 2 * before)
        // At first each step lasts a fifth of a wait, and later three requests.
        search.acknowledge(after + 28)
        #expect(search.pace > 1_000 * before)
    }

    @Test("only requests sent since the last step count for the next")
    func stale() {
        var search = RateSearch(from: ten(), maxRate: 1_000)
        for _ in 0..<8 {
            search.acknowledged(sentAt: MonotonicInstant(nanoseconds: 0), at: MonotonicInstant(nanoseconds: 5))
        }
        let before = search
        search.acknowledged(sentAt: MonotonicInstant(nanoseconds: 4), at: MonotonicInstant(nanoseconds: 6))
        #expect(search == before)
        search.acknowledged(sentAt: MonotonicInstant(nanoseconds: 5), at: MonotonicInstant(nanoseconds: 6))
        #expect(search != before)
    }
}
