import TestSupport
import Testing

@testable import Resilience

@Suite struct BreakDurationTests {
    @Test(
        "breaks of 30 s double with every trip up to 300 s: 30, 60, 120, 240, 300 (B4)",
        arguments: [
            (0, 30), (1, 60), (2, 120), (3, 240), (4, 300), (5, 300), (61, 300), (62, 300), (63, 300), (1_000_000, 300),
            (.max, 300), (-1, 30), (.min, 30),
        ])
    func standard(trips: Int, seconds: Int) {
        #expect(GrowingBreak.exponential().duration(afterTrips: trips) == .seconds(seconds))
    }

    @Test("a constant break can be written as a duration")
    func asADuration() {
        func length(_ breakDuration: some BreakDuration) -> Duration? { breakDuration.longest }
        #expect(length(.seconds(90)) == .seconds(90))
        #expect(length(.seconds(1.5)) == .milliseconds(1500))
        #expect(length(.milliseconds(20)) == .milliseconds(20))
        #expect(length(.standard) == .seconds(60))
        #expect(length(.seconds(.infinity)) == .nanoseconds(Int64.max))
        let limit = 2.5
        #expect(CircuitBreaker(openFor: .seconds(limit)).status.isAllowed)
    }

    @Test("a negative or undefined number of seconds is rejected", arguments: [-1.0, -.infinity, .nan])
    func noDuration(seconds: Double) {
        #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked { CircuitBreaker(openFor: .seconds(seconds)) }
        }
        #expect(throws: InvalidSettings.self) { try PolicySettings.checked { CircuitBreaker(openFor: .seconds(-1)) } }
    }

    @Test("the multiplier limits a break independently of the cap")
    func multiplier() {
        let length = GrowingBreak.exponential(from: .seconds(10), maxMultiplier: 10, cap: .seconds(300))
        #expect((0..<6).map { length.duration(afterTrips: $0) } == [10, 20, 40, 80, 100, 100].map { .seconds($0) })
    }

    @Test("the default maxMultiplier alone limits a break, and so does the default cap alone")
    func limits() {
        #expect(GrowingBreak.exponential(cap: .seconds(3600)).duration(afterTrips: 9) == .seconds(300))
        #expect(GrowingBreak.exponential(maxMultiplier: 99).duration(afterTrips: 9) == .seconds(300))
    }

    @Test("without limits a break doubles up to the largest 64-bit number of nanoseconds, and no further")
    func withoutLimits() {
        let length = GrowingBreak.exponential(from: .nanoseconds(1), maxMultiplier: .max, cap: .infinite)
        let breaks = [61, 62, 63, 64].map { length.duration(afterTrips: $0).saturatedNanoseconds }
        #expect(breaks == [1 << 61, 1 << 62, .max, .max])
    }

    @Test("a break is never negative, never above its cap, and never shorter than the previous break")
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

    @Test("zero and endless bases and caps do not trap")
    func ends() {
        let ends: [Duration] = [.zero, Duration(attoseconds: 1), .seconds(Int64.max), Duration(attoseconds: .max)]
        for base in ends {
            for cap in ends {
                let length = GrowingBreak.exponential(from: base, cap: cap).duration(afterTrips: 70)
                #expect(length >= .zero && length <= cap.inNanoseconds)
            }
        }
        #expect(ConstantBreak.constant(.zero).duration(afterTrips: .max) == .zero)
    }

    @Test(
        "a linear break grows by its base with every trip, up to its cap: 30, 60, 90 … 300 s",
        arguments: [(0, 30), (1, 60), (2, 90), (8, 270), (9, 300), (10, 300), (.max, 300), (-1, 30), (.min, 30)])
    func linear(trips: Int, seconds: Int) {
        #expect(GrowingBreak.linear().duration(afterTrips: trips) == .seconds(seconds))
    }

    @Test("without a cap a linear break grows to the largest 64-bit number of nanoseconds, and no further")
    func linearWithoutCap() {
        let length = GrowingBreak.linear(from: .nanoseconds(1), cap: .infinite)
        #expect(length.duration(afterTrips: .max - 1) == .nanoseconds(Int64.max))
        #expect(length.duration(afterTrips: .max) == .nanoseconds(Int64.max))
    }

    @Test(
        "a break lasts for the failure's Retry-After, up to the cap; without a Retry-After it lasts as usual (P44)",
        arguments: [
            (.throttled(retryAfter: .seconds(7)), .seconds(7)), (.throttled(retryAfter: .zero), .seconds(60)),
            (.throttled(retryAfter: .seconds(3600)), .seconds(3600)),
            (.throttled(retryAfter: .seconds(3601)), .seconds(3600)),
            (.throttled(retryAfter: .infinite), .seconds(3600)), (.throttled, .seconds(60)),
            (.transient, .seconds(60)), (nil, .seconds(60)),
        ] as [(Verdict?, Duration)])
    func retryAfter(verdict: Verdict?, length: Duration) {
        let generator = SplitMix64(seed: 1)
        #expect(
            RetryAfterBreak.retryAfter().duration(of: CircuitTrip(earlier: 1, verdict: verdict), using: generator)
                == length)
    }

    @Test("with a cap of zero, a failure's Retry-After makes a break of zero")
    func noRetryAfter() {
        let trip = CircuitTrip(earlier: 0, verdict: .throttled(retryAfter: .seconds(9)))
        #expect(RetryAfterBreak.retryAfter(cap: .zero).duration(of: trip, using: SplitMix64(seed: 1)) == .zero)
    }

    @Test("after a negative Retry-After the break lasts as usual, and is not zero (P15)")
    func negativeRetryAfter() {
        let trip = CircuitTrip(earlier: 1, verdict: .throttled(retryAfter: .seconds(-1)))
        #expect(RetryAfterBreak.retryAfter().duration(of: trip, using: SplitMix64(seed: 1)) == .seconds(60))
    }

    private func drawn(_ length: some BreakDuration, by share: Double) -> [Duration] {
        (0..<2000).map { length.jittered(by: share).duration(of: CircuitTrip(earlier: 0), using: SplitMix64(seed: $0)) }
    }

    @Test("jitter spreads breaks over its whole share, and no further", arguments: [0.2, 0.5, 1])
    func spread(share: Double) throws {
        let lengths = drawn(.constant(.seconds(100)), by: share)
        let (least, most) = (try #require(lengths.min()), try #require(lengths.max()))
        #expect(.seconds(100 - 100 * share) <= least && least < .seconds(100 - 99 * share))
        #expect(.seconds(100 + 99 * share) < most && most <= .seconds(100 + 100 * share))
        #expect(Set(lengths).count > 1900)
    }

    @Test("jitter changes nothing if its share is zero, or if the break is zero")
    func noSpread() {
        #expect(Set(drawn(.constant(.seconds(100)), by: 0)) == [.seconds(100)])
        #expect(Set(drawn(.constant(.zero), by: 1)) == [.zero])
    }

    @Test("jitter on the longest break does not trap, and does not make the break negative", arguments: [0, 0.2, 1])
    func endlessSpread(share: Double) {
        for longest in [Duration.infinite, .nanoseconds(Int64.max), .nanoseconds(Int64.max - 1)] {
            #expect(drawn(.constant(longest), by: share).allSatisfy { $0 >= .zero })
        }
    }

    @Test("jitter applies to the grown break, and treats a negative break as zero")
    func jitteredOthers() {
        #expect(GrowingBreak.linear().jittered(by: 0).duration(afterTrips: 2) == .seconds(90))
        #expect(Set(drawn(NegativeBreak(), by: 1)) == [.zero])
    }

    @Test("each break describes its length")
    func descriptions() {
        #expect("\(ConstantBreak.constant(.seconds(60)))" == "for 60 s")
        #expect("\(GrowingBreak.exponential())" == "for 30 s × 2ⁿ up to 300 s")
        #expect("\(GrowingBreak.exponential(maxMultiplier: 2))" == "for 30 s × 2ⁿ up to 60 s")
        #expect("\(GrowingBreak.linear())" == "for 30 s × n up to 300 s")
        #expect("\(ConstantBreak.constant(.seconds(60)).jittered())" == "for 60 s ± 0.2")
        #expect(
            "\(RetryAfterBreak.retryAfter(otherwise: .constant(.seconds(60))))"
                == "for as long as asked, up to 3600 s, else for 60 s")
    }
}
