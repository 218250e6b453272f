public import Resilience

/// When an ``EndpointPool`` ejects an endpoint that fails more than the others, and for how long.
///
/// ```swift
/// let pool = EndpointPool(
///     "search", addresses,
///     ejecting: OutlierEjection(
///         afterConsecutive: 3, maxEjected: 0.3))
/// ```
///
/// Source of the rules and of most defaults: Envoy's outlier detection.
public struct OutlierEjection: SettingsGroup {
    /// A rule that ejects an endpoint that succeeds less often than the others.
    ///
    /// Only endpoints with enough calls in an interval are compared. An endpoint is ejected if its share of successes
    /// is below `mean − factor × standard deviation`, and at least `minimumGap` below the mean. By that formula at most
    /// one endpoint in `1 + factor²` can be ejected in an interval: with the default factor, a pool of four or fewer
    /// endpoints ejects none.
    public struct Deviation: SettingsGroup {
        /// How many standard deviations below the mean an endpoint must be, 0…100; by default 1.9.
        public var factor: Double
        /// The least distance below the mean, as a share of calls, 0…1; by default 0.05.
        public var minimumGap: Double
        /// The number of endpoints that must have enough calls, 2 or more; by default 5.
        public var minimumEndpoints: Int
        /// The least number of calls that an endpoint must have in an interval; 1 or more; by default 100.
        public var minimumCalls: Int

        /// Creates a rule.
        ///
        /// - Parameters:
        ///   - factor: How many standard deviations below the mean an endpoint must be, 0…100. 1.9 by default.
        ///   - minimumGap: The least distance below the mean, as a share of calls, 0…1. 0.05 by default. Without it, if
        ///     almost all calls succeed, the standard deviation is so small that an endpoint with 99 % successes is
        ///     ejected.
        ///   - minimumEndpoints: The number of endpoints that must have enough calls; 2 or more. 5 by default.
        ///   - minimumCalls: How many calls in an interval are enough for an endpoint to be compared; 1 or more. 100 by
        ///     default.
        public init(
            factor: Double = 1.9, minimumGap: Double = 0.05, minimumEndpoints: Int = 5, minimumCalls: Int = 100
        ) {
            self.factor = factor
            self.minimumGap = minimumGap
            self.minimumEndpoints = minimumEndpoints
            self.minimumCalls = minimumCalls
        }

        public static let schema = SettingsSchema(
            "OutlierEjection.Deviation", standard: Deviation(),
            [
                SettingField("factor", \.factor, .within(0, 100)),
                SettingField("minimumGap", \.minimumGap, .within(0, 1)),
                SettingField("minimumEndpoints", \.minimumEndpoints, .atLeast(2)),
                SettingField("minimumCalls", \.minimumCalls, .atLeast(1)),
            ])
    }

    /// A rule that ejects an endpoint whose failure rate in an interval reaches a limit, regardless of the others.
    public struct FailureShare: SettingsGroup {
        /// The share of failed calls at which an endpoint is ejected; 0.01…1; by default 0.85.
        public var limit: Double
        /// The number of endpoints that must have enough calls, 1 or more; by default 5.
        public var minimumEndpoints: Int
        /// The least number of calls that an endpoint must have in an interval; 1 or more; by default 50.
        public var minimumCalls: Int

        /// Creates a rule.
        ///
        /// - Parameters:
        ///   - limit: The share of failed calls at which an endpoint is ejected, 0.01…1. 0.85 by default.
        ///   - minimumEndpoints: The number of endpoints that must have enough calls; 1 or more. 5 by default.
        ///   - minimumCalls: How many calls in an interval are enough for an endpoint to be judged; 1 or more. 50 by
        ///     default.
        public init(_ limit: Double = 0.85, minimumEndpoints: Int = 5, minimumCalls: Int = 50) {
            self.limit = limit
            self.minimumEndpoints = minimumEndpoints
            self.minimumCalls = minimumCalls
        }

        public static let schema = SettingsSchema(
            "OutlierEjection.FailureShare", standard: FailureShare(),
            [
                SettingField("limit", \.limit, .within(0.01, 1)),
                SettingField("minimumEndpoints", \.minimumEndpoints, .atLeast(1)),
                SettingField("minimumCalls", \.minimumCalls, .atLeast(1)),
            ])
    }

    /// How many failures in a row eject an endpoint, 1 or more; by default 5, nil for none.
    public var consecutiveFailures: Int?
    /// The rule that compares endpoints; by default `Deviation()`, nil for none.
    public var deviation: Deviation?
    /// The rule for a share of failures; by default there is none.
    public var failureShare: FailureShare?
    /// How often ``deviation`` and ``failureShare`` are applied; above 0; by default 10 seconds.
    public var interval: Duration
    /// How long the first ejection of an endpoint lasts; above 0; by default 30 seconds.
    public var time: Duration
    /// The longest ejection, without ``jitter``; not below ``time``; by default 5 minutes.
    public var maxTime: Duration
    /// The largest share by which an ejection is randomly made longer, 0…1; by default 0.1.
    public var jitter: Double
    /// The share of endpoints that may be ejected at the same time, 0…1; by default 0.1.
    public var maxEjected: Double

