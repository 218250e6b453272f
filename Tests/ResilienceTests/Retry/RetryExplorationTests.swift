import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// One call with all its attempts, compared with the rules in arbitrarily large integers.
private struct RetriedCall: ExplorableMachine {
    enum Input: Hashable {
        case failed(Verdict, rule: Retry.Decision? = nil, rejectedFor: Duration? = nil, after: Int64)
    }

    private let settings: Retry.Settings
    private let deadline: MonotonicInstant
    private let verdicts: [Verdict]
    private let rules: [Retry.Decision?]
    private let rejections: [Duration?]
    private let repetition: Repetition
    private let callerRetries: Bool
    private let start: MonotonicInstant
    private let lengths: [Int64]
    private var generator = SeededGenerator(seed: 1)
    private let firstAttempt: Int
    private let goesOn: Bool
    private var machine: RetryStateMachine
    private var now: MonotonicInstant
    private var hasEnded = false

    /// - Parameter goesOn: Whether another call begins after this call's end.
    init(
        _ settings: Retry.Settings, deadline: Int64 = .max, start: Int64 = 0, firstAttempt: Int = 1,
        verdicts: [Verdict], rules: [Retry.Decision?] = [nil], rejections: [Duration?] = [nil],
        repetition: Repetition = .unsaid, callerRetries: Bool = false, lengths: [Int64] = [0, 1], goesOn: Bool = false
    ) {
        self.settings = settings
        self.deadline = MonotonicInstant(nanoseconds: deadline)
        self.verdicts = verdicts
        self.rules = rules
        self.rejections = rejections
        self.repetition = repetition
        self.callerRetries = callerRetries
        self.start = MonotonicInstant(nanoseconds: start)
        self.lengths = lengths
        self.firstAttempt = firstAttempt
        self.goesOn = goesOn
        machine = RetryStateMachine(attempts: firstAttempt)
        now = MonotonicInstant(nanoseconds: start)
    }

    var inputs: [Input] {
        if hasEnded { return [] }
        return verdicts.flatMap { verdict in
            (verdict == .rejected ? rejections : [nil]).flatMap { rejection in
                rules.flatMap { rule in
                    lengths.map { .failed(verdict, rule: rule, rejectedFor: rejection, after: $0) }
                }
            }
        }
    }

    var identity: [Int64]? {
        [Int64(machine.attempts), machine.previousDelay, now.nanoseconds, hasEnded ? 1 : 0]
    }

    mutating func apply(_ input: Input) throws {
        guard case .failed(let verdict, let rule, let rejectedFor, let length) = input else { return }
        now = MonotonicInstant(nanoseconds: Int64(clamping: Int128(now.nanoseconds) + Int128(length)))
        let before = machine
        let decision = machine.failed(
            verdict, rule: rule, rejectedFor: rejectedFor, repetition: repetition,
            callerRetries: callerRetries, at: now, since: start, deadline: deadline, settings, using: &generator)

        guard let backoff = backoff(after: verdict, rule) else { return try end(decision, is: .notMine) }
        if repetition == .never, verdict.kind != .rejected { return try end(decision, is: .giveUp(.notIdempotent)) }
        if verdict.kind == .uncertain, rule == nil, verdict.shouldRetry == nil {
            switch repetition {
            case .harmless: break
            case .unsaid where settings.verdicts.contains(.uncertain): break
            case .unsaid: return try end(decision, is: .giveUp(.effectUnknown))
            case .effectful, .never: return try end(decision, is: .giveUp(.notIdempotent))
            }
        }
        if callerRetries, rule == nil { return try end(decision, is: .giveUp(.callerRetries)) }
        var limit = Int128(settings.maxRetries)
        if case .sequence(let delays, .stop) = backoff.growth { limit = min(limit, Int128(delays.count)) }
        guard machine.attempts <= limit else { return try end(decision, is: .giveUp(.attemptsExhausted)) }
        // Three centuries count as forever.
        let named = [verdict.retryAfter, rejectedFor, .zero].compactMap { $0.map(nanosecondsRoundedUp) }.max() ?? 0
        let floor = min(named, Int128(Int64.max))
        guard floor <= Int128(settings.retryAfterCeiling.saturatedNanoseconds) else {
            return try end(decision, is: .giveUp(.retryAfterTooLong))
        }
        let (least, greatest) = delays(backoff, previous: before.previousDelay)
        func instant(_ delay: Int128) -> Int64 { Int64(clamping: Int128(now.nanoseconds) + max(delay, floor)) }

        switch decision {
        case .retry(let next):
            try require(
                instant(least) <= next.nanoseconds && next.nanoseconds <= instant(greatest),
                "the next attempt is at \(next.nanoseconds), and should be from \(instant(least)) to \(instant(greatest))"
            )
            try require(next < deadline, "the next attempt is not before the deadline")
            try require(next <= latest, "the next attempt is too long after the first")
            try require(
                least <= Int128(machine.previousDelay) && Int128(machine.previousDelay) <= greatest,
                "the delay noted is \(machine.previousDelay), and should be from \(least) to \(greatest)")
            now = next
            machine = RetryStateMachine(attempts: machine.attempts + 1, previousDelay: machine.previousDelay)
        case .giveUp(.deadlineTooNear):
            try require(
                deadline < .distantFuture && instant(greatest) >= deadline.nanoseconds, "the deadline was not near")
            try end(decision, is: .giveUp(.deadlineTooNear))
        case .giveUp(.elapsedTooLong):
            try require(instant(greatest) > latest.nanoseconds, "not so much time had passed")
            try end(decision, is: .giveUp(.elapsedTooLong))
        case .giveUp(.attemptsExhausted), .giveUp(.retryAfterTooLong):
            try require(instant(greatest) == .max, "the wait has an end")
            try end(decision, is: decision)
        case .giveUp, .notMine:
            throw BrokenInvariant("the decision is \(decision), and should be a retry")
        }
    }

