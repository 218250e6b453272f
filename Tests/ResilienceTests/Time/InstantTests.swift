import Resilience
import TestSupport
import Testing

/// More than `Duration.components` can represent without trapping.
private let beyondComponents = Duration(attoseconds: .max)

@Suite struct InstantTests {
    @Test(
        "an instant that is moved past the end of time stays at the end instead of trapping",
        arguments: [
            (.zero, .seconds(1), MonotonicInstant(nanoseconds: 1_000_000_000)),
            (.zero, .seconds(-1), MonotonicInstant(nanoseconds: -1_000_000_000)),
            (.max, .nanoseconds(1), .distantFuture),
            (.min, .nanoseconds(-1), .distantPast),
            (1, .seconds(Int64.max), .distantFuture),
            (1, beyondComponents, .distantFuture),
            (-1, Duration(attoseconds: .min), .distantPast),
            (.max, Duration(attoseconds: .min), MonotonicInstant(nanoseconds: -1)),
            (.min, beyondComponents, MonotonicInstant(nanoseconds: -1)),
        ] as [(Int64, Duration, MonotonicInstant)])
    func advanced(from: Int64, by duration: Duration, to expected: MonotonicInstant) {
        #expect(MonotonicInstant(nanoseconds: from) + duration == expected)
    }

    @Test(
        "the duration between two instants saturates instead of trapping",
        arguments: [
            (0, 5, 5), (5, 0, -5), (.min, .max, .max), (.max, .min, .min), (-1, .max, .max), (1, .min, .min),
            (.max, .max, 0),
        ] as [(Int64, Int64, Int64)])
    func duration(from: Int64, to: Int64, expected: Int64) {
        #expect(
            MonotonicInstant(nanoseconds: from).duration(to: MonotonicInstant(nanoseconds: to))
                == .nanoseconds(expected))
    }

    @Test("the distant future is later than every other instant, and the distant past earlier")
    func order() {
        let instants = [MonotonicInstant.distantFuture, MonotonicInstant(nanoseconds: 0), .distantPast, .second(1)]
        #expect(instants.sorted() == [.distantPast, MonotonicInstant(nanoseconds: 0), .second(1), .distantFuture])
    }

    @Test("advancing by a duration is reversible, except at an end of time")
    func roundTrips() throws {
        var generator = SeededNumbers(seed: 1)
        for _ in 0..<10_000 {
            let start = MonotonicInstant(nanoseconds: generator.wide())
            let length = Duration.nanoseconds(generator.wide())
            let there = start + length
            let isEnd = there == .distantFuture || there == .distantPast
            try #require(isEnd || start.duration(to: there) == length)
        }
    }
}

@Suite struct DurationTests {
    @Test(
        "nanoseconds are rounded up, so that no positive wait becomes zero",
        arguments: [
            (Duration.zero, 0), (.nanoseconds(1), 1), (Duration(attoseconds: 1), 1), (Duration(attoseconds: -1), 0),
            (Duration(attoseconds: 1_000_000_001), 2), (Duration(attoseconds: -1_000_000_001), -1),
            (.milliseconds(-1500), -1_500_000_000), (.seconds(1) + Duration(attoseconds: 1), 1_000_000_001),
        ] as [(Duration, Int64)])
    func rounding(duration: Duration, nanoseconds: Int64) {
        #expect(duration.saturatedNanoseconds == nanoseconds)
    }

    @Test(
        "a duration too long for nanoseconds saturates instead of trapping (P13)",
        arguments: [
            (.nanoseconds(Int64.max), .max), (.nanoseconds(Int64.min), .min),
            (.nanoseconds(Int64.max) - .nanoseconds(1), .max - 1),
            (.nanoseconds(Int64.min) + .nanoseconds(1), .min + 1),
            (.nanoseconds(Int64.max) - Duration(attoseconds: 1), .max),
            (.seconds(Int64.max), .max), (.seconds(Int64.min), .min), (.seconds(1e20), .max), (.seconds(-1e20), .min),
            (beyondComponents, .max), (Duration(attoseconds: .min), .min),
        ] as [(Duration, Int64)])
    func saturating(duration: Duration, nanoseconds: Int64) {
        #expect(duration.saturatedNanoseconds == nanoseconds)
    }

    @Test(
        "texts for people have whole seconds, rounded up",
        arguments: [
            (.zero, 0), (.nanoseconds(1), 1), (.seconds(1), 1), (.milliseconds(1001), 2), (.milliseconds(-1500), -1),
            (beyondComponents, .max), (Duration(attoseconds: .min), .min), (.seconds(Int64.max), .max),
        ] as [(Duration, Int64)])
    func wholeSeconds(duration: Duration, seconds: Int64) {
        #expect(duration.wholeSecondsRoundedUp == seconds)
    }

    @Test(
        "a duration in seconds is exact for common values, and always finite",
        arguments: [(1500, 1.5), (-250, -0.25), (0, 0)])
    func inSeconds(milliseconds: Int, seconds: Double) {
        #expect(Duration.milliseconds(milliseconds).inSeconds == seconds)
        #expect(beyondComponents.inSeconds.isFinite)
    }
}

@Suite struct SaturatingArithmeticTests {
    @Test("integer sums, differences and products saturate instead of trapping")
    func ends() {
        #expect(Int64.max.saturatingAdding(1) == .max && Int64.min.saturatingAdding(-1) == .min)
        #expect(Int64.min.saturatingSubtracting(1) == .min && Int64.max.saturatingSubtracting(-1) == .max)
        #expect(Int64(0).saturatingSubtracting(.min) == .max && Int64(-1).saturatingSubtracting(.min) == .max)
        #expect(Int64.max.saturatingMultiplied(by: 2) == .max && Int64.min.saturatingMultiplied(by: -1) == .max)
        #expect(Int64.max.saturatingMultiplied(by: -2) == .min && Int64.min.saturatingMultiplied(by: 2) == .min)
        #expect(UInt8(250).saturatingAdding(9) == 255 && UInt8(3).saturatingSubtracting(9) == 0)
    }

    @Test("saturating arithmetic agrees with exact arithmetic, clamped")
    func agreesWithWiderIntegers() throws {
        var generator = SeededNumbers(seed: 2)
        for _ in 0..<20_000 {
            let (a, b) = (generator.wide(), generator.wide())
            try #require(a.saturatingAdding(b) == Int64(clamping: Int128(a) + Int128(b)))
            try #require(a.saturatingSubtracting(b) == Int64(clamping: Int128(a) - Int128(b)))
            try #require(a.saturatingMultiplied(by: b) == Int64(clamping: Int128(a) * Int128(b)))
        }
    }

    @Test(
        "a floating-point number becomes the nearest integer, and not-a-number becomes zero",
        arguments: [
            (0.4, 0), (0.5, 1), (-1.5, -2), (1e300, .max), (-1e300, .min), (.infinity, .max), (-.infinity, .min),
            (.nan, 0), (9.223372036854775807e18, .max), (-9.223372036854775808e18, .min),
        ] as [(Double, Int64)])
    func fromDouble(value: Double, expected: Int64) {
        #expect(Int64(saturating: value) == expected)
    }
}
