/// The health of a policy in a few words, for health reports, the live page and alerts.
public struct PolicyCondition: Sendable, Hashable {
    /// The importance of the condition.
    public enum Level: String, Sendable, Hashable, Codable, CaseIterable {
        /// All is well.
        case up
        /// The policy does nothing now, or nobody uses it.
        case off
        /// The policy is used to its limit, which is normal: calls may have to wait.
        case busy
        /// The policy was set by hand, and calls get through.
        case byHand
        /// The policy delays or rejects more calls than in normal work.
        case degraded
        /// No call gets through: the service behind it does not work.
        case down
    }

    /// The condition in a word or a few, such as "half-open".
    public let state: String
    /// Its importance.
    public let level: Level
    /// How much longer it lasts; nil if unknown.
    public let timeLeft: Duration?

    /// Creates a condition.
    ///
    /// - Parameters:
    ///   - state: The condition in a word or a few.
    ///   - level: Its importance.
    ///   - timeLeft: How much longer it lasts; nil, the default, if unknown.
    public init(_ state: String, _ level: Level, timeLeft: Duration? = nil) {
        self.state = state
        self.level = level
        self.timeLeft = timeLeft
    }
}
