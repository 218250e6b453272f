/// How an overloaded ``Bulkhead`` rejects waiting calls early.
///
/// ```swift
/// let api = Bulkhead("api", limit: 64, queue: 1_000, shedding: LoadShedding())
/// ```
///
/// A queue that empties now and then absorbs a burst. A queue that never empties only makes every call wait. So when
/// calls have been waiting for `interval` without a break, the bulkhead is **overloaded** until its queue is empty.
/// Meanwhile
///
/// - among calls of the same priority, the newest is next, because its caller is the likeliest to be still waiting;
/// - calls that have waited for more than `target` are rejected, first those whose turn would come last. Up to `limit`
///   waiters are kept, however long they have waited, so that no permit lies idle. A call that has waited for twice
///   `interval` is the next of its priority.
///
/// Source: controlled delay and adaptive LIFO of B. Maurer, "Fail at Scale" (ACM Queue 13(8), 2015), after CoDel (RFC
/// 8289), whose numbers are the defaults.
public struct LoadShedding: SettingsGroup {
    /// How long a call may wait under overload; 0 s or more, 5 ms by default.
    public var target: Duration
    /// How long the queue must stay non-empty before the bulkhead is overloaded; above 0 s, 100 ms by default.
    public var interval: Duration

    /// Creates settings.
    ///
    /// - Parameters:
    ///   - target: How long a call may wait under overload; 0 or more. 5 ms by default.
    ///   - interval: How long the queue must stay non-empty before the bulkhead is overloaded; above 0. It should be
    ///     several times as long as a call takes. 100 ms by default.
    public init(target: Duration = .milliseconds(5), interval: Duration = .milliseconds(100)) {
        self.target = target
        self.interval = interval
    }

    public static let schema = SettingsSchema(
        "LoadShedding", standard: LoadShedding(),
        [
            SettingField("targetSeconds", \.target, .atLeast(0)),
            SettingField("intervalSeconds", \.interval, .above(0)),
        ])
}
