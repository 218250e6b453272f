/// How well a policy is, in a word that people know. A health report, the live page and an alert show it.
public struct PolicyCondition: Sendable, Hashable {
    /// How much the condition matters.
    public enum Level: String, Sendable, Hashable, Codable, CaseIterable {
        /// All is well.
        case up
        /// It does nothing now, or nobody uses it.
        case off
        /// It is used to its limit, which is a part of normal work: calls may have to wait.
        case busy
        /// Somebody has set it so by hand, and calls get through.
        case byHand
        /// It holds up or rejects calls in a way that is no part of normal work.
        case degraded
        /// No call gets through: what is behind it does not work.
        case down
    }

    /// The condition in a word or a few, such as "half-open".
    public let state: String
    /// How much it matters.
    public let level: Level
    /// How much longer it lasts; nil if that is not known.
    public let timeLeft: Duration?

    /// Creates a condition.
    /// - Parameters:
    ///   - state: The condition in a word or a few.
    ///   - level: How much it matters.
    ///   - timeLeft: How much longer it lasts; nil, the default, if that is not known.
    public init(_ state: String, _ level: Level, timeLeft: Duration? = nil) {
        self.state = state
        self.level = level
        self.timeLeft = timeLeft
    }
}
