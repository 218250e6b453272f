/// An error that a policy throws in the place of the operation's, and that knows how the call fared.
///
/// A policy that did not let the call in throws a ``Rejection``. Conform an error of your own policy to one of the two, and
/// ``CallFailure`` knows what to make of it.
public protocol PolicyError: Error, CustomStringConvertible {
    /// What it was about: the error of the last attempt; nil if there was none.
    var underlying: (any Error)? { get }

    /// Whether the call reached the other side with any of its attempts; nil if nobody can tell.
    var reachedService: Bool? { get }

    /// How long until another call may succeed; nil if nobody can tell.
    var retryAfter: Duration? { get }
}
