/// The settings of a whole ``Pipeline`` as a value, which can be read from a file or a server: which policies it has,
/// and the settings of each.
///
/// ```swift
/// let json = """
///     {
///         "timeout": {"limitSeconds": 30},
///         "retry": {"maxRetries": 2},
///         "attemptTimeout": {"limitSeconds": 5}
///     }
///     """
/// let configuration = try JSONDecoder().decode(
///     PipelineConfiguration.self, from: Data(json.utf8))
/// let pipeline = Pipeline("search", configuration: configuration)
/// ```
///
/// The order is fixed, outermost first: the timeout of the whole call, retry, hedge, adaptive throttle, circuit breaker,
/// throttle, bulkhead, the timeout of each attempt, chaos. The pipeline has each policy that has settings.
///
/// Codable, with these names: `timeout`, `retry`, `hedge`, `adaptiveThrottle`, `circuitBreaker`, `throttle`, `bulkhead`,
/// `attemptTimeout`, `chaos`, and `policies`. `policies` is a list of the other names. If it is given, the pipeline has exactly the
/// policies that it lists: one that has settings and is not listed is left out, and a retry, a hedge, an adaptive throttle,
/// a breaker or chaos that is listed and has no settings has its defaults. One of the names must be given, so that a misspelt one
/// does not leave calls unguarded; for a pipeline without policies, give an empty list. Besides, `isIdempotent` says whether the
/// pipeline's calls may be repeated.
///
/// See <doc:ConfigurationGuide> for the settings of each policy.
public struct PipelineConfiguration: Sendable, Hashable {
    /// The limit of the whole call; nil for none.
    public let timeout: TimeoutConfiguration?
    /// The settings of the retry; nil for none.
    public let retry: RetryConfiguration?
    /// The settings of the hedge; nil for none. ``Pipeline/runHedged(options:_:)-(_,()->R)`` and the clients for HTTP and gRPC
    /// make copies; `run` makes none.
    public let hedge: HedgeConfiguration?
    /// The settings of the adaptive throttle; nil for none.
    public let adaptiveThrottle: AdaptiveThrottleConfiguration?
    /// The settings of the circuit breaker; nil for none.
    public let circuitBreaker: CircuitBreakerConfiguration?
    /// The settings of the throttle; nil for none.
    public let throttle: ThrottleConfiguration?
    /// The settings of the bulkhead; nil for none.
    public let bulkhead: BulkheadConfiguration?
    /// The limit of each attempt; nil for none.
    public let attemptTimeout: TimeoutConfiguration?
    /// The settings of chaos; nil for none.
    public let chaos: ChaosConfiguration?
    /// Whether the pipeline's calls may be repeated: see ``Pipeline/isIdempotent``.
    public let isIdempotent: Bool?

    /// Creates a configuration of valid parts. A policy that is nil, the default, is not in the pipeline.
    /// - Parameters:
    ///   - timeout: The limit of the whole call.
    ///   - retry: The settings of the retry.
    ///   - hedge: The settings of the hedge.
    ///   - adaptiveThrottle: The settings of the adaptive throttle.
    ///   - circuitBreaker: The settings of the circuit breaker.
    ///   - throttle: The settings of the throttle.
    ///   - bulkhead: The settings of the bulkhead.
    ///   - attemptTimeout: The limit of each attempt.
    ///   - chaos: The settings of chaos.
    ///   - isIdempotent: Whether the pipeline's calls may be repeated; nil if it is not known.
    public init(
        timeout: TimeoutConfiguration? = nil, retry: RetryConfiguration? = nil, hedge: HedgeConfiguration? = nil,
        adaptiveThrottle: AdaptiveThrottleConfiguration? = nil,
        circuitBreaker: CircuitBreakerConfiguration? = nil, throttle: ThrottleConfiguration? = nil,
        bulkhead: BulkheadConfiguration? = nil, attemptTimeout: TimeoutConfiguration? = nil,
        chaos: ChaosConfiguration? = nil, isIdempotent: Bool? = nil
    ) {
        self.timeout = timeout
        self.retry = retry
        self.hedge = hedge
        self.adaptiveThrottle = adaptiveThrottle
        self.circuitBreaker = circuitBreaker
        self.throttle = throttle
        self.bulkhead = bulkhead
        self.attemptTimeout = attemptTimeout
        self.chaos = chaos
        self.isIdempotent = isIdempotent
    }

