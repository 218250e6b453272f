#if Configuration
    public import Configuration
    public import Resilience

    extension Pipeline.Settings {
        /// Reads the settings of a pipeline from a snapshot of a configuration, once.
        ///
        /// For settings that follow the configuration while the process runs, use ``ConfiguredPipelines``.
        /// - Parameters:
        ///   - snapshot: The snapshot: `reader.snapshot()`.
        ///   - key: Where the settings stand, such as "resilience.pipelines.catalog".
        /// - Throws: `InvalidSettings`, with everything that is invalid, or if nothing is given.
        public init(from snapshot: ConfigSnapshotReader, at key: ConfigKey) throws(InvalidSettings) {
            let tree = SettingLookup(snapshot: snapshot).group(.pipeline, at: key.components)
            try self.init(tree, at: key.components)
        }

        /// - Parameter tree: nil if nothing is given.
        init(_ tree: SettingTree?, at path: [String]) throws(InvalidSettings) {
            self = try Self.read(tree ?? .group([:]), of: "Pipeline", at: path)
        }
    }
#endif
