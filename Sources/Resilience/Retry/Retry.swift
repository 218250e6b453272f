/// Tries again after failures that may pass, with growing, jittered waits.
///
/// ```swift
/// let retry = Retry(
///     maxRetries: 3,
///     backoff: .exponential(from: .milliseconds(200), cap: .seconds(20)))
/// ```
///
/// It retries ``Verdict/transient`` and ``Verdict/throttled(retryAfter:)``. It does not retry permanent failures,
/// cancelled calls, or calls that a policy rejected: with an open circuit, that would be a loop. Rules can decide
/// otherwise for individual errors:
///
/// ```swift
/// Retry(maxRetries: 3) { failure in
///     // nil: as configured
///     failure.error is Stale ? .retry(after: .none) : nil
/// }
/// ```
///
/// The wait is the longer of two: the backoff, and the wait that the other side or a rejecting policy named. So jitter
/// never makes the wait shorter than the named wait. If the named wait is longer than `retryAfterCeiling`, the call is
/// given up. If the next attempt would begin at the call's deadline or later, the call is given up at once with its
/// last error or result.
///
/// It never repeats a call that may have had its effect, unless you say that this does no harm: with `isIdempotent:
/// true` on the ``Pipeline`` or in the call's ``RunOptions``, ``Verdict/uncertain`` failures are retried like transient
/// ones. An unknown error is uncertain. With `isIdempotent: false` nothing is retried once an attempt has run, even if
/// a rule says so. Attempts before ``RunOptions/firstAttempt`` count towards `maxRetries` and towards the growth of the
/// backoff; with nested retries, they count for each retry.
///
/// A call for a request that is itself a retry is not retried: see ``CallOrigin``.
///
/// When retries run out, the last error is thrown, or the last result returned, unchanged. The same happens if a policy
/// rejects a further attempt: a circuit that opens after two failures does not hide those failures.
///
/// See <doc:RetryGuide>.
public struct Retry: Policy, StatusReporting {
    /// Decides whether to retry a failed attempt; nil means "as configured".
    ///
    /// A pure function. It is called outside locks, and not for cancelled calls.
    public typealias Rules = @Sendable (RetryFailure) -> Decision?
    /// Called with a failed attempt before the wait for the next one.
    public typealias BeforeRetry = @Sendable (RetryFailure, _ wait: Duration) -> Void
    /// Called with all failed attempts of a call when no further one is made.
    public typealias OnGiveUp = @Sendable (RetryHistory, RetriesExhausted.Reason) -> Void

    public let name: String
    let terms: RetryTerms
    /// The settings.
    public var settings: Settings { terms.settings }

    /// The time base of the budget; nil without a budget, or if it does not measure time.
    public var timeBase: (any TimeBase)? { terms.budget?.timeBase }

    public var traits: PolicyTraits {
        PolicyTraits(
            maxAttempts: terms.maxAttempts, retriesRejections: terms.settings.verdicts.contains(.rejected))
    }

    /// Always true: a retry keeps nothing between calls.
    ///
    /// Its budget is an object of its own.
    public var isAtRest: Bool { true }

