/// A state machine prepared for the ``Explorer``: with its possible inputs and its invariants.
///
/// It is usually a value with the machine under test, a slow and obvious model of its answers, the time, and the
/// unreturned resources.
///
/// ```swift
/// struct Turnstile: ExplorableMachine {
///     enum Input { case coin, push }
///
///     var machine = TurnstileStateMachine()
///     var coins = 0, passed = 0
///
///     var inputs: [Input] { [.coin, .push] }
///
///     mutating func apply(_ input: Input) throws {
///         switch input {
///         case .coin:
///             machine.coin()
///             coins += 1
///         case .push:
///             if machine.push() == .turn { passed += 1 }
///         }
///         try require(passed <= coins, "\(passed) passed for \(coins) coins")
///     }
/// }
/// ```
public protocol ExplorableMachine {
    /// The inputs of the machine.
    ///
    /// An enum prints best.
    associatedtype Input: Hashable, Sendable
    /// The identity of a state; `Never` if the machine can't identify states.
    associatedtype Identity: Hashable = Never

    /// The inputs that may come now.
    var inputs: [Input] { get }

    /// Applies one input, and throws if an invariant does not hold afterwards.
    ///
    /// - Parameter input: One of ``inputs``.
    /// - Throws: Any error, such as ``BrokenInvariant``.
    mutating func apply(_ input: Input) throws

    /// The identity of the present state.
    ///
    /// States with the same identity have the same future, and are explored once.
    ///
    /// Without it every path is walked. With it, an exploration reaches deeper, and is complete when it meets no new
    /// state.
    var identity: Identity? { get }
}

extension ExplorableMachine where Identity == Never {
    /// No identity: every path is walked.
    public var identity: Never? { nil }
}

extension ExplorableMachine {
    /// Throws unless a condition holds.
    ///
    /// - Parameters:
    ///   - condition: The condition that must hold.
    ///   - complaint: The message if it does not.
    /// - Throws: ``BrokenInvariant`` if the condition is false.
    public func require(_ condition: Bool, _ complaint: @autoclosure () -> String) throws(BrokenInvariant) {
        if !condition { throw BrokenInvariant(complaint()) }
    }

    /// Throws unless the machine's answer equals the model's.
    ///
    /// - Parameters:
    ///   - answer: The machine's answer.
    ///   - expected: The model's answer.
    ///   - what: The name of the answer in the complaint; `the answer` by default.
    /// - Throws: ``BrokenInvariant`` if the two differ.
    public func require<Answer: Equatable>(
        _ answer: Answer, is expected: Answer, _ what: @autoclosure () -> String = "the answer"
    ) throws(BrokenInvariant) {
        if answer != expected { throw BrokenInvariant("\(what()) is \(answer), and should be \(expected)") }
    }
}

/// An invariant of an ``ExplorableMachine`` that does not hold.
public struct BrokenInvariant: Error, Hashable, CustomStringConvertible {
    public let description: String

    /// Creates the error.
    ///
    /// - Parameter description: The broken invariant.
    public init(_ description: String) { self.description = description }
}
