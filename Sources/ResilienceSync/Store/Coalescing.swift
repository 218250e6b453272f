#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What two mutations of one entity and one kind become, of which the earlier was never attempted.
///
/// | earlier | later | together |
/// |---|---|---|
/// | create | update | a create with the later payload |
/// | update | update | the later update |
/// | update | delete | the delete |
/// | delete | delete | one delete |
/// | create | delete | nothing |
///
/// Anything else, and whatever has no ``Mutation/operation``, stays apart. So do mutations of different kinds: nobody can
/// tell whether the one says all that the other does. What they become stands at the earlier one's place, under its id, and
/// carries the later one's idempotency key unless nothing about it changed.
public struct Coalescing: Sendable {
    public enum Outcome: Sendable, Hashable {
        /// Both are sent.
        case apart
        /// This one stands for both.
        case merged(Mutation)
        /// Neither is sent.
        case nothing
    }

    private let payload: (@Sendable (_ earlier: Mutation, _ later: Mutation) -> Data)?
    private let acrossKinds: Bool

    /// Every mutation is sent.
    public static let off = Coalescing(payload: nil)
    /// An update carries its entity whole, so the last one says it all.
    public static let lastWriteWins = Coalescing { $1.payload }

    /// For updates that carry only what changed.
    /// - Parameters:
    ///   - acrossKinds: whether mutations of different kinds become one, too, but for two updates: for kinds that are no
    ///     more than names of the operations, so that a delete says all that an update before it does.
    ///   - payload: the payload that stands for a create or an update and the update after it. It is called while the store
    ///     is locked, so it must not use the store or its queue.
    public static func merging(
        acrossKinds: Bool = false, _ payload: @escaping @Sendable (_ earlier: Mutation, _ later: Mutation) -> Data
    ) -> Self {
        Coalescing(payload: payload, acrossKinds: acrossKinds)
    }

    private init(
        payload: (@Sendable (_ earlier: Mutation, _ later: Mutation) -> Data)?, acrossKinds: Bool = false
    ) {
        self.payload = payload
        self.acrossKinds = acrossKinds
    }

    /// Whether it is worth looking for what this one could be combined with.
    func mayMerge(_ later: Mutation) -> Bool { payload != nil && later.operation != nil }

    /// - Parameter earlier: the last of its lane, and never attempted.
    public func combine(_ earlier: Mutation, _ later: Mutation) -> Outcome {
        guard let payload, earlier.entity == later.entity, let first = earlier.operation, let second = later.operation
        else { return .apart }
        guard earlier.kind == later.kind || acrossKinds && (first, second) != (.update, .update) else { return .apart }
        switch (first, second) {
        case (.create, .delete):
            return .nothing
        case (.create, .update):
            return .merged(earlier.taking(kind: earlier.kind, .create, payload(earlier, later), from: later))
        case (.update, .update):
            return .merged(earlier.taking(kind: earlier.kind, .update, payload(earlier, later), from: later))
        case (.update, .delete), (.delete, .delete):
            return .merged(earlier.taking(kind: later.kind, .delete, later.payload, from: later))
        case (.create, .create), (.update, .create), (.delete, .create), (.delete, .update):
            return .apart
        }
    }
}

extension Mutation {
    /// This one with something else to send. A server that has seen the old key would take other content under it for a
    /// repetition.
    fileprivate func taking(kind: String, _ operation: Operation, _ payload: Data, from later: Mutation) -> Mutation {
        if kind == self.kind, operation == self.operation, payload == self.payload { return self }
        return Mutation(
            id: id, entity: entity, kind: kind, operation: operation, payload: payload,
            idempotencyKey: later.idempotencyKey, createdAt: createdAt)
    }
}
