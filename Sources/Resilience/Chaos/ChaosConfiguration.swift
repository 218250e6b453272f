/// The settings of a ``Chaos`` policy as a value, which can be read from a file or a server: so that a game day needs no
/// new build.
///
/// ```swift
/// let json = Data(
///     #"{"until": "2026-11-27T15:00:00Z", "faultRate": 0.1}"#.utf8)
/// let configuration = try JSONDecoder().decode(
///     ChaosConfiguration.self, from: json)
/// let chaos = Chaos("search.chaos", configuration: configuration)
/// ```
///
/// The switch is ``until``: without it, and after it, the policy is off. The same configuration read again, or by a process
/// that starts again, does not extend it, unless it is more than a day away.
///
/// Its settings are always valid. Codable: `until`, `faultRate`, `faultVerdict`, `faultAfterSeconds`, `lostAnswerRate`,
/// `delayRate`, `delaySeconds`, `maxDelaySeconds`, `cancellationRate`, `script`, `tags`, `maxPriority`, `limit`, `maxDelayed`.
///
/// See <doc:ChaosGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
public struct ChaosConfiguration: Sendable, Hashable {
    /// When the policy turns itself off, in UTC: "2026-11-27T15:00:00Z". nil if it is off.
    public let until: String?
    /// The share of attempts that fail in place of their operation.
    public let faultRate: Double
    /// What such a failure means.
    public let faultVerdict: Verdict.Kind
    /// How long an attempt waits before it fails so.
    public let faultAfter: Duration
    /// The share of attempts whose answer is lost. It means ``Verdict/uncertain``.
    public let lostAnswerRate: Double
    /// The share of attempts that are delayed.
    public let delayRate: Double
    /// How long they wait, at least.
    public let delay: Duration
    /// How long they wait, at most; nil for exactly ``delay``.
    public let maxDelay: Duration?
    /// The share of attempts that end as if they had been cancelled.
    public let cancellationRate: Double
    /// What the first attempts get; nil for one that is left alone.
    public let script: [ChaosInjection.Kind?]
    /// The tags of which a call must have one; empty if it needs none.
    public let tags: Set<String>
    /// The highest priority that a call may have; nil for any.
    public let maxPriority: CallPriority?
    /// How many attempts are touched at most each time the policy is turned on; nil for no limit.
    public let limit: Int?
    /// How many attempts may be in an injected delay at the same time; nil for no limit.
    public let maxDelayed: Int?

    /// In seconds since 1970.
    let end: Int64?

    /// Creates a configuration.
    /// - Parameters:
    ///   - until: When the policy turns itself off: a date and time in UTC, such as "2026-11-27T15:00:00Z", or without
    ///     seconds, "2026-11-27T15:00Z". nil, the default, for a policy that is off. It is on for at most a day
    ///     (``Chaos/longestTime``) from when it is given the configuration.
    ///   - faultRate: The share of attempts that fail in place of their operation, 0…1. The rates add up to 1 or less.
    ///   - faultVerdict: What such a failure means: transient, throttled, permanent or uncertain.
    ///   - faultAfter: How long an attempt waits before it fails so, 0 or more.
    ///   - lostAnswerRate: The share of attempts whose answer is lost, 0…1.
    ///   - delayRate: The share of attempts that are delayed, 0…1.
    ///   - delay: How long they wait, at least; 0 or more. 1 second by default.
    ///   - maxDelay: How long they wait, at most; `delay` or more. nil, the default, for exactly `delay`.
    ///   - cancellationRate: The share of attempts that end as if they had been cancelled, 0…1.
    ///   - script: What the first attempts get, whatever the rates; nil for one that is left alone. No behaviors.
    ///   - tags: The tags of which a call must have one; empty if it needs none.
    ///   - maxPriority: The highest priority that a call may have; nil for any.
    ///   - limit: How many attempts are touched at most each time the policy is turned on, 0 or more; nil for no limit.
    ///   - maxDelayed: How many attempts may be in an injected delay at the same time, 0 or more; nil for no limit.
    /// - Throws: ``InvalidSettings``, with everything that is invalid.
    public init(
        until: String? = nil, faultRate: Double = 0, faultVerdict: Verdict.Kind = .transient,
        faultAfter: Duration = .zero, lostAnswerRate: Double = 0, delayRate: Double = 0, delay: Duration = .seconds(1),
        maxDelay: Duration? = nil, cancellationRate: Double = 0, script: [ChaosInjection.Kind?] = [],
        tags: Set<String> = [], maxPriority: CallPriority? = nil, limit: Int? = nil, maxDelayed: Int? = nil
    ) throws(InvalidSettings) {
        let checks = SettingChecks("Chaos")
        let end = until.flatMap { UTCText($0)?.seconds }
        try PolicySettings.valid {
            _ = checks.require(
                until == nil || end != nil, until?.debugDescription ?? "", "until",
                "must be a date and time in UTC, such as \"2026-11-27T15:00:00Z\"", else: "")
            let rates = [
                checks.share(faultRate, "faultRate"), checks.share(lostAnswerRate, "lostAnswerRate"),
                checks.share(delayRate, "delayRate"), checks.share(cancellationRate, "cancellationRate"),
            ]
            let sum = rates.reduce(0, +)
            _ = checks.require(sum <= 1 + 1e-9, sum, "rates", "must add up to 1 or less", else: 1)
            _ = checks.require(
                Self.verdicts.contains(faultVerdict), faultVerdict, "faultVerdict",
                "must be one of \(Self.verdicts.map(\.description).joined(separator: ", "))", else: .transient)
            _ = checks.notNegative(faultAfter, "faultAfter")
            let least = checks.notNegative(delay, "delay")
            if let maxDelay {
                _ = checks.require(
                    maxDelay >= least, maxDelay, "maxDelay", "must be \(least.text), the delay, or more", else: least)
            }
            _ = checks.require(
                !script.contains(.behavior), "behavior", "script", "must have no behavior, which is code", else: "")
            if let limit { _ = checks.atLeast(0, limit, "limit") }
            if let maxDelayed { _ = checks.atLeast(0, maxDelayed, "maxDelayed") }
        }
        self.until = until
        self.end = end
        self.faultRate = faultRate
        self.faultVerdict = faultVerdict
        self.faultAfter = faultAfter.inNanoseconds
        self.lostAnswerRate = lostAnswerRate
        self.delayRate = delayRate
        self.delay = delay.inNanoseconds
        self.maxDelay = maxDelay?.inNanoseconds
        self.cancellationRate = cancellationRate
        self.script = script
        self.tags = tags
        self.maxPriority = maxPriority
        self.limit = limit
        self.maxDelayed = maxDelayed
    }

