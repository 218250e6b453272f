import Resilience

extension RetryAfter {
    /// Returns the value of a `Retry-After` field that asks for a wait.
    ///
    /// It is a number of whole seconds, rounded up, so that a client that waits no longer is not too early.
    /// - Parameters:
    ///   - wait: How long clients should wait. Less than a second counts as one: 0 would ask them to come back at once.
    ///   - longest: The longest wait to ask for, 1 s or more. An hour by default.
    /// - Returns: The value, such as "30".
    public static func value(for wait: Duration, longest: Duration = .seconds(3600)) -> String {
        "\(max(1, min(wait, longest).wholeSecondsRoundedUp))"
    }
}
