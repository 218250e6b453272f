import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// Asks one backoff for successive delays and compares them with the formula in exact integers.
private struct ExactBackoff: ExplorableMachine {
    enum Input: Hashable {
        case next
        /// Skips this many retries.
        case skip(Int)
    }

    enum Formula {
        case constant(Int64)
        case linear(Int64)
        /// The factor as a fraction.
        case exponential(Int64, Int128, over: Int128)
        case sequence([Int64])
        /// A custom delay: the retry's number times this, plus the previous delay.
        case custom(Int64)
    }

    private let backoff: Backoff
    private let formula: Formula
    private let cap: Int128
    private let jitter: Backoff.Jitter
    private var generator = SeededGenerator(seed: 1)
    private var retry = 0
    private var previous: Duration?

    init(_ formula: Formula, cap: Int64 = .max, jitter: Backoff.Jitter = .none) {
        self.formula = formula
        var jitter = jitter
        // A custom backoff can't have decorrelated jitter, which would replace its delays.
        if case .custom = formula, jitter == .decorrelated { jitter = .none }
        self.jitter = jitter
        switch formula {
        case .constant(let delay):
            backoff = .constant(.nanoseconds(delay), jitter: jitter)
            self.cap = Int128(delay)
        case .linear(let step):
            backoff = .linear(.nanoseconds(step), cap: .nanoseconds(cap), jitter: jitter)
            self.cap = Int128(cap)
        case .exponential(let base, let numerator, let denominator):
            backoff = .exponential(
                from: .nanoseconds(base), factor: Double(numerator) / Double(denominator), cap: .nanoseconds(cap),
                jitter: jitter)
            self.cap = Int128(cap)
        case .sequence(let delays):
            backoff = .sequence(delays.map { .nanoseconds($0) }, jitter: jitter)
            self.cap = Int128(delays.max() ?? 0)
        case .custom(let step):
            backoff = .custom(cap: .nanoseconds(cap), jitter: jitter) {
                .nanoseconds(Int64(clamping: Int128($0) * Int128(step))) + $1
            }
            self.cap = Int128(cap)
        }
    }

    let inputs: [Input] = [.next, .skip(7), .skip(1_000), .skip(.max)]

    /// After this many retries every exponential delay has reached its cap, and should not change again.
    var identity: [Int64]? {
        [Int64(min(retry, 500)), asksForPrevious ? previous?.saturatedNanoseconds ?? -1 : 0]
    }

    private var asksForPrevious: Bool {
        if case .custom = formula { true } else { jitter == .decorrelated }
    }

    mutating func apply(_ input: Input) throws {
        if case .skip(let number) = input { retry = Int(clamping: Int128(retry) + Int128(number)) }
        let delay = backoff.delay(beforeRetry: retry, previous: previous, using: &generator)
        let exact = exactDelay
        // A factor other than 2 is multiplied in floating point.
        let error: Int128 =
            if case .exponential(_, let factor, _) = formula, factor != 2 { 1 + (exact >> 40) } else { 0 }
        let (least, greatest) = bounds(exact)
        let nanoseconds = Int128(delay.saturatedNanoseconds)
        try require(
            max(0, least - error) <= nanoseconds && nanoseconds <= min(cap, greatest + error),
            "delay \(retry) is \(nanoseconds), and should be from \(least) to \(greatest)")
        previous = delay
        retry = Int(clamping: Int128(retry) + 1)
    }

    /// Without jitter.
    private var exactDelay: Int128 {
        switch formula {
        case .constant(let delay):
            return Int128(delay)
        case .linear(let step):
            return min(cap, Int128(step) * (Int128(retry) + 1))
        case .exponential(let base, let numerator, let denominator):
            // A fixed-point number, with 48 binary digits after the point.
            var delay = Int128(base) << 48
            if delay == 0 || numerator == denominator { return min(cap, Int128(base)) }
            for _ in 0..<retry {
                if delay >> 48 >= cap { return cap }
                delay = delay * numerator / denominator
            }
            return min(cap, delay >> 48)
        case .sequence(let delays):
            return Int128(delays[min(retry, delays.count - 1)])
        case .custom(let step):
            let product = Int128(Int64(clamping: Int128(retry) * Int128(step)))
            return min(cap, product + Int128(previous?.saturatedNanoseconds ?? 0))
        }
    }

    private func bounds(_ exact: Int128) -> (Int128, Int128) {
        switch jitter {
        case .none: return (exact, exact)
        case .full: return (0, exact)
        case .equal: return (exact / 2, exact)
        case .decorrelated:
            let base = Int128(backoff.base)
            return (min(base, cap), min(cap, 3 * max(base, Int128(previous?.saturatedNanoseconds ?? 0))))
        case .proportional(let share):
            // Exact for a share in thousandths. The backoff itself computes in floating point, and rounds.
            let spread = exact * Int128(share * 1_000) / 1_000
            let error = 1 + (spread >> 40)
            return (exact - spread - error, exact + spread + error)
        }
    }
}

@Suite(.heavy) struct BackoffExplorationTests {
    private static let formulas: [ExactBackoff.Formula] =
        [0, 1, 3, 50_000_000, 1 << 40, .max / 2 + 1, .max].flatMap { (base: Int64) -> [ExactBackoff.Formula] in
            [
                .constant(base), .linear(base), .sequence([base, 0, 7, base / 3]), .custom(base),
                .exponential(base, 1, over: 1),
                .exponential(base, 2, over: 1), .exponential(base, 3, over: 1), .exponential(base, 10, over: 1),
                .exponential(base, 3, over: 2), .exponential(base, 11, over: 10),
            ]
        }

    @Test(
        "every delay equals the exact formula for any base, factor, cap and retry",
        arguments: [.none, .full, .equal, .decorrelated, .proportional(0.25)] as [Backoff.Jitter])
    func exact(jitter: Backoff.Jitter) throws {
        var transitions = 0
        for formula in Self.formulas {
            for cap in [0, 1, 20_000_000_000, Int64.max] {
                let explorer = Explorer(
                    ExactBackoff(formula, cap: cap, jitter: jitter),
                    code: "ExactBackoff(\(formula), cap: \(cap), jitter: \(jitter))")
                transitions += try explorer.exploreRandomly(walks: Effort.level, length: 20, seed: 8).transitions
                if jitter == .none { transitions += try explorer.exploreAll(depth: 12 * Effort.level).transitions }
            }
        }
        #expect(transitions > 5_000)
        if Effort.level > 1 { print("ExactBackoff(jitter: \(jitter)): \(transitions) transitions") }
    }
}
