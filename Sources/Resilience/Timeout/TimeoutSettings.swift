extension Timeout {
    /// The settings of a ``Timeout``, a ``ClientTimeout`` or an ``AbandoningTimeout``, readable from a file or a
    /// server: `{"limitSeconds": 5, "enforcedBy": "client"}`.
    ///
    /// See <doc:TimeoutGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
    public struct Settings: SettingsGroup {
        /// How long a call may take; above 0 s, required.
        ///
        /// Beyond 292 years there is no limit.
        public var limit: Duration
        /// Who ends a call at the limit: a ``Timeout`` (`policy`, the default), or the operation itself below a
        /// ``ClientTimeout`` (`client`).
        public var enforcedBy: TimeoutEnforcement

        /// Creates settings.
        public init(limit: Duration, enforcedBy: TimeoutEnforcement = .policy) {
            self.limit = limit
            self.enforcedBy = enforcedBy
        }

        public static let schema = SettingsSchema(
            "Timeout", standard: Settings(limit: .seconds(1)),
            [
                SettingField("limitSeconds", \.limit, .above(0), need: .required),
                SettingField("enforcedBy", \.enforcedBy),
            ])
    }
}

/// Who ends a call at the limit of a timeout.
public enum TimeoutEnforcement: String, SettingChoice {
    /// The policy: a ``Timeout``, which cancels the operation.
    case policy
    /// The client, which is given the deadline: a ``ClientTimeout``.
    ///
    /// Use it only if each operation ends itself at its attempt's deadline, as `URLSession` and async-http-client do
    /// with a pipeline of this package.
    case client

    @PipelineBuilder package func timeout(_ name: String, limit: Duration) -> [Pipeline.Element] {
        switch self {
        case .policy: Timeout(name, limit: limit)
        case .client: ClientTimeout(name, limit: limit)
        }
    }
}