    /// The names of the policies, outermost first, as `policies` lists them.
    public var policies: [String] { parts.map(\.rawValue) }

    private var parts: [Part] {
        Part.allCases.filter { part in
            switch part {
            case .timeout: timeout != nil
            case .retry: retry != nil
            case .hedge: hedge != nil
            case .adaptiveThrottle: adaptiveThrottle != nil
            case .circuitBreaker: circuitBreaker != nil
            case .throttle: throttle != nil
            case .bulkhead: bulkhead != nil
            case .attemptTimeout: attemptTimeout != nil
            case .chaos: chaos != nil
            }
        }
    }

    /// In the order of the pipeline.
    fileprivate enum Part: String, CaseIterable {
        case timeout, retry, hedge, adaptiveThrottle, circuitBreaker, throttle, bulkhead, attemptTimeout, chaos
    }
}

extension PipelineConfiguration: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case timeout, retry, hedge, adaptiveThrottle, circuitBreaker, throttle, bulkhead, attemptTimeout, chaos,
            policies, isIdempotent
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "Pipeline", by: CodingKeys.self) { reader in
            let listed = reader.value(.policies, as: PartList.self)?.parts
            func has(_ part: Part) -> Bool { listed?.contains(part) ?? true }
            let given = PipelineConfiguration(
                timeout: reader.value(.timeout), retry: reader.value(.retry), hedge: reader.value(.hedge),
                adaptiveThrottle: reader.value(.adaptiveThrottle),
                circuitBreaker: reader.value(.circuitBreaker), throttle: reader.value(.throttle),
                bulkhead: reader.value(.bulkhead), attemptTimeout: reader.value(.attemptTimeout),
                chaos: reader.value(.chaos), isIdempotent: reader.value(.isIdempotent))
            let readable = CodingKeys.allCases.allSatisfy { !reader.isUnreadable($0) }
            if listed == nil, given.parts.isEmpty, readable {
                reader.note(.policies, "missing", "must be given if no policy has settings")
            }
            let noDefaults: [(part: Part, key: CodingKeys)] = [
                (.timeout, .timeout), (.throttle, .throttle), (.bulkhead, .bulkhead),
                (.attemptTimeout, .attemptTimeout),
            ]
            for (part, key) in noDefaults where listed?.contains(part) == true {
                if !given.parts.contains(part), !reader.isUnreadable(key) {
                    reader.note(key, "missing", "must be given, since policies lists it")
                }
            }
            let retry = listed?.contains(.retry) == true ? try given.retry ?? RetryConfiguration() : given.retry
            let hedge = listed?.contains(.hedge) == true ? try given.hedge ?? HedgeConfiguration() : given.hedge
            let adaptive =
                listed?.contains(.adaptiveThrottle) == true
                ? try given.adaptiveThrottle ?? AdaptiveThrottleConfiguration() : given.adaptiveThrottle
            let breaker =
                listed?.contains(.circuitBreaker) == true
                ? try given.circuitBreaker ?? CircuitBreakerConfiguration() : given.circuitBreaker
            let chaos = listed?.contains(.chaos) == true ? try given.chaos ?? ChaosConfiguration() : given.chaos
            return PipelineConfiguration(
                timeout: has(.timeout) ? given.timeout : nil, retry: has(.retry) ? retry : nil,
                hedge: has(.hedge) ? hedge : nil, adaptiveThrottle: has(.adaptiveThrottle) ? adaptive : nil,
                circuitBreaker: has(.circuitBreaker) ? breaker : nil, throttle: has(.throttle) ? given.throttle : nil,
                bulkhead: has(.bulkhead) ? given.bulkhead : nil,
                attemptTimeout: has(.attemptTimeout) ? given.attemptTimeout : nil, chaos: has(.chaos) ? chaos : nil,
                isIdempotent: given.isIdempotent)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(policies, forKey: .policies)
        try container.encodeIfPresent(timeout, forKey: .timeout)
        try container.encodeIfPresent(retry, forKey: .retry)
        try container.encodeIfPresent(hedge, forKey: .hedge)
        try container.encodeIfPresent(adaptiveThrottle, forKey: .adaptiveThrottle)
        try container.encodeIfPresent(circuitBreaker, forKey: .circuitBreaker)
        try container.encodeIfPresent(throttle, forKey: .throttle)
        try container.encodeIfPresent(bulkhead, forKey: .bulkhead)
        try container.encodeIfPresent(attemptTimeout, forKey: .attemptTimeout)
        try container.encodeIfPresent(chaos, forKey: .chaos)
        try container.encodeIfPresent(isIdempotent, forKey: .isIdempotent)
    }

    private struct PartList: Decodable {
        let parts: [Part]

        init(from decoder: any Decoder) throws {
            guard let names = try? decoder.singleValueContainer().decode([String].self) else {
                throw InvalidSettings(
                    "Pipeline", at: decoder.codingPath, "something else", "must be a list of names")
            }
            let known = Part.allCases.map(\.rawValue).joined(separator: ", ")
            let problems = names.filter { Part(rawValue: $0) == nil }.flatMap { name in
                InvalidSettings("Pipeline", at: decoder.codingPath, name.debugDescription, "must be one of \(known)")
                    .problems
            }
            guard problems.isEmpty else { throw InvalidSettings(problems: problems) }
            parts = names.compactMap { Part(rawValue: $0) }
        }
    }
}

