/// The settings of a ``Timeout``, a ``ClientTimeout`` or an ``AbandoningTimeout`` as a value, which can be read from a file or a server:
/// `{"limitSeconds": 5}`.
///
/// Its settings are always valid.
///
/// See <doc:TimeoutGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
public struct TimeoutConfiguration: Sendable, Hashable {
    /// How long a call may take.
    public let limit: Duration

    /// Creates a configuration.
    /// - Parameter limit: How long a call may take; above 0.
    /// - Throws: ``InvalidSettings`` if the limit is not above 0.
    public init(limit: Duration) throws(InvalidSettings) {
        _ = try PolicySettings.valid { Timeout(limit: limit) }
        self.limit = limit.inNanoseconds
    }
}

extension TimeoutConfiguration: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case limit = "limitSeconds"
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "Timeout", by: CodingKeys.self) { reader in
            try TimeoutConfiguration(limit: reader.require(reader.duration(.limit), .limit, else: .seconds(1)))
        }
    }
}

extension Timeout {
    /// Creates a timeout with the settings of a configuration.
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - configuration: The settings.
    public init(_ name: String = "timeout", configuration: TimeoutConfiguration) {
        self.init(name, limit: configuration.limit)
    }
}

extension ClientTimeout {
    /// Creates a timeout with the settings of a configuration.
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - configuration: The settings.
    public init(_ name: String = "timeout", configuration: TimeoutConfiguration) {
        self.init(name, limit: configuration.limit)
    }
}

extension AbandoningTimeout {
    /// Creates a timeout with the settings of a configuration.
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
