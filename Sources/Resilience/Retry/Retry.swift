/// Tries again after failures that may pass, with growing, jittered waits.
///
/// ```swift
/// let retry = Retry(maxRetries: 3, backoff: .exponential(from: .milliseconds(200), cap: .seconds(20)))
/// ```
///
/// It retries ``Verdict/transient`` and ``Verdict/throttled(retryAfter:)``. It does not retry what will not pass by
/// itself, what a policy of ours refused (an open circuit would be asked in a loop), or what was cancelled. Rules can say
/// otherwise of single errors:
///
/// ```swift
/// Retry(maxRetries: 3) { failure in failure.error is Stale ? .retry(.none) : nil }     // nil: as configured
/// ```
///
/// A wait that the other side named, or a policy of ours that refused the call, is a floor under the backoff: the wait is
/// the longer of the two, so that jitter never makes it shorter. One beyond `retryAfterCeiling` is not waited for. It never
/// waits past the call's deadline: it gives up at once with the error it has.
///
/// ``RunOptions/isIdempotent`` changes what is retried: if true, ``Verdict/uncertain`` is as transient; if false, neither of
/// the two is retried, whatever the rules say. Attempts before ``RunOptions/firstAttempt`` count for `maxRetries` and for
/// the backoff's growth, in each of several retries around one another.
///
/// When retries run out the last error is thrown, or the last result returned, as it is. So they are if a policy of ours
/// refuses a further attempt: a circuit that opens after two failures does not hide those.
public struct Retry: Policy {
    /// Says of a failed attempt whether to try again; nil is "as configured". A pure function, asked outside every lock,
    /// and not of cancelled calls.
    public typealias Rules = @Sendable (RetryFailure) -> Decision?
    /// Told of a failed attempt before the wait for the next.
    public typealias BeforeRetry = @Sendable (RetryFailure, _ wait: Duration) -> Void
    /// Told of all failed attempts of a call when no further one is made.
    public typealias OnGiveUp = @Sendable (RetryHistory, GivingUp) -> Void

    public let name: String
    let configuration: RetryConfiguration

    /// That of its budget, if the budget keeps readings.
    public var timeBase: (any TimeBase)? { configuration.budget?.timeBase }

    public var traits: PolicyTraits {
        PolicyTraits(
            maxAttempts: configuration.maxAttempts, retriesRejections: configuration.verdicts.contains(.rejected))
    }

    /// It counts nothing over calls; a budget outlives it.
    public var isAtRest: Bool { true }

