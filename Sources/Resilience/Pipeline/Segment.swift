/// Policies that one driver loop walks: it enters them from first to last, and exits them in reverse order.
@usableFromInline protocol Segment {
    var count: Int { get }
    /// The policy's name, for observers.
    func name(at index: Int) -> String
    func enter(at index: Int, _ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry
    func exit(at index: Int, _ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit
    func abandon(at index: Int, _ call: inout PolicyCall, _ slot: inout PolicySlot)
}

/// One policy used without a pipeline.
@frozen @usableFromInline struct LoneSegment<P: Policy>: Segment {
    @usableFromInline let policy: P

    @inlinable init(_ policy: P) { self.policy = policy }

    @inlinable var count: Int { 1 }

    @inlinable func name(at index: Int) -> String { policy.name }

    @inlinable func enter(at index: Int, _ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        policy.enter(&call, &slot)
    }

    @inlinable func exit(at index: Int, _ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome)
        -> PolicyExit
    {
        policy.exit(&call, &slot, outcome)
    }

    @inlinable func abandon(at index: Int, _ call: inout PolicyCall, _ slot: inout PolicySlot) {
        policy.abandon(&call, &slot)
    }
}