    /// Creates rules.
    ///
    /// - Parameters:
    ///   - consecutiveFailures: How many failures in a row eject an endpoint, 1 or more; nil for none. 5 by default.
    ///   - deviation: The rule that compares endpoints; nil for none. `Deviation()` by default.
    ///   - failureShare: The rule for a share of failures; nil, the default, for none.
    ///   - interval: How often `deviation` and `failureShare` are applied; above 0. 10 seconds by default.
    ///   - time: How long the first ejection of an endpoint lasts; above 0. 30 seconds by default. The second ejection
    ///     in a row lasts twice as long, the third three times as long, and so on.
    ///   - maxTime: The longest ejection, without `jitter`; not below `time`. 5 minutes by default.
    ///   - jitter: The largest share by which an ejection is randomly made longer, 0…1. 0.1 by default. So endpoints
    ///     ejected together do not return together.
    ///   - maxEjected: The share of endpoints that may be ejected at the same time, 0…1. 0.1 by default. Above 0, at
    ///     least one endpoint may be ejected, but never all.
    public init(
        afterConsecutive consecutiveFailures: Int? = 5, deviation: Deviation? = Deviation(),
        failureShare: FailureShare? = nil, interval: Duration = .seconds(10), for time: Duration = .seconds(30),
        upTo maxTime: Duration = .seconds(300), jitter: Double = 0.1, maxEjected: Double = 0.1
    ) {
        self.consecutiveFailures = consecutiveFailures
        self.deviation = deviation
        self.failureShare = failureShare
        self.interval = interval
        self.time = time
        self.maxTime = maxTime
        self.jitter = jitter
        self.maxEjected = maxEjected
    }

    public static let schema = SettingsSchema(
        "OutlierEjection", standard: OutlierEjection(),
        [
            SettingField("consecutiveFailures", \.consecutiveFailures, .atLeast(1)),
            SettingField("deviation", \.deviation), SettingField("failureShare", \.failureShare),
            SettingField("intervalSeconds", \.interval, .above(0)), SettingField("timeSeconds", \.time, .above(0)),
            SettingField("maxTimeSeconds", \.maxTime, .above(0)), SettingField("jitter", \.jitter, .within(0, 1)),
            SettingField("maxEjected", \.maxEjected, .within(0, 1)),
        ]
    ) { settings, given in
        guard given.areSound("timeSeconds", "maxTimeSeconds"), settings.maxTime < settings.time else { return }
        given.note(
            "maxTimeSeconds", settings.maxTime.text, "must not be below time, \(settings.time.text)")
    }

    // A nil rule is written as one that never ejects, because an omitted rule has its default.
    public func written() throws -> SettingValue? {
        var own = self
        own.consecutiveFailures = consecutiveFailures ?? .max
        own.deviation = deviation ?? Deviation(factor: 100, minimumGap: 1)
        return .group(try Self.schema.written(own))
    }

    /// How many of `count` endpoints may be ejected at the same time: never all.
    func limit(of count: Int) -> Int {
        // Adds a little, since a product such as 0.29 × 100 may be just below a whole number.
        maxEjected > 0 ? min(max(1, Int(maxEjected * Double(count) + 1e-9)), max(0, count - 1)) : 0
    }

    /// From this number of ejections in a row on, their length no longer grows.
    var maxInARow: Int {
        let (time, longest) = (time.saturatedNanoseconds, maxTime.saturatedNanoseconds)
        return Int(clamping: longest / time + (longest % time > 0 ? 1 : 0))
    }

    /// How long an ejection lasts.
    /// - Parameters:
    ///   - count: The number of ejections in a row, including this one.
    ///   - share: A random share up to 1.
    func length(ofNumber count: Int, _ share: Double) -> Int64 {
        let length = min(
            time.saturatedNanoseconds.saturatingMultiplied(by: Int64(count)), maxTime.saturatedNanoseconds)
        let more = Double(length) * jitter * share
        return length.saturatingAdding(Int64(exactly: more.rounded()) ?? .max)
    }

    /// How long an endpoint must succeed until its ejection count drops by one. This is longer than it takes to detect
    /// its failures.
    var memory: Duration { max(time, .nanoseconds(interval.saturatedNanoseconds.saturatingMultiplied(by: 2))) }
}

/// Why an ``EndpointPool`` ejected an endpoint.
public enum EjectionReason: Sendable, Hashable, CustomStringConvertible {
    /// This number of calls in a row failed.
    case consecutiveFailures(Int)
    /// This share of its calls in the interval succeeded; the mean of all compared endpoints was `mean`.
    case deviation(Double, mean: Double)
    /// This share of its calls in the interval failed.
    case failureShare(Double)
    /// ``EndpointPool/eject(_:for:)`` was called.
    case byHand

    public var description: String {
        switch self {
        case .consecutiveFailures(let count): "\(count) failure\(count == 1 ? "" : "s") in a row"
        case .deviation(let share, let mean): "\(share.percent) % of calls succeeded, on average \(mean.percent) %"
        case .failureShare(let share): "\(share.percent) % of calls failed"
        case .byHand: "by hand"
        }
    }
}

extension Double {
    fileprivate var percent: Int { Int((self * 100).rounded()) }
}
