/// What a ``Registry`` can keep: the package's policies with a state, and pipelines.
public protocol RegistryEntry: Sendable {
    /// Whether nobody but the registry holds it, and forgetting it would lose nothing.
    static func isIdle(_ entry: inout Self) -> Bool

    /// Back to how it was made.
    func reset()

    /// The same with the settings of another: its state goes on.
    /// - Returns: nil if it can't.
    func reconfigured(like other: Self) -> Self?

    /// The breakers in it.
    var circuitBreakers: [CircuitBreaker] { get }
}

extension RegistryEntry where Self: Policy & AnyObject {
    public static func isIdle(_ entry: inout Self) -> Bool { isKnownUniquelyReferenced(&entry) && entry.isAtRest }
    public var circuitBreakers: [CircuitBreaker] { [] }
}

extension CircuitBreaker: RegistryEntry {
    public func reset() { reset(keepingGrowth: false) }

    public func reconfigured(like other: CircuitBreaker) -> Self? {
        reconfigure(machine: other.inner.withLock { $0.circuit.machine }) ? self : nil
    }

    public var circuitBreakers: [CircuitBreaker] { [self] }
}

extension Pipeline: RegistryEntry {
    /// Its policies count as held by it alone: who takes one out of a pipeline of a registry keeps the pipeline too.
    public static func isIdle(_ entry: inout Pipeline) -> Bool {
        isKnownUniquelyReferenced(&entry.core) && entry.policies.allSatisfy(\.isAtRest)
    }

    public func reset() { for policy in policies { policy.reset() } }

    /// The other pipeline, with this one's policies in the places of those that keep a state: each goes on with its new
    /// settings. Nil unless the two have the same policies in the same order, and each can go on.
    public func reconfigured(like other: Pipeline) -> Pipeline? {
        guard elements.count == other.elements.count else { return nil }
        var merged: [Element] = []
        for (old, new) in zip(elements, other.elements) {
            switch (old, new) {
            case (.policy(let old), .policy(let new)):
                guard let policy = old.reconfigured(likeAny: new) else { return nil }
                merged.append(.policy(policy))
            case (.around(let old), .around(let new)) where type(of: old) == type(of: new):
                merged.append(.around(new))
            default:
                return nil
            }
        }
        return Pipeline(like: other, elements: merged)
    }

    public var circuitBreakers: [CircuitBreaker] { policies.compactMap { $0 as? CircuitBreaker } }

    private var policies: [any Policy] {
        elements.compactMap { element in
            if case .policy(let policy) = element { policy } else { nil }
        }
    }
}

extension Policy {
    /// Itself with new settings if it is an entry of its own; the other, with its state if it has one, if not.
    fileprivate func reconfigured(likeAny other: any Policy) -> (any Policy)? {
        guard let other = other as? Self else { return nil }
        guard let entry = self as? any RegistryEntry else { return other }
        return entry.reconfigured(likeEntry: other) as? any Policy
    }
}

extension RegistryEntry {
    fileprivate func reconfigured(likeEntry other: any Sendable) -> Self? {
        (other as? Self).flatMap { reconfigured(like: $0) }
    }
}
