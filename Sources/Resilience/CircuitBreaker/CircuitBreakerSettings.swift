extension CircuitBreaker {
    /// The settings of a ``CircuitBreaker`` with three states, readable from a file or a server.
    ///
    /// ```swift
    /// let json = """
    ///     {
    ///         "tripping": {"kind": "failureRatio", "ratio": 0.5},
    ///         "openFor": {"kind": "constant", "lengthSeconds": 30}
    ///     }
    ///     """
    /// let settings = try JSONDecoder().decode(
    ///     CircuitBreaker.Settings.self, from: Data(json.utf8))
    /// let breaker = CircuitBreaker("search", settings: settings)
    /// ```
    ///
    /// Rules and breaks have a `kind`:
    ///
    /// - a rule: `consecutiveFailures` with `limit`; `failures` with `count`; `failureRatio` with `ratio`; `slowCalls`
    ///   with `slownessSeconds` and either `count` or `ratio`; `anyOf` or `allOf` with `rules`. `failures`,
    ///   `failureRatio` and `slowCalls` also have `window` (`{"calls": 100}`, or `{"lengthSeconds": 10, "buckets":
    ///   10}`) and `minimumCalls`. `failing` and `healthy` are lists of verdicts;
    /// - a break: `constant` with `lengthSeconds`; `exponential` with `baseSeconds`, `maxMultiplier` and `capSeconds`;
    ///   `linear` with `baseSeconds` and `capSeconds`; `retryAfter` with `otherwise`, which is a break, and
    ///   `capSeconds`; `jittered` with `break` and `jitterShare`.
    ///
    /// `mode` is the lever for an emergency: `disabled`, `isolated`, `observing`, or `automatic`, the default.
    ///
    /// See <doc:CircuitBreakerGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
    public struct Settings: SettingsGroup {
        /// The rule that opens the circuit; by default at the 5th failure in a row.
        private var trip: TripRuleSettings
        /// How long the circuit stays open; 60 s by default.
        private var length: BreakSettings
        /// How many probes may run at the same time; 1 to the number of probes in a round, 1 by default.
        public var probes: Int
        /// How many successes in a round of probes close the circuit; 1 of 1 by default.
        public var closing: ProbeRule
        /// How long a probe keeps its place before another call gets it; above 0 s, 60 s by default.
        public var probeLease: Duration
        /// How long calls beyond the probes wait; above 0 s. By default they are rejected.
        var excessWait: Duration?
        /// How long the circuit admits only a growing share of the calls after good probes; 0 s or more, 0 s by
        /// default.
        public var ramp: Duration
        /// Whether the circuit decides (`automatic`, the default), all calls get through (`disabled`, `observing`), or
        /// all are rejected (`isolated`).
        public var mode: Mode

        /// Decides when to open; a rule of this package, with nothing counted.
        public var rule: any TripRule {
            get { trip.rule }
            set { trip = TripRuleSettings(newValue) }
        }
        /// How long the circuit stays open; a break of this package.
        public var openFor: any BreakDuration {
            get { length.duration }
            set { length = BreakSettings(newValue) }
        }
        /// The treatment of calls beyond the probes.
        public var excess: ThreeStateCircuit.Excess {
            get { excessWait.map { .waits(upTo: $0) } ?? .rejected }
            set { if case .waits(let limit) = newValue { excessWait = limit } else { excessWait = nil } }
        }

        /// Creates settings.
        public init(
            tripping rule: some TripRule = .standard, openFor: some BreakDuration = .standard, probes: Int = 1,
            closing: ProbeRule = .successes(1), probeLease: Duration = .seconds(60),
            excess: ThreeStateCircuit.Excess = .rejected, ramp: Duration = .zero, mode: Mode = .automatic
        ) {
            trip = TripRuleSettings(rule)
            length = BreakSettings(openFor)
            self.probes = probes
            self.closing = closing
            self.probeLease = probeLease
            self.ramp = ramp
            self.mode = mode
            self.excess = excess
        }

        public static let schema = SettingsSchema(
            "CircuitBreaker", standard: Settings(),
            [
                SettingField("tripping", \.trip), SettingField("openFor", \.length),
                SettingField("probes", \.probes, .atLeast(1)), SettingField("closing", \.closing),
                SettingField("probeLeaseSeconds", \.probeLease, .above(0)),
                SettingField("excessWaitsSeconds", \.excessWait, .above(0)),
                SettingField("rampSeconds", \.ramp, .atLeast(0)), SettingField("mode", \.mode),
            ]
        ) { settings, given in
            guard given.areSound("probes", "closing"), settings.probes > settings.closing.probes else { return }
            given.note("probes", "\(settings.probes)", "must lie in 1...\(settings.closing.probes)")
        }

        /// A closed circuit with these settings, except the mode; for example, for
        /// ``CircuitBreaker/reconfigure(circuit:)``.
        public var circuit: ThreeStateCircuit {
            ThreeStateCircuit(
                tripping: rule, openFor: openFor, probes: probes, closing: closing, probeLease: probeLease,
                excess: excess, ramp: ramp)
        }
    }

    /// Creates a breaker with three states; see ``ThreeStateCircuit``.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - settings: The settings.
    ///   - healthCheck: Finds out whether the endpoint has recovered, in place of a caller's call; nil for none.
    ///   - timeBase: The time base of its measurements; it must be the pipeline's.
    ///   - observers: The observers of this breaker's events; nil for none at first.
    public convenience init(
        _ name: String = "breaker", settings: Settings, healthCheck: CircuitHealthCheck? = nil,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        let settings = settings.valid()
        self.init(name, circuit: settings.circuit, healthCheck: healthCheck, timeBase: timeBase, observers: observers)
        settle(settings.mode, tells: false)
    }
}
