import Resilience
import Testing

@testable import ResilienceSync

private func at(_ milliseconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: milliseconds * 1_000_000) }

extension SendPace {
    /// A pace that knows a rate.
    init(maxInFlight: Int, startingRate: Double, maxRate: Double = 1e9) {
        let search = RateSearch(limit: startingRate, maxRate: maxRate)
        self.init(maxInFlight: maxInFlight, maxRate: maxRate, search: search)
    }

    /// One 429 at 0 ms, for a request sent then, with a named silence of a second.
    fileprivate mutating func pauseForASecond(at now: Int64 = 0) {
        _ = throttled(sentAt: at(now), retryAfter: .seconds(1), backoff: nil, at: at(now))
    }

    /// One request that is sent then and acknowledged at once.
    fileprivate mutating func admit(at now: Int64) {
        sent(at: at(now))
        acknowledged(sentAt: at(now), at: at(now))
    }

    /// A 429 at 0 ms, a probe a second later, nothing for a while, then one more 429 and its probe.
    fileprivate mutating func runThatEnds(after gap: Int64) {
        pauseForASecond()
        admit(at: 1000)
        sent(at: at(1000 + gap))
        pauseForASecond(at: 1000 + gap)
        admit(at: 2000 + gap)
    }

    /// Sends alone, as soon and as often as the pace allows, each request answered at once, until this time.
    /// - Returns: When they were sent, in milliseconds.
    fileprivate mutating func sendAlone(from start: Int64, until end: Int64) -> [Int64] {
        var (now, sentAt): (MonotonicInstant, [Int64]) = (at(start), [])
        while now < at(end) {
            switch answer(at: now, inFlight: 0) {
            case .now:
                sent(at: now)
                acknowledged(sentAt: now, at: now)
                sentAt.append(now.nanoseconds / 1_000_000)
            case .notBefore(let instant): now = instant
            case .afterAnEnd: return sentAt
            }
        }
        return sentAt
    }

    /// The most requests that may be in flight at this instant.
    fileprivate func room(at now: Int64) -> Int {
        (0...100).first { answer(at: at(now), inFlight: $0) != .now } ?? .max
    }
}

/// Ten requests per second, measured from one 429 to the next: six in 0.6 s, the first 0.3 s silent.
private func knowsTen(maxInFlight: Int = 8, maxRate: Double? = nil) -> SendPace {
    var pace = SendPace(maxInFlight: maxInFlight, maxRate: maxRate)
    pace.sent(at: at(-100))
    _ = pace.throttled(sentAt: at(-100), retryAfter: .milliseconds(300), backoff: .zero, at: at(-100))
    for _ in 0..<6 {
        pace.admit(at: 200)
    }
    pace.sent(at: at(500))
    _ = pace.throttled(sentAt: at(500), retryAfter: .milliseconds(500), backoff: .zero, at: at(500))
    pace.admit(at: 1000)
    return pace
}

@Suite struct SendPaceStateMachineTests {
    // MARK: Nothing is known

    @Test("the pace begins with two in flight, and adds one per acknowledgement, up to the limit")
    func slowStart() {
        var pace = SendPace(maxInFlight: 4)
        #expect(pace.room(at: 0) == 2)
        for room in [3, 4, 4] {
            pace.admit(at: 0)
            #expect(pace.room(at: 0) == room)
        }
        #expect(pace.answer(at: at(0), inFlight: 4) == .afterAnEnd)
        #expect(pace.rate == nil)
        #expect(SendPace(maxInFlight: 1).room(at: 0) == 1)
    }

    @Test("the pace keeps to a known rate from the first request on")
    func startingRate() {
        var pace = SendPace(maxInFlight: 4, startingRate: 10)
        #expect(pace.rate == 10)
        #expect(pace.sendAlone(from: 0, until: 350) == [0, 0, 100, 200, 300])
    }

    @Test("even after a pause the pace never exceeds the highest rate, however many requests have gathered")
    func maxRateAfterAPause() {
        // 300 per minute, from the clock's minute on.
        var pace = SendPace(maxInFlight: 8, maxRate: 10)
        var (now, used, sent) = (Int64(0), 0, [Int64]())
        while now < 600_000 {
            if now % 60_000 == 0, sent.last != now { used = 0 }
            guard pace.answer(at: at(now), inFlight: 0) == .now else {
                now += 10
                continue
            }
            pace.sent(at: at(now))
            sent.append(now)
            used += 1
            if used <= 300 {
                pace.acknowledged(sentAt: at(now), at: at(now))
            } else {
                let left = Duration.milliseconds(60_000 - now % 60_000)
                _ = pace.throttled(sentAt: at(now), retryAfter: left, backoff: .seconds(1), at: at(now))
            }
        }
        let most = sent.indices.map { index in sent[index...].prefix { $0 < sent[index] + 1000 }.count }.max() ?? 0
        #expect(sent.count > 2_500 && most <= 10)
    }

