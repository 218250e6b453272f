extension ClientTimeout: ClientEndedPolicy {}

extension ClientTimeout: DeadlineBound {}

extension ClientTimeout: NodeProviding {
    func makeNode() -> Node { ClientTimeoutNode(self) }
}

/// Unchecked, because ``Node`` is unchecked; this class adds no state.
private final class ClientTimeoutNode: PolicyNode<ClientTimeout>, @unchecked Sendable {
    override func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        policy.enter(&call, &slot)
    }

    override func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        policy.exit(&call, &slot, outcome)
    }
}
