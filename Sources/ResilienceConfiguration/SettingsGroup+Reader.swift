#if Configuration
    public import Configuration
    public import Resilience

    extension SettingsGroup {
        /// Reads settings from one snapshot of a configuration: for a `Pipeline`, an `EndpointPool`, or a policy of
        /// your own.
        ///
        /// Missing settings have their defaults.
        ///
        /// For pipelines that follow the configuration while the process runs, use ``ConfiguredPipelines``. To change
        /// any other object, read its settings again, and call its `apply(_:)`.
        /// - Parameters:
        ///   - snapshot: The snapshot: `reader.snapshot()`.
        ///   - key: Where the settings are, such as "resilience.pools.search".
        /// - Throws: `InvalidSettings`, with everything that is invalid or missing.
        public init(from snapshot: ConfigSnapshotReader, at key: ConfigKey) throws(InvalidSettings) {
            let tree = SettingLookup(snapshot: snapshot).group(Self.self, at: key.components)
            try self.init(tree, at: key.components)
        }

        /// - Parameter tree: nil if nothing is given.
        init(_ tree: SettingTree?, at path: [String]) throws(InvalidSettings) {
            self = try Self.read(tree ?? .group([:]), of: Self.subject, at: path)
        }

        static func field(named name: String) -> SettingFacts? { facts.first { $0.name == name } }
    }

    extension SettingFacts {
        /// Likely misspellings of this name.
        var misspelt: [String] {
            guard name.hasSuffix("Seconds") else { return [] }
            let bare = String(name.dropLast("Seconds".count))
            return [bare, "\(bare)Milliseconds"]
        }
    }
#endif
