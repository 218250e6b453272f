import Testing

@testable import Resilience

private let now = Instant.second(0)

@Suite struct TripRuleTests {
    @Test(
        "what each verdict says about an endpoint, to a rule on failures and to a rule on 429s",
        arguments: [
            (.success, .healthy, .healthy), (.transient, .failing, .none), (.uncertain, .failing, .none),
            (.throttled, .none, .failing), (.throttled(retryAfter: .seconds(9)), .none, .failing),
            (.permanent, .healthy, .none), (.rejected, .none, .none), (.cancelled, .none, .none),
        ] as [(Verdict, Evidence, Evidence)])
    func evidence(verdict: Verdict, ofFailures: Evidence, ofThrottles: Evidence) {
        #expect(ConsecutiveFailures.consecutiveFailures(5).evidence(of: verdict) == ofFailures)
        #expect(ConsecutiveFailures.consecutiveThrottles(3).evidence(of: verdict) == ofThrottles)
    }

    @Test(
        "it opens on the nth failure in a row: a success in between sets the count back, nothing else does",
        arguments: [
            ("fff", 3, true), ("ff", 2, false), ("ffs", 0, false), ("ffsff", 2, false), ("ffsfff", 3, true),
            ("f-f-", 2, false), ("f-f-f", 3, true), ("ffff", 4, true), ("", 0, false), ("sss", 0, false),
        ])
    func counting(history: String, count: Int, opens: Bool) {
        var rule = ConsecutiveFailures.consecutiveFailures(3)
        var opened = false
        for letter in history {
            opened = rule.ended(letter == "f" ? .transient : letter == "s" ? .success : .throttled)
        }
        #expect(rule.failureCount == count && opened == opens)
        #expect(rule.needs == (count == 0 ? [] : .successes) && rule.counts(at: now).failureLimit == 3)
    }

    @Test(
        "a limit of one opens on the first failure, the greatest on none that could ever come", arguments: [1, Int.max])
    func limits(limit: Int) {
        var rule = ConsecutiveFailures.consecutiveFailures(limit)
        #expect(rule.ended(.transient) == (limit == 1))
    }

    @Test("what a verdict means can be chosen")
    func chosen() {
        let rule = ConsecutiveFailures(2, failing: [.permanent], healthy: [.success, .transient])
        #expect(rule.evidence(of: .permanent) == .failing && rule.evidence(of: .transient) == .healthy)
        #expect("\(rule)" == "opens on 2 in a row of permanent")
    }

    @Test("a reset forgets the count")
    func reset() {
        var rule = ConsecutiveFailures.consecutiveFailures(2)
        _ = rule.ended(.transient)
        rule.reset()
        #expect(rule.failureCount == 0 && !rule.ended(.transient))
    }

    @Test("a limit of zero is refused with a message that names it")
    func zero() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ConsecutiveFailures.consecutiveFailures(0)
        }
        #expect(errorText(result).contains("limit is 0, and must be at least 1"))
    }
}

@Suite struct BreakDurationTests {
    @Test(
        "breaks of 30 s double with every trip up to 300 s: 30, 60, 120, 240, 300",
        arguments: [
            (0, 30), (1, 60), (2, 120), (3, 240), (4, 300), (5, 300), (61, 300), (62, 300), (63, 300), (1_000_000, 300),
            (.max, 300), (-1, 30), (.min, 30),
        ])
    func standard(trips: Int, seconds: Int) {
        #expect(GrowingBreak.exponential().duration(afterTrips: trips) == .seconds(seconds))
    }

    @Test("the multiplier is limited apart from the cap")
    func multiplier() {
        let length = GrowingBreak.exponential(from: .seconds(10), maxMultiplier: 10, cap: .seconds(300))
        #expect((0..<6).map { length.duration(afterTrips: $0) } == [10, 20, 40, 80, 100, 100].map { .seconds($0) })
    }

    @Test("each of the two limits holds without the other")
    func limits() {
        #expect(GrowingBreak.exponential(cap: .seconds(3600)).duration(afterTrips: 9) == .seconds(300))
        #expect(GrowingBreak.exponential(maxMultiplier: 99).duration(afterTrips: 9) == .seconds(300))
    }

    @Test("without limits it doubles as long as 64 bits allow, and then stays")
    func withoutLimits() {
        let length = GrowingBreak.exponential(from: .nanoseconds(1), maxMultiplier: .max, cap: .infinite)
        let breaks = [61, 62, 63, 64].map { length.duration(afterTrips: $0).saturatedNanoseconds }
        #expect(breaks == [1 << 61, 1 << 62, .max, .max])
    }

    @Test("a break is never negative, never above its cap, and never shorter than the one before")
    func bounds() {
        var random = SeededNumbers(seed: 31)
        for _ in 0..<5000 {
            let cap = Duration.nanoseconds(random.wideNatural())
            let length = GrowingBreak.exponential(
                from: .nanoseconds(random.wideNatural()), maxMultiplier: Int(max(1, random.wideNatural())), cap: cap)
            let breaks = [0, 1, 2, 30, 61, 62, 63, 64, 1000, .max].map { length.duration(afterTrips: $0) }
            #expect(breaks == breaks.sorted() && breaks[0] >= .zero && breaks[9] <= cap)
        }
    }

    @Test("bases and caps of zero or without end do not trap")
    func ends() {
        let ends: [Duration] = [.zero, Duration(attoseconds: 1), .seconds(Int64.max), Duration(attoseconds: .max)]
        for base in ends {
            for cap in ends {
                let length = GrowingBreak.exponential(from: base, cap: cap).duration(afterTrips: 70)
                #expect(length >= .zero && length <= cap)
            }
        }
        #expect(ConstantBreak.constant(.zero).duration(afterTrips: .max) == .zero)
    }

    @Test("a negative length is refused with a message that names it")
    func negative() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ConstantBreak.constant(.seconds(-1))
        }
        #expect(errorText(result).contains("length is -1.0 seconds, and must not be negative"))
    }

    @Test("a negative base is refused with a message that names it")
    func negativeBase() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = GrowingBreak.exponential(from: .seconds(-2))
        }
        #expect(errorText(result).contains("base is -2.0 seconds, and must not be negative"))
    }

    @Test("a negative cap is refused with a message that names it")
    func negativeCap() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = GrowingBreak.exponential(cap: .seconds(-3))
        }
        #expect(errorText(result).contains("cap is -3.0 seconds, and must not be negative"))
    }

    @Test("a multiplier of zero is refused with a message that names it")
    func zeroMultiplier() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = GrowingBreak.exponential(maxMultiplier: 0)
        }
        #expect(errorText(result).contains("maxMultiplier is 0, and must be at least 1"))
    }
}
