#if Configuration
    internal import Resilience

    extension ConfiguredPipelinesOf {
        /// Returns the keys that no pipeline and no registry reads: misspelt keys, and keys of names that were never
        /// requested.
        ///
        /// A reader of swift-configuration can't list its keys, so a misspelt name is noticed only if a required
        /// setting is then missing. If you can list the keys yourself, for example from the file, check them after all
        /// pipelines and registries are made:
        ///
        /// ```swift
        /// let unknown = pipelines.unknownKeys(
        ///     among: ["resilience.pipelines.catalog.retry.maxRetires"])
        /// ```
        /// - Parameter keys: Keys with dots between their parts. Keys outside of the place of the settings are ignored.
        /// - Returns: The unknown keys, in the given order.
        public func unknownKeys(among keys: some Sequence<String>) -> [String] {
            keys.filter { key in
                guard let own = Self.rest(of: key[...], after: keyPath) else { return false }
                return !known.contains { base, group in
                    Self.rest(of: own, after: base).map { group?.has($0) ?? $0.isEmpty } ?? false
                }
            }
        }

        /// - Returns: The part of a key after a path and a dot; nil if the key does not begin with that path. Names may
        ///   contain dots.
        private static func rest(of key: Substring, after path: [String]) -> Substring? {
            let path = path.joined(separator: ".")
            if path.isEmpty { return key }
            guard key.hasPrefix(path) else { return nil }
            let rest = key.dropFirst(path.count)
            return rest.isEmpty ? rest : rest.first == "." ? rest.dropFirst() : nil
        }
    }

    extension SettingsGroup {
        /// Whether this group has a setting of this path.
        fileprivate static func has(_ path: Substring) -> Bool {
            let parts = path.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = parts.first, let field = field(named: String(name)) else { return false }
            let rest = parts.dropFirst().first
            guard let inner = field.type.group else { return rest == nil }
            guard case .list = field.type else { return rest.map { inner.has($0) } ?? false }
            guard let parts = rest?.split(separator: ".", maxSplits: 1), parts.count == 2 else { return false }
            let isRead = (0..<SettingLookup.mostElements).contains { "\($0)" == parts[0] }
            return isRead && inner.has(parts[1])
        }
    }
#endif
