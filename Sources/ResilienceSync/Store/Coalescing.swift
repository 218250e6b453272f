#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The result of two mutations of one entity and one kind if the earlier one was never attempted.
///
/// | earlier | later | together |
/// |---|---|---|
/// | create | update | a create with the later payload |
/// | update | update | the later update |
/// | update | delete | the delete |
/// | delete | delete | one delete |
/// | create | delete | nothing |
///
/// Any other pair stays apart, and so does a mutation without an ``Mutation/operation``, or with a later
/// ``Mutation/notBefore`` than the mutation before it. Mutations of different kinds also stay apart, since the later
/// one may lack content of the earlier one. A merged mutation keeps the earlier one's place and id, and is urgent if
/// either is. It has the later one's idempotency key, unless the merge changed nothing about the earlier one.
public struct Coalescing: Sendable {
    /// The result of combining two mutations.
    public enum Outcome: Sendable, Hashable {
        /// Both are sent.
        case apart
        /// This one replaces both.
        case merged(Mutation)
        /// Neither is sent.
        case nothing
    }

    private let payload: (@Sendable (_ earlier: Mutation, _ later: Mutation) -> Data)?
    private let acrossKinds: Bool

    /// Combines nothing: every mutation is sent.
    public static let off = Coalescing(payload: nil)
    /// For updates that carry the whole entity: the later payload replaces the earlier one.
    public static let lastWriteWins = Coalescing { $1.payload }

    /// Returns a rule for updates that carry only the changes.
    ///
    /// - Parameters:
    ///   - acrossKinds: Whether to combine mutations of different kinds, except two updates. Use it if kinds only name
    ///     operations, so that a delete replaces an update before it. False by default.
    ///   - payload: Merges the payload of a create or an update with that of the update after it. It is called while
    ///     the store is locked, so it must not use the store or its queue.
    /// - Returns: The rule.
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

    /// Whether a mutation could be combined with an earlier one, so that a search for one is worthwhile.
    func mayMerge(_ later: Mutation) -> Bool { payload != nil && later.operation != nil && later.earlierFailures == 0 }

    /// Combines two mutations.
    ///
    /// - Parameters:
    ///   - earlier: The last pending mutation of its lane, never attempted.
    ///   - later: The mutation that is appended.
    /// - Returns: The result of the two.
    public func combine(_ earlier: Mutation, _ later: Mutation) -> Outcome {
        guard let payload, earlier.entity == later.entity, let first = earlier.operation, let second = later.operation
        else { return .apart }
        guard later.notBefore ?? .distantPast <= earlier.notBefore ?? .distantPast else { return .apart }
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
    /// This mutation with other content, and with the later mutation's key: under the old key, a server that has seen
    /// that key would take the new content for a repetition.
    fileprivate func taking(kind: String, _ operation: Operation, _ payload: Data, from later: Mutation) -> Mutation {
        var merged = self
        merged.isUrgent = isUrgent || later.isUrgent
        if kind == self.kind, operation == self.operation, payload == self.payload { return merged }
        return Mutation(
            id: id, entity: entity, kind: kind, operation: operation, payload: payload,
            idempotencyKey: later.idempotencyKey, createdAt: createdAt, notBefore: notBefore,
            isUrgent: merged.isUrgent)
    }
}
