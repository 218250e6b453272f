/// The settings of a ``CircuitBreaker`` with a ``ThreeStateCircuit`` as a value, which can be read from a file or a
/// server.
///
/// ```swift
/// let json = """
///     {
///         "tripping": {"kind": "failureRatio", "ratio": 0.5},
///         "openFor": {"kind": "constant", "lengthSeconds": 30}
///     }
///     """
/// let configuration = try JSONDecoder().decode(
///     CircuitBreakerConfiguration.self, from: Data(json.utf8))
/// let breaker = CircuitBreaker("search", configuration: configuration)
/// ```
///
/// Its settings are always valid. What is left out has the default of ``ThreeStateCircuit``. Codable: durations are
/// numbers of seconds, whose names end with `Seconds`. Rules and breaks have a `kind`:
///
/// - a rule: `consecutiveFailures` with `limit`; `failures` with `count`, `failureRatio` with `ratio`, or `slowCalls`
///   with `slownessSeconds` and one of the two; these three with `window` (`{"calls": 100}`, or
///   `{"lengthSeconds": 10, "buckets": 10}`) and `minimumCalls`; `anyOf` or `allOf` with `rules`. `failing` and
///   `healthy` are lists of verdicts;
/// - a break: `constant` with `lengthSeconds`; `exponential` with `baseSeconds`, `maxMultiplier` and `capSeconds`;
///   `linear` with `baseSeconds` and `capSeconds`; `retryAfter` with `otherwise`, which is a break, and `capSeconds`;
///   `jittered` with `break` and `jitterShare`.
///
/// `mode` is the lever for an emergency: `disabled`, `isolated`, `observing`, or `automatic`, the default.
///
/// See <doc:CircuitBreakerGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
public struct CircuitBreakerConfiguration: Sendable, Hashable {
    private let trip: TripRuleSettings
    private let length: BreakSettings
    /// How many probes are let through at the same time.
    public let probes: Int
    /// Decides by a round of probes whether the circuit closes or opens again.
    public let closing: ProbeRule
    /// After this time, the place of a probe that has not ended goes to another call.
    public let probeLease: Duration
    /// What happens to calls beyond the probes.
    public let excess: ThreeStateCircuit.Excess
    /// How long, after good probes, only a growing share of the calls is let in.
    public let ramp: Duration
    /// Who decides what the breaker does. In an emergency, ``CircuitBreaker/Mode/disabled`` lets all calls through, and
    /// ``CircuitBreaker/Mode/isolated`` rejects all.
    public let mode: CircuitBreaker.Mode

    /// Decides when to open.
    public var rule: any TripRule { trip.rule }
    /// How long the circuit stays open.
    public var openFor: any BreakDuration { length.duration }

    /// Creates a configuration. For each optional parameter, nil is the default of ``ThreeStateCircuit``.
    /// - Parameters:
    ///   - rule: Decides when to open; a rule of this package.
    ///   - openFor: How long the circuit stays open; a break of this package.
    ///   - probes: How many probes are let through at the same time; 1 to the number of probes in a round.
    ///   - closing: Decides by a round of probes whether the circuit closes or opens again.
    ///   - probeLease: After this time, the place of a probe that has not ended goes to another call; above 0.
    ///   - excess: What happens to calls beyond the probes.
    ///   - ramp: How long, after good probes, only a growing share of the calls is let in; 0 or more.
    ///   - mode: Who decides what the breaker does; the circuit by default.
    /// - Throws: ``InvalidSettings``, with everything that is invalid. Settings of a rule, a break and a probe rule that
    ///   are made in the call are among it.
    public init<Rule: TripRule, Break: BreakDuration>(
        tripping rule: @autoclosure () -> Rule = .standard, openFor: @autoclosure () -> Break = .standard,
        probes: Int? = nil, closing: @autoclosure () -> ProbeRule? = nil, probeLease: Duration? = nil,
        excess: ThreeStateCircuit.Excess? = nil, ramp: Duration? = nil, mode: CircuitBreaker.Mode? = nil
    ) throws(InvalidSettings) {
        self = try PolicySettings.valid {
            CircuitBreakerConfiguration(
                valid: rule(), openFor(), probes, closing(), probeLease: probeLease, excess, ramp: ramp, mode)
        }
    }

    /// Creates a configuration with rules and breaks of types that are not known when it is compiled, such as those of
    /// another configuration.
    /// - Parameters:
    ///   - rule: Decides when to open; a rule of this package.
    ///   - openFor: How long the circuit stays open; a break of this package.
    ///   - probes: How many probes are let through at the same time; 1 to the number of probes in a round.
    ///   - closing: Decides by a round of probes whether the circuit closes or opens again.
    ///   - probeLease: After this time, the place of a probe that has not ended goes to another call; above 0.
    ///   - excess: What happens to calls beyond the probes.
    ///   - ramp: How long, after good probes, only a growing share of the calls is let in; 0 or more.
    ///   - mode: Who decides what the breaker does; the circuit by default.
    /// - Throws: ``InvalidSettings``, with everything that is invalid.
    @_disfavoredOverload public init(
        tripping rule: any TripRule, openFor: any BreakDuration, probes: Int? = nil,
        closing: @autoclosure () -> ProbeRule? = nil, probeLease: Duration? = nil,
        excess: ThreeStateCircuit.Excess? = nil, ramp: Duration? = nil, mode: CircuitBreaker.Mode? = nil
    ) throws(InvalidSettings) {
        self = try PolicySettings.valid {
            CircuitBreakerConfiguration(
                valid: rule, openFor, probes, closing(), probeLease: probeLease, excess, ramp: ramp, mode)
        }
    }

