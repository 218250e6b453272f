extension Pipeline: RegistryEntry {
    /// Returns whether nobody but the registry holds the pipeline.
    ///
    /// References to its policies alone do not count. To keep a policy of a registry's pipeline in use, hold the
    /// pipeline.
    /// - Parameter entry: The pipeline.
    public static func isUniquelyHeld(_ entry: inout Pipeline) -> Bool { isKnownUniquelyReferenced(&entry.core) }

    /// Whether all policies of the pipeline are at rest. Around policies are not asked.
    public var isAtRest: Bool { policies.allSatisfy(\.isAtRest) }

    /// Returns whether each policy is at rest, or may be evicted although it is not.
    /// - Parameter time: For how long, at least, nobody has used the pipeline.
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        policies.allSatisfy { $0.isAtRest || ($0 as? any RegistryEntry)?.canBeEvicted(unusedFor: time) ?? false }
    }

    /// Sets each policy back to how it was made. Around policies stay as they are.
    public func reset() { for policy in policies { policy.reset() } }

    /// Returns whether both pipelines have the same time base and policies of the same types in the same order, and
    /// each policy can go on with its new settings.
    /// - Parameter other: The pipeline with the new settings.
    public func canBeReconfigured(like other: Pipeline) -> Bool {
        timeBase === other.timeBase && elements.count == other.elements.count
            && zip(elements, other.elements).allSatisfy { old, new in
                switch (old.kind, new.kind) {
                case (.policy(let old), .policy(let new)): old.canBeReconfigured(likeAny: new)
                case (.around(let old), .around(let new)): type(of: old) == type(of: new)
                case (.policy, .around), (.around, .policy): false
                }
            }
    }

    /// Returns the other pipeline, with this pipeline's policies in place of those that keep a state. Each of these
    /// goes on with its new settings.
    /// - Parameter other: The pipeline with the new settings.
    /// - Returns: nil if ``canBeReconfigured(like:)`` is false, and nothing has changed then, but that what injects faults has the settings of the other
    ///   pipeline, and is off if that has nothing of the kind; nil, too, if a policy
    ///   can't go on although it could when it was asked, and the policies before it have changed then.
    public func reconfigured(like other: Pipeline) -> Pipeline? {
        guard canBeReconfigured(like: other) else {
            endGameDays(policies, unlessIn: other.policies)
            return nil
        }
        var merged: [Element] = []
        for (old, new) in zip(elements, other.elements) {
            guard case .policy(let old) = old.kind, case .policy(let new) = new.kind else {
                merged.append(new)
                continue
            }
            // nil only if the policy decides by its state, which has changed since it was asked.
            guard let policy = old.reconfigured(likeAny: new) else { return nil }
            merged.append(Element(kind: .policy(policy)))
        }
        return Pipeline(like: other, elements: merged)
    }

    /// Turns policies off that inject faults, and whose settings are gone: also for those who go on with the pipeline of before.
    /// - Parameter others: Policies of the same type and name, whose settings they have from now on.
    func endGameDays(_ policies: [any Policy], unlessIn others: [any Policy] = []) {
        guard SettingChecks.mayChange else { return }
        for policy in policies where policy.traits.injectsFaults {
            let other = others.first { policy.canBeReconfigured(likeAny: $0) && $0.name == policy.name }
            if other.flatMap({ policy.reconfigured(likeAny: $0) }) == nil { policy.reset() }
        }
    }

    var policies: [any Policy] {
        elements.compactMap { element in
            if case .policy(let policy) = element.kind { policy } else { nil }
        }
    }
}

extension Policy {
    fileprivate func canBeReconfigured(likeAny other: any Policy) -> Bool {
        guard let other = other as? Self else { return false }
        return (self as? any RegistryEntry)?.canBeReconfigured(likeEntry: other) ?? true
    }

    /// Returns this policy with the other's settings if it is a ``RegistryEntry``; otherwise the other policy as it is.
    func reconfigured(likeAny other: any Policy) -> (any Policy)? {
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