    private mutating func end(_ decision: RetryStateMachine.Decision, is expected: RetryStateMachine.Decision) throws {
        try require(decision, is: expected, "the decision")
        hasEnded = !goesOn
        machine = RetryStateMachine(attempts: firstAttempt)
    }

    /// The latest start of an attempt.
    private var latest: MonotonicInstant {
        guard let limit = settings.maxElapsed else { return .distantFuture }
        return MonotonicInstant(nanoseconds: Int64(clamping: Int128(start.nanoseconds) + nanosecondsRoundedUp(limit)))
    }

    private func backoff(after verdict: Verdict, _ rule: Retry.Decision?) -> Backoff? {
        let usual = verdict.kind == .throttled ? settings.throttledBackoff : settings.backoff
        if [.success, .cancelled].contains(verdict.kind) || rule == .leave { return nil }
        if case .retry(let own) = rule?.kind { return own ?? usual }
        if verdict.kind != .rejected, let shouldRetry = verdict.shouldRetry { return shouldRetry ? usual : nil }
        var retried = settings.verdicts
        if retried.contains(.transient) { retried.insert(VerdictSet.uncertain) }
        return retried.contains(verdict) ? usual : nil
    }

    private func nanosecondsRoundedUp(_ duration: Duration) -> Int128 {
        let (whole, rest) = duration.attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return rest > 0 ? whole + 1 : whole
    }

    /// The shortest and the longest delay that the formula allows.
    private func delays(_ backoff: Backoff, previous: Int64) -> (least: Int128, greatest: Int128) {
        let (base, cap) = (Int128(backoff.base), Int128(backoff.cap))
        var plain = base
        if case .sequence(let delays, _) = backoff.growth { plain = Int128(delays[machine.attempts - 1]) }
        if backoff.growth == .exponential(factor: 2), base > 0 {
            for _ in 1..<machine.attempts {
                if plain >= cap { break }
                plain *= 2
            }
        }
        plain = min(plain, cap)
        switch backoff.jitter {
        case .none: return (plain, plain)
        case .full: return (0, plain)
        case .equal: return (plain / 2, plain)
        case .decorrelated: return (min(base, cap), min(cap, 3 * max(base, Int128(previous))))
        case .proportional: return (0, cap)
        }
    }
}

@Suite(.heavy) struct RetryExplorationTests {
    private static func configured(
        maxRetries: Int, jitter: Backoff.Jitter = .none, base: Int64 = 1, cap: Int64 = 5,
        ceiling: Duration = .nanoseconds(9), maxElapsed: Duration? = nil,
        on retried: VerdictSet = [.transient, .throttled]
    ) -> Retry.Settings {
        Retry.Settings(
            maxRetries: maxRetries, maxElapsed: maxElapsed,
            backoff: .exponential(from: .nanoseconds(base), cap: .nanoseconds(cap), jitter: jitter),
            throttledBackoff: .constant(.nanoseconds(3)), on: retried, retryAfterCeiling: ceiling)
    }

