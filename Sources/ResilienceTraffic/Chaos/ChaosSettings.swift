public import Resilience

extension Chaos {
    /// The settings of a ``Chaos`` policy as a value, which can be read from a file or a server, so a game day needs no
    /// new build.
    ///
    /// ```swift
    /// let json = Data(
    ///     #"{"until": "2026-11-27T15:00:00Z", "faultRate": 0.1}"#.utf8)
    /// let settings = try JSONDecoder().decode(
    ///     Chaos.Settings.self, from: json)
    /// let chaos = Chaos("search.chaos", settings: settings)
    /// ```
    ///
    /// The switch is ``until``: without it, and after it, the policy is off. Reading the same settings again, even in a
    /// restarted process, does not extend that time, unless it is more than a day away.
    ///
    /// See <doc:ChaosGuide> for what the settings do.
    public struct Settings: SettingsGroup {
        /// The verdict of an injected failure.
        public enum FaultVerdict: String, SettingChoice {
            /// ``/Resilience/Verdict/transient``.
            case transient
            /// ``/Resilience/Verdict/throttled``.
            case throttled
            /// ``/Resilience/Verdict/permanent``.
            case permanent
            /// ``/Resilience/Verdict/uncertain``.
            case uncertain
        }

        /// The injection for an attempt.
        public enum Step: String, SettingChoice {
            /// Nothing is injected.
            case none
            /// The attempt fails without running its operation.
            case fault
            /// The operation runs, and the attempt fails even if the operation succeeded.
            case lostAnswer
            /// The attempt waits before its operation runs.
            case delay
            /// The attempt ends as if its task had been cancelled.
            case cancellation
        }

        /// The UTC time at which the policy turns itself off, such as "2026-11-27T15:00:00Z" or "2026-11-27T15:00Z";
        /// nil, the default, if it is off.
        ///
        /// The policy is on for at most a day (``Chaos/longestTime``) after it gets the settings.
        public var until: String?
        /// The share of attempts that fail without running their operation, 0…1; by default 0.
        ///
        /// The rates add up to 1 or less.
        public var faultRate: Double
        /// The verdict of an injected failure; by default `transient`.
        public var faultVerdict: FaultVerdict
        /// The delay before an injected failure, 0 or more; by default 0.
        public var faultAfter: Duration
        /// The share of attempts whose answer is lost, 0…1; by default 0.
        ///
        /// A lost answer means `uncertain`.
        public var lostAnswerRate: Double
        /// The share of attempts that are delayed, 0…1; by default 0.
        public var delayRate: Double
        /// The shortest injected delay, 0 or more; by default 1 second.
        public var delay: Duration
        /// The longest injected delay, `delay` or more; nil, the default, if every delay is `delay`.
        public var maxDelay: Duration?
        /// The share of attempts that end as if cancelled, 0…1; by default 0.
        public var cancellationRate: Double
        /// The steps of the first attempts, in order, regardless of the rates; by default empty.
        public var script: [Step]
        /// A touched call has at least one of these tags; empty, the default, for all calls.
        public var tags: [String]
        /// The highest priority of a touched call; nil, the default, for any.
        public var maxPriority: CallPriority?
        /// The largest number of attempts touched each time the policy is turned on, 0 or more; nil, the default, for
        /// no limit.
        public var limit: Int?
        /// The largest number of attempts in an injected delay at the same time, 0 or more; nil, the default, for no
        /// limit.
        public var maxDelayed: Int?

        /// Creates settings.
        public init(
            until: String? = nil, faultRate: Double = 0, faultVerdict: FaultVerdict = .transient,
            faultAfter: Duration = .zero, lostAnswerRate: Double = 0, delayRate: Double = 0,
            delay: Duration = .seconds(1), maxDelay: Duration? = nil, cancellationRate: Double = 0,
            script: [Step] = [], tags: [String] = [], maxPriority: CallPriority? = nil, limit: Int? = nil,
            maxDelayed: Int? = nil
        ) {
            self.until = until
            self.faultRate = faultRate
            self.faultVerdict = faultVerdict
            self.faultAfter = faultAfter
            self.lostAnswerRate = lostAnswerRate
            self.delayRate = delayRate
            self.delay = delay
            self.maxDelay = maxDelay
            self.cancellationRate = cancellationRate
            self.script = script
            self.tags = tags
            self.maxPriority = maxPriority
            self.limit = limit
            self.maxDelayed = maxDelayed
        }

