/// What an error was that a ``Pipeline`` threw, by what it means for the caller.
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
    /// A policy rejected the call, or its deadline came, before its first attempt: the operation did not run.
    case rejected(any Rejection)
    /// A policy ended the call, or says how it ended: ``TimedOut``, ``RetriesExhausted``, or an error of your policy.
    case ended(any PolicyError)
    /// The caller's task was cancelled. ``CancelledWhileWaiting`` between two attempts; `CancellationError` before the first,
    /// or if the operation throws it.
    case cancelled(any Error)
    /// The operation's own error.
    case operation(any Error)

    public init(_ error: any Error) {
        self =
            switch error {
            case is CancellationError, is CancelledWhileWaiting: .cancelled(error)
            case let error as any Rejection: .rejected(error)
            case let error as any PolicyError: .ended(error)
            default: .operation(error)
            }
    }

    /// The error it was made from.
    public var error: any Error {
        switch self {
        case .rejected(let error): error
        case .ended(let error): error
        case .cancelled(let error), .operation(let error): error
        }
    }

    /// Whether the call reached the other side, with any of its attempts: false if policies refused them all, true if the
    /// other side answered one, nil if nobody can tell.
    ///
    /// Of the attempts before the last it knows what a ``RetriesExhausted`` says; a refusal is thrown only by a call that has
    /// made no attempt.
    public var reachedService: Bool? {
        switch self {
        case .rejected: false
        case .ended(let error): error.reachedService
        case .cancelled(let error): (error as? CancelledWhileWaiting)?.reachedService
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
        switch self {
        case .rejected(let error): error.retryAfter
        case .ended(let error): error.retryAfter
        case .cancelled(let error): (error as? CancelledWhileWaiting)?.retryAfter
        case .operation(let error): (error as? any VerdictConvertible)?.verdict.retryAfter
        }
    }

    /// The operation's own error, of its last attempt; nil if there is none.
    public var lastError: (any Error)? {
        switch self {
        case .rejected: nil
        case .ended(let error): error.underlying.flatMap { CallFailure($0).lastError }
        case .cancelled(let error): (error as? CancelledWhileWaiting)?.lastError.flatMap { CallFailure($0).lastError }
        case .operation(let error): error
        }
    }

    /// For people, as far as the error is.
    public var description: String { error is CancellationError ? "Cancelled." : "\(error)" }
}
