import Resilience

/// A value that several closures may read and write.
package final class Box<Value: Sendable>: Sendable {
    private let state: Locked<Value>

    package init(_ value: Value) { state = Locked(value) }

    package var value: Value {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    /// Replaces the value, and returns the old one.
    package func exchange(_ value: Value) -> Value {
        state.withLock { state in
            defer { state = value }
            return state
        }
    }

    /// Reads and writes it in one step.
    package func withLock<R: Sendable>(_ body: (inout Value) -> R) -> R { state.withLock { body(&$0) } }
}
