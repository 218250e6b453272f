/// Guards calls in two synchronous steps, going in and coming out.
///
/// It never suspends: the ``Pipeline`` does all waiting.
///
/// ```swift
/// // A whole policy.
/// struct Counting: Policy {
///     let calls = Counter()
///
///     func enter(
///         _ call: inout PolicyCall, _ slot: inout PolicySlot
///     ) -> PolicyEntry {
///         calls.increment()
///         return .proceed
///     }
/// }
/// ```
///
/// The *inside* of a policy is all that it runs: the policies after it in the pipeline, and the operation.
///
/// The contract:
/// - ``enter(_:_:)`` is called first. If it answers `.sleep` or `.park`, it is called again after the wait, with the
///   same slot: that is still the same entry.
/// - Each entry is matched by **exactly one** ``exit(_:_:_:)``, whatever happened inside: the operation ended, a policy
///   further in rejected the call, or the call was cancelled while it slept or was parked. Only an entry that ends with
///   `.reject`, `.fail` or `.cancel` has no exit.
/// - After an exit that answered `.again`, the call enters again, with the same slot. If it is cancelled before that,
///   ``abandon(_:_:)`` is called, and nothing else. The policy itself, or an inner policy whose rejection it passes on,
///   may reject that further attempt. Then the call ends with the result or error of the attempt before: a rejection
///   does not hide it.
/// - The methods may run concurrently for many calls. Call user code outside of locks.
///
/// The repository's guide "Writing a policy" builds one step by step.
public protocol Policy: Sendable, CustomStringConvertible {
    /// The name of this instance in events, errors and descriptions.
    ///
    /// The type's name by default.
    var name: String { get }

    /// The time base of the policy's state.
    ///
    /// nil, the default, if the policy keeps no readings between calls.
    var timeBase: (any TimeBase)? { get }

    /// Whether evicting the policy would lose nothing: no call is inside, and nothing is counted.
    ///
    /// By default true if ``timeBase`` is nil, and false otherwise.
    ///
    /// A ``PolicyRegistry`` evicts pipelines whose policies are all at rest.
    var isAtRest: Bool { get }

    /// The policy's effects on calls, for `warnings` and the nesting check.
    ///
    /// None by default.
    var traits: PolicyTraits { get }

    /// Resets the policy to its original state, where that makes sense.
    ///
    /// Does nothing by default.
    func reset()

    /// Answers a call that goes in.
    ///
    /// The default answers `.proceed`.
    ///
    /// - Parameters:
    ///   - call: The call. The policy may change its attempt and its deadline.
    ///   - slot: The policy's storage for this call.
    /// - Returns: The driver's next step with the call.
    func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry

    /// Answers a call that comes out.
    ///
    /// The default answers `.pass`.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - slot: The policy's storage for this call.
    ///   - outcome: How the inside ended.
    /// - Returns: The driver's next step with the call.
    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit

    /// Tells the policy that the round it asked for with `.again` does not come: the call was cancelled while it
    /// waited, or the call is a `PolicyPermit`, which has no further rounds.
    ///
    /// For a policy whose slot holds a resource; does nothing by default.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - slot: The policy's storage for this call.
    func abandon(_ call: inout PolicyCall, _ slot: inout PolicySlot)

    /// Returns what `enter(_:_:)` would answer now, and changes nothing: for `forecast(options:)`.
    ///
    /// By default the policy admits the call; a `StatusReporting` policy answers by its `isAllowed`.
    ///
    /// - Parameter call: A hypothetical call. A policy that sets deadlines for calls also sets one for this call.
    func forecast(_ call: inout PolicyCall) -> PolicyForecast
}

extension Policy {
    public var name: String { "\(Self.self)" }
    public var timeBase: (any TimeBase)? { nil }
    public var isAtRest: Bool { timeBase == nil }
    public var traits: PolicyTraits { PolicyTraits() }
    public func reset() {}
    public var description: String { name }
    public func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry { .proceed }
    public func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        .pass
    }
    public func abandon(_ call: inout PolicyCall, _ slot: inout PolicySlot) {}
}