    /// nil is the default.
    private init(
        valid rule: some TripRule, _ openFor: some BreakDuration, _ probes: Int?, _ closing: ProbeRule?,
        probeLease: Duration?, _ excess: ThreeStateCircuit.Excess?, ramp: Duration?, _ mode: CircuitBreaker.Mode?
    ) {
        let checks = SettingChecks("CircuitBreaker")
        trip =
            TripRuleSettings(rule)
            ?? checks.replace(rule, "tripping", "must be a rule of this package", by: .standard)
        if trip.count > TripRuleSettings.mostRules {
            _ = checks.replace(rule, "tripping", "must have at most \(TripRuleSettings.mostRules) rules", by: trip)
        }
        length =
            BreakSettings(openFor)
            ?? checks.replace(openFor, "openFor", "must be a break of this package", by: .constant(.standard))
        let standard = ThreeStateCircuit()
        let circuit = ThreeStateCircuit(
            tripping: rule, openFor: openFor, probes: probes ?? standard.maxProbes,
            closing: closing ?? standard.closing, probeLease: probeLease ?? standard.probeLease,
            excess: excess ?? standard.excess, ramp: ramp ?? .nanoseconds(standard.ramp))
        (self.probes, self.closing) = (circuit.maxProbes, circuit.closing)
        (self.probeLease, self.excess) = (circuit.probeLease, circuit.excess)
        self.ramp = .nanoseconds(circuit.ramp)
        self.mode = mode ?? .automatic
    }

    /// A closed circuit with these settings but the mode, for ``CircuitBreaker/reconfigure(circuit:)`` for example.
    public var circuit: ThreeStateCircuit {
        func circuit(_ rule: some TripRule, _ openFor: some BreakDuration) -> ThreeStateCircuit {
            ThreeStateCircuit(
                tripping: rule, openFor: openFor, probes: probes, closing: closing, probeLease: probeLease,
                excess: excess, ramp: ramp)
        }
        return circuit(rule, openFor)
    }
}

extension CircuitBreakerConfiguration: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case tripping, openFor, probes, closing, mode
        case probeLease = "probeLeaseSeconds"
        case excess = "excessWaitsSeconds"
        case ramp = "rampSeconds"
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "CircuitBreaker", by: CodingKeys.self) { reader in
            let rule: any TripRule =
                reader.value(.tripping, as: TripRuleSettings.self)?.rule ?? ConsecutiveFailures.standard
            let openFor: any BreakDuration =
                reader.value(.openFor, as: BreakSettings.self)?.duration ?? ConstantBreak.standard
            let closing: ProbeRule? = reader.value(.closing)
            return try CircuitBreakerConfiguration(
                tripping: rule, openFor: openFor,
                // How many there may be at most depends on `closing`.
                probes: reader.value(.probes).flatMap { $0 > 0 && reader.isUnreadable(.closing) ? nil : $0 },
                closing: closing,
                probeLease: reader.duration(.probeLease),
                excess: reader.duration(.excess).map { .waits(upTo: $0) }, ramp: reader.duration(.ramp),
                mode: reader.choice(.mode))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(trip, forKey: .tripping)
        try container.encode(length, forKey: .openFor)
        try container.encode(probes, forKey: .probes)
        try container.encode(closing, forKey: .closing)
        try container.encode(probeLease, forKey: .probeLease)
        if case .waits(let limit) = excess { try container.encode(limit, forKey: .excess) }
        try container.encode(ramp, forKey: .ramp)
        try container.encode(mode, forKey: .mode)
    }
}

extension CircuitBreaker {
    /// Creates a breaker with three states and the settings of a configuration; see ``ThreeStateCircuit``.
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - configuration: The settings.
    ///   - healthCheck: Finds out whether the endpoint is well again, instead of a caller's call; nil for none.
    ///   - timeBase: The time base that it measures with; it must be that of the pipeline.
    ///   - observers: The observers that are told what this breaker does; nil for none at first.
    public convenience init(
        _ name: String = "breaker", configuration: CircuitBreakerConfiguration, healthCheck: CircuitHealthCheck? = nil,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        self.init(
            name, circuit: configuration.circuit, healthCheck: healthCheck, timeBase: timeBase, observers: observers)
        settle(configuration.mode, tells: false)
    }
}