    @Test("a rate of one per minute stays the same after a pause of two minutes, however slow the answers")
    func oneAMinute() {
        var pace = SendPace(maxInFlight: 8, maxRate: 1.0 / 60)
        pace.sent(at: at(0))
        _ = pace.throttled(sentAt: at(0), retryAfter: .seconds(120), backoff: nil, at: at(50))
        var sent: [Int64] = []
        for now in stride(from: Int64(100), to: 400_000, by: 50) where pace.answer(at: at(now), inFlight: 0) == .now {
            pace.sent(at: at(now))
            sent.append(now)
            pace.acknowledged(sentAt: at(now), at: at(now + 50))
        }
        #expect(sent == [120_050, 180_050, 240_050, 300_050, 360_050])
    }

    @Test("the rate never exceeds the highest, whether given or found", arguments: [5.0, 9])
    func maxRate(most: Double) throws {
        #expect(SendPace(maxInFlight: 1, startingRate: 100, maxRate: most).rate == most)
        var pace = knowsTen(maxRate: most)
        #expect(pace.rate == most)
        // The rate never exceeds the highest, however long no 429 comes.
        let sent = pace.sendAlone(from: 1_000, until: 100_000)
        #expect(sent.count <= Int(most * 99) + 5)
    }

    @Test("an unknown rate also never exceeds the highest", arguments: [5.0, 0.05])
    func maxRateWhileUnknown(most: Double) throws {
        var pace = SendPace(maxInFlight: 1, maxRate: most)
        let sent = pace.sendAlone(from: 0, until: 100_000)
        #expect(sent.count == Int(most * 100) && sent.prefix(2) == [0, Int64(1_000 / most)])
        #expect(pace.rate == nil)
    }

    // MARK: A 429

    @Test("after a 429 nothing is sent for the server's wait", arguments: [1, 7])
    func namedPause(seconds: Int64) {
        var pace = SendPace(maxInFlight: 4)
        pace.sent(at: at(0))
        let until = pace.throttled(sentAt: at(0), retryAfter: .seconds(seconds), backoff: nil, at: at(10))
        #expect(until == at(seconds * 1000 + 10))
        #expect(pace.answer(at: at(10), inFlight: 1) == .notBefore(until))
        #expect(pace.answer(at: MonotonicInstant(nanoseconds: until.nanoseconds - 1), inFlight: 0) == .notBefore(until))
        #expect(pace.answer(at: until, inFlight: 0) == .now)
    }

    @Test("if the server names no wait, the backoff counts; a wait of zero or less counts as a millisecond")
    func pauseWithoutAName() {
        var pace = SendPace(maxInFlight: 4)
        #expect(pace.throttled(sentAt: at(0), retryAfter: nil, backoff: .seconds(4), at: at(10)) == at(4010))
        for wait in [Duration.zero, .seconds(-5)] {
            var pace = SendPace(maxInFlight: 4)
            #expect(pace.throttled(sentAt: at(0), retryAfter: wait, backoff: nil, at: at(10)) == at(11))
        }
    }

    @Test("after a useless named wait the pace is silent for the backoff, if that is longer", arguments: [1, 9])
    func namedTooShort(named: Int64) {
        var pace = SendPace(maxInFlight: 4)
        pace.pauseForASecond()
        pace.sent(at: at(1000))
        let until = pace.throttled(sentAt: at(1000), retryAfter: .seconds(named), backoff: .seconds(4), at: at(1000))
        #expect(until == at(1000 + 1000 * max(4, named)))
    }

    @Test("with a known rate and no named wait, the silence halves after each probe that gets through")
    func quiet() {
        var pace = knowsTen()
        var (now, silences) = (Int64(2000), [Int64]())
        for _ in 0..<5 {
            pace.sent(at: at(now))
            let until = pace.throttled(sentAt: at(now), retryAfter: nil, backoff: .seconds(1), at: at(now))
            silences.append(until.nanoseconds / 1_000_000 - now)
            now = until.nanoseconds / 1_000_000 + 1
            for _ in 0..<20 { pace.admit(at: now) }
            now += 2000
        }
        // The last named wait was half a second, and one request takes a tenth of a second.
        #expect(silences[0] == 250 && silences == silences.sorted(by: >), "\(silences)")
        #expect(silences.allSatisfy { $0 >= 100 } && silences[4] < 120, "\(silences)")
    }

    @Test("the silence never exceeds the backoff, however slow the server")
    func quietAtMost() {
        var pace = SendPace(maxInFlight: 8, startingRate: 0.1)
        pace.sent(at: at(0))
        #expect(pace.throttled(sentAt: at(0), retryAfter: nil, backoff: .seconds(1), at: at(0)) == at(1000))
        #expect(pace.answer(at: at(999), inFlight: 0) == .notBefore(at(1000)))
    }

