#if Configuration
    public import Resilience

    /// What became of a change of the configuration. The event's pipeline is the name of the pipeline or of the
    /// registry; its policy is "configuration".
    public enum ConfigurationEvent: PolicyEventDetail, Hashable {
        /// A pipeline has its new settings. These policies were replaced or left out, and what they had counted is
        /// gone: those whose new settings a policy can't take over while it runs. All others go on, but what your own
        /// closure makes anew and is no `RegistryEntry`: a budget of retries, a policy of your own.
        case applied(restarted: [String])
        /// A registry has its new settings. The pipelines of these keys can't take them over while they run: they keep
        /// all of their old ones until they are evicted.
        case registryApplied(outdated: [String])
        /// The new settings are invalid. All of the old ones go on. If only what your own closure makes for a new key of a
        /// registry is invalid, the key's pipeline is made without the closure.
        case rejected([InvalidSetting])
        /// The configuration can't be watched, for the reason given. The settings go on, and it is tried again.
        case unwatched(String)

        public var kind: String {
            switch self {
            case .applied: "applied"
            case .registryApplied: "registryApplied"
            case .rejected: "rejected"
            case .unwatched: "unwatched"
            }
        }

        public var severity: PolicyEventSeverity {
            switch self {
            case .applied, .registryApplied: .notice
            case .unwatched: .warning
            case .rejected: .error
            }
        }

        public var description: String {
            switch self {
            case .applied(let restarted):
                "new settings in use" + (restarted.isEmpty ? "" : "; restarted: \(restarted.joined(separator: ", "))")
            case .registryApplied(let outdated):
                "new settings in use"
                    + (outdated.isEmpty ? "" : "; the old ones go on for \(outdated.joined(separator: ", "))")
            case .rejected(let problems):
                "settings rejected, the old ones go on: \(problems.map(\.description).joined(separator: "; "))"
            case .unwatched(let reason):
                "the configuration can't be watched, the settings go on: \(reason)"
            }
        }
    }
#endif