    private static let verdicts: [Verdict.Kind] = [.transient, .throttled, .permanent, .uncertain]

    /// The injection of a kind, for a step of the script and for chance.
    private func injection(_ kind: ChaosInjection.Kind, at rate: Double = 1) -> ChaosInjection {
        switch kind {
        case .fault: .fault(Verdict(faultVerdict), at: rate, after: faultAfter)
        case .lostAnswer: .lostAnswer(at: rate)
        case .delay: .delay(delay...max(delay, maxDelay ?? delay), at: rate)
        case .cancellation: .cancellation(at: rate)
        // Not in a valid configuration.
        case .behavior: .behavior(at: rate) {}
        }
    }

    fileprivate var injections: [ChaosInjection] {
        let rates: [(ChaosInjection.Kind, Double)] = [
            (.fault, faultRate), (.lostAnswer, lostAnswerRate), (.delay, delayRate), (.cancellation, cancellationRate),
        ]
        return rates.filter { $0.1 > 0 }.map { injection($0.0, at: $0.1) }
    }

    fileprivate var steps: [ChaosInjection?] { script.map { $0.map { injection($0) } } }
    fileprivate var scope: ChaosScope { ChaosScope(tags: tags, maxPriority: maxPriority) }
}

extension ChaosConfiguration: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case until, faultRate, faultVerdict, lostAnswerRate, delayRate, cancellationRate, script, tags, maxPriority
        case limit, maxDelayed
        case faultAfter = "faultAfterSeconds"
        case delay = "delaySeconds"
        case maxDelay = "maxDelaySeconds"
    }

    private enum FaultVerdict: String, CaseIterable {
        case transient, throttled, permanent, uncertain

        var kind: Verdict.Kind {
            switch self {
            case .transient: .transient
            case .throttled: .throttled
            case .permanent: .permanent
            case .uncertain: .uncertain
            }
        }
    }

    private enum Step: String, CaseIterable {
        case none, fault, lostAnswer, delay, cancellation

        var kind: ChaosInjection.Kind? { ChaosInjection.Kind(rawValue: rawValue) }
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "Chaos", by: CodingKeys.self) { reader in
            let names = reader.value(.script, as: [String].self) ?? []
            for name in names where Step(rawValue: name) == nil {
                let known = Step.allCases.map(\.rawValue).joined(separator: ", ")
                reader.note(.script, name.debugDescription, "must be one of \(known)")
            }
            let priority = reader.value(.maxPriority, as: Int.self)
            if let priority, Int8(exactly: priority) == nil {
                reader.note(.maxPriority, "\(priority)", "must lie in -128...127")
            }
            return try ChaosConfiguration(
                until: reader.value(.until), faultRate: reader.value(.faultRate) ?? 0,
                faultVerdict: reader.choice(.faultVerdict, among: FaultVerdict.self)?.kind ?? .transient,
                faultAfter: reader.duration(.faultAfter) ?? .zero, lostAnswerRate: reader.value(.lostAnswerRate) ?? 0,
                delayRate: reader.value(.delayRate) ?? 0, delay: reader.duration(.delay) ?? .seconds(1),
                maxDelay: reader.duration(.maxDelay), cancellationRate: reader.value(.cancellationRate) ?? 0,
                script: names.map { Step(rawValue: $0)?.kind }, tags: Set(reader.value(.tags, as: [String].self) ?? []),
                maxPriority: priority.map { CallPriority(rawValue: Int8(clamping: $0)) },
                limit: reader.value(.limit), maxDelayed: reader.value(.maxDelayed))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(until, forKey: .until)
        try container.encode(faultRate, forKey: .faultRate)
        try container.encode(faultVerdict.description, forKey: .faultVerdict)
        try container.encode(faultAfter, forKey: .faultAfter)
        try container.encode(lostAnswerRate, forKey: .lostAnswerRate)
        try container.encode(delayRate, forKey: .delayRate)
        try container.encode(delay, forKey: .delay)
        try container.encodeIfPresent(maxDelay, forKey: .maxDelay)
        try container.encode(cancellationRate, forKey: .cancellationRate)
        if !script.isEmpty { try container.encode(script.map { $0?.rawValue ?? "none" }, forKey: .script) }
        if !tags.isEmpty { try container.encode(tags.sorted(), forKey: .tags) }
        try container.encodeIfPresent(maxPriority.map { Int($0.rawValue) }, forKey: .maxPriority)
        try container.encodeIfPresent(limit, forKey: .limit)
        try container.encodeIfPresent(maxDelayed, forKey: .maxDelayed)
    }
}

