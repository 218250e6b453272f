extension Throttle: NodeProviding {
    func makeNode() -> Node { ThrottleNode(self) }
}

private final class ThrottleNode: PolicyNode<Throttle>, @unchecked Sendable {
    override func enter(_ call: inout Call, _ slot: inout Slot) -> Entry { policy.enter(&call, &slot) }

    override func exit(_ call: inout Call, _ slot: inout Slot, _ outcome: Outcome) -> Exit {
        policy.exit(&call, &slot, outcome)
    }
}
