public import Resilience

/// How an ``EndpointPool`` chooses among its endpoints.
public enum EndpointChoice: String, SettingChoice {
    /// In order, in proportion to the weights, and spread evenly: the smooth weighted round robin of nginx.
    ///
    /// It costs time in proportion to the number of endpoints.
    case roundRobin
    /// Draws two endpoints at random by their weights, and takes the one with fewer calls in flight relative to its
    /// weight: the power of two choices.
    ///
    /// It costs the same for any number of endpoints if all have the same weight. Source: Mitzenmacher, "The Power of
    /// Two Choices in Randomized Load Balancing" (1996).
    case leastLoaded
}

/// How the weight of an endpoint grows when it is new in an ``EndpointPool``, or returns after an ejection.
///
/// Its weight begins with a share of its full weight, and grows linearly: `max(from, time ÷ over)`. Source: Envoy's
/// slow start mode, with an aggression of 1.
public struct SlowStart: SettingsGroup {
    /// The time until the endpoint has its full weight; above 0; by default 30 seconds.
    public var over: Duration
    /// The share of its full weight that an endpoint begins with, 0.01…1; by default 0.1.
    public var from: Double

    /// Creates a slow start.
    ///
    /// - Parameters:
    ///   - over: The time until the endpoint has its full weight; above 0. 30 seconds by default.
    ///   - from: The share of its full weight that an endpoint begins with, 0.01…1. 0.1 by default. An endpoint with
    ///     less would get no call for a long time.
    public init(over: Duration = .seconds(30), from: Double = 0.1) {
        self.over = over
        self.from = from
    }

    public static let schema = SettingsSchema(
        "SlowStart", standard: SlowStart(),
        [SettingField("overSeconds", \.over, .above(0)), SettingField("from", \.from, .within(0.01, 1))])
}
