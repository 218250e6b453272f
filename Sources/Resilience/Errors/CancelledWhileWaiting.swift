/// The task was cancelled while it waited for another attempt.
///
/// The error tells how the last attempt ended, and so why the call had to wait.
///
/// If the call is cancelled while its operation runs, it throws the operation's error. If it is cancelled while it
/// waits for its first attempt, it throws `CancellationError`.
public struct CancelledWhileWaiting: PolicyError {
    /// The last attempt's error; nil if it returned a result.
    public let lastError: (any Error)?
    /// The meaning of that error or result.
    public let lastVerdict: Verdict

    /// Creates the error.
    ///
    /// - Parameters:
    ///   - lastError: The last attempt's error; nil if it returned a result.
    ///   - lastVerdict: The meaning of that error or result.
    public init(lastError: (any Error)?, lastVerdict: Verdict) {
        self.lastError = lastError
        self.lastVerdict = lastVerdict
    }

    public var underlying: (any Error)? { lastError }

    /// ``CallFailure/reachedService`` of ``lastError``; true if the last attempt returned a result, since that is an
    /// answer.
    public var reachedService: Bool? { lastError.map { CallFailure($0).reachedService } ?? true }

    public var retryAfter: Duration? { lastVerdict.retryAfter ?? lastError.flatMap { CallFailure($0).retryAfter } }

    public var description: String {
        let end = lastError.map { "failed: \($0)" } ?? "returned a result that means: \(lastVerdict)"
        return "Cancelled while waiting to try again; the last attempt \(end)"
    }
}