    @Test("after a rejected probe the backoff counts, even with a known rate or a shorter named wait")
    func quietNoMore() {
        var pace = knowsTen()
        pace.sent(at: at(2000))
        _ = pace.throttled(sentAt: at(2000), retryAfter: nil, backoff: .seconds(1), at: at(2000))
        pace.sent(at: at(2250))
        #expect(pace.throttled(sentAt: at(2250), retryAfter: nil, backoff: .seconds(2), at: at(2250)) == at(4250))
        pace.sent(at: at(4250))
        let until = pace.throttled(sentAt: at(4250), retryAfter: .seconds(1), backoff: .seconds(4), at: at(4250))
        #expect(until == at(8250))
    }

    /// Two runs that ended at the third concurrent request: two may be in flight. The second run's pause ends at 4000
    /// ms.
    private static func takesTwo() -> SendPace {
        var pace = SendPace(maxInFlight: 8)
        for start in [Int64(0), 2000] {
            pace.admit(at: start)
            for inFlight in 0...2 { pace.sent(at: at(start + 1), beside: inFlight) }
            pace.pauseForASecond(at: start + 1)
        }
        return pace
    }

    @Test("after two runs that end at a third request in flight, two may be in flight, until a lone probe is rejected")
    func width() {
        var pace = Self.takesTwo()
        for _ in 0..<20 { pace.admit(at: 4000) }
        #expect(pace.room(at: 4000) == 2 && pace.rate == nil)
        pace.pauseForASecond(at: 4000)
        pace.sent(at: at(5000))
        pace.pauseForASecond(at: 5000)
        for _ in 0..<40 { pace.admit(at: 6000) }
        #expect(pace.room(at: 6000) > 2)
    }

    @Test("a limit of two in flight stays when a probe is rejected while a slow request is in flight")
    func widthOfAProbe() {
        var pace = Self.takesTwo()
        #expect(pace.room(at: 4000) == 2)
        pace.sent(at: at(4000), beside: 1)
        pace.pauseForASecond(at: 4000)
        for _ in 0..<40 { pace.admit(at: 6000) }
        #expect(pace.room(at: 6000) == 2)
    }

    @Test("a 429 beside two slow requests from earlier runs shows no width limit, and the next request may go")
    func noWidthBesideSlowOnes() {
        var pace = SendPace(maxInFlight: 8)
        for _ in 0..<2 { pace.sent(at: at(0)) }
        pace.pauseForASecond()
        for start in [Int64(1000), 2000, 3000] {
            pace.sent(at: at(start), beside: 2)
            pace.acknowledged(sentAt: at(start), at: at(start))
            pace.sent(at: at(start + 1), beside: 2)
            pace.pauseForASecond(at: start + 1)
        }
        #expect(pace.answer(at: at(5000), inFlight: 2) == .now)
    }

    // MARK: The probe

    @Test("after a pause one request goes out, and no other until its acknowledgement")
    func probe() {
        var pace = SendPace(maxInFlight: 8)
        pace.pauseForASecond()
        pace.sent(at: at(1000))
        #expect(pace.phase == .probing(sentAt: at(1000)))
        #expect(pace.answer(at: at(5000), inFlight: 1) == .afterAnEnd)
        pace.acknowledged(sentAt: at(1000), at: at(1050))
        #expect(pace.phase == .flowing)
        #expect(pace.room(at: 1050) == 2)
    }

    @Test("no probe is sent at the same instant as a request in flight, since their ends couldn't be distinguished")
    func probeAlone() {
        var pace = SendPace(maxInFlight: 8)
        pace.sent(at: at(5))
        pace.paused(until: at(0))
        #expect(pace.answer(at: at(5), inFlight: 1) == .afterAnEnd)
        #expect(pace.answer(at: at(5), inFlight: 0) == .now)
        #expect(pace.answer(at: at(6), inFlight: 1) == .now)
    }

    // MARK: Pauses from elsewhere

    @Test("a resume by hand sends one request at once, however slow the found rate, and drops the rate")
    func resumed() {
        var pace = SendPace(maxInFlight: 8, startingRate: 1.0 / 3600)
        #expect(pace.sendAlone(from: 0, until: 1000) == [0, 0])
        pace.resumed(at: at(60_000))
        #expect(pace.rate == nil)
        #expect(pace.room(at: 60_000) == 8, "a probe, beside what is in flight")
        pace.sent(at: at(60_000))
        #expect(pace.answer(at: at(60_000), inFlight: 1) == .afterAnEnd)
        pace.acknowledged(sentAt: at(60_000), at: at(60_050))
        for room in [2, 3, 4] {
            #expect(pace.room(at: 60_050) == room)
            pace.admit(at: 60_050)
        }
    }

