/// The call's deadline came before the operation could begin, so the operation did not run.
///
/// Thrown if the deadline has passed when the call is made, or if the call waits for its first attempt until the
/// deadline and no policy rejects it before. Once the operation has begun, a call whose deadline comes is cancelled and
/// throws ``TimedOut``.
public struct DeadlinePassed: Rejection, Hashable, FailureDescribing {
    /// Creates the error.
    public init() {}

    /// Always nil: with this deadline, no further call can succeed.
    public var retryAfter: Duration? { nil }

    public var description: String { "The deadline passed before the call could begin." }

    public var failureDetail: FailureDetail { FailureDetail("DeadlinePassed", policy: "deadline") }
}
