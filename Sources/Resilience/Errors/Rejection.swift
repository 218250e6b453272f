/// An error of a policy of ours: the attempt was refused and did not reach the other side. Where there is a retry around
/// the policy, attempts before it may have.
///
/// Catch it to know just that: `catch let rejection as any Rejection`.
public protocol Rejection: PolicyError, VerdictConvertible {
    /// How long until a call may be let through; nil when nobody can tell.
    var retryAfter: Duration? { get }
}

extension Rejection {
    public var verdict: Verdict { .rejected }
    public var underlying: (any Error)? { nil }
    public var reachedService: Bool? { false }

    /// "Please try again in N seconds."
    package var retryAdvice: String {
        guard let retryAfter else { return "Please try again later." }
        let seconds = max(1, retryAfter.wholeSecondsRoundedUp)
        return "Please try again in \(seconds) second\(seconds == 1 ? "" : "s")."
    }
}
