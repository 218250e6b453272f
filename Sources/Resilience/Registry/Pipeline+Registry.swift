extension Pipeline: RegistryEntry {
    /// Returns whether nobody but the registry holds the pipeline.
    ///
    /// References to its policies alone do not count. To keep a policy of a registry's pipeline in use, hold the
    /// pipeline.
    /// - Parameter entry: The pipeline.
    public static func isUniquelyHeld(_ entry: inout Pipeline) -> Bool { isKnownUniquelyReferenced(&entry.core) }

    /// Whether all policies and all circuit breakers of the pipeline are at rest, even breakers inside of another
    /// policy.
    public var isAtRest: Bool { elements.allSatisfy(\.isAtRest) && circuitBreakers.allSatisfy(\.isAtRest) }

    /// Returns whether each policy and each circuit breaker is at rest, or may be evicted although it is not.
    ///
    /// - Parameter time: Nobody has used the pipeline for at least this time.
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        elements.allSatisfy { $0.isAtRest || $0.entry?.canBeEvicted(unusedFor: time) ?? false }
            && circuitBreakers.allSatisfy { $0.isAtRest || $0.canBeEvicted(unusedFor: time) }
    }

    /// Resets each policy to its original state: an around policy only if it is a ``RegistryEntry``.
    public func reset() {
        for element in elements {
            if case .policy(let policy) = element.kind { policy.reset() } else { element.entry?.reset() }
        }
    }

    /// Returns whether both pipelines have the same time base and policies of the same types in the same order, and
    /// each policy can continue with its new settings.
    ///
    /// A policy that is not a ``RegistryEntry`` is replaced; it must have no circuit breakers, or the same ones as
    /// before.
    ///
    /// - Parameter other: The pipeline with the new settings.
    public func canBeReconfigured(like other: Pipeline) -> Bool {
        timeBase === other.timeBase && elements.count == other.elements.count
            && zip(elements, other.elements).allSatisfy { $0.canBeReconfigured(like: $1) }
    }

    /// Returns the other pipeline, but with this pipeline's stateful policies.
    ///
    /// Each continues with its new settings.
    ///
    /// - Parameter other: The pipeline with the new settings.
    /// - Returns: nil if ``canBeReconfigured(like:)`` is false. Then nothing has changed, except that fault injectors
    ///   have the settings of the other pipeline, and are off if that pipeline has none for them. Also nil if a policy
    ///   that could continue when it was asked no longer can; then the policies before it have changed.
    public func reconfigured(like other: Pipeline) -> Pipeline? {
        guard canBeReconfigured(like: other) else {
            endGameDays(elements, unlessIn: other.elements)
            return nil
        }
        var merged: [Element] = []
        for (old, new) in zip(elements, other.elements) {
            // nil only if the policy decides by its state, which has changed since it was asked.
            guard let element = old.reconfigured(like: new) else { return nil }
            merged.append(element)
        }
        return Pipeline(like: other, elements: merged)
    }

    /// Turns off fault injectors that have no new settings, even for users of the earlier pipeline.
    /// - Parameter others: Policies with new settings: a fault injector takes the settings of the first policy with its
    ///   type and name.
    func endGameDays(_ elements: [Element], unlessIn others: [Element] = []) {
        guard SettingChecks.mayChange else { return }
        for element in elements where element.traits.injectsFaults {
            let other = others.first { element.canBeReconfigured(like: $0) && $0.name == element.name }
            if other.flatMap({ element.reconfigured(like: $0) }) == nil, case .policy(let policy) = element.kind {
                policy.reset()
            }
        }
    }
}

extension Pipeline.Element {
    var entry: (any RegistryEntry)? { policy as? any RegistryEntry }

    fileprivate var isAtRest: Bool {
        if case .policy(let policy) = kind { policy.isAtRest } else { entry?.isAtRest ?? true }
    }

    fileprivate func canBeReconfigured(like other: Self) -> Bool {
        if let entry { return entry.canBeReconfigured(likeAny: other.policy) }
        // Replacing a breaker would lose its state and its watchers.
        return type(of: policy) == type(of: other.policy) && breakers.elementsEqual(other.breakers, by: ===)
    }

    /// Returns this policy with the other's settings if it is a ``RegistryEntry``; otherwise the other policy as it is.
    func reconfigured(like other: Self) -> Self? {
        guard let entry else { return canBeReconfigured(like: other) ? other : nil }
        let policy = entry.reconfigured(likeAny: other.policy)
        switch kind {
        case .policy: return (policy as? any Policy).map { Self(kind: .policy($0)) }
        case .around: return (policy as? any AroundPolicy).map { Self(kind: .around($0)) }
        }
    }

    private var breakers: [CircuitBreaker] { (policy as? any CircuitBreakerOwner)?.circuitBreakers ?? [] }
}

extension RegistryEntry {
    fileprivate func canBeReconfigured(likeAny other: Any) -> Bool {
        (other as? Self).map { canBeReconfigured(like: $0) } ?? false
    }

    fileprivate func reconfigured(likeAny other: Any) -> Self? { (other as? Self).flatMap { reconfigured(like: $0) } }
}
