import Resilience
import Testing

@testable import ResilienceSync

private func at(_ milliseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: milliseconds * 1_000_000) }

/// A pace and the numbers of its requests.
private struct Talk {
    var pace = SendPace(maxInFlight: 8, maxPause: .seconds(600))
    var now = at(0)
    private(set) var sent = 0
    /// The numbers of the requests in flight, and when they were sent.
    private(set) var flights: [Int: MonotonicInstant] = [:]

    @discardableResult
    mutating func send() -> Int {
        pace.sent(at: now, beside: flights.count)
        sent += 1
        flights[sent] = now
        return sent
    }

    mutating func note(
        _ left: Int?, in reset: Duration? = nil, of limit: Int? = nil, window: Duration? = nil, name: String? = nil,
        from request: Int? = nil
    ) {
        let quota = ServerQuota(name: name, limit: limit, remaining: left, resetsAfter: reset, window: window)
        pace.note(quota, from: request, of: sent, at: now)
    }

    mutating func acknowledge(_ request: Int) {
        guard let sentAt = flights.removeValue(forKey: request) else { return }
        pace.acknowledged(sentAt: sentAt, at: now)
    }

    /// Sends a request that is answered at once, with its quota.
    mutating func pass(left: Int, in reset: Duration? = nil, of limit: Int? = nil) {
        let request = send()
        note(left, in: reset, of: limit, from: request)
        acknowledge(request)
    }

    var answer: SendPace.Answer { pace.answer(at: now, inFlight: flights.count) }
    var silence: MonotonicInstant? { pace.silentUntil(at: now) }

    /// Sends as many as are allowed at once.
    mutating func sendAll() -> [Int] {
        var numbers: [Int] = []
        while answer == .now { numbers.append(send()) }
        return numbers
    }
}

/// A pace that has had eight requests in flight.
private func wide() -> Talk {
    var talk = Talk()
    while talk.flights.count < 8 {
        talk.acknowledge(talk.sent)
        _ = talk.sendAll()
    }
    for request in 1...talk.sent { talk.acknowledge(request) }
    return talk
}

@Suite struct QuotaStateMachineTests {
    @Test("if nothing is left, the pace is silent until the reset, sends one probe, and continues")
    func silence() {
        var talk = Talk()
        talk.pass(left: 0, in: .seconds(30))
        #expect(talk.answer == .notBefore(at(30_000)) && talk.silence == at(30_000))
        // This is not a pause for a 429: it shows nothing about the rate.
        #expect(talk.pace.pausedUntil(at: talk.now) == nil && talk.pace.phase == .flowing)
        talk.now = at(30_000)
        #expect(talk.silence == nil)
        let probe = talk.send()
        #expect(talk.answer == .afterAnEnd && talk.pace.phase == .probing(sentAt: at(30_000)))
        talk.note(9, in: .seconds(60), from: probe)
        #expect(talk.answer == .afterAnEnd)
        talk.acknowledge(probe)
        #expect(talk.sendAll().count == 2)
    }

    @Test("the requests in flight never exceed the quota", arguments: 1...7)
    func atMostWhatIsLeft(left: Int) {
        var talk = wide()
        talk.pass(left: left, in: .seconds(30))
        #expect(talk.sendAll().count == left)
    }

    @Test("a quota without a reset, noted outside of any request, also limits the requests in flight")
    func withoutAReset() {
        var talk = wide()
        talk.note(3)
        #expect(talk.sendAll().count == 3 && talk.answer == .afterAnEnd)
        // Without a reset there is no silence: requests go one at a time.
        var last = wide()
        last.note(0)
        #expect(last.silence == nil && last.sendAll().count == 1)
    }

    @Test("a later request's quota replaces an earlier one; a late answer to an earlier request replaces nothing")
    func order() {
        var talk = wide()
        let first = talk.send()
        talk.note(2, in: .seconds(30), from: first)
        talk.acknowledge(first)
        let second = talk.send()
        // A later quota may be higher, because a bucket fills.
        talk.note(6, in: .seconds(30), from: second)
        talk.acknowledge(second)
        #expect(talk.sendAll().count == 6)

        var late = wide()
        let (slow, fast) = (late.send(), late.send())
        late.note(4, in: .seconds(30), from: fast)
        late.acknowledge(fast)
        late.note(5, in: .seconds(30), from: slow)
        late.acknowledge(slow)
        #expect(late.sendAll().count == 4)
    }

