import Resilience

/// The `Retry-After` field (RFC 9110 §10.2.3): how long the server asks clients to wait.
///
/// ```swift
/// // 120 s
/// RetryAfter.wait("120")
/// // 30 s: counted from the response's own date.
/// RetryAfter.wait(
///     "Sun, 06 Nov 1994 08:49:37 GMT", date: "Sun, 06 Nov 1994 08:49:07 GMT")
/// // nil: ignored, not guessed.
/// RetryAfter.wait("-5")
/// ```
public enum RetryAfter {
    /// Parses the wait from a `Retry-After` value.
    ///
    /// A value is either a number of whole seconds, digits only, or a date in any of HTTP's three forms (§5.6.7). A
    /// sign, a fraction, a blank value or a list is neither. Spaces and tabs around the value do not count.
    ///
    /// The wait is a whole number of seconds and never shorter than requested. A date that has passed gives zero. A
    /// wait above `Int64.max` nanoseconds (292 years) is cut to that.
    ///
    /// A two-digit year is the latest such year that is at most 50 years after the instant that the date is counted
    /// from.
    ///
    /// - Parameters:
    ///   - value: The field's value.
    ///   - date: The response's own `Date` field (§6.6.1). A date in `value` is counted from it, so an inaccurate local
    ///     clock does not matter. If it is nil, the default, or can't be read, the date is counted from `now`.
    ///   - now: The wall clock in seconds since 1970-01-01 00:00:00 UTC, rounded down; nil, the default, reads the
    ///     machine's clock.
    /// - Returns: The wait; nil if `value` is not a `Retry-After` value, and must be ignored.
    public static func wait(_ value: String, date: String? = nil, now: Int64? = nil) -> Duration? {
        var cursor = FieldCursor(value)
        if let seconds = cursor.numberToEnd() { return duration(seconds: seconds) }
        let now = now ?? WallClock.epochSeconds
        let reference = date.flatMap { HTTPDate($0, now: now) }?.epochSeconds ?? now
        guard let date = HTTPDate(value, now: reference) else { return nil }
        return duration(seconds: date.epochSeconds.saturatingSubtracting(reference))
    }

    private static func duration(seconds: Int64) -> Duration {
        min(max(.seconds(seconds), .zero), .infinite)
    }
}