        public static let schema = SettingsSchema(
            "Chaos", standard: Settings(),
            [
                SettingField("until", \.until), SettingField("faultRate", \.faultRate, .within(0, 1)),
                SettingField("faultVerdict", \.faultVerdict),
                SettingField("faultAfterSeconds", \.faultAfter, .atLeast(0)),
                SettingField("lostAnswerRate", \.lostAnswerRate, .within(0, 1)),
                SettingField("delayRate", \.delayRate, .within(0, 1)),
                SettingField("delaySeconds", \.delay, .atLeast(0)),
                SettingField("maxDelaySeconds", \.maxDelay, .atLeast(0)),
                SettingField("cancellationRate", \.cancellationRate, .within(0, 1)),
                SettingField("script", \.script), SettingField("tags", \.tags),
                SettingField("maxPriority", \.maxPriority, .within(-128, 127)),
                SettingField("limit", \.limit, .atLeast(0)), SettingField("maxDelayed", \.maxDelayed, .atLeast(0)),
            ]
        ) { settings, given in
            if let until = settings.until, settings.end == nil {
                given.note(
                    "until", until.debugDescription,
                    "must be a date and time in UTC, such as \"2026-11-27T15:00:00Z\"")
            }
            let sum = settings.faultRate + settings.lostAnswerRate + settings.delayRate + settings.cancellationRate
            if given.areSound("faultRate", "lostAnswerRate", "delayRate", "cancellationRate"), sum > 1 + 1e-9 {
                given.note("rates", "\(sum)", "must add up to 1 or less")
            }
            if let longest = settings.maxDelay, given.areSound("delaySeconds", "maxDelaySeconds"),
                longest < settings.delay
            {
                given.note(
                    "maxDelaySeconds", longest.text, "must be \(settings.delay.text), the delay, or more")
            }
        }

        /// In seconds since 1970.
        fileprivate var end: Int64? { until.flatMap { UTCText($0)?.seconds } }

        /// The injection of a step, for the script and for chance; nil for none.
        private func injection(_ step: Step, at rate: Double = 1) -> ChaosInjection? {
            switch step {
            case .none: nil
            case .fault: .fault(Verdict(faultVerdict.kind), at: rate, after: faultAfter)
            case .lostAnswer: .lostAnswer(at: rate)
            case .delay: .delay(delay...max(delay, maxDelay ?? delay), at: rate)
            case .cancellation: .cancellation(at: rate)
            }
        }

        fileprivate var injections: [ChaosInjection] {
            let rates: [(Step, Double)] = [
                (.fault, faultRate), (.lostAnswer, lostAnswerRate), (.delay, delayRate),
                (.cancellation, cancellationRate),
            ]
            return rates.filter { $0.1 > 0 }.compactMap { injection($0.0, at: $0.1) }
        }

        fileprivate var steps: [ChaosInjection?] { script.map { injection($0) } }
        fileprivate var scope: ChaosScope { ChaosScope(tags: Set(tags), maxPriority: maxPriority) }
    }

    /// Creates a chaos policy that is on until ``Settings/until``, for at most a day.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - settings: The settings.
    ///   - timeBase: The time base of delays and of the switch; it must be the pipeline's.
    ///   - observers: The observers of this policy's events; nil for none at first.
    public convenience init(
        _ name: String = "chaos", settings: Settings, timeBase: any TimeBase = .system,
        observers: PolicyObservers? = nil
    ) {
        self.init(name, settings: settings, at: WallClock.milliseconds, timeBase: timeBase, observers: observers)
    }

    /// - Parameter wallClock: The time, in milliseconds since 1970.
    convenience init(
        _ name: String = "chaos", settings: Settings, at wallClock: Int64, timeBase: any TimeBase = .system,
        observers: PolicyObservers? = nil
    ) {
        let settings = settings.valid()
        self.init(
            name, injecting: settings.injections, script: settings.steps, scope: settings.scope,
            limit: settings.limit, maxDelayed: settings.maxDelayed, timeBase: timeBase, observers: observers)
        guard let end = settings.end else { return }
        let left = end.saturatingMultiplied(by: 1_000).saturatingSubtracting(wallClock)
        setConfiguredEnd(end, left: .milliseconds(max(0, left)))
    }
}

extension Chaos.Settings.FaultVerdict {
    fileprivate var kind: Verdict.Kind {
        switch self {
        case .transient: .transient
        case .throttled: .throttled
        case .permanent: .permanent
        case .uncertain: .uncertain
        }
    }
}

/// A date and time of UTC in the form of RFC 3339, to the second: "2026-11-27T15:00:00Z", or "2026-11-27T15:00Z".
struct UTCText: Equatable {
    /// Since 1970-01-01 00:00:00.
    let seconds: Int64

    /// nil if the text is not such a date, or is before 1970.
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