extension Pipeline {
    /// Creates a pipeline with the policies and settings of a configuration. Each policy is named as in the
    /// configuration: "retry", "circuitBreaker".
    /// - Parameters:
    ///   - name: The pipeline's name in events.
    ///   - configuration: The settings.
    ///   - timeBase: The clock of the pipeline and of its policies.
    ///   - classifier: Decides what an error means, for all policies of the pipeline.
    ///   - observers: The observers that are told what the policies do to calls of this pipeline, and how the calls
    ///     end.
    public init(
        _ name: String = "pipeline", configuration: PipelineConfiguration, timeBase: any TimeBase = .system,
        classifier: Classifier = .standard, observers: PolicyObservers? = nil
    ) {
        func named(_ part: PipelineConfiguration.Part) -> String { part.rawValue }
        self.init(
            name, timeBase: timeBase, classifier: classifier, isIdempotent: configuration.isIdempotent,
            observers: observers
        ) {
            if let timeout = configuration.timeout {
                timeout.enforcedBy.timeout(named(.timeout), limit: timeout.limit)
            }
            if let retry = configuration.retry { Retry(named(.retry), configuration: retry) }
            if let hedge = configuration.hedge {
                Hedge(named(.hedge), configuration: hedge, timeBase: timeBase)
            }
            if let throttle = configuration.adaptiveThrottle {
                AdaptiveThrottle(named(.adaptiveThrottle), configuration: throttle, timeBase: timeBase)
            }
            if let breaker = configuration.circuitBreaker {
                CircuitBreaker(named(.circuitBreaker), configuration: breaker, timeBase: timeBase)
            }
            if let throttle = configuration.throttle {
                Throttle(named(.throttle), configuration: throttle, timeBase: timeBase)
            }
            if let bulkhead = configuration.bulkhead {
                Bulkhead(named(.bulkhead), configuration: bulkhead, timeBase: timeBase)
            }
            if let timeout = configuration.attemptTimeout {
                timeout.enforcedBy.timeout(named(.attemptTimeout), limit: timeout.limit)
            }
            if let chaos = configuration.chaos { Chaos(named(.chaos), configuration: chaos, timeBase: timeBase) }
        }
    }
}
