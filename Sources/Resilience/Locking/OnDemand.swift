/// A value that few of many objects ever change: it takes room only from its first change on.
struct OnDemand<Value: Beginning>: Sendable {
    /// An array of one, or of none before the first change. Unlike a reference to an object, it is copied as a value is.
    private var changed: [Value] = []

    /// Whether it has never been changed, and so is as in the beginning.
    @inline(__always) var isUnchanged: Bool { changed.isEmpty }

    @inline(__always) var value: Value {
        _read {
            if changed.isEmpty { yield Value() } else { yield changed[0] }
        }
        _modify {
            if changed.isEmpty { changed = [Value()] }
            yield &changed[0]
        }
    }
}

/// What is the same in the beginning for all objects that have it.
protocol Beginning: Sendable {
    init()
}

extension OnDemand: Equatable where Value: Equatable {
    /// One that was changed back is equal to one that was never changed.
    static func == (one: Self, other: Self) -> Bool {
        one.isUnchanged && other.isUnchanged || one.value == other.value
    }
}