    /// Creates a retry.
    ///
    /// - Parameters:
    ///   - name: The name in events.
    ///   - maxRetries: How many attempts may follow the first; 0 or more.
    ///   - maxElapsed: How long after the start of the first attempt another attempt may begin; 0 or more, nil for no
    ///     limit. A limit costs a reading of the clock.
    ///   - backoff: The wait after any failure but a 429.
    ///   - throttledBackoff: The wait after the other side asked for fewer calls (a 429).
    ///   - verdicts: The failures to retry; neither success nor cancelled. With ``VerdictSet/uncertain`` among
    ///     them, calls are repeated even if they may have had their effect, unless they must not be done twice.
    ///   - retryAfterCeiling: The longest wait that the other side or a rejecting policy may name; 0 or more. If the
    ///     named wait is longer, the call is given up at once.
    ///   - budget: Limits the retries of many calls together; nil for no limit.
    ///   - wrapsLastError: Whether a call that is given up throws ``RetriesExhausted``, with all its errors, instead of
    ///     the last error. A result that means failure is returned as it is.
    ///   - generator: The source of jitter; pass a seeded one to repeat a run.
    ///   - rules: Decide for individual errors whether and how soon to retry.
    ///   - beforeRetry: Runs before each wait, on the call's task; must not block.
    ///   - onGiveUp: Runs when a call is given up, on the call's task; must not block.
    public init(
        _ name: String = "retry",
        maxRetries: Int = 3,
        maxElapsed: Duration? = nil,
        backoff: Backoff = .exponential(from: .milliseconds(50), cap: .seconds(20)),
        throttledBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(20)),
        on verdicts: VerdictSet = [.transient, .throttled],
        retryAfterCeiling: Duration = .seconds(120),
        budget: RetryBudget? = nil,
        wrapsLastError: Bool = false,
        generator: SplitMix64 = .shared,
        rules: Rules? = nil,
        beforeRetry: BeforeRetry? = nil,
        onGiveUp: OnGiveUp? = nil
    ) {
        let settings = Settings(
            maxRetries: maxRetries, maxElapsed: maxElapsed, backoff: backoff, throttledBackoff: throttledBackoff,
            on: verdicts, retryAfterCeiling: retryAfterCeiling, wrapsLastError: wrapsLastError)
        self.init(
            name, settings: settings, budget: budget, generator: generator, rules: rules, beforeRetry: beforeRetry,
            onGiveUp: onGiveUp)
    }

    /// Creates a retry.
    ///
    /// - Parameters:
    ///   - name: The name in events.
    ///   - settings: The settings.
    ///   - budget: Limits the retries of many calls together; nil for no limit.
    ///   - generator: The source of jitter; pass a seeded one to repeat a run.
    ///   - rules: Decide for individual errors whether and how soon to retry.
    ///   - beforeRetry: Runs before each wait, on the call's task; must not block.
    ///   - onGiveUp: Runs when a call is given up, on the call's task; must not block.
    public init(
        _ name: String = "retry", settings: Settings, budget: RetryBudget? = nil, generator: SplitMix64 = .shared,
        rules: Rules? = nil, beforeRetry: BeforeRetry? = nil, onGiveUp: OnGiveUp? = nil
    ) {
        self.name = name
        terms =
            RetryTerms(
                settings.valid(), budget: budget, generator: generator, rules: rules, beforeRetry: beforeRetry,
                onGiveUp: onGiveUp
            ).shared
    }

    /// A retry for 429s only: at most three times, after 1, 2 and 4 seconds, or after the wait that the other side
    /// names if that is longer.
    public static var throttledOnly: Retry {
        Retry(
            maxRetries: 3, throttledBackoff: .exponential(from: .seconds(1), cap: .seconds(4), jitter: .none),
            on: .throttled)
    }

    public func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        RetrySlot.beginRound(&slot)
        call.attempt = call.options.firstAttempt
        if !RetrySlot.isFirstRound(slot) || terms.hasMaxElapsed { note(&call, &slot) }
        return .proceed
    }

    /// The part that the first attempt of a call without `maxElapsed` does not need.
    @inline(never) private func note(_ call: inout PolicyCall, _ slot: inout PolicySlot) {
        call.attempt = slot.retry.attempt(call.options)
        if RetrySlot.isFirstRound(slot) {
            slot.retry.began = call.now
        } else {
            terms.budget?.begins(after: slot.retry.withdrawal, &call)
        }
    }

    public func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        guard outcome.verdict.kind == .success else { return failed(&call, &slot, outcome) }
        if !RetrySlot.isFirstRound(slot) || terms.budget != nil { succeeded(&call, &slot) }
        slot = PolicySlot()
        return .pass
    }

    @inline(never) private func succeeded(_ call: inout PolicyCall, _ slot: inout PolicySlot) {
        if terms.keepsHistory { _ = slot.retry.takeNotes() }
        terms.budget?.succeeded(after: slot.retry.withdrawal, &call)
    }

    @inline(never) private func failed(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome)
        -> PolicyExit
    {
        var own = slot.retry
        defer { slot.retry = own }
        let attempt = own.attempt(call.options)
        let failure = RetryFailure(attempt: attempt, verdict: outcome.verdict, error: outcome.error)
        // The slot holds the notes only during a wait for another round.
        let notes = terms.keepsHistory ? own.takeNotes() ?? RetrySlot.Notes() : nil
        notes?.history.append(failure)
        if failure.isRejection {
            own.noteRejection()
        } else if own.rounds > 1, outcome.verdict.kind != .cancelled {
            CallOrigin.current?.noteRetried()
        }
        if outcome.verdict.kind == .rejected, let budget = terms.budget {
            // The paid attempt never reached the other side.
            budget.giveBack(own.withdrawal)
            own.withdrawal = .none
        }
        var machine = RetryStateMachine(
            attempts: attempt, previousDelay: notes?.previousDelay ?? own.previousDelay)
        let decision = decide(&machine, failure, &call, own)
        let budget = terms.budget
        if !outcome.verdict.saysNothing {
            budget?.failed(after: own.withdrawal, mayPass: decision.mayPass, &call)
        }
        guard call.mayRepeat else {
            // No event, since no retry follows.
            own = RetrySlot(PolicySlot())
            return .pass
        }
        switch decision {
        case .retry(let instant):
            let withdrawal: Withdrawal = outcome.verdict.kind == .throttled ? .throttled : .usual
            guard budget?.withdraw(withdrawal, &call) ?? true else {
                return giveUp(.budgetExhausted, &call, &own, failure, notes)
            }
            own.withdrawal = withdrawal
            let wait = call.now.duration(to: instant)
            terms.beforeRetry?(failure, wait)
            call.emit(
                Event.retrying(attempt: attempt, of: terms.maxAttempts, after: wait, outcome.verdict),
                from: name)
            if let notes {
                notes.previousDelay = machine.previousDelay
                own.keep(notes)
            } else {
                own.previousDelay = machine.previousDelay
            }
            return .again(at: instant)
        case .giveUp(let reason):
            return giveUp(reason, &call, &own, failure, notes)
        case .notMine:
            if outcome.verdict.kind == .rejected, own.rounds > 1 {
                return giveUp(.rejected, &call, &own, failure, notes)
            }
            // An outer policy may begin another round, and this retry then starts anew.
            own = RetrySlot(PolicySlot())
            return .pass
        }
    }

    private func decide(
        _ machine: inout RetryStateMachine, _ failure: RetryFailure, _ call: inout PolicyCall, _ own: RetrySlot
    ) -> RetryStateMachine.Decision {
        let rule = failure.verdict.kind == .cancelled ? nil : terms.rules?(failure)
        let rejectedFor = failure.verdict.kind == .rejected ? (failure.error as? any Rejection)?.retryAfter : nil
        let start = terms.hasMaxElapsed ? own.began : .distantFuture
        var generator = terms.generator
        return machine.failed(
            failure.verdict, rule: rule, rejectedFor: rejectedFor, repetition: call.repetition,
            callerRetries: CallOrigin.current.map { $0.attempt > 1 } ?? false, at: call.now, since: start,
            deadline: call.deadline, terms.settings, using: &generator)
    }

    private func giveUp(
        _ reason: RetriesExhausted.Reason, _ call: inout PolicyCall, _ own: inout RetrySlot, _ failure: RetryFailure,
        _ notes: RetrySlot.Notes?
    ) -> PolicyExit {
        let attempts = failure.attempt - own.rejections
        if reason == .budgetExhausted { CallOrigin.current?.noteRetried() }
        own = RetrySlot(PolicySlot())
        call.emit(Event.gaveUp(attempt: attempts, reason), from: name)
        guard let history = notes?.history else { return .pass }
        terms.onGiveUp?(history, reason)
        // A rejection does not hide how the attempt before it ended.
        let last = history.failures.last { !$0.verdict.saysNothing } ?? failure
        guard terms.settings.wrapsLastError, let error = last.error else { return .pass }
        let wrapped = RetriesExhausted(reason: reason, lastError: error, verdict: last.verdict, history: history)
        return .replace(wrapped, as: last.verdict)
    }

    public func abandon(_ call: inout PolicyCall, _ slot: inout PolicySlot) {
        if terms.keepsHistory { _ = slot.retry.takeNotes() }
        terms.budget?.giveBack(slot.retry.withdrawal)
        slot = PolicySlot()
    }

    public var description: String { "\(name): \(terms)" }
}

