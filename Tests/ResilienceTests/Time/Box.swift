import Resilience

/// A value that several closures may read and write.
final class Box<Value: Sendable>: Sendable {
    private let state: Locked<Value>

    init(_ value: Value) { state = Locked(value) }

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

    /// Reads and writes it in one step.
    func withLock<R: Sendable>(_ body: (inout Value) -> R) -> R { state.withLock { body(&$0) } }
}
