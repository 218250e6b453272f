/// The settings of an ``AdaptiveThrottle`` as a value, which can be read from a file or a server.
///
/// ```swift
/// let json = Data(#"{"multiplier": 1.5, "windowSeconds": 30}"#.utf8)
/// let configuration = try JSONDecoder().decode(
///     AdaptiveThrottleConfiguration.self, from: json)
/// let throttle = AdaptiveThrottle("search", configuration: configuration)
/// ```
///
/// Its settings are always valid. What is left out has the default of ``AdaptiveThrottle``. Codable: `multiplier`,
/// `windowSeconds`, `minimumCalls`, `maxRejection`, and `failing`, a list of names.
///
/// See <doc:AdaptiveThrottleGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
public struct AdaptiveThrottleConfiguration: Sendable, Hashable {
    /// How many calls are let through for each that the service accepts.
    public let multiplier: Double
    /// The time that is looked back on.
    public let window: Duration
    /// The number of calls in the window below which no call is rejected.
    public let minimumCalls: Int
    /// The largest share of calls that is rejected.
    public let maxRejection: Double
    /// The verdicts that mean that the service did not accept the call.
    public let failing: VerdictSet

    /// Creates a configuration. For each parameter, nil, the default, is the default of ``AdaptiveThrottle``.
    /// - Parameters:
    ///   - multiplier: How many calls are let through for each that the service accepts, 1.1…100.
    ///   - window: The time that is looked back on; above 0.
    ///   - minimumCalls: The number of calls in the window below which no call is rejected; 1 or more.
    ///   - maxRejection: The largest share of calls that is rejected, 0…1.
    ///   - failing: The verdicts that mean that the service did not accept the call; neither success nor cancelled.
    /// - Throws: ``InvalidSettings``, with everything that is invalid.
    public init(
        multiplier: Double? = nil, over window: Duration? = nil, minimumCalls: Int? = nil, maxRejection: Double? = nil,
        failing: VerdictSet? = nil
    ) throws(InvalidSettings) {
        let throttle = try PolicySettings.valid {
            let standard = AdaptiveThrottle().settings
            return AdaptiveThrottle(
                multiplier: multiplier ?? standard.multiplier, over: window ?? .nanoseconds(standard.window),
                minimumCalls: minimumCalls ?? standard.minimumCalls,
                maxRejection: maxRejection ?? standard.maxRejection,
                failing: failing ?? standard.failing)
        }
        let settings = throttle.settings
        self.multiplier = settings.multiplier
        self.window = .nanoseconds(settings.window)
        self.minimumCalls = settings.minimumCalls
        self.maxRejection = settings.maxRejection
        self.failing = settings.failing
    }
}

extension AdaptiveThrottleConfiguration: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case multiplier, minimumCalls, maxRejection, failing
        case window = "windowSeconds"
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "AdaptiveThrottle", by: CodingKeys.self) { reader in
            try AdaptiveThrottleConfiguration(
                multiplier: reader.value(.multiplier), over: reader.duration(.window),
                minimumCalls: reader.value(.minimumCalls), maxRejection: reader.value(.maxRejection),
                failing: reader.value(.failing))
        }
    }
}

extension AdaptiveThrottle {
    /// Creates an adaptive throttle with the settings of a configuration, which has seen no call.
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - configuration: The settings.
    ///   - timeBase: The time base of the window; it must be that of the pipeline.
    ///   - observers: The observers that are told what this throttle does; nil for none at first.
    public convenience init(
        _ name: String = "adaptiveThrottle", configuration: AdaptiveThrottleConfiguration,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        self.init(
            name, multiplier: configuration.multiplier, over: configuration.window,
            minimumCalls: configuration.minimumCalls, maxRejection: configuration.maxRejection,
            failing: configuration.failing, timeBase: timeBase, observers: observers)
    }
}