extension Chaos {
    /// Creates a chaos policy with the settings of a configuration: on until the time that it names, and at most for a day.
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - configuration: The settings.
    ///   - timeBase: The time base of delays and of the switch; it must be that of the pipeline.
    ///   - observers: The observers that are told what this policy does; nil for none at first.
    public convenience init(
        _ name: String = "chaos", configuration: ChaosConfiguration, timeBase: any TimeBase = .system,
        observers: PolicyObservers? = nil
    ) {
        self.init(
            name, configuration: configuration, at: WallClock.milliseconds, timeBase: timeBase, observers: observers)
    }

    /// - Parameter wallClock: The time, in milliseconds since 1970.
    convenience init(
        _ name: String = "chaos", configuration: ChaosConfiguration, at wallClock: Int64,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        self.init(
            name, injecting: configuration.injections, script: configuration.steps, scope: configuration.scope,
            limit: configuration.limit, maxDelayed: configuration.maxDelayed, timeBase: timeBase, observers: observers)
        guard let end = configuration.end else { return }
        let left = end.saturatingMultiplied(by: 1_000).saturatingSubtracting(wallClock)
        setConfiguredEnd(end, left: .milliseconds(max(0, left)))
    }
}

/// A date and time of UTC in the form of RFC 3339, to the second: "2026-11-27T15:00:00Z", or "2026-11-27T15:00Z".
struct UTCText: Equatable {
    /// Since 1970-01-01 00:00:00.
    let seconds: Int64

    /// nil if the text is no such date, or is before 1970.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        let form = Array((bytes.count == 17 ? "0000-00-00T00:00Z" : "0000-00-00T00:00:00Z").utf8)
        let (zero, nine) = (UInt8(ascii: "0"), UInt8(ascii: "9"))
        guard bytes.count == form.count,
            zip(bytes, form).allSatisfy({ $1 == zero ? (zero...nine).contains($0) : $0 == $1 })
        else { return nil }
        func number(_ range: Range<Int>) -> Int64 { bytes[range].reduce(0) { $0 * 10 + Int64($1 - zero) } }
        let (year, month, day) = (number(0..<4), number(5..<7), number(8..<10))
        let (hour, minute, second) = (number(11..<13), number(14..<16), bytes.count == 17 ? 0 : number(17..<19))
        guard year >= 1970, hour < 24, minute < 60, second < 60,
            let seconds = UTCCalendar.seconds(
                year: year, month: Int(month), day: day, time: (hour * 60 + minute) * 60 + second)
        else { return nil }
        self.seconds = seconds
    }
}
