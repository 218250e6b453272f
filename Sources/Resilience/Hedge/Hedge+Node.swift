extension Hedge: NodeProviding {
    func makeNode() -> Node { HedgeNode(self) }
}

/// Unchecked because ``Node`` is; it adds no state.
private final class HedgeNode: PolicyNode<Hedge>, @unchecked Sendable {
    override func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        policy.enter(&call, &slot)
    }

    override func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        .pass
    }
}
