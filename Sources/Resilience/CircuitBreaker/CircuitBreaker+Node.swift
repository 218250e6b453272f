extension CircuitBreaker: NodeProviding {
    func makeNode() -> Node { CircuitBreakerNode(self) }
}

private final class CircuitBreakerNode: PolicyNode<CircuitBreaker>, @unchecked Sendable {
    override func enter(_ call: inout Call, _ slot: inout Slot) -> Entry { policy.enter(&call, &slot) }

    override func exit(_ call: inout Call, _ slot: inout Slot, _ outcome: Outcome) -> Exit {
        policy.exit(&call, &slot, outcome)
    }
}
