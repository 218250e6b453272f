/// A result, and when it came. Several threads read the clock, so their times may arrive out of order.
struct LastGoodStateMachine<Value> {
    let maxAge: Duration
    private var held: Value?
    /// When the result came, or a later time from another thread.
    private var since = MonotonicInstant.distantPast

    init(maxAge: Duration) { self.maxAge = maxAge }

    /// - Returns: The result before this one.
    mutating func keep(_ value: Value, at now: MonotonicInstant) -> Value? {
        defer { held = value }
        since = max(now, since)
        return held
    }

    /// - Returns: The result that was removed.
    mutating func forget() -> Value? {
        since = .distantPast
        return held.take()
    }

    func age(at now: MonotonicInstant) -> Duration? { held == nil ? nil : max(.zero, since.duration(to: now)) }

    func value(at now: MonotonicInstant) -> Value? { now <= since + maxAge ? held : nil }
}
