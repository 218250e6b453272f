extension PolicyRegistry {
    /// Overrides the settings of a key, or removes its override.
    ///
    /// The override stays if the key is evicted and made again.
    ///
    /// Inside of [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>) nothing changes if the new settings are
    /// invalid.
    /// - Parameters:
    ///   - key: The key.
    ///   - make: Makes the value for this key; nil to make it as for all other keys.
    /// - Returns: false if the key's value can't continue with the new settings and keeps all of its old ones, or if a
    ///   check has found an invalid setting.
    @discardableResult
    public func setOverride(_ key: Key, make: (@Sendable () -> Value)?) -> Bool {
        if Problems.areNoted { _ = make?() ?? table.withLock({ $0.make })(key) }
        guard SettingChecks.mayChange else { return false }
        // The old override is released after the lock.
        _ = table.withLock { $0.setOverride(key, make) }
        return bringUpToDate(key)
    }

    /// Changes how values are made, and gives the new settings to all present values: states, counts and permits in use
    /// stay.
    ///
    /// A key with an override keeps it.
    ///
    /// Settings from outside must not end the process. Inside of
    /// [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>), `make` is first tried for every present key
    /// without an override. If one gets an invalid setting, no key changes:
    ///
    /// ```swift
    /// let kept = try PolicySettings.checked {
    ///     breakers.reconfigure {
    ///         CircuitBreaker($0, tripping: .consecutiveFailures(loaded.limit))
    ///     }
    /// }
    /// ```
    ///
    /// A key that is first used later is made outside of that check. If settings depend on the key, check them in
    /// `make`.
    /// - Parameter make: Makes the value for a key from now on.
    /// - Returns: The keys whose values can't take over the new settings, and so keep all of their old ones.
    @discardableResult
    public func reconfigure(make: @escaping Make) -> [Key] {
        guard let (old, keys) = setMake(make) else { return [] }
        // The old closure is released here, not under the lock.
        _ = old
        return keys.filter { !bringUpToDate($0) }
    }

    /// - Returns: nil if a check has found an invalid setting; nothing has changed then.
    private func setMake(_ make: @escaping Make) -> (old: Make, keys: [Key])? {
        guard Problems.areNoted else { return table.withLock { $0.setMake(make) } }
        var tried: Set<Key> = []
        while true {
            guard SettingChecks.mayChange else { return nil }
            let (done, untried) = table.withLock { table -> ((old: Make, keys: [Key])?, [Key]) in
                let untried = table.keysWithoutOverride.filter { !tried.contains($0) }
                return (untried.isEmpty ? table.setMake(make) : nil, untried)
            }
            if let done { return done }
            for key in untried {
                _ = make(key)
                tried.insert(key)
            }
        }
    }

    /// Gives a key's value its present settings, and again if they change meanwhile.
    /// - Returns: false if the value can't continue with them, or if a check has found an invalid setting.
    private func bringUpToDate(_ key: Key) -> Bool {
        var rejected: UInt64?
        while let outdated = table.withLock({ $0.outdated(key) }) {
            if outdated.settings == rejected { return false }
            let other = outdated.make()
            guard SettingChecks.mayChange else { return false }
            if let changed = outdated.value.reconfigured(like: other) {
                // Only a plain value is replaced by another one; an object has changed itself.
                _ = table.withLock { $0.update(key, outdated, to: changed) }
            } else {
                rejected = outdated.settings
            }
        }
        return true
    }
}
