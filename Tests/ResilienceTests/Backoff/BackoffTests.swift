import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite struct BackoffTests {
    private var generator = SeededGenerator(seed: 1)

    private func delays(_ backoff: Backoff, _ count: Int) -> [Duration] {
        var generator = generator
        return (0..<count).map { backoff.delay(beforeRetry: $0, using: &generator) }
    }

    @Test(
        "each kind of backoff grows by its formula, up to its cap",
        arguments: [
            (.none, [0, 0, 0]),
            (.constant(.seconds(3)), [3, 3, 3]),
            (.linear(.seconds(2), cap: .seconds(5)), [2, 4, 5, 5]),
            (.exponential(from: .seconds(1), cap: .seconds(6), jitter: .none), [1, 2, 4, 6, 6]),
            (.exponential(from: .seconds(1), factor: 3, cap: .seconds(30), jitter: .none), [1, 3, 9, 27, 30]),
            (.exponential(from: .seconds(4), factor: 1, jitter: .none), [4, 4, 4]),
            (.exponential(from: .seconds(9), cap: .seconds(5), jitter: .none), [5, 5]),
            (.sequence([.seconds(1), .seconds(5), .seconds(2)]), [1, 5, 2, 2, 2]),
        ] as [(Backoff, [Int])])
    func growth(backoff: Backoff, seconds: [Int]) {
        #expect(delays(backoff, seconds.count) == seconds.map { .seconds($0) })
    }

    @Test(
        "each kind of jitter spreads delays over its whole range",
        arguments: [
            (.none, 4_000, 4_000), (.full, 0, 4_000), (.equal, 2_000, 4_000), (.proportional(0.25), 3_000, 5_000),
            (.proportional(0), 4_000, 4_000), (.proportional(1), 0, 8_000), (.decorrelated, 1_000, 6_000),
        ] as [(Backoff.Jitter, Int, Int)])
    func jitterRange(jitter: Backoff.Jitter, least: Int, greatest: Int) {
        let backoff = Backoff.exponential(from: .seconds(1), cap: .seconds(20), jitter: jitter)
        var generator = generator
        let delays = (0..<5000).map { _ in backoff.delay(beforeRetry: 2, previous: .seconds(2), using: &generator) }
        let (low, high) = (Duration.milliseconds(least), Duration.milliseconds(greatest))
        #expect(delays.allSatisfy { low <= $0 && $0 <= high })
        #expect(delays.min()! <= low + (high - low) / 100 && delays.max()! >= high - (high - low) / 100)
    }

    @Test(
        "if the base is above the cap, a decorrelated delay is the cap, whatever the previous delay (P14)")
    mutating func decorrelatedEnds() {
        let small = Backoff.exponential(from: .seconds(9), cap: .seconds(5), jitter: .decorrelated)
        #expect(small.delay(beforeRetry: 0, using: &generator) == .seconds(5))
        #expect(small.delay(beforeRetry: 1, previous: .seconds(Int64.max), using: &generator) == .seconds(5))
        #expect(small.delay(beforeRetry: 1, previous: .seconds(-1), using: &generator) == .seconds(5))
    }

    @Test("decorrelated delays reach three times the base after a delay of zero, and the cap after a huge delay")
    mutating func decorrelatedReach() {
        let backoff = Backoff.exponential(from: .seconds(1), cap: .seconds(20), jitter: .decorrelated)
        for (previous, greatest) in [(Duration.zero, 3), (.nanoseconds(Int64.max / 2), 20)] {
            let delays = (0..<1000).map { _ in backoff.delay(beforeRetry: 1, previous: previous, using: &generator) }
            #expect(delays.max()! > .milliseconds(greatest * 1000 - 200) && delays.max()! <= .seconds(greatest))
        }
    }

    @Test("doubling is exact up to 64 bits, and then stops at the cap")
    func exactDoubling() {
        let backoff = Backoff.exponential(from: .nanoseconds(1), cap: .infinite, jitter: .none)
        #expect(delays(backoff, 65).map(\.saturatedNanoseconds) == (0..<63).map { 1 << $0 } + [.max, .max])
    }

    @Test(
        "after very many retries a linear delay is the cap", arguments: [1 << 33, 1 << 34, 1 << 40, Int.max - 1, .max])
    mutating func farLinear(retry: Int) {
        #expect(Backoff.linear(.seconds(2)).delay(beforeRetry: retry, using: &generator) == .seconds(20))
    }

    @Test("after very many retries an exponential delay that began at zero is still zero", arguments: [1, 1.5, 2, 3])
    mutating func farZero(factor: Double) {
        let backoff = Backoff.exponential(from: .zero, factor: factor, jitter: .none)
        for retry in [63, 64, 2000, .max] { #expect(backoff.delay(beforeRetry: retry, using: &generator) == .zero) }
    }

    @Test("with proportional jitter the shortest delay is zero, not negative, even if a double rounds the delay up")
    func proportionalRounding() {
        // Not an empty struct: the thread sanitizer fails on an empty value that is passed inout.
        struct Always: RandomNumberGenerator {
            let number: UInt64

            func next() -> UInt64 { number }
        }
        var lowest = Always(number: 1)
        let backoff = Backoff.constant(.nanoseconds((1 << 53) + 3), jitter: .proportional(1))
        #expect(backoff.delay(beforeRetry: 0, using: &lowest) == .zero)
    }

    @Test("proportional jitter spreads a huge delay")
    mutating func proportionalOfHuge() {
        let backoff = Backoff.linear(.nanoseconds(Int64.max / 4 * 3), cap: .infinite, jitter: .proportional(0.5))
        let delays = (0..<100).map { _ in backoff.delay(beforeRetry: 0, using: &generator) }
        #expect(Set(delays).count > 90)
    }

    @Test(
        "a delay of zero stays zero with jitter (P14)",
        arguments: [Backoff.Jitter.none, .full, .equal, .decorrelated, .proportional(0.5)])
    func zeroDelay(jitter: Backoff.Jitter) {
        let backoffs: [Backoff] = [
            .constant(.zero, jitter: jitter), .linear(.zero, jitter: jitter),
            .exponential(from: .zero, jitter: jitter), .exponential(from: .zero, factor: 1.5, jitter: jitter),
            .sequence([.zero], jitter: jitter), .exponential(from: .seconds(1), cap: .zero, jitter: jitter),
        ]
        for backoff in backoffs { #expect(delays(backoff, 3) == [.zero, .zero, .zero]) }
    }

    @Test(
        "when delays reach the cap, jitter spreads them below it, so clients do not retry at the same time (P14)",
        arguments: [7, 8, 9])
    func spreadAtTheCap(seed: UInt64) {
        for jitter in [Backoff.Jitter.full, .equal, .decorrelated, .proportional(0.25)] {
            var generator = SeededGenerator(seed: seed)
            let backoff = Backoff.exponential(from: .seconds(1), cap: .seconds(20), jitter: jitter)
            let delays = (0..<1000).map { _ in
                backoff.delay(beforeRetry: 40, previous: .seconds(5), using: &generator)
            }
            #expect(delays.allSatisfy { $0 <= .seconds(20) })
            #expect(delays.count { $0 == .seconds(20) } < 10, "\(jitter)")
        }
    }

    @Test("the mean of full jitter is the middle of its range")
    func fullJitterMean() {
        var generator = SeededGenerator(seed: 4)
        let backoff = Backoff.exponential(from: .seconds(1), jitter: .full)
        let sum = (0..<10_000).reduce(Duration.zero) { sum, _ in sum + backoff.delay(beforeRetry: 0, using: &generator)
        }
        #expect((.milliseconds(490)...(.milliseconds(510))).contains(sum / 10_000))
    }

    @Test("the same seed gives the same delays, and another seed gives different delays")
    func seeded() {
        func delays(seed: UInt64) -> [Duration] {
            var generator = SeededGenerator(seed: seed)
            return (0..<20).map { Backoff.exponential().delay(beforeRetry: $0, using: &generator) }
        }
        #expect(delays(seed: 1) == delays(seed: 1))
        #expect(delays(seed: 1) != delays(seed: 2))
    }

    @Test(
        "after more attempts than a double's exponent can hold, the delay is the cap, not zero (P13)",
        arguments: [2, 1.5, 10])
    func manyAttempts(factor: Double) {
        let backoff = Backoff.exponential(from: .milliseconds(50), factor: factor, jitter: .none)
        for retry in [64, 1024, 1025, 1026, 1_000_000, .max] {
            var generator = generator
            #expect(backoff.delay(beforeRetry: retry, using: &generator) == .seconds(20))
        }
    }

    @Test("a sequence that has ended repeats its last delay, even with .stop, which only reports the end")
    func sequenceEnd() {
        for end in [Backoff.SequenceEnd.repeatLast, .stop] {
            let backoff = Backoff.sequence([.seconds(1), .seconds(5)], atEnd: end)
            #expect(delays(backoff, 4) == [.seconds(1), .seconds(5), .seconds(5), .seconds(5)])
            #expect((0..<4).map { backoff.hasEnded(beforeRetry: $0) } == [false, false, end == .stop, end == .stop])
        }
        #expect(!Backoff.exponential().hasEnded(beforeRetry: .max))
    }

    @Test("a custom delay is its function's result, but never below zero or above the cap")
    mutating func custom() {
        let backoff = Backoff.custom(cap: .seconds(9)) { retry, previous in .seconds(retry * 4 - 4) + previous }
        #expect(delays(backoff, 5) == [.zero, .zero, .seconds(4), .seconds(8), .seconds(9)])
        #expect(backoff.delay(beforeRetry: 2, previous: .seconds(1), using: &generator) == .seconds(5))
        let endless = Backoff.custom(cap: .infinite) { _, _ in Duration(attoseconds: .max) }
        #expect(endless.delay(beforeRetry: 0, using: &generator) == .nanoseconds(Int64.max))
    }

    @Test("isCustom recognises a custom backoff, which a throttle does not accept for its holds")
    func isCustom() {
        #expect(Backoff.custom { _, _ in .zero }.isCustom)
        #expect(!Backoff.constant(.seconds(1)).isCustom && !Backoff.none.isCustom)
    }

    @Test("jitter also spreads a custom delay")
    mutating func customJitter() {
        let backoff = Backoff.custom(jitter: .equal) { _, _ in .seconds(8) }
        let delays = (0..<1000).map { _ in backoff.delay(beforeRetry: 0, using: &generator) }
        #expect(delays.min()! < .milliseconds(4_050) && delays.min()! >= .seconds(4) && delays.max()! <= .seconds(8))
    }

    @Test("a custom backoff equals only its copies; other backoffs are compared by their settings")
    func equality() {
        let custom = Backoff.custom { _, _ in .zero }
        let copy = custom
        #expect(custom == copy && custom != .custom { _, _ in .zero } && Set([custom, copy]).count == 1)
        let repeating = Backoff.sequence([.zero])
        #expect(repeating == Backoff.sequence([.zero]) && repeating != Backoff.sequence([.zero], atEnd: .stop))
    }

    @Test("each delay draws one random number if it has jitter, and no random number otherwise")
    func draws() {
        struct Counting: RandomNumberGenerator {
            var count = 0

            mutating func next() -> UInt64 {
                count += 1
                return .max
            }
        }
        for (jitter, count) in [(Backoff.Jitter.none, 0), (.full, 1), (.equal, 1), (.decorrelated, 1)] {
            var generator = Counting()
            let backoff = Backoff.exponential(from: .seconds(4), jitter: jitter)
            // The largest random number gives the largest delay.
            let delay = backoff.delay(beforeRetry: 0, using: &generator)
            #expect(delay == .seconds(jitter == .decorrelated ? 12 : 4) && generator.count == count)
        }
    }

    @Test("every delay of a small range is equally likely")
    func uniform() {
        var generator = generator
        let backoff = Backoff.constant(.nanoseconds(4), jitter: .full)
        var counts = [Int](repeating: 0, count: 5)
        for _ in 0..<50_000 {
            counts[Int(backoff.delay(beforeRetry: 0, using: &generator).saturatedNanoseconds)] += 1
        }
        #expect(counts.allSatisfy { (9_600...10_400).contains($0) }, "\(counts)")
    }

    @Test("a negative retry number counts as the first retry")
    mutating func negativeRetry() {
        let backoff = Backoff.exponential(from: .seconds(1), jitter: .none)
        #expect(backoff.delay(beforeRetry: -5, using: &generator) == .seconds(1))
        #expect(backoff.delay(beforeRetry: .min, using: &generator) == .seconds(1))
    }

    @Test("the description names the kind, the base, the cap and the jitter")
    func description() {
        #expect("\(Backoff.constant(.seconds(1)))" == "constant 1 s")
        #expect("\(Backoff.linear(.seconds(1)))" == "linear 1 s up to 20 s")
        #expect("\(Backoff.exponential())" == "exponential 50 ms × 2.0ⁿ up to 20 s, full jitter")
        #expect("\(Backoff.sequence([.seconds(1)]))" == "1 s")
        #expect("\(Backoff.sequence([.seconds(1)], atEnd: .stop))" == "1 s and no more")
        #expect("\(Backoff.custom { _, _ in .zero })" == "custom up to 20 s")
    }
}

@Suite struct BackoffWalkTests {
    private static let bases: [Duration] = [
        .zero, Duration(attoseconds: 1), .nanoseconds(1), .milliseconds(50), .seconds(1), .seconds(86_400 * 365 * 200),
        .nanoseconds(Int64.max), .seconds(Int64.max), Duration(attoseconds: .max),
    ]
    private static let jitters: [Backoff.Jitter] = [
        .none, .full, .equal, .decorrelated, .proportional(0), .proportional(0.2), .proportional(1),
    ]

    @Test(
        "no delay is negative or above the cap, for any kind, base, cap, jitter and attempt (P13)",
        arguments: jitters)
    func bounds(jitter: Backoff.Jitter) {
        var random = SeededNumbers(seed: 11)
        var wrong = 0
        for _ in 0..<20_000 {
            let (base, cap) = (random.pick(Self.bases), random.pick(Self.bases))
            let factor = random.pick([1, 1.0000001, 1.5, 2, 3, 1e9, Double.greatestFiniteMagnitude])
            let (backoff, limit) =
                switch random.below(4) {
                case 0: (Backoff.constant(base, jitter: jitter), base)
                case 1: (.linear(base, cap: cap, jitter: jitter), cap)
                case 2: (.sequence([base, cap], jitter: jitter), max(base, cap))
                default: (.exponential(from: base, factor: factor, cap: cap, jitter: jitter), cap)
                }
            let previous = Duration.nanoseconds(random.wide())
            let delay = backoff.delay(beforeRetry: random.below(1_000_001), previous: previous, using: &random)
            let ceiling = Duration.nanoseconds(limit.saturatedNanoseconds)
            if delay < .zero || delay > ceiling { wrong += 1 }
        }
        #expect(wrong == 0)
    }

    @Test("without jitter, a later retry never waits less than an earlier retry", arguments: bases)
    func neverShrinks(base: Duration) {
        var random = SeededNumbers(seed: 12)
        for factor in [1, 1.1, 2, 7.5] {
            let backoff = Backoff.exponential(from: base, factor: factor, cap: .seconds(3600), jitter: .none)
            let delays = (0..<200).map { backoff.delay(beforeRetry: $0, using: &random) }
            #expect(delays == delays.sorted())
        }
    }
}

@Suite struct SplitMix64Tests {
    @Test("the random numbers match the published algorithm")
    func reference() {
        let generator = SplitMix64(seed: 1_234_567)
        let published: [UInt64] = [
            6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
            4_593_380_528_125_082_431, 16_408_922_859_458_223_821,
        ]
        #expect(published.map { _ in generator.next() } == published)
    }

    @Test("concurrent tasks never draw the same random number")
    func concurrent() async {
        let generator = SplitMix64(seed: 5)
        let numbers = await withTaskGroup(of: [UInt64].self) { group in
            for _ in 0..<8 { group.addTask { (0..<1000).map { _ in generator.next() } } }
            return await group.reduce(into: Set()) { $0.formUnion($1) }
        }
        #expect(numbers.count == 8000)
    }
}
