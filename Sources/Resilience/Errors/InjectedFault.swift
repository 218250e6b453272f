/// A failure that a `Chaos` policy injects, as if the operation had failed.
///
/// Every policy and every classifier uses its ``verdict``. It is neither a ``Rejection`` nor a ``PolicyError``: for
/// ``CallFailure`` it is the operation's own error, as in a real outage. An injection with an error of your own throws
/// that error as it is.
public struct InjectedFault: Error, Hashable, VerdictConvertible, CustomStringConvertible, FailureDescribing {
    /// The name of the `Chaos` policy.
    public let policy: String
    /// The meaning of the failure.
    public let verdict: Verdict
    /// Whether the operation has run, and its answer was lost; false if the fault came in place of the operation.
    public let hasRun: Bool

    /// Creates an injected failure, for tests.
    ///
    /// - Parameters:
    ///   - policy: The name of the `Chaos` policy.
    ///   - verdict: The meaning of the failure.
    ///   - hasRun: Whether the operation has run, and its answer was lost. False by default.
    public init(policy: String, verdict: Verdict, hasRun: Bool = false) {
        self.policy = policy
        self.verdict = verdict
        self.hasRun = hasRun
    }

    public var description: String {
        "\(hasRun ? "Lost the answer" : "Failed"), as injected for a test (\(policy)): \(verdict)"
    }

    public var failureDetail: FailureDetail { FailureDetail("InjectedFault", code: "\(verdict.kind)", policy: policy) }
}
