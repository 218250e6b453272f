/// A state machine made ready for the ``Explorer``: with the inputs that may come, and what must always hold.
///
/// Usually a value that holds the machine under test, a slow and obvious model of it to compare answers with, the time,
/// and what was handed out and not yet given back.
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
    /// What can happen to it. An enum prints best.
    associatedtype Input: Hashable, Sendable
    associatedtype Identity: Hashable = Never

    /// The inputs that may come now.
    var inputs: [Input] { get }

    /// Applies one input, and throws if something does not hold then.
    mutating func apply(_ input: Input) throws

    /// Says which states are the same: two of one identity have the same future, and are walked on from once. Leave it out
    /// and every path is walked. With it, an exploration reaches deeper; one that meets no new state is complete.
    var identity: Identity? { get }
}

extension ExplorableMachine where Identity == Never {
    public var identity: Never? { nil }
}

extension ExplorableMachine {
    /// Throws ``BrokenInvariant`` unless `condition` holds.
    public func require(_ condition: Bool, _ complaint: @autoclosure () -> String) throws(BrokenInvariant) {
        if !condition { throw BrokenInvariant(complaint()) }
    }

    /// Throws ``BrokenInvariant`` unless the machine's answer is the model's.
    public func require<Answer: Equatable>(
        _ answer: Answer, is expected: Answer, _ what: @autoclosure () -> String = "the answer"
    ) throws(BrokenInvariant) {
        if answer != expected { throw BrokenInvariant("\(what()) is \(answer), and should be \(expected)") }
    }
}

/// Something that must hold of an ``ExplorableMachine`` does not.
public struct BrokenInvariant: Error, Hashable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}
