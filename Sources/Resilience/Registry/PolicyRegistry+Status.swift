extension PolicyRegistry where Value: StatusReporting {
    /// Returns whether a call of cost 1 to this key would be let through now, without a wait; true for a key without a
    /// policy.
    ///
    /// Counts as a use of the key.
    ///
    /// - Parameter key: The key.
    public func isAllowed(_ key: Key) -> Bool { existing(key)?.status.isAllowed ?? true }

    /// The status of each key's policy now.
    ///
    /// Reading it does not count as a use.
    public var statuses: [Key: Value.Status] { values.mapValues(\.status) }
}

extension PolicyRegistry where Value == Pipeline {
    /// Returns whether a call of cost 1 to this key would now get past all policies of its pipeline that report a
    /// status, without a wait; true for a key without a pipeline.
    ///
    /// Counts as a use of the key.
    ///
    /// - Parameter key: The key.
    public func isAllowed(_ key: Key) -> Bool { existing(key)?.isAllowed ?? true }

    /// The present status of each policy that reports one, outermost first, for each key's pipeline.
    ///
    /// Reading it does not count as a use.
    public var statuses: [Key: [PolicyStatus]] { values.mapValues(\.statuses) }
}
