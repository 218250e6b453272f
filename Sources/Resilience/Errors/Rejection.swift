/// An error of a policy that rejected an attempt: the attempt did not reach the other side.
///
/// A call throws a rejection only if it made no attempt: if a further attempt is rejected, the call ends with the
/// result or error of the attempt before it. To handle all rejections alike: `catch let rejection as any Rejection`.
public protocol Rejection: PolicyError, VerdictConvertible {
    /// The time until a call may be let through; nil if it is unknown.
    var retryAfter: Duration? { get }
}

extension Rejection {
    public var verdict: Verdict { .rejected }
    public var underlying: (any Error)? { nil }
    public var reachedService: Bool? { false }

    /// "Please try again in N seconds.", with ``retryAfter`` in whole seconds, rounded up; "later" if that is nil.
    package var retryAdvice: String {
        guard let retryAfter else { return "Please try again later." }
        let seconds = max(1, retryAfter.wholeSecondsRoundedUp)
        return "Please try again in \(seconds) second\(seconds == 1 ? "" : "s")."
    }
}
