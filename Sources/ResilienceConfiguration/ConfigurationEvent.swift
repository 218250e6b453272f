#if Configuration
    public import Resilience

    /// The result of a change of the configuration.
    ///
    /// The event's pipeline is the name of the pipeline or of the registry; its policy is "configuration".
    public enum ConfigurationEvent: PolicyEventDetail, Hashable {
        /// A pipeline has its new settings.
        ///
        /// The `restarted` policies were replaced or left out, with their counts, because they can't take over the new
        /// settings while they run. `inTheWay` lists those settings, unless the difference comes from your own closure.
        /// All other policies continue, except policies that your own closure makes anew and that are not a
        /// `RegistryEntry`: a retry budget, a policy of your own.
        case applied(restarted: [String], inTheWay: [SettingChange] = [])
        /// A registry has its new settings.
        ///
        /// The pipelines of the `outdated` keys can't take over the new settings while they run: they keep all of their
        /// old settings until they are evicted. `inTheWay` lists the settings that they can't take over.
        case registryApplied(outdated: [String], inTheWay: [SettingChange] = [])
        /// The new settings are invalid.
        ///
        /// All of the old settings stay. If, for a new key of a registry, only the part from your closure is invalid,
        /// the key's pipeline is made without the closure.
        case rejected([InvalidSetting])
        /// Names in the settings file that nothing reads, such as misspelt names.
        ///
        /// The rest of the file applies.
        case unknown([UnknownSetting])
        /// The settings file is gone, or is no longer valid JSON, for the reason given.
        ///
        /// The settings stay, and the file is read again later. The event is sent once. It is sent again only if the
        /// file was readable in between, or if the reason has changed.
        case unreadable(String)
        /// The configuration can't be watched, for the reason given.
        ///
        /// The settings stay, and watching is tried again.
        case unwatched(String)

        public var kind: String {
            switch self {
            case .applied: "applied"
            case .registryApplied: "registryApplied"
            case .rejected: "rejected"
            case .unknown: "unknown"
            case .unreadable: "unreadable"
            case .unwatched: "unwatched"
            }
        }

        public var severity: PolicyEventSeverity {
            switch self {
            case .registryApplied(let outdated, _): outdated.isEmpty ? .notice : .warning
            case .applied: .notice
            case .unknown, .unreadable, .unwatched: .warning
            case .rejected: .error
            }
        }

        public var description: String {
            switch self {
            case .applied(let restarted, let inTheWay):
                "new settings in use"
                    + (restarted.isEmpty
                        ? "" : "; restarted: \(restarted.joined(separator: ", "))\(Self.because(inTheWay))")
            case .registryApplied(let outdated, let inTheWay):
                "new settings in use"
                    + (outdated.isEmpty
                        ? ""
                        : "; the old ones stay for \(outdated.joined(separator: ", "))\(Self.because(inTheWay)),"
                            + " until the keys are evicted or the process is restarted")
            case .unknown(let names):
                names.map(\.description).joined(separator: "; ")
            case .unreadable(let reason):
                "the settings file can't be read, the settings stay: \(reason)"
            case .rejected(let problems):
                "settings rejected, the old ones stay: \(problems.map(\.description).joined(separator: "; "))"
            case .unwatched(let reason):
                "the configuration can't be watched, the settings stay: \(reason)"
            }
        }

        private static func because(_ changes: [SettingChange]) -> String {
            changes.isEmpty
                ? ""
                : ", because a change of \(changes.map(\.description).joined(separator: ", ")) can't be applied while running"
        }
    }
#endif
