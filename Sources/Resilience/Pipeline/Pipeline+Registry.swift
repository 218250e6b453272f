extension Pipeline: RegistryEntry {
    /// Its policies count as held by it alone: who takes one out of a pipeline of a registry keeps the pipeline too.
    public static func isUniquelyHeld(_ entry: inout Pipeline) -> Bool { isKnownUniquelyReferenced(&entry.core) }

    /// Whether all of its policies are at rest.
    public var isAtRest: Bool { policies.allSatisfy(\.isAtRest) }

    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        policies.allSatisfy { $0.isAtRest || ($0 as? any RegistryEntry)?.canBeEvicted(unusedFor: time) ?? false }
    }

    public func reset() { for policy in policies { policy.reset() } }

    /// Whether the two have the same policies in the same order and the same time base, and each can go on.
    public func canBeReconfigured(like other: Pipeline) -> Bool {
        timeBase === other.timeBase && elements.count == other.elements.count
            && zip(elements, other.elements).allSatisfy { old, new in
                switch (old, new) {
                case (.policy(let old), .policy(let new)): old.canBeReconfigured(likeAny: new)
                case (.around(let old), .around(let new)): type(of: old) == type(of: new)
                case (.policy, .around), (.around, .policy): false
                }
            }
    }

    /// The other pipeline, with this one's policies in the places of those that keep a state: each goes on with its new
    /// settings.
    /// - Returns: nil unless the two have the same policies in the same order and the same time base, and each can go on;
    ///   nothing has changed then.
    public func reconfigured(like other: Pipeline) -> Pipeline? {
        guard canBeReconfigured(like: other) else { return nil }
        var merged: [Element] = []
        for (old, new) in zip(elements, other.elements) {
            guard case .policy(let old) = old, case .policy(let new) = new else {
                merged.append(new)
                continue
            }
            // It can, as it has just said, unless its state decides that and has changed.
            guard let policy = old.reconfigured(likeAny: new) else { return nil }
            merged.append(.policy(policy))
        }
        return Pipeline(like: other, elements: merged)
    }

    public var circuitBreakers: [CircuitBreaker] { policies.compactMap { $0 as? CircuitBreaker } }

    var policies: [any Policy] {
        elements.compactMap { element in
            if case .policy(let policy) = element { policy } else { nil }
        }
    }
}

extension Policy {
    fileprivate func canBeReconfigured(likeAny other: any Policy) -> Bool {
        guard let other = other as? Self else { return false }
        return (self as? any RegistryEntry)?.canBeReconfigured(likeEntry: other) ?? true
    }

    /// Itself with new settings if it is an entry of its own; the other, with its state if it has one, if not.
    fileprivate func reconfigured(likeAny other: any Policy) -> (any Policy)? {
        guard let other = other as? Self else { return nil }
        guard let entry = self as? any RegistryEntry else { return other }
        return entry.reconfigured(likeEntry: other) as? any Policy
    }
}

extension RegistryEntry {
    fileprivate func canBeReconfigured(likeEntry other: any Sendable) -> Bool {
        (other as? Self).map { canBeReconfigured(like: $0) } ?? false
    }

    fileprivate func reconfigured(likeEntry other: any Sendable) -> Self? {
        (other as? Self).flatMap { reconfigured(like: $0) }
    }
}