    @Test("a resume by hand that keeps the rate also sends one request at once, then continues at that rate")
    func resumedKeepingRate() {
        var pace = SendPace(maxInFlight: 8, startingRate: 0.5)
        #expect(pace.sendAlone(from: 0, until: 1000) == [0, 0])
        pace.resumed(keepingRate: true, at: at(1000))
        #expect(pace.rate == 0.5)
        #expect(pace.sendAlone(from: 1000, until: 4000) == [1000, 3000])
    }

    @Test(
        "a resume by hand separates the measurements before and after it: in a pause, beside a probe, or later",
        arguments: [500, 1000, 2500])
    func resumedIsMeasuredAnew(instant: Int64) {
        var pace = SendPace(maxInFlight: 8)
        pace.pauseForASecond()
        if instant == 1000 { pace.sent(at: at(1000)) }
        if instant > 1000 { pace.admit(at: 1000) }
        pace.resumed(at: at(instant))
        if instant != 1000 { pace.sent(at: at(instant)) }
        pace.acknowledged(sentAt: at(instant), at: at(instant))
        pace.sent(at: at(3000))
        pace.pauseForASecond(at: 3000)
        pace.admit(at: 4000)
        #expect(pace.rate == nil)
    }

    @Test("a measurement of admissions does not span a pause from elsewhere")
    func interrupted() {
        var pace = SendPace(maxInFlight: 8)
        pace.pauseForASecond()
        pace.admit(at: 1000)
        pace.paused(until: at(5000))
        pace.admit(at: 5000)
        pace.pauseForASecond(at: 5000)
        pace.admit(at: 6000)
        #expect(pace.rate == nil)
    }

    @Test("a measurement of admissions does not span an idle time", arguments: [(10_000, true), (10_001, false)])
    func idle(gap: Int64, isMeasured: Bool) {
        // An idle time after the probe, and then one before it.
        var pace = SendPace(maxInFlight: 8)
        pace.runThatEnds(after: gap)
        #expect((pace.rate != nil) == isMeasured)

        var late = SendPace(maxInFlight: 8)
        late.pauseForASecond()
        late.admit(at: 1000 + gap)
        late.pauseForASecond(at: 1000 + gap)
        late.admit(at: 2000 + gap)
        #expect((late.rate != nil) == isMeasured)
    }

    @Test(
        "below one request per second, a gap counts as idle time if ten requests would take less",
        arguments: [(49_999, true), (50_001, false)])
    func idleAtASlowRate(gap: Int64, isMeasured: Bool) {
        var pace = SendPace(maxInFlight: 8, startingRate: 0.2)
        pace.runThatEnds(after: gap)
        #expect((pace.rate != 0.2) == isMeasured)
    }

    // MARK: The rate

    @Test("requests that gathered during the pause are sent at once after it, later ones a little below the rate")
    func catchUp() {
        var pace = knowsTen()
        // The requests of half a second: five, including the probe.
        let sent = pace.sendAlone(from: 1000, until: 1500)
        #expect(sent == [1000, 1000, 1000, 1000, 1100, 1201, 1301, 1402])
    }

    @Test(
        "after an idle time two requests may go at once, or as many as the rate allows in a 50th of a second, if more"
    )
    func lateTimer() {
        var pace = SendPace(maxInFlight: 8, startingRate: 10)
        _ = pace.sendAlone(from: 0, until: 100)
        #expect(pace.sendAlone(from: 5000, until: 5050) == [5000, 5000])
        var fast = SendPace(maxInFlight: 8, startingRate: 5000, maxRate: 5000)
        var together = 0
        while fast.answer(at: at(500), inFlight: 0) == .now {
            fast.sent(at: at(500))
            together += 1
        }
        #expect(together == 99)
    }

    @Test("without 429s, the rate rises to at most one request per nanosecond")
    func fastest() {
        var pace = knowsTen()
        for _ in 0..<50_000 {
            pace.admit(at: 2000)
        }
        #expect(pace.rate == 1e9)
    }

    @Test("a pace that held no request back does not rise")
    func notHeldBack() {
        var pace = SendPace(maxInFlight: 8, startingRate: 10)
        for second in Int64(1)...200 {
            pace.admit(at: second * 1000)
        }
        #expect(pace.sendAlone(from: 201_000, until: 202_000).count == 11)
    }

    @Test("the pace learns from each run only once")
    func learnedOnce() {
        var pace = knowsTen()
        let rate = pace.rate
        pace.paused(until: at(2000))
        pace.acknowledged(sentAt: at(1000), at: at(1100))
        pace.admit(at: 2000)
        #expect(pace.rate == rate)
        // A pause without a 429 does not let requests gather either.
        #expect(pace.answer(at: at(2000), inFlight: 0) == .notBefore(MonotonicInstant(nanoseconds: 2_100_502_514)))
    }
}
