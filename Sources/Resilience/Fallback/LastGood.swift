/// The last good result of a repeated fetch, kept for when fetching fails.
///
/// ```swift
/// let lastPage = LastGood<Page>(maxAge: .seconds(600))
/// let activities = pipeline.withFallback(toLastGood: lastPage)
/// ```
///
/// Make one object for each resource: it returns the latest result, whatever the request.
///
/// See <doc:FallbackGuide>.
public final class LastGood<Value: Sendable>: Sendable {
    let timeBase: any TimeBase
    private let state: Locked<LastGoodStateMachine<Value>>

    /// Creates an object that has no result yet.
    ///
    /// - Parameters:
    ///   - maxAge: How long a result may still be returned; above 0. nil for no limit.
    ///   - timeBase: The time base that measures the age; it must be the pipeline's.
    public init(maxAge: Duration? = nil, timeBase: any TimeBase = .system) {
        let maxAge = maxAge.map { SettingChecks("LastGood").aboveZero($0, "maxAge") }
        self.timeBase = timeBase
        state = Locked(LastGoodStateMachine(maxAge: maxAge ?? .infinite))
    }

    /// The last good result; nil if there is none, or if it is older than `maxAge`.
    public var value: Value? {
        let now = timeBase.now
        return state.withLock { $0.value(at: now) }
    }

    /// The age of the last good result, even if that result is too old; nil if there is none.
    public var age: Duration? {
        let now = timeBase.now
        return state.withLock { $0.age(at: now) }
    }

    /// Stores a result as the last good one, as of now.
    ///
    /// A ``Fallback`` does this by itself for every success. Call it for a result that you stored elsewhere.
    /// - Parameter value: The result.
    public func keep(_ value: Value) {
        let now = timeBase.now
        // Released after the lock, since its deinit may be a user's code.
        _ = state.withLock { $0.keep(value, at: now) }
    }

    /// Removes the result, for example when a user signs out.
    public func forget() {
        _ = state.withLock { $0.forget() }
    }
}