    @Test("a request that ends without an answer may have been counted, so the quota drops by one")
    func untold() {
        var talk = wide()
        talk.pass(left: 3, in: .seconds(30))
        for request in talk.sendAll() {
            talk.pace.endedUntold(at: talk.now)
            talk.acknowledge(request)
        }
        #expect(talk.answer == .notBefore(at(30_000)))
        // Without a reset nothing is known any more.
        var other = wide()
        other.note(1)
        other.pace.endedUntold(at: other.now)
        #expect(other.sendAll().count == 8)
    }

    @Test("after the reset a probe is sent, even while slow requests that the server counted before are in flight")
    func slowOnes() {
        var talk = wide()
        talk.send()
        let late = talk.send()
        let last = talk.send()
        talk.note(0, in: .seconds(30), of: 3, from: last)
        talk.acknowledge(last)
        // The answer to an earlier request overtakes it, with a higher quota for longer.
        talk.now = at(100)
        talk.note(1, in: .seconds(30), of: 3, from: late)
        talk.now = at(30_000)
        #expect(talk.answer == .now)
        // A probe that was not sent does not count.
        var other = talk
        other.send()
        other.pace.endedOtherwise(sentAt: other.now, at: other.now)
        #expect(other.pace.answer(at: other.now + .milliseconds(1), inFlight: 2) == .now)
        let probe = talk.send()
        #expect(talk.answer == .afterAnEnd)
        talk.note(2, in: .seconds(30), from: probe)
        talk.acknowledge(probe)
        // The server may have counted the two slow requests again; at the reset one more request may go.
        #expect(talk.answer == .notBefore(at(60_000)))
    }

    @Test(
        "after a good probe other requests follow, however slow the earlier ones", arguments: [true, false])
    func besideSlowOnes(isTold: Bool) {
        var talk = wide()
        talk.send()
        talk.send()
        let last = talk.send()
        if isTold {
            talk.note(0, in: .seconds(30), of: 60, from: last)
            talk.acknowledge(last)
        } else {
            talk.acknowledge(last)
            talk.pace.paused(until: at(30_000))
        }
        talk.now = at(30_000)
        let probe = talk.send()
        talk.now = at(30_100)
        if isTold { talk.note(59, in: .seconds(60), of: 60, from: probe) }
        talk.acknowledge(probe)
        #expect(talk.sendAll().count == 2)
    }

    @Test(
        "at the reset, one request more than were left may go, up to the limit", arguments: [(1, 8), (3, 8), (3, 3)])
    func atTheReset(left: Int, limit: Int) {
        var talk = wide()
        talk.pass(left: left, in: .seconds(30), of: limit)
        var slow = talk.sendAll()
        while slow.count < left, case .notBefore(let instant) = talk.answer {
            talk.now = instant
            slow += talk.sendAll()
        }
        #expect(slow.count == left)
        #expect(talk.answer == (left == limit ? .afterAnEnd : .notBefore(at(30_000))))
        talk.now = at(30_000)
        #expect(talk.answer == (left == limit ? .afterAnEnd : .now))
        talk.send()
        #expect(talk.answer == .afterAnEnd)
    }

    @Test("of many limits, those with requests left are evicted first, then those with the shortest silence")
    func manyNames() {
        var talk = wide()
        talk.note(0, in: .seconds(60), name: "real")
        for number in 0..<100 { talk.note(5, in: .seconds(3_600), name: "\(number)") }
        #expect(talk.silence == at(60_000))
        talk.note(0, in: .seconds(10), name: "short")
        for number in 0..<16 { talk.note(0, in: .seconds(50), name: "empty \(number)") }
        #expect(talk.silence == at(60_000))
    }

    @Test("of several limits, the smallest quota and the longest silence count")
    func several() {
        var talk = wide()
        let request = talk.send()
        talk.note(5, in: .seconds(60), name: "a minute", from: request)
        talk.note(2, in: .seconds(1), name: "a second", from: request)
        talk.acknowledge(request)
        #expect(talk.sendAll().count == 2)
        talk.note(0, in: .seconds(1), name: "a second")
        talk.note(0, in: .seconds(60), name: "a minute")
        #expect(talk.silence == at(60_000))
    }

