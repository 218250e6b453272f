/// The last good result of something that is fetched again and again, kept for when fetching fails.
///
/// ```swift
/// let lastPage = LastGood<Page>(maxAge: .seconds(600))
/// let activities = pipeline.withFallback(toLastGood: lastPage)
/// ```
///
/// One for each thing that is fetched: it does not know what was asked for, and hands back what came last.
public final class LastGood<Value: Sendable>: Sendable {
    public let maxAge: Duration?
    public let timeBase: any TimeBase
    private let state: Locked<LastGoodStateMachine<Value>>

    /// - Parameter maxAge: how long after it came a result may still be handed back; above zero. nil is for ever.
    public init(maxAge: Duration? = nil, timeBase: any TimeBase = .system) {
        let maxAge = maxAge.map { SettingChecks("LastGood").aboveZero($0, "maxAge") }
        self.maxAge = maxAge
        self.timeBase = timeBase
        state = Locked(LastGoodStateMachine(maxAge: maxAge ?? .infinite))
    }

    /// The last good result; nil if there is none, or it is older than `maxAge`.
    public var value: Value? {
        let now = timeBase.now
        return state.withLock { $0.value(at: now) }
    }

    /// How long ago the last good result came, whether or not it is too old; nil if there is none.
    public var age: Duration? {
        let now = timeBase.now
        return state.withLock { $0.age(at: now) }
    }

    /// Takes this for the last good result, as of now. A ``Fallback`` does so by itself: this is for what was stored.
    public func keep(_ value: Value) {
        let now = timeBase.now
        // Let go of after the lock: its deinit may be a user's code.
        let old = state.withLock { $0.keep(value, at: now) }
        _ = old
    }

    /// Has none any more: for a user who signs out.
    public func forget() {
        let old = state.withLock { $0.forget() }
        _ = old
    }
}
