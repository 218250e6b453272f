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
public struct OutlierEjection: Sendable, Hashable {
    /// Ejects an endpoint that succeeds less often than the others do.
    ///
    /// Of the endpoints with enough calls in an interval, those are ejected whose share of successes is below
    /// `mean − factor × standard deviation`, and below the mean by at least `minimumGap`. The standard deviation is that of
    /// these endpoints. By that formula at most one in `1 + factor²` of them can be ejected in an interval, and with the default factor
    /// none of four or fewer.
    public struct Deviation: Sendable, Hashable {
        /// How many standard deviations below the mean an endpoint must be.
        public let factor: Double
        /// How far below the mean it must be at least, as a share.
        public let minimumGap: Double
        /// How many endpoints must have enough calls.
        public let minimumEndpoints: Int
        /// How many calls of an interval are enough.
        public let minimumCalls: Int

        /// Creates a rule. A value that is out of range traps, or is reported by
        /// [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>).
        /// - Parameters:
        ///   - factor: How many standard deviations below the mean an endpoint must be, 0…100. 1.9 by default.
        ///   - minimumGap: How far below the mean it must be at least, as a share, 0…1. 0.05 by default. If almost all calls
        ///     succeed, the standard deviation is so small that without it an endpoint with 99 % is ejected.
        ///   - minimumEndpoints: How many endpoints must have enough calls; 2 or more. 5 by default.
        ///   - minimumCalls: How many calls of an interval are enough; 1 or more. 100 by default.
        public init(
            factor: Double = 1.9, minimumGap: Double = 0.05, minimumEndpoints: Int = 5, minimumCalls: Int = 100
        ) {
            let checks = SettingChecks("OutlierEjection.Deviation")
            self.factor = checks.within(0...100, factor, "factor")
            self.minimumGap = checks.share(minimumGap, "minimumGap")
            self.minimumEndpoints = checks.atLeast(2, minimumEndpoints, "minimumEndpoints")
            self.minimumCalls = checks.atLeast(1, minimumCalls, "minimumCalls")
        }
    }

    /// Ejects an endpoint of whose calls in an interval a certain share failed, however the others do.
    public struct FailureShare: Sendable, Hashable {
        /// The share of failed calls.
        public let limit: Double
        /// How many endpoints must have enough calls.
        public let minimumEndpoints: Int
        /// How many calls of an interval are enough.
        public let minimumCalls: Int

        /// Creates a rule. A value that is out of range traps, or is reported by
        /// [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>).
        /// - Parameters:
        ///   - limit: The share of failed calls, 0.01…1. 0.85 by default.
        ///   - minimumEndpoints: How many endpoints must have enough calls; 1 or more. 5 by default.
        ///   - minimumCalls: How many calls of an interval are enough; 1 or more. 50 by default.
        public init(_ limit: Double = 0.85, minimumEndpoints: Int = 5, minimumCalls: Int = 50) {
            let checks = SettingChecks("OutlierEjection.FailureShare")
            self.limit = checks.within(0.01...1, limit, "limit")
            self.minimumEndpoints = checks.atLeast(1, minimumEndpoints, "minimumEndpoints")
            self.minimumCalls = checks.atLeast(1, minimumCalls, "minimumCalls")
        }
    }

    /// The number of failures in a row that ejects an endpoint; nil if none does.
    public let consecutiveFailures: Int?
    /// The rule that compares endpoints; nil if there is none.
    public let deviation: Deviation?
    /// The rule for a share of failures; nil if there is none.
    public let failureShare: FailureShare?
    /// How often the last two are applied.
    public let interval: Duration
    /// How long the first ejection of an endpoint lasts.
    public let time: Duration
    /// How long an ejection lasts at most.
    public let maxTime: Duration
    /// Up to which share of it an ejection is made longer, by chance.
    public let jitter: Double
    /// The share of endpoints that may be ejected at the same time.
    public let maxEjected: Double

    /// Creates rules. A value that is out of range traps, or is reported by
    /// [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>).
    /// - Parameters:
    ///   - consecutiveFailures: The number of failures in a row that ejects an endpoint, 1 or more; nil for none. 5 by default.
    ///   - deviation: The rule that compares endpoints; nil for none. By default one with the defaults of
    ///     ``Deviation``.
    ///   - failureShare: The rule for a share of failures; nil, the default, for none.
    ///   - interval: How often the last two are applied; above 0. 10 seconds by default.
    ///   - time: How long the first ejection of an endpoint lasts; above 0. 30 seconds by default. The second one in a row lasts
    ///     twice as long, the third three times, and so on.
    ///   - maxTime: How long an ejection lasts at most, without `jitter`; not below `time`. 5 minutes by default.
    ///   - jitter: Up to which share of it an ejection is made longer, by chance, 0…1. 0.1 by default. So endpoints that are
    ///     ejected together do not return together.
    ///   - maxEjected: The share of endpoints that may be ejected at the same time, 0…1. 0.1 by default. Above 0, it is at
    ///     least one endpoint, and never all of them.
    public init(
        afterConsecutive consecutiveFailures: Int? = 5, deviation: Deviation? = Deviation(),
        failureShare: FailureShare? = nil, interval: Duration = .seconds(10), for time: Duration = .seconds(30),
        upTo maxTime: Duration = .seconds(300), jitter: Double = 0.1, maxEjected: Double = 0.1
    ) {
        let checks = SettingChecks("OutlierEjection")
        self.consecutiveFailures = consecutiveFailures.map { checks.atLeast(1, $0, "consecutiveFailures") }
        self.deviation = deviation
        self.failureShare = failureShare
        self.interval = checks.aboveZero(interval, "interval").inNanoseconds
        let time = checks.aboveZero(time, "time").inNanoseconds
        self.time = time
        self.maxTime =
            checks.require(
                maxTime.inNanoseconds >= time, maxTime, "maxTime", "must not be below time, \(time.text)", else: time
            ).inNanoseconds
        self.jitter = checks.share(jitter, "jitter")
        self.maxEjected = checks.share(maxEjected, "maxEjected")
    }

