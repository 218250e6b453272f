/// The meaning of a ``Pipeline``'s error for the caller.
///
/// ```swift
/// do {
///     page = try await pipeline.run { try await client.activities() }
/// } catch {
///     let failure = CallFailure(error)
///     if failure.reachedService == false, let wait = failure.retryAfter {
///         tryAgain(after: wait)
///     }
///     show("\(failure)")
/// }
/// ```
///
/// If the operation runs pipelines of its own, errors of these pipelines are sorted into the same cases.
///
/// See <doc:ErrorsGuide>.
public enum CallFailure: Sendable, CustomStringConvertible {
    /// A policy rejected the call, or its deadline came, before its first attempt: the operation did not run.
    case rejected(any Rejection)
    /// A policy ended the call, or reports how it ended: ``TimedOut``, ``RetriesExhausted``, or an error of a policy of
    /// your own.
    case ended(any PolicyError)
    /// The call was cancelled: ``CancelledWhileWaiting`` in a wait between two attempts; `CancellationError` before the
    /// first attempt, or if the operation throws it.
    case cancelled(any Error)
    /// The operation's own error.
    case operation(any Error)

    /// Sorts an error by its type.
    ///
    /// - Parameter error: An error that a pipeline threw.
    public init(_ error: any Error) {
        self =
            switch error {
            case is CancellationError, is CancelledWhileWaiting: .cancelled(error)
            case let error as any Rejection: .rejected(error)
            case let error as any PolicyError: .ended(error)
            default: .operation(error)
            }
    }

    /// The error that was sorted.
    public var error: any Error {
        switch self {
        case .rejected(let error): error
        case .ended(let error): error
        case .cancelled(let error), .operation(let error): error
        }
    }

    /// Whether any attempt of the call reached the other side: false if policies rejected all attempts, true if the
    /// other side answered an attempt, nil if unknown.
    ///
    /// Only ``RetriesExhausted`` has the attempts before the last. A rejection is thrown only by a call that made no
    /// attempt.
    public var reachedService: Bool? {
        switch self {
        case .rejected: false
        case .ended(let error): error.reachedService
        case .cancelled(let error): (error as? CancelledWhileWaiting)?.reachedService
        case .operation(let error):
            switch (error as? any VerdictConvertible)?.verdict.kind {
            case .permanent, .throttled, .success: true
            case .rejected: false
            case .transient, .uncertain, .cancelled, nil: nil
            }
        }
    }

    /// The time until another call may succeed, as a policy or the other side said; nil if neither did.
    public var retryAfter: Duration? {
        switch self {
        case .rejected(let error): error.retryAfter
        case .ended(let error): error.retryAfter
        case .cancelled(let error): (error as? CancelledWhileWaiting)?.retryAfter
        case .operation(let error): (error as? any VerdictConvertible)?.verdict.retryAfter
        }
    }

    /// The error that the operation itself threw in its last attempt; nil if there is none.
    public var lastError: (any Error)? {
        switch self {
        case .rejected: nil
        case .ended(let error): error.underlying.flatMap { CallFailure($0).lastError }
        case .cancelled(let error): (error as? CancelledWhileWaiting)?.lastError.flatMap { CallFailure($0).lastError }
        case .operation(let error): error
        }
    }

    /// A message for people, if the error has one.
    public var description: String { error is CancellationError ? "Cancelled." : "\(error)" }
}

extension CallFailure {
    /// Runs a call, and replaces any error with one of your own type: for a function that `throws(MyError)`.
    ///
    /// - Parameters:
    ///   - makeError: Returns the error to throw.
    ///   - call: The call: for example, runs a pipeline.
    /// - Returns: The call's result.
    /// - Throws: The error that `makeError` returns.
    public nonisolated(nonsending) static func rethrow<R, E: Error>(
        as makeError: (CallFailure) -> E, _ call: nonisolated(nonsending) () async throws -> R
    ) async throws(E) -> R {
        do { return try await call() } catch { throw makeError(CallFailure(error)) }
    }
}
