/// An error that a policy throws instead of the operation's error, and that says how the call ended.
///
/// A policy that did not admit the call throws a ``Rejection``. Conform the errors of your own policy to one of the
/// two, so that ``CallFailure`` can sort them.
public protocol PolicyError: Error, CustomStringConvertible {
    /// The error of the last attempt, which led to this one; nil if there was none.
    var underlying: (any Error)? { get }

    /// Whether any attempt of the call reached the other side; nil if it is unknown.
    var reachedService: Bool? { get }

    /// The time until another call may succeed; nil if it is unknown.
    var retryAfter: Duration? { get }
}

/// An error that reports that a call's time was over.
package protocol TimeLimitError: PolicyError {}
