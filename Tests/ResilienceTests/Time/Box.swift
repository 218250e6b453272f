import Synchronization

/// A value that several closures may read and write.
final class Box<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) { state = Mutex(value) }

    var value: Value {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    /// What it held, leaving something else there.
    func exchange(_ value: Value) -> Value {
        state.withLock { state in
            defer { state = value }
            return state
        }
    }
}