    private static let verdicts: [Verdict] = [
        .success, .transient, .throttled, .throttled(retryAfter: .nanoseconds(7)),
        .throttled(retryAfter: .nanoseconds(-1)),
        .throttled(retryAfter: .nanoseconds(9) + Duration(attoseconds: 1)), .uncertain, .permanent, .rejected,
        .cancelled, .transient(retryAfter: .nanoseconds(7)), Verdict(.transient, shouldRetry: false),
        Verdict(.permanent, shouldRetry: true), Verdict(.rejected, shouldRetry: true),
    ]

    @Test(
        "however a call's attempts end, the next attempt follows the rules",
        arguments: [0, 1, 4, 12])
    func complete(maxRetries: Int) throws {
        let explorer = Explorer(
            RetriedCall(Self.configured(maxRetries: maxRetries), deadline: 60, verdicts: Self.verdicts),
            code: "RetriedCall(maxRetries: \(maxRetries))")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.transitions >= 20, "\(exploration)")
    }

    @Test(
        "for any rules, rejections and options, the next attempt follows them",
        arguments: [.unsaid, .harmless, .effectful, .never] as [Repetition],
        [nil, .zero, .nanoseconds(20)] as [Duration?])
    func told(repetition: Repetition, maxElapsed: Duration?) throws {
        let own = Backoff.sequence([.nanoseconds(2), .nanoseconds(6)], atEnd: .stop)
        for retried: VerdictSet in [[.transient, .throttled], [.rejected, .uncertain]] {
            let explorer = Explorer(
                RetriedCall(
                    Self.configured(maxRetries: 5, maxElapsed: maxElapsed, on: retried), deadline: 60,
                    verdicts: Self.verdicts, rules: [nil, .retry, .retry(after: own), .leave],
                    rejections: [nil, .nanoseconds(-1), .nanoseconds(4), .nanoseconds(10)], repetition: repetition),
                code: "RetriedCall(\(repetition), maxElapsed: \(maxElapsed as Any), \(retried))")
            let exploration = try explorer.explore()
            #expect(exploration.isComplete && exploration.transitions >= 104, "\(exploration)")
        }
    }

    @Test("a request that is itself a retry gets another attempt only through a rule")
    func callerRetries() throws {
        let explorer = Explorer(
            RetriedCall(
                Self.configured(maxRetries: 5), deadline: 60, verdicts: Self.verdicts, rules: [nil, .retry, .leave],
                callerRetries: true),
            code: "RetriedCall(maxRetries: 5, rules: [nil, .retry, .leave], callerRetries: true)")
        let exploration = try explorer.explore()
        #expect(exploration.isComplete && exploration.transitions >= 40, "\(exploration)")
    }

    @Test("as far as the effort allows, hundreds of attempts follow the rules")
    func far() throws {
        let explorer = Explorer(
            RetriedCall(
                Self.configured(maxRetries: 500, cap: 100), deadline: 1_000_000, verdicts: Self.verdicts,
                lengths: [0, 1, 10, 100]),
            code: "RetriedCall(maxRetries: 500)")
        #expect(try explorer.explore(transitionsPerEffort: 20_000).transitions >= 20_000)
    }

    @Test(
        "over thousands of attempts, with any jitter and at the ends of time, each attempt follows the rules",
        arguments: [.none, .full, .equal, .decorrelated, .proportional(0.5)] as [Backoff.Jitter])
    func walks(jitter: Backoff.Jitter) throws {
        let named: [Duration] = [.zero, .seconds(1), .seconds(Int64.min), Duration(attoseconds: .max)]
        let verdicts = [Verdict.transient, .throttled, .permanent] + named.map { .throttled(retryAfter: $0) }
        let calls: [(start: Int64, base: Int64, cap: Int64, firstAttempt: Int)] = [
            (0, 1, 1 << 40, 1), (.min, .max, .max, 1), (.max - 50, 3, 20, 1), (0, 0, .max, 1_000),
            (0, 1, .max, 1 << 40),
        ]
        for call in calls {
            let settings = Self.configured(
                maxRetries: .max, jitter: jitter, base: call.base, cap: call.cap, ceiling: Duration(attoseconds: .max))
            let explorer = Explorer(
                RetriedCall(
                    settings, start: call.start, firstAttempt: call.firstAttempt, verdicts: verdicts,
                    lengths: [0, 1_000], goesOn: true),
                code: "RetriedCall(jitter: \(jitter), \(call))")
            try explorer.exploreRandomly(length: 1_000, seed: 11)
        }
    }
}
