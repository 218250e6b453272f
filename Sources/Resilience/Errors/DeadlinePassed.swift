/// The call's deadline came before the operation could begin: it did not run.
///
/// Thrown for a call whose deadline is over when it is made, and for one that had to wait until then for its first attempt,
/// where no policy refused it before. A call whose deadline comes while the operation runs is cancelled, and throws
/// ``TimedOut``.
public struct DeadlinePassed: Rejection, Hashable {
    public init() {}

    /// nil: with this deadline never.
    public var retryAfter: Duration? { nil }

    public var description: String { "The deadline passed before the call could begin." }
}