    /// How many of `count` endpoints may be ejected at the same time: never all.
    func limit(of count: Int) -> Int {
        // A little more, since a product such as 0.29 × 100 may be just below a whole number.
        maxEjected > 0 ? min(max(1, Int(maxEjected * Double(count) + 1e-9)), max(0, count - 1)) : 0
    }

    /// After how many ejections in a row they are no longer made longer.
    var maxInARow: Int {
        let (time, longest) = (time.saturatedNanoseconds, maxTime.saturatedNanoseconds)
        return Int(clamping: longest / time + (longest % time > 0 ? 1 : 0))
    }

    /// How long an ejection lasts.
    /// - Parameters:
    ///   - count: How many there were in a row, with this one.
    ///   - share: Up to 1, by chance.
    func length(ofNumber count: Int, _ share: Double) -> Int64 {
        let length = min(
            time.saturatedNanoseconds.saturatingMultiplied(by: Int64(count)), maxTime.saturatedNanoseconds)
        let more = Double(length) * jitter * share
        return length.saturatingAdding(Int64(exactly: more.rounded()) ?? .max)
    }

    /// How long an endpoint must do well until one ejection less is remembered. Longer than it takes to find out that it
    /// does not.
    var memory: Duration { max(time, .nanoseconds(interval.saturatedNanoseconds.saturatingMultiplied(by: 2))) }
}

extension OutlierEjection: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case consecutiveFailures, deviation, failureShare, jitter, maxEjected
        case interval = "intervalSeconds"
        case time = "timeSeconds"
        case maxTime = "maxTimeSeconds"
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "OutlierEjection", by: CodingKeys.self) { reader in
            let standard = OutlierEjection()
            return OutlierEjection(
                afterConsecutive: reader.value(.consecutiveFailures) ?? standard.consecutiveFailures,
                deviation: reader.value(.deviation) ?? standard.deviation, failureShare: reader.value(.failureShare),
                interval: reader.duration(.interval) ?? standard.interval,
                for: reader.duration(.time) ?? standard.time, upTo: reader.duration(.maxTime) ?? standard.maxTime,
                jitter: reader.value(.jitter) ?? standard.jitter,
                maxEjected: reader.value(.maxEjected) ?? standard.maxEjected)
        }
    }
}

extension OutlierEjection {
    /// Writes the rules. One that is nil is written as one that never ejects: what is left out has its default.
    /// - Parameter encoder: The encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(consecutiveFailures ?? .max, forKey: .consecutiveFailures)
        try container.encode(deviation ?? Deviation(factor: 100, minimumGap: 1), forKey: .deviation)
        try container.encodeIfPresent(failureShare, forKey: .failureShare)
        try container.encode(interval, forKey: .interval)
        try container.encode(time, forKey: .time)
        try container.encode(maxTime, forKey: .maxTime)
        try container.encode(jitter, forKey: .jitter)
        try container.encode(maxEjected, forKey: .maxEjected)
    }
}

extension OutlierEjection.Deviation: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case factor, minimumGap, minimumEndpoints, minimumCalls
    }

    /// Reads the rule. What is left out has its default.
    /// - Parameter decoder: The decoder.
    /// - Throws: ``InvalidSettings``, with everything that is invalid.
    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "OutlierEjection.Deviation", by: CodingKeys.self) { reader in
            let standard = OutlierEjection.Deviation()
            return OutlierEjection.Deviation(
                factor: reader.value(.factor) ?? standard.factor,
                minimumGap: reader.value(.minimumGap) ?? standard.minimumGap,
                minimumEndpoints: reader.value(.minimumEndpoints) ?? standard.minimumEndpoints,
                minimumCalls: reader.value(.minimumCalls) ?? standard.minimumCalls)
        }
    }
}

extension OutlierEjection.FailureShare: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case limit, minimumEndpoints, minimumCalls
    }

    /// Reads the rule. What is left out has its default.
    /// - Parameter decoder: The decoder.
    /// - Throws: ``InvalidSettings``, with everything that is invalid.
    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "OutlierEjection.FailureShare", by: CodingKeys.self) { reader in
            let standard = OutlierEjection.FailureShare()
            return OutlierEjection.FailureShare(
                reader.value(.limit) ?? standard.limit,
                minimumEndpoints: reader.value(.minimumEndpoints) ?? standard.minimumEndpoints,
                minimumCalls: reader.value(.minimumCalls) ?? standard.minimumCalls)
        }
    }
}

/// Why an ``EndpointPool`` ejected an endpoint.
public enum EjectionReason: Sendable, Hashable, CustomStringConvertible {
    /// That many calls in a row failed.
    case consecutiveFailures(Int)
    /// This share of its calls in the interval succeeded; of all that were compared, the share was `mean`.
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
