/// What an error was that a ``Pipeline`` threw, with a case for each that this package throws.
///
/// ```swift
/// do {
///     page = try await pipeline.run { try await client.activities() }
/// } catch {
///     let failure = CallFailure(error)
///     if failure.reachedService == false, let wait = failure.retryAfter { tryAgain(after: wait) }
///     show("\(failure)")
/// }
/// ```
///
/// An operation that runs pipelines of its own may throw their errors: those have the same cases.
public enum CallFailure: Sendable, CustomStringConvertible {
    case circuitOpen(CircuitOpen)
    case throttled(Throttled)
    case bulkheadFull(BulkheadFull)
    /// Only of ``Policy/acquire(options:)``.
    case wouldWait(WouldWait)
    /// The deadline came before the operation could begin.
    case deadlinePassed(DeadlinePassed)
    /// A policy that is not this package's refused the call.
    case rejected(any Rejection)
    case timedOut(TimedOut)
    case retriesExhausted(RetriesExhausted)
    /// Cancelled between two attempts.
    case cancelledWhileWaiting(CancelledWhileWaiting)
    /// Cancelled while it waited for its first attempt, or in an operation that throws `CancellationError`.
    case cancelled
    /// The operation's own error.
    case operation(any Error)

    public init(_ error: any Error) {
        self =
            switch error {
            case let error as CircuitOpen: .circuitOpen(error)
            case let error as Throttled: .throttled(error)
            case let error as BulkheadFull: .bulkheadFull(error)
            case let error as WouldWait: .wouldWait(error)
            case let error as DeadlinePassed: .deadlinePassed(error)
            case let error as any Rejection: .rejected(error)
            case let error as TimedOut: .timedOut(error)
            case let error as RetriesExhausted: .retriesExhausted(error)
            case let error as CancelledWhileWaiting: .cancelledWhileWaiting(error)
            case is CancellationError: .cancelled
            default: .operation(error)
            }
    }

    /// The error it was made from.
    public var error: any Error {
        switch self {
        case .circuitOpen(let error): error
        case .throttled(let error): error
        case .bulkheadFull(let error): error
        case .wouldWait(let error): error
        case .deadlinePassed(let error): error
        case .rejected(let error): error
        case .timedOut(let error): error
        case .retriesExhausted(let error): error
        case .cancelledWhileWaiting(let error): error
        case .cancelled: CancellationError()
        case .operation(let error): error
        }
    }

    /// Whether the call reached the other side, with any of its attempts: false if policies refused them all, true if the
    /// other side answered one, nil if nobody can tell.
    ///
    /// Of the attempts before the last it knows what a ``RetriesExhausted`` says; a refusal is thrown only by a call that has
    /// made no attempt.
    public var reachedService: Bool? {
        switch self {
        case .circuitOpen, .throttled, .bulkheadFull, .wouldWait, .deadlinePassed, .rejected: false
        // What a timeout cancels may have been done.
        case .timedOut: inner?.reachedService == false ? false : nil
        case .retriesExhausted(let error) where error.history.count > 0: error.history.reachedService
        case .retriesExhausted: inner?.reachedService
        // A result is an answer.
        case .cancelledWhileWaiting(let error): error.lastError.map { CallFailure($0).reachedService } ?? true
        case .cancelled: nil
        case .operation(let error):
            switch (error as? any VerdictConvertible)?.verdict {
            case .permanent, .throttled, .success: true
            case .rejected: false
            case .transient, .uncertain, .cancelled, nil: nil
            }
        }
    }

    /// How long until another call may succeed, as far as a policy or the other side said.
    public var retryAfter: Duration? {
        if let rejection = error as? any Rejection { return rejection.retryAfter }
        if case .retriesExhausted(let error) = self, let rejection = error.rejection { return rejection.retryAfter }
        if case .cancelledWhileWaiting(let error) = self, let wait = error.lastVerdict.retryAfter { return wait }
        return (error as? any VerdictConvertible)?.verdict.retryAfter ?? inner?.retryAfter
    }

    /// The operation's own error, of its last attempt; nil if there is none.
    public var lastError: (any Error)? {
        if case .operation(let error) = self { error } else { inner?.lastError }
    }

    /// For people, as far as the error is.
    public var description: String {
        if case .cancelled = self { "Cancelled." } else { "\(error)" }
    }

    /// What it was about, if it carries another error.
    private var inner: CallFailure? {
        switch self {
        case .timedOut(let error): error.underlying.map(CallFailure.init)
        case .retriesExhausted(let error): CallFailure(error.lastError)
        case .cancelledWhileWaiting(let error): error.lastError.map(CallFailure.init)
        case .circuitOpen, .throttled, .bulkheadFull, .wouldWait, .deadlinePassed, .rejected, .cancelled, .operation:
            nil
        }
    }
}

extension RetryHistory {
    fileprivate var reachedService: Bool? {
        // A result that means failure is an answer.
        let answers = failures.map { failure in failure.error.map { CallFailure($0).reachedService } ?? true }
        if answers.contains(true) { return true }
        return count == answers.count && answers.allSatisfy { $0 == false } ? false : nil
    }
}
