extension Bulkhead: DeadlineBound {}

extension Bulkhead: NodeProviding {
    func makeNode() -> Node { BulkheadNode(self) }
}

/// Unchecked, because ``Node`` is unchecked; this class adds no state.
private final class BulkheadNode: PolicyNode<Bulkhead>, @unchecked Sendable {
    override func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        policy.enter(&call, &slot)
    }

    override func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        policy.exit(&call, &slot, outcome)
    }
}