    @Test("a limit's quota expires at its reset, even if only other limits are reported")
    func stale() {
        var talk = wide()
        talk.note(1, in: .seconds(5), name: "old")
        talk.now = at(6_000)
        talk.note(7, in: .seconds(5), name: "new")
        #expect(talk.sendAll().count == 7)
    }

    @Test("a quota above its limit counts as the limit; a limit of zero is ignored", arguments: [0, 3])
    func moreThanTheLimit(limit: Int) {
        var talk = wide()
        talk.note(99, in: .seconds(30), of: limit)
        #expect(talk.sendAll().count == (limit == 0 ? 8 : 3))
    }

    @Test(
        "a reset of zero or less makes no silence, and an endless reset makes the longest pause",
        arguments: [(.zero, nil), (.seconds(-5), nil), (.seconds(Int64.max), 600_000), (.infinite, 600_000)]
            as [(Duration, Int64?)])
    func resets(reset: Duration, end: Int64?) {
        var talk = wide()
        talk.note(0, in: reset)
        #expect(talk.silence == end.map { at($0) })
    }

    @Test("a later request's answer with a higher quota ends the silence; other answers do not")
    func takenBack() {
        var talk = wide()
        let (first, second) = (talk.send(), talk.send())
        talk.note(0, in: .seconds(30), from: first)
        talk.note(5, in: .seconds(30), from: second)
        #expect(talk.silence == at(30_000))
        talk.note(5, in: .seconds(30))
        #expect(talk.silence == at(30_000))
        talk.note(5, in: .seconds(30), from: talk.sent + 1)
        #expect(talk.silence == nil)
    }

    @Test("among resets in whole seconds the earliest counts, while the quota does not rise")
    func rounded() {
        var talk = wide()
        talk.note(2, in: .seconds(10))
        talk.now = at(700)
        talk.note(0, in: .seconds(10))
        #expect(talk.silence == at(10_000))
        var exact = wide()
        exact.note(2, in: .milliseconds(10_500))
        exact.now = at(700)
        exact.note(0, in: .milliseconds(10_500))
        #expect(exact.silence == at(11_200))
        var next = wide()
        next.note(0, in: .seconds(1))
        next.now = at(500)
        next.note(3, in: .seconds(1), from: 9)
        next.note(0, in: .seconds(1), from: 9)
        #expect(next.silence == at(1_500))
    }

    @Test("the queue's own share prolongs a silence, but never beyond the longest pause")
    func lateness() {
        var talk = Talk(pace: SendPace(maxInFlight: 8, maxPause: .seconds(100), lateness: 0.1))
        talk.note(0, in: .seconds(10))
        #expect(talk.silence == at(11_000))
        talk.note(0, in: .seconds(99))
        #expect(talk.silence == at(100_000))
    }