/// A policy's storage for one call: three words, zero when the call first enters the policy.
///
/// In a further round that the policy itself asked for, the slot is as the policy left it. In a round that an outer
/// policy asked for, it is either as the policy left it or zero: clear it in ``Policy/exit(_:_:_:)`` if that matters.
@frozen public struct PolicySlot: Sendable, Equatable {
    /// The first word.
    public var first: UInt64 = 0
    /// The second word.
    public var second: UInt64 = 0
    /// The third word.
    public var third: UInt64 = 0

    /// Creates a slot of three zeros.
    @inlinable public init() {}
}

/// A policy's answer to a call going in.
public enum PolicyEntry {
    /// Admit the call.
    case proceed
    /// Reject the call with this error.
    ///
    /// No exit of this policy follows.
    case reject(any Error)
    /// End the attempt with this error, as if the operation had thrown it: the policies around this one classify, count
    /// and repeat it.
    ///
    /// No exit of this policy follows. For policies that act in place of the operation, such as `Chaos`.
    case fail(any Error)
    /// End the call with `CancellationError`, as if its task had been cancelled.
    ///
    /// No exit of this policy follows.
    case cancel
    /// Wait until this instant, then call ``Policy/enter(_:_:)`` again with the same slot.
    case sleep(until: MonotonicInstant)
    /// Wait until the policy resumes the waiter, or until this instant if that is earlier, then call
    /// ``Policy/enter(_:_:)`` again with the same slot.
    case park(PolicyWaiter, until: MonotonicInstant)
}

/// A policy's answer to a call coming out.
public enum PolicyExit {
    /// Continue outward with the outcome as it is.
    case pass
    /// Wait until this instant, then enter this policy again with the same slot.
    case again(at: MonotonicInstant)
    /// Continue outward with this error and this verdict.
    ///
    /// The verdict does not cross an enclosing ``AroundPolicy``: the error is classified again there.
    case replace(any Error, as: Verdict)
}

/// How the inside of a policy ended.
@frozen public struct PolicyOutcome: Sendable {
    /// The meaning of the inside's end.
    public let verdict: Verdict
    /// The error that the inside threw; nil if it returned.
    public let error: (any Error)?

    /// Creates an outcome.
    ///
    /// - Parameters:
    ///   - verdict: The meaning of the inside's end.
    ///   - error: The error that the inside threw. nil, the default, if it returned.
    @inlinable public init(_ verdict: Verdict, error: (any Error)? = nil) {
        self.verdict = verdict
        self.error = error
    }

    @inlinable package static var success: PolicyOutcome { PolicyOutcome(.success) }
}

/// Guards calls by running the inside in a task of its own: for work that can't be done in two synchronous steps.
///
/// The inside of a policy is all that it runs: the policies after it in the pipeline, and the operation.
///
/// It gives the inside a deadline, the call's own or an earlier one. It returns the verdict of the inside, or throws;
/// an error that it throws is classified again. It may run the inside at most once, unless its documentation asks for
/// `@Sendable` operations.
public protocol AroundPolicy: Sendable, CustomStringConvertible {
    /// The name of this instance in events, errors and descriptions.
    ///
    /// The type's name by default.
    var name: String { get }

    /// The policy's effects on calls, for ``Pipeline/warnings``.
    ///
    /// None by default.
    var traits: PolicyTraits { get }

    /// Runs the inside, in a task of its own.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - isolation: The caller's isolation. Capture it in a task of your own to keep it.
    ///   - inside: Runs the inside, up to this deadline.
    /// - Returns: The verdict of the inside.
    /// - Throws: The error of the inside, or an error of the policy.
    func around(
        _ call: inout PolicyCall, isolation: isolated (any Actor)?,
        _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
    ) async throws -> Verdict

    /// Gives a hypothetical call the deadline that the inside would have: for ``Pipeline/forecast(options:)``.
    ///
    /// Does nothing by default.
    ///
    /// - Parameter call: The call.
    func forecast(_ call: inout PolicyCall)
}

extension AroundPolicy {
    public var name: String { "\(Self.self)" }
    public var traits: PolicyTraits { PolicyTraits() }
    public var description: String { name }
}
