/// Guards calls in two synchronous steps: going in and coming out. It never suspends; the ``Pipeline`` does all waiting.
///
/// ```swift
/// struct Counting: Policy {                              // a whole policy
///     let calls = Counter()
///     func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
///         calls.increment()
///         return .proceed
///     }
/// }
/// ```
///
/// The contract:
/// - ``enter(_:_:)`` is asked first. `.sleep` and `.park` mean "then ask me again", with the same slot.
/// - Each stay ends with **exactly one** ``exit(_:_:_:)``, whatever happens: the operation's end, a refusal further in,
///   cancellation while it sleeps or is parked. The one exception is `.refuse`, after which nothing is owed.
/// - After an exit that answered `.again`, the call enters again, with the same slot; or, if it is cancelled before that,
///   ``abandon(_:_:)`` is told, and nothing else. If that further attempt is refused, by the policy itself or by one further
///   in whose refusal it passes on, the call ends as the attempt before it did: a refusal does not hide what went before.
/// - Both may run on many tasks at once. What a user wrote runs outside locks.
///
/// See `Docs/WritingAPolicy.md`.
public protocol Policy: Sendable, CustomStringConvertible {
    /// Names this instance in events, errors and descriptions.
    var name: String { get }

    /// The time base that the state lives in; nil if it keeps no readings between calls.
    var timeBase: (any TimeBase)? { get }

    /// Whether forgetting it would lose nothing: no call of it is under way, and nothing is counted. True by default if it
    /// keeps no readings. A ``PolicyRegistry`` evicts pipelines whose policies are all at rest.
    var isAtRest: Bool { get }

    /// What it does to calls, for ``Pipeline/warnings``. None by default.
    var traits: PolicyTraits { get }

    /// Back to how it was made, as far as that makes sense. Nothing by default.
    func reset()

    /// Going in.
    func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry

    /// Coming out.
    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit

    /// The round that an `.again` of this policy asked for does not come: the call was cancelled in the wait before it, or
    /// a ``PolicyPermit`` was reported by hand. For a policy whose slot holds on to something; the default does nothing.
    func abandon(_ call: inout PolicyCall, _ slot: inout PolicySlot)
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

/// What a policy remembers of one call: three words, zero at first, kept while the call goes round.
@frozen public struct PolicySlot: Sendable, Equatable {
    public var first: UInt64 = 0
    public var second: UInt64 = 0
    public var third: UInt64 = 0

    @inlinable public init() {}
}

/// A policy's answer to a call going in.
public enum PolicyEntry {
    /// Go on.
    case proceed
    /// It ends here, with this error.
    case refuse(any Error)
    /// Ask again at this instant.
    case sleep(until: MonotonicInstant)
    /// Ask again when the policy resumes the waiter, and at this instant at the latest.
    case park(PolicyWaiter, until: MonotonicInstant)
}

/// A policy's answer to a call coming out.
public enum PolicyExit {
    /// Nothing to add.
    case pass
    /// Once more from here, entering this policy anew, at this instant.
    case again(at: MonotonicInstant)
    /// From here on the call has failed with this error, which means this.
    case replace(any Error, as: Verdict)
}

/// How the inside of a policy ended.
@frozen public struct PolicyOutcome: Sendable {
    public let verdict: Verdict
    /// The error it threw; nil if it returned.
    public let error: (any Error)?

    @inlinable public init(_ verdict: Verdict, error: (any Error)? = nil) {
        self.verdict = verdict
        self.error = error
    }

    @inlinable public static var success: PolicyOutcome { PolicyOutcome(.success) }
}

/// Guards calls by running the inside in a task of its own: for what can't be done in two synchronous steps.
///
/// It gives the inside a deadline, the call's own or an earlier one, and returns the inside's verdict, or throws: what it
/// throws is classified anew. It may run the inside once at most, unless its documentation asks for `@Sendable`
/// operations.
public protocol AroundPolicy: Sendable, CustomStringConvertible {
    /// Names this instance in events, errors and descriptions.
    var name: String { get }

    /// What it does to calls, for ``Pipeline/warnings``. None by default.
    var traits: PolicyTraits { get }

    /// - Parameters:
    ///   - isolation: where the caller is; a task of your own that is to keep it captures this.
    ///   - inside: what is further in.
    func around(
        _ call: inout PolicyCall, isolation: isolated (any Actor)?,
        _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
    ) async throws -> Verdict
}

extension AroundPolicy {
    public var name: String { "\(Self.self)" }
    public var traits: PolicyTraits { PolicyTraits() }
    public var description: String { name }
}
