extension Retry: DeadlineBound {}

extension Retry: NodeProviding {
    func makeNode() -> Node { RetryNode(self) }
}

/// Unchecked, because ``Node`` is unchecked; this class adds no state.
private final class RetryNode: PolicyNode<Retry>, @unchecked Sendable {
    override func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        policy.enter(&call, &slot)
    }

    override func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        policy.exit(&call, &slot, outcome)
    }
}