    @Test("the last requests of a limit are spread over its window, a little slower than the limit's rate")
    func spread() {
        var talk = wide()
        talk.now = at(5_000)
        let request = talk.send()
        talk.note(5, in: .seconds(10), of: 20, window: .seconds(10), from: request)
        talk.acknowledge(request)
        guard case .notBefore(let next) = talk.answer else { return #expect(Bool(false)) }
        #expect((5_520...5_530).contains(next.nanoseconds / 1_000_000))
        // A limit below four is too small to spread.
        var few = wide()
        few.now = at(5_000)
        few.pass(left: 1, in: .seconds(10), of: 3)
        #expect(few.answer == .now)
    }

    @Test("the last requests of a long window are ten seconds apart at most; only a silence is longer")
    func longestSpread() {
        var talk = wide()
        talk.now = at(5_000)
        talk.pass(left: 5, in: .seconds(80_000), of: 20)
        #expect(talk.answer == .notBefore(at(15_000)))
        talk.now = at(15_000)
        talk.pass(left: 0, in: .seconds(4_000), of: 20)
        #expect(talk.silence == at(615_000))
    }

    @Test("the last few requests of a long window are spread only until the window ends", arguments: [0, 1])
    func spreadEndsWithTheWindow(left: Int) {
        var talk = wide()
        let request = talk.send()
        talk.note(left, in: .seconds(5), of: 8, window: .seconds(3600), from: request)
        talk.acknowledge(request)
        guard case .notBefore(let instant) = talk.answer else {
            Issue.record("\(talk.answer)")
            return
        }
        #expect(talk.now.duration(to: instant) <= .seconds(6))
        talk.now = instant
        if case .notBefore(let later) = talk.answer { talk.now = later }
        #expect(talk.answer == .now && talk.now <= at(6_500))
    }

    @Test("a due test that is sent only after the reset proves nothing")
    func lateTest() {
        var talk = Talk()
        for _ in 0..<30 {
            talk.pass(left: 0, in: .seconds(60))
            talk.now = talk.now + .seconds(300)
        }
        // Quotas are still believed.
        talk.note(3, in: .seconds(60), of: 60, window: .seconds(60))
        #expect(talk.pace.rate == 1)
    }

    @Test("a limit and its window give the rate (of several, the lowest), until 429s have shown another rate")
    func rate() {
        var talk = wide()
        #expect(talk.pace.rate == nil)
        talk.note(nil, of: 100, window: .seconds(10), name: "a")
        #expect(talk.pace.rate == 10 && talk.answer == .now)
        talk.note(50, of: 60, window: .seconds(60), name: "b")
        #expect(talk.pace.rate == 1)
    }

    // MARK: Other events

    @Test("a 429 despite a remaining quota causes a pause and shows the rate as usual")
    func throttledInSpite() {
        var talk = wide()
        var told = talk
        told.note(50, in: .seconds(1000))
        for start in [Int64(1_000), 3_000] {
            for (round, gap) in [0, 1_000].enumerated() {
                talk.now = at(start + Int64(gap))
                told.now = talk.now
                let (one, other) = (talk.send(), told.send())
                if round == 0 {
                    talk.acknowledge(one)
                    told.acknowledge(other)
                } else {
                    // The server's 429 reports that nothing is left.
                    told.note(0, in: .milliseconds(500), from: other)
                    _ = talk.pace.throttled(
                        sentAt: talk.now, retryAfter: .seconds(1), backoff: nil, at: talk.now)
                    _ = told.pace.throttled(
                        sentAt: told.now, retryAfter: .seconds(1), backoff: nil, at: told.now)
                    #expect(told.pace.pausedUntil(at: told.now) == told.now + .seconds(1))
                }
            }
        }
        talk.now = at(5_000)
        told.now = talk.now
        let (one, other) = (talk.send(), told.send())
        talk.acknowledge(one)
        told.acknowledge(other)
        #expect(talk.pace.rate != nil && told.pace.rate == talk.pace.rate)
    }

    @Test("after a rejected probe the backoff counts, whatever the quota (P44)")
    func probeRejected() {
        var talk = Talk(pace: SendPace(maxInFlight: 8, startingRate: 10))
        talk.send()
        _ = talk.pace.throttled(sentAt: talk.now, retryAfter: .seconds(1), backoff: nil, at: talk.now)
        talk.now = at(1_000)
        let probe = talk.send()
        talk.note(0, in: .milliseconds(1), from: probe)
        let until = talk.pace.throttled(sentAt: talk.now, retryAfter: nil, backoff: .seconds(8), at: talk.now)
        #expect(until == at(9_000))
    }

    @Test("a resume by hand sends one request at once; if it drops the quota, reports of earlier requests are ignored")
    func resumed() {
        var kept = wide()
        let request = kept.send()
        kept.note(3, in: .seconds(60), name: "a")
        kept.note(0, in: .seconds(60), name: "b")
        kept.pace.resumed(keepingRate: true, after: kept.sent, at: kept.now)
        #expect(kept.silence == nil && kept.pace.answer(at: kept.now, inFlight: 0) == .now)

        var forgotten = kept
        forgotten.pace.resumed(after: forgotten.sent, at: forgotten.now)
        let before = forgotten.pace
        forgotten.note(0, in: .seconds(60), from: request)
        #expect(forgotten.pace == before)
        forgotten.note(0, in: .seconds(60), from: forgotten.sent + 1)
        #expect(forgotten.silence == at(60_000))
    }

    // MARK: Doubt

    /// Silences of a minute, each of which admits only a probe.
    private func waste(_ silences: Int, of talk: inout Talk) {
        for _ in 0..<silences {
            talk.now = talk.now + .seconds(60)
            talk.pass(left: 0, in: .seconds(60))
        }
    }

    /// Silences of a minute, each with one request that is acknowledged and reports an empty quota.
    /// - Returns: The number of silences before a request may go within a silence.
    private func silencesUntilATest(_ talk: inout Talk) -> Int {
        for silences in 0..<1_000 {
            guard case .notBefore(let end) = talk.answer else { return silences }
            talk.now = end
            talk.pass(left: 0, in: .seconds(60))
        }
        return .max
    }

    @Test(
        "silences that admit one request each are tested; if the test gets through, quotas don't count (P44)")
    func useless() {
        var talk = Talk()
        talk.pass(left: 0, in: .seconds(60))
        #expect(silencesUntilATest(&talk) == 8)
        let test = talk.send()
        #expect(talk.answer == .afterAnEnd)
        talk.note(0, in: .seconds(60), from: test)
        talk.acknowledge(test)
        #expect(talk.silence == nil)
        var free = talk
        #expect(free.sendAll().count > 1)
        let silences = (0..<1_001).map { _ in
            talk.pass(left: 0, in: .seconds(60))
            return talk.silence != nil
        }
        // Then quotas count again.
        #expect(silences.firstIndex(of: true) == 1_000)
    }

    @Test("if the test gets a 429, the server meant the silence, and the next test comes after twice as many silences")
    func confirmed() {
        var talk = Talk()
        talk.pass(left: 0, in: .seconds(60))
        var counts: [Int] = []
        for _ in 0..<7 {
            counts.append(silencesUntilATest(&talk))
            let test = talk.send()
            talk.note(0, in: .seconds(60), from: test)
            _ = talk.pace.throttled(sentAt: talk.now, retryAfter: .seconds(60), backoff: nil, at: talk.now)
            talk.pace.endedUntold(at: talk.now)
            talk = Talk(pace: talk.pace, now: talk.now, sent: talk.sent)
        }
        #expect(counts == [8, 16, 32, 64, 128, 128, 128], "\(counts)")
    }

    @Test("a 429 outside a test decides no test, and restarts the count of silences")
    func throttledWithoutATest() {
        var talk = Talk()
        talk.pass(left: 0, in: .seconds(60))
        waste(7, of: &talk)
        _ = talk.pace.throttled(sentAt: talk.now, retryAfter: .seconds(60), backoff: nil, at: talk.now)
        #expect(silencesUntilATest(&talk) == 8)
    }

    @Test("a silence that admitted more than one request restarts the count")
    func usefulOnce() {
        var talk = Talk()
        talk.pass(left: 0, in: .seconds(60))
        waste(6, of: &talk)
        talk.now = talk.now + .seconds(60)
        talk.pass(left: 5, in: .seconds(60))
        talk.pass(left: 0, in: .seconds(60))
        #expect(silencesUntilATest(&talk) == 9)
    }

    @Test("after a test without an answer the silence continues, and the next silence is tested")
    func testAgain() {
        var talk = Talk()
        talk.pass(left: 0, in: .seconds(60))
        _ = silencesUntilATest(&talk)
        for _ in 0..<3 {
            #expect(talk.answer == .now)
            let (end, test) = (talk.now + .seconds(60), talk.send())
            talk.note(0, in: .seconds(60), from: test)
            talk.pace.endedUntold(at: talk.now)
            talk.pace.endedOtherwise(sentAt: talk.now, at: talk.now)
            #expect(talk.pace.answer(at: talk.now, inFlight: 0) == .notBefore(end))
            talk = Talk(pace: talk.pace, now: end, sent: talk.sent)
            talk.pass(left: 0, in: .seconds(60))
        }
    }

    // MARK: Bursts

    @Test("after a burst of contradictory quotas the smallest quota counts, and memory stays bounded")
    func volley() {
        var talk = wide()
        for left in 0..<10_000 { talk.note(10_000 - left, in: .seconds(30), name: "a") }
        for left in 0..<10_000 { talk.note(left + 5, in: .seconds(30), name: "\(left)") }
        for left in 0..<10_000 { talk.note(left + 2, in: .seconds(30), name: "9999") }
        // One request may go, by the last quota of "a": among names with equal silences, the first in order are
        // evicted.
        #expect(talk.sendAll().count == 1)
        let size = "\(talk.pace)".count
        #expect(size < 20_000, "\(size)")
    }
}

extension Talk {
    fileprivate init(pace: SendPace, now: MonotonicInstant, sent: Int) {
        (self.pace, self.now, self.sent) = (pace, now, sent)
    }
}
