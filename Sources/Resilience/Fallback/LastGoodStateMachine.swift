/// A result and since when it is known. Readings of several threads may come out of order.
struct LastGoodStateMachine<Value> {
    let maxAge: Duration
    private var held: Value?
    /// When that came, or a later reading.
    private var since = MonotonicInstant.distantPast

    init(maxAge: Duration) { self.maxAge = maxAge }

    /// - Returns: what it held before.
    mutating func keep(_ value: Value, at now: MonotonicInstant) -> Value? {
        defer { held = value }
        since = max(now, since)
        return held
    }

    /// - Returns: what it held.
    mutating func forget() -> Value? {
        since = .distantPast
        return held.take()
    }

    func age(at now: MonotonicInstant) -> Duration? { held == nil ? nil : max(.zero, since.duration(to: now)) }

    func value(at now: MonotonicInstant) -> Value? { now <= since + maxAge ? held : nil }
}
