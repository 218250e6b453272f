import Resilience

/// The `Retry-After` field (RFC 9110 §10.2.3): how long the server asks us to wait.
///
/// ```swift
/// RetryAfter.wait("120")                                  // 120 s
/// RetryAfter.wait("Sun, 06 Nov 1994 08:49:37 GMT",        // counted from the response's own date
///                 date: "Sun, 06 Nov 1994 08:49:07 GMT")  // 30 s
/// RetryAfter.wait("-5")                                   // nil: ignored, not guessed
/// ```
public enum RetryAfter {
    /// The wait that `value` asks for; nil if it is not a `Retry-After` value, and is to be ignored.
    ///
    /// `value` is either a number of whole seconds, digits only, or a date in any of HTTP's three forms (§5.6.7). A
    /// sign, a fraction, a blank or a list is none of these. Spaces and tabs around it do not count.
    ///
    /// The wait is between zero, for a date that has passed, and `Int64.max` nanoseconds (292 years), where longer ones
    /// end; else it is in whole seconds, and never shorter than what was asked for.
    ///
    /// A two-digit year is the latest one of that ending that is no more than 50 years ahead of what the date is
    /// counted from.
    ///
    /// - Parameters:
    ///   - date: the response's own `Date` field (§6.6.1). A date in `value` is counted from it, so that it does not
    ///     matter how far our clock is off. Without it, or if it can't be read, from `now`.
    ///   - now: the wall clock in seconds since 1970-01-01 00:00:00 UTC, rounded down; nil to read the machine's.
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
