/// The settings of an ``EndpointPool`` as a value, which can be read from a file or a server.
///
/// ```swift
/// let json = Data(
///     #"{"choice": "roundRobin", "ejection": {"maxEjected": 0.3}}"#.utf8)
/// let configuration = try JSONDecoder().decode(
///     EndpointPoolConfiguration.self, from: json)
/// let pool = EndpointPool(
///     "search", addresses, configuration: configuration)
/// ```
///
/// Its settings are always valid. What is left out has the default of ``EndpointPool``. Codable: `choice`, `panicThreshold`,
/// `failing`, a list of names, and
///
/// ```
/// "ejection": {
///     "consecutiveFailures": 5, "intervalSeconds": 10, "timeSeconds": 30, "maxTimeSeconds": 300,
///     "jitter": 0.1, "maxEjected": 0.1,
///     "deviation": {"factor": 1.9, "minimumGap": 0.05, "minimumEndpoints": 5, "minimumCalls": 100},
///     "failureShare": {"limit": 0.85, "minimumEndpoints": 5, "minimumCalls": 50}
/// },
/// "slowStart": {"overSeconds": 30, "from": 0.1}
/// ```
///
/// With a `maxEjected` of 0 no endpoint is ejected, and with a `from` of 1 none starts slowly. There is no `failureShare`
/// unless it is given; `{}` has its defaults.
///
/// See <doc:EndpointPoolGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
public struct EndpointPoolConfiguration: Sendable, Hashable {
    /// How an endpoint is chosen.
    public let choice: EndpointChoice
    /// When an endpoint is ejected.
    public let ejection: OutlierEjection
    /// How the weight of an endpoint grows that is new or returns.
    public let slowStart: SlowStart
    /// The share of endpoints below which all are used.
    public let panicThreshold: Double
    /// The verdicts that count as failures of the endpoint.
    public let failing: VerdictSet

    /// Creates a configuration. For each parameter, nil, the default, is the default of ``EndpointPool``.
    /// - Parameters:
    ///   - choice: How an endpoint is chosen.
    ///   - ejection: When an endpoint is ejected.
    ///   - slowStart: How the weight of an endpoint grows that is new or returns.
    ///   - panicThreshold: The share of endpoints below which all are used, 0…1.
    ///   - failing: The verdicts that count as failures of the endpoint; neither success nor cancelled.
    /// - Throws: ``InvalidSettings``, with everything that is invalid.
    public init(
        choosing choice: EndpointChoice? = nil, ejecting ejection: @autoclosure () -> OutlierEjection? = nil,
        slowStart: @autoclosure () -> SlowStart? = nil, panicThreshold: Double? = nil, failing: VerdictSet? = nil
    ) throws(InvalidSettings) {
        let (settings, slow) = try PolicySettings.valid {
            let (ejection, slow) = (ejection() ?? OutlierEjection(), slowStart() ?? SlowStart())
            let standard = EndpointPool<Int>("", []).settings
            let pool = EndpointPool<Int>(
                "", [], choosing: choice ?? standard.choice, ejecting: ejection, slowStart: slow,
                panicThreshold: panicThreshold ?? standard.panicThreshold, failing: failing ?? standard.failing)
            return (pool.settings, slow)
        }
        self.choice = settings.choice
        self.ejection = settings.ejection ?? OutlierEjection()
        self.slowStart = slow
        self.panicThreshold = settings.panicThreshold
        self.failing = settings.failing
    }
}

extension EndpointPoolConfiguration: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case choice, ejection, slowStart, panicThreshold, failing
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "EndpointPool", by: CodingKeys.self) { reader in
            let (choice, ejection): (EndpointChoice?, OutlierEjection?) = (
                reader.choice(.choice), reader.value(.ejection)
            )
            let slowStart: SlowStart? = reader.value(.slowStart)
            return try EndpointPoolConfiguration(
                choosing: choice, ejecting: ejection, slowStart: slowStart,
                panicThreshold: reader.value(.panicThreshold), failing: reader.value(.failing))
        }
    }
}

extension EndpointPool {
    /// Creates a pool with the settings of a configuration.
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - endpoints: The endpoints.
    ///   - weights: The weights of endpoints; 1 for all others.
    ///   - configuration: The settings.
    ///   - timeBase: The time base of ejections.
    ///   - observers: The observers that are told what this pool does; nil for none at first.
    public convenience init(
        _ name: String, _ endpoints: [Endpoint], weights: [Endpoint: Int] = [:],
        configuration: EndpointPoolConfiguration, timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        self.init(
            name, endpoints, weights: weights, choosing: configuration.choice, ejecting: configuration.ejection,
            slowStart: configuration.slowStart, panicThreshold: configuration.panicThreshold,
            failing: configuration.failing, timeBase: timeBase, observers: observers)
    }

    /// Goes on with the settings of a configuration. What is known of the endpoints is kept; ejected ones return or return earlier if the new
    /// settings say so. Does nothing within
    /// [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>) if a setting was invalid.
    /// - Parameter configuration: The settings.
    public func reconfigure(_ configuration: EndpointPoolConfiguration) {
        guard SettingChecks.mayChange else { return }
        let settings = EndpointPoolStateMachine.Settings(
            choice: configuration.choice, ejection: configuration.ejection, slowStart: configuration.slowStart,
            panicThreshold: configuration.panicThreshold, failing: configuration.failing)
        core.change { machine, now in machine.change(to: settings, at: now) }
    }
}
