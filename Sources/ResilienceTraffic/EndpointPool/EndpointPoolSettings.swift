public import Resilience

/// The settings of an ``EndpointPool`` as a value, which can be read from a file or a server.
///
/// ```swift
/// let json = Data(
///     #"{"choice": "roundRobin", "ejection": {"maxEjected": 0.3}}"#.utf8)
/// let settings = try JSONDecoder().decode(
///     EndpointPoolSettings.self, from: json)
/// let pool = EndpointPool("search", addresses, settings: settings)
/// ```
///
/// In a file, with a `maxEjected` of 0 no endpoint is ejected, and with a `from` of 1 none starts slowly. There is no
/// `failureShare` unless it is given; `{}` has its defaults.
///
/// See <doc:EndpointPoolGuide> for what the settings do.
public struct EndpointPoolSettings: SettingsGroup {
    /// How an endpoint is chosen.
    public var choice: EndpointChoice
    /// When an endpoint is ejected; nil for never.
    public var ejection: OutlierEjection?
    /// How the weight of an endpoint grows that is new or returns; nil if it has all of it at once.
    public var slowStart: SlowStart?
    /// The share of endpoints below which all are used, 0…1.
    public var panicThreshold: Double
    /// The verdicts that count as failures of the endpoint; neither success nor cancelled.
    public var failing: VerdictSet

    /// Creates settings.
    public init(
        choosing choice: EndpointChoice = .leastLoaded, ejecting ejection: OutlierEjection? = OutlierEjection(),
        slowStart: SlowStart? = SlowStart(), panicThreshold: Double = 0.5,
        failing: VerdictSet = [.transient, .uncertain]
    ) {
        self.choice = choice
        self.ejection = ejection
        self.slowStart = slowStart
        self.panicThreshold = panicThreshold
        self.failing = failing
    }

    /// With an ejection that ejects none, or a start that is not slow, in place of nil: what is left out has its default.
    public func written() throws -> SettingValue? {
        var own = self
        own.ejection = ejection ?? OutlierEjection(maxEjected: 0)
        own.slowStart = slowStart ?? SlowStart(from: 1)
        return .group(try Self.schema.written(own))
    }

    public static let schema = SettingsSchema(
        "EndpointPool", standard: EndpointPoolSettings(),
        [
            SettingField("choice", \.choice), SettingField("ejection", \.ejection),
            SettingField("slowStart", \.slowStart), SettingField("panicThreshold", \.panicThreshold, .within(0, 1)),
            SettingField("failing", \.failing, .failures),
        ])
}
