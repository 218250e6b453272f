/// What an object does when only one thread uses it. A ``History`` is checked against it.
///
/// Two equal models must give the same answers from then on.
public protocol SequentialModel: Hashable {
    /// What can be asked of the object.
    associatedtype Input: Sendable
    /// What the object answers.
    associatedtype Answer: Sendable & Equatable

    /// Does an operation.
    ///
    /// - Parameter input: What is asked.
    /// - Returns: The answer that the object must give.
    mutating func apply(_ input: Input) -> Answer
}
