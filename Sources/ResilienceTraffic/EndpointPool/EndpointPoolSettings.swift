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
/// In a file, a `maxEjected` of 0 turns ejection off, and a `from` of 1 turns slow start off. The rule `failureShare`
/// applies only if it is given; `{}` gives it its defaults.
///
/// See <doc:EndpointPoolGuide> for what the settings do.
public struct EndpointPoolSettings: SettingsGroup {
    /// How an endpoint is chosen; by default `leastLoaded`.
    public var choice: EndpointChoice
    /// The rules that eject failing endpoints; by default `OutlierEjection()`, nil for none.
    public var ejection: OutlierEjection?
    /// How the weight of a new or returning endpoint grows; by default `SlowStart()`, nil for full weight at once.
    public var slowStart: SlowStart?
    /// If the share of endpoints that are not ejected falls below this, the pool uses all endpoints; 0…1, 0.5 by
    /// default.
    public var panicThreshold: Double
    /// The verdicts that count as failures of the endpoint; by default `transient` and `uncertain`; success and
    /// cancelled are never among them.
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

    // nil is written as rules that eject none, or a start at full weight, because an omitted setting has its default.
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
