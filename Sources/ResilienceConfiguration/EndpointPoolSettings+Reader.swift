#if Configuration
    public import Configuration
    public import Resilience
    public import ResilienceTraffic

    extension EndpointPoolSettings {
        /// Reads the settings of a pool of endpoints from a snapshot of a configuration, once. What is not given has its default.
        ///
        /// To follow the configuration, read it again, and call `apply(_:)` of the pool.
        /// - Parameters:
        ///   - snapshot: The snapshot: `reader.snapshot()`.
        ///   - key: Where the settings stand, such as "resilience.pools.search".
        /// - Throws: `InvalidSettings`, with everything that is invalid.
        public init(from snapshot: ConfigSnapshotReader, at key: ConfigKey) throws(InvalidSettings) {
            let tree = SettingLookup(snapshot: snapshot).group(.endpointPool, at: key.components)
            self = try Self.read(tree ?? .group([:]), of: "EndpointPool", at: key.components)
        }
    }
#endif
