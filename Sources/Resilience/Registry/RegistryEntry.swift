/// What a ``Registry`` can keep: the package's policies with a state, and pipelines.
public protocol RegistryEntry: Sendable {
    /// Whether nobody but the registry holds it. For a class that is `isKnownUniquelyReferenced(&entry)`, the default; for a
    /// value, the same of what it refers to.
    ///
    /// Runs under the registry's lock, so it must do nothing else, and not use the registry.
    static func isUniquelyHeld(_ entry: inout Self) -> Bool

    /// Whether evicting it would lose nothing. Asked only while nobody else holds it.
    var isAtRest: Bool { get }

    /// Whether it may be evicted although it is not at rest, since nobody has used it for this long: what it has counted says
    /// nothing any more. False by default.
    ///
    /// A breaker may, if it is not open, was not set by hand, and its last change of state is this long ago, too.
    func canBeEvicted(unusedFor time: Duration) -> Bool

    /// Back to how it was made.
    func reset()

    /// Whether ``reconfigured(like:)`` would succeed: asked first of all policies of a pipeline, so that none of them changes
    /// if one can't. Best decided by settings alone, which do not change between the two.
    func canBeReconfigured(like other: Self) -> Bool

    /// The same with the settings of another: its state and its breakers go on. With those of itself nothing changes.
    /// - Returns: nil if it can't; nothing has changed then.
    func reconfigured(like other: Self) -> Self?

    /// The breakers in it: none by default.
    var circuitBreakers: [CircuitBreaker] { get }
}

extension RegistryEntry {
    public func canBeEvicted(unusedFor time: Duration) -> Bool { false }
    public var circuitBreakers: [CircuitBreaker] { [] }
}

extension RegistryEntry where Self: AnyObject {
    public static func isUniquelyHeld(_ entry: inout Self) -> Bool { isKnownUniquelyReferenced(&entry) }
}

extension CircuitBreaker: RegistryEntry {
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        let now = ownCore.timeBase.now
        let status = status
        // One that never changed its state, or was restored, has no more to tell than when it was last used.
        return status.mode == .automatic && status.state != .open && (status.since ?? .distantPast) + time <= now
    }

    public func reset() { reset(keepingGrowth: false) }

    public func canBeReconfigured(like other: CircuitBreaker) -> Bool {
        guard other !== self else { return true }
        let (now, machine) = (ownCore.timeBase.now, other.machine)
        return inner.withLock { $0.circuit.canBeReplaced(with: machine, at: now) }
    }

    public func reconfigured(like other: CircuitBreaker) -> Self? {
        other === self || reconfigure(machine: other.machine) ? self : nil
    }

    private var machine: any CircuitStateMachine { inner.withLock { $0.circuit.machine } }

    public var circuitBreakers: [CircuitBreaker] { [self] }
}

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
