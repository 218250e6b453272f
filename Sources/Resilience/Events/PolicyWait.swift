/// The time that one call has waited for one policy: for its turn, or for another attempt.
public struct PolicyWait: Sendable, Hashable {
    /// The policy's name.
    public let policy: String
    /// The total time that the call waited for it.
    public let duration: Duration

    /// Creates a wait.
    ///
    /// - Parameters:
    ///   - policy: The policy's name.
    ///   - duration: The total time that the call waited for it.
    public init(policy: String, duration: Duration) {
        self.policy = policy
        self.duration = duration
    }
}