    /// - Parameters:
    ///   - maxRetries: attempts after the first; 0 or more.
    ///   - maxElapsed: no attempt begins later than this after the beginning of the first; zero or more, nil for no limit.
    ///     It costs a reading of the clock.
    ///   - backoff: the wait after a transient failure.
    ///   - throttledBackoff: the least wait after the other side asked for fewer calls.
    ///   - verdicts: what is tried again.
    ///   - retryAfterCeiling: a named wait above this is not waited for: the call fails at once.
    ///   - budget: what the retries of many calls are taken from.
    ///   - wrapsLastError: whether a call that is given up throws ``RetriesExhausted``, with all its errors, instead of the
    ///     last one. A result that means failure is returned as it is.
    ///   - generator: where jitter comes from; pass a seeded one to repeat a run.
    ///   - rules: what is tried again, and how soon, by error.
    ///   - beforeRetry: runs before each wait, on the call's task, and must not block.
    ///   - onGiveUp: runs when the call is given up, likewise.
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
        self.name = name
        configuration = RetryConfiguration(
            maxRetries: maxRetries, maxElapsed: maxElapsed, backoff: backoff, throttledBackoff: throttledBackoff,
            verdicts: verdicts, retryAfterCeiling: retryAfterCeiling, budget: budget, wrapsLastError: wrapsLastError,
            generator: generator, rules: rules, beforeRetry: beforeRetry, onGiveUp: onGiveUp)
    }

    /// Three retries of what was throttled, after 1, 2 and 4 seconds, and of nothing else.
    public static var throttledOnly: Retry {
        Retry(
            maxRetries: 3, throttledBackoff: .exponential(from: .seconds(1), cap: .seconds(4), jitter: .none),
            on: .throttled)
    }

    public func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        RetrySlot.beginRound(&slot)
        call.attempt = call.options.firstAttempt
        if !RetrySlot.isFirstRound(slot) || configuration.hasMaxElapsed { note(&call, &slot) }
        return .proceed
    }

    /// What the first attempt of a call without limits does not need.
    @inline(never) private func note(_ call: inout PolicyCall, _ slot: inout PolicySlot) {
        call.attempt = slot.retry.attempt(call.options)
        if RetrySlot.isFirstRound(slot) { slot.retry.began = call.now }
    }

    public func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        guard case .success = outcome.verdict else { return failed(&call, &slot, outcome) }
        if !RetrySlot.isFirstRound(slot) || configuration.budget != nil { succeeded(&call, &slot) }
        slot = PolicySlot()
        return .pass
    }

    @inline(never) private func succeeded(_ call: inout PolicyCall, _ slot: inout PolicySlot) {
        if configuration.keepsHistory { _ = slot.retry.takeNotes() }
        configuration.budget?.succeeded(after: slot.retry.withdrawal, &call)
    }

    @inline(never) private func failed(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome)
        -> PolicyExit
    {
        var own = slot.retry
        defer { slot.retry = own }
        let attempt = own.attempt(call.options)
        let failure = RetryFailure(attempt: attempt, verdict: outcome.verdict, error: outcome.error)
        // It stays in the slot only over a wait for another round.
        let notes = configuration.keepsHistory ? own.takeNotes() ?? RetrySlot.Notes() : nil
        notes?.history.append(failure)
        if failure.isRefusal { own.noteRefusal() }
        if outcome.verdict == .rejected, let budget = configuration.budget {
            // What was paid for never left.
            budget.giveBack(own.withdrawal)
            own.withdrawal = .none
        }
        var machine = RetryStateMachine(
            attempts: attempt, previousDelay: notes?.previousDelay ?? own.previousDelay)
        let decision = decide(&machine, failure, &call, own)
        let budget = configuration.budget
        if !outcome.verdict.saysNothing {
            budget?.failed(after: own.withdrawal, mayPass: decision != .notMine, &call)
        }
        switch decision {
        case .retry(let instant):
            let withdrawal: Withdrawal = if case .throttled = outcome.verdict { .throttled } else { .usual }
            guard budget?.withdraw(withdrawal, &call) ?? true else {
                return giveUp(.budgetExhausted, &call, &own, failure, notes)
            }
            own.withdrawal = withdrawal
            let wait = call.now.duration(to: instant)
            configuration.beforeRetry?(failure, wait)
            call.emit(
                Event.retrying(attempt: attempt, of: configuration.maxAttempts, after: wait, outcome.verdict),
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
            if outcome.verdict == .rejected, own.rounds > 1 {
                return giveUp(.refused, &call, &own, failure, notes)
            }
            // A policy further out may go round, and then this retry begins anew.
            own = RetrySlot(PolicySlot())
            return .pass
        }
    }

    private func decide(
        _ machine: inout RetryStateMachine, _ failure: RetryFailure, _ call: inout PolicyCall, _ own: RetrySlot
    ) -> RetryStateMachine.Decision {
        let rule = failure.verdict == .cancelled ? nil : configuration.rules?(failure)
        let refusedFor = failure.verdict == .rejected ? (failure.error as? any Rejection)?.retryAfter : nil
        let start = configuration.hasMaxElapsed ? own.began : .distantFuture
        var generator = configuration.generator
        return machine.failed(
            failure.verdict, rule: rule, refusedFor: refusedFor, isIdempotent: call.options.isIdempotent, at: call.now,
            since: start, deadline: call.deadline, configuration, using: &generator)
    }

    private func giveUp(
        _ reason: GivingUp, _ call: inout PolicyCall, _ own: inout RetrySlot, _ failure: RetryFailure,
        _ notes: RetrySlot.Notes?
    ) -> PolicyExit {
        let attempts = failure.attempt - own.refusals
        own = RetrySlot(PolicySlot())
        call.emit(Event.gaveUp(attempt: attempts, reason), from: name)
        guard let history = notes?.history else { return .pass }
        configuration.onGiveUp?(history, reason)
        // A refusal does not hide how the attempt before it ended.
        let last = history.failures.last { !$0.verdict.saysNothing } ?? failure
        guard configuration.wrapsLastError, let error = last.error else { return .pass }
        let wrapped = RetriesExhausted(reason: reason, lastError: error, verdict: last.verdict, history: history)
        return .replace(wrapped, as: last.verdict)
    }

    public func abandon(_ call: inout PolicyCall, _ slot: inout PolicySlot) {
        if configuration.keepsHistory { _ = slot.retry.takeNotes() }
        configuration.budget?.giveBack(slot.retry.withdrawal)
        slot = PolicySlot()
    }

    public var description: String { "\(name): \(configuration)" }
}

extension Retry {
    /// What a rule says of a failed attempt.
    public enum Decision: Sendable, Hashable {
        /// Try again, if limits and budget allow, after this backoff; nil is the usual one.
        case retry(Backoff?)
        /// Let the failure through.
        case leave

        /// Try again after the usual backoff.
        public static var retry: Decision { .retry(nil) }
    }
}
