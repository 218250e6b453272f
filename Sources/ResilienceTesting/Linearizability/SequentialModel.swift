/// The behavior of an object that only one thread uses, to check a ``History`` against.
///
/// Two equal models must give the same answers from then on.
public protocol SequentialModel: Hashable {
    /// The inputs of the object.
    associatedtype Input: Sendable
    /// The answers of the object.
    associatedtype Answer: Sendable & Equatable

    /// Performs an operation.
    ///
    /// - Parameter input: The operation's input.
    /// - Returns: The answer that the object must give.
    mutating func apply(_ input: Input) -> Answer
}