extension Retry {
    /// Limits the retries of many calls together; nil if there is no such limit.
    public var budget: RetryBudget? { terms.budget }

    /// The retries that the budget has left.
    public var status: RetryStatus { RetryStatus(retriesLeft: budget?.retriesLeft ?? .max) }

    /// Whether there is a budget: a retry itself keeps nothing between calls.
    public var hasStatus: Bool { budget != nil }
}

extension Retry {
    /// A rule's decision about a failed attempt.
    public struct Decision: Sendable, Hashable, CustomStringConvertible {
        enum Kind: Hashable {
            /// nil means the configured backoff.
            case retry(Backoff?)
            case leave
        }

        let kind: Kind

        /// Retry after the configured backoff, if limits and budget allow.
        public static let retry = Decision(kind: .retry(nil))

        /// Retry after another backoff, if limits and budget allow.
        ///
        /// - Parameter backoff: The wait before the next attempt; ``Backoff/none`` for none.
        public static func retry(after backoff: Backoff) -> Decision { Decision(kind: .retry(backoff)) }

        /// Do not retry: the failure is passed on.
        public static let leave = Decision(kind: .leave)

        public var description: String {
            switch kind {
            case .retry(nil): "retry"
            case .retry(let backoff?): "retry after \(backoff)"
            case .leave: "leave"
            }
        }
    }
}
