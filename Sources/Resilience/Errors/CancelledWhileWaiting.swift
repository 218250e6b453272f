/// The task was cancelled while it waited for another attempt: the call is over, and this is why it had to wait.
///
/// A call cancelled in the operation throws what the operation throws, and one cancelled while it waits for its first
/// attempt throws `CancellationError`.
public struct CancelledWhileWaiting: PolicyError {
    /// What the last attempt threw; nil if it returned a result.
    public let lastError: (any Error)?
    /// What that error or result means.
    public let lastVerdict: Verdict

    public init(lastError: (any Error)?, lastVerdict: Verdict) {
        self.lastError = lastError
        self.lastVerdict = lastVerdict
    }

    public var underlying: (any Error)? { lastError }

    /// A result is an answer.
    public var reachedService: Bool? { lastError.map { CallFailure($0).reachedService } ?? true }

    public var retryAfter: Duration? { lastVerdict.retryAfter ?? lastError.flatMap { CallFailure($0).retryAfter } }

    public var description: String {
        let end = lastError.map { "failed: \($0)" } ?? "returned a result that means: \(lastVerdict)"
        return "Cancelled while waiting to try again; the last attempt \(end)"
    }
}
