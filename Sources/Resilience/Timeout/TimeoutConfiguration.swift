/// The settings of a ``Timeout``, a ``ClientTimeout`` or an ``AbandoningTimeout`` as a value, which can be read from a file or a server:
/// `{"limitSeconds": 5, "enforcedBy": "client"}`.
///
/// Its settings are always valid. What is left out has its default; the limit must be given.
///
/// See <doc:TimeoutGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
public struct TimeoutConfiguration: Sendable, Hashable {
    /// How long a call may take.
    public let limit: Duration
    /// Whether a pipeline that is made with a ``PipelineConfiguration`` gets a ``Timeout`` or a ``ClientTimeout``.
    public let enforcedBy: TimeoutEnforcement

    /// Creates a configuration.
    /// - Parameters:
    ///   - limit: How long a call may take; above 0.
    ///   - enforcedBy: Whether a pipeline that is made with a ``PipelineConfiguration`` gets a ``Timeout`` or a
    ///     ``ClientTimeout``. A ``Timeout`` by default.
    /// - Throws: ``InvalidSettings`` if the limit is not above 0.
    public init(limit: Duration, enforcedBy: TimeoutEnforcement = .policy) throws(InvalidSettings) {
        _ = try PolicySettings.valid { Timeout(limit: limit) }
        self.limit = limit.inNanoseconds
        self.enforcedBy = enforcedBy
    }
}

/// Who ends a call at the limit of a timeout.
public enum TimeoutEnforcement: String, Sendable, Hashable, Codable, CaseIterable {
    /// The policy: a ``Timeout``, which cancels the operation.
    case policy
    /// The client, which is given the deadline: a ``ClientTimeout``. Take it only if each operation ends by itself at
    /// its attempt's deadline, as `URLSession` and async-http-client do with a pipeline of this package.
    case client

    @PipelineBuilder package func timeout(_ name: String, limit: Duration) -> [Pipeline.Element] {
        switch self {
        case .policy: Timeout(name, limit: limit)
        case .client: ClientTimeout(name, limit: limit)
        }
    }
}

extension TimeoutConfiguration: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case limit = "limitSeconds"
        case enforcedBy
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "Timeout", by: CodingKeys.self) { reader in
            try TimeoutConfiguration(
                limit: reader.require(reader.duration(.limit), .limit, else: .seconds(1)),
                enforcedBy: reader.choice(.enforcedBy) ?? .policy)
        }
    }
}

extension Timeout {
    /// Creates a timeout with the limit of a configuration.
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - configuration: The settings.
    public init(_ name: String = "timeout", configuration: TimeoutConfiguration) {
        self.init(name, limit: configuration.limit)
    }
}

extension ClientTimeout {
    /// Creates a timeout with the limit of a configuration.
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - configuration: The settings.
    public init(_ name: String = "timeout", configuration: TimeoutConfiguration) {
        self.init(name, limit: configuration.limit)
    }
}

extension AbandoningTimeout {
    /// Creates a timeout with the limit of a configuration.
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - configuration: The settings.
    ///   - timeBase: The time base that the limit is measured on.
    ///   - observers: The observers that are told of calls that timed out and of operations that ended late; nil for none at first.
    public convenience init(
        _ name: String = "timeout", configuration: TimeoutConfiguration, timeBase: any TimeBase = .system,
        observers: PolicyObservers? = nil
    ) {
        self.init(name, limit: configuration.limit, timeBase: timeBase, observers: observers)
    }
}
