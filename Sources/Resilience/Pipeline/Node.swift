/// A policy behind a class's method table. Every step would copy an existential, and each copy counts references.
///
/// Unchecked, here and below, only because the compiler can't see that it is safe: a node's only state is a `Sendable`
/// constant.
@usableFromInline class Node: @unchecked Sendable {
    @usableFromInline func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry { .proceed }
    @usableFromInline func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome)
        -> PolicyExit
    {
        .pass
    }
    func abandon(_ call: inout PolicyCall, _ slot: inout PolicySlot) {}
    var name: String { element.name }
    /// The policy, as a pipeline lists it.
    var element: Pipeline.Element { preconditionFailure("a node holds a policy") }

    static func holding(_ policy: some Policy) -> Node {
        (policy as? any NodeProviding)?.makeNode() ?? PolicyNode(policy)
    }
}

/// The node of any policy. It costs two more function calls at every step, since a generic class is compiled without
/// the policy's type.
class PolicyNode<P: Policy>: Node, @unchecked Sendable {
    final let policy: P

    init(_ policy: P) { self.policy = policy }

    override func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        policy.enter(&call, &slot)
    }

    override func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        policy.exit(&call, &slot, outcome)
    }

    override var name: String { policy.name }

    override var element: Pipeline.Element { Pipeline.Element(kind: .policy(policy)) }

    override func abandon(_ call: inout PolicyCall, _ slot: inout PolicySlot) { policy.abandon(&call, &slot) }
}

/// A policy of this package with a node class of its own, which names the policy's type and overrides `enter` and
/// `exit`. That saves 3 ns for each policy of a call; a call through a stack of four takes 95 ns.
protocol NodeProviding: Policy {
    func makeNode() -> Node
}
