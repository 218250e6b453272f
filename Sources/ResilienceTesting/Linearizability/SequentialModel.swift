/// What an object does when only one thread uses it: the meaning that a ``History`` is checked against.
///
/// A model that is equal to another must answer alike from then on.
public protocol SequentialModel: Hashable {
    associatedtype Input: Sendable
    associatedtype Answer: Sendable & Equatable

    mutating func apply(_ input: Input) -> Answer
}
