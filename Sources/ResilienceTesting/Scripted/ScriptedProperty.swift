/// A stand-in for a property that the code under test reads and writes: plays values in order, and records every write.
///
/// ```swift
/// // protocol Session { var token: String? { get set } }
/// struct TestSession: Session {
///     @ScriptedProperty var token: String? = nil
/// }
///
/// let session = TestSession()
/// session.$token.reads.enqueue(.success("expired"))   // the first read
/// try await refresh(session)
/// #expect(session.$token.writes.inputs == ["fresh"])
/// ```
///
/// A read returns the next value of its script. When that is used up, it returns the fallback of ``reads``, or without
/// a fallback the last written value, as any property does.
///
/// A `Sendable` class can't have a wrapped property, which is a `var`. Keep the script in a `let` there, and forward to
/// its ``wrappedValue``. For an `async` or throwing getter, use a ``ScriptedCall``.
@propertyWrapper public final class ScriptedProperty<Value: Sendable>: Sendable {
    /// The reads: their script, and their number.
    public let reads = ScriptedCall<Void, Value, Never>()
    /// The writes, with every value in order.
    public let writes = ScriptedCall<Value, Void, Never>(fallback: .success(()))
    private let initial: Value

    /// Creates a property.
    ///
    /// - Parameter wrappedValue: The value of a read before any value is written or scripted.
    public init(wrappedValue: Value) { initial = wrappedValue }

    /// The property's value.
    ///
    /// Each read and each write counts as a call.
    public var wrappedValue: Value {
        get { reads.call((), otherwise: writes.inputs.last ?? initial) }
        set { writes.call(newValue, otherwise: ()) }
    }

    /// The script itself, as `$name`: its ``reads`` and ``writes``.
    public var projectedValue: ScriptedProperty { self }

    /// Removes reads, writes and scripted values: a read gives the initial value again.
    public func reset() {
        reads.reset()
        writes.reset()
    }
}
