import Resilience

extension RetryAfter {
    /// Returns the value of a `Retry-After` field that asks for a wait.
    ///
    /// It is a whole number of seconds, rounded up, so that no client returns too early.
    /// - Parameters:
    ///   - wait: How long clients should wait. Less than a second counts as one second: after 0, clients would return
    ///     at once.
    ///   - longest: The longest wait to ask for, 1 s or more. An hour by default.
    /// - Returns: The value, such as "30".
    public static func value(for wait: Duration, longest: Duration = .seconds(3600)) -> String {
        "\(max(1, min(wait, longest).wholeSecondsRoundedUp))"
    }
}
