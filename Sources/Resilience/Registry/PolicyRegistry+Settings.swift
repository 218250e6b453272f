extension PolicyRegistry {
    /// Makes this key's own way, or as all others again if `make` is nil, also when it was evicted in between.
    ///
    /// Within ``PolicySettings/checked(_:)`` nothing changes if what is made so has an invalid setting.
    /// - Returns: false if there is one already that can't go on with the new settings, and keeps its old ones.
    @discardableResult
    public func setOverride(_ key: Key, make: (@Sendable () -> Value)?) -> Bool {
        if Problems.areNoted { _ = make?() ?? table.withLock({ $0.make })(key) }
        guard SettingChecks.mayChange else { return false }
        // What there was before is let go of after the lock.
        _ = table.withLock { $0.setOverride(key, make) }
        return bringUpToDate(key)
    }

    /// Makes new ones this way from now on, and gives those there are their new settings: states, counts and permits in use
    /// go on. A key with an override keeps it.
    ///
    /// Settings from outside must not end the process. Within ``PolicySettings/checked(_:)`` the new way is tried for every
    /// key that is there, and nothing changes for any of them if one has an invalid setting:
    ///
    /// ```swift
    /// let kept = try PolicySettings.checked {
    ///     breakers.reconfigure { CircuitBreaker($0, tripping: .consecutiveFailures(loaded.limit)) }
    /// }
    /// ```
    ///
    /// A key that comes later is made outside of that check. If its settings depend on the key, check them in `make`.
    /// - Returns: the keys whose one can't go on with the new settings, and keeps its old ones.
    @discardableResult
    public func reconfigure(make: @escaping Make) -> [Key] {
        guard let (old, keys) = setMake(make) else { return [] }
        // Let go of here, and not under the lock.
        _ = old
        return keys.filter { !bringUpToDate($0) }
    }

    /// - Returns: nil if somebody asked for a check, and something is invalid.
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

    /// Gives a key's value the present settings; once more if they have changed meanwhile.
    /// - Returns: false if it can't go on with them.
    private func bringUpToDate(_ key: Key) -> Bool {
        var refused: UInt64?
        while let outdated = table.withLock({ $0.outdated(key) }) {
            if outdated.settings == refused { return false }
            let other = outdated.make()
            guard SettingChecks.mayChange else { return false }
            if let changed = outdated.value.reconfigured(like: other) {
                // Another one only for a plain value; a reference has changed itself.
                _ = table.withLock { $0.update(key, outdated, to: changed) }
            } else {
                refused = outdated.settings
            }
        }
        return true
    }
}
