extension Pipeline {
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
    /// let settings = try JSONDecoder().decode(
    ///     Pipeline.Settings.self, from: Data(json.utf8))
    /// let pipeline = Pipeline("search", settings: settings)
    /// ```
    ///
    /// The order is fixed, outermost first: the timeout of the whole call, retry, hedge, adaptive throttle, circuit breaker,
    /// throttle, bulkhead, the timeout of each attempt, chaos. The pipeline has each policy that has settings.
    ///
    /// In a file, `policies` is a list of their names. If it is given, the pipeline has exactly the policies that it lists:
    /// one that has settings and is not listed is left out, and a retry, a hedge, an adaptive throttle, a breaker or chaos
    /// that is listed and has no settings has its defaults. One of the names must be given, so that a misspelt one does not
    /// leave calls unguarded; for a pipeline without policies, give an empty list.
    ///
    /// See <doc:ConfigurationGuide> for the settings of each policy.
    public struct Settings: SettingsGroup {
        /// The limit of the whole call; nil for none.
        public var timeout: Timeout.Settings?
        /// The settings of the retry; nil for none.
        public var retry: Retry.Settings?
        /// The settings of the hedge; nil for none. ``Pipeline/runHedged(options:judging:_:)-(_,_,()->R)`` and the clients for HTTP and
        /// gRPC make copies; `run` makes none.
        public var hedge: Hedge.Settings?
        /// The settings of the adaptive throttle; nil for none.
        public var adaptiveThrottle: AdaptiveThrottle.Settings?
        /// The settings of the circuit breaker; nil for none.
        public var circuitBreaker: CircuitBreaker.Settings?
        /// The settings of the throttle; nil for none.
        public var throttle: Throttle.Settings?
        /// The settings of the bulkhead; nil for none.
        public var bulkhead: Bulkhead.Settings?
        /// The limit of each attempt; nil for none.
        public var attemptTimeout: Timeout.Settings?
        /// The settings of chaos; nil for none.
        public var chaos: Chaos.Settings?
        /// Whether the pipeline's calls may be repeated: see ``Pipeline/isIdempotent``; nil if it is not known.
        public var isIdempotent: Bool?
        /// The names of exactly those policies that there are. One without settings has its defaults.
        private var listed: [Part]?

        /// Creates settings.
        public init(
            timeout: Timeout.Settings? = nil, retry: Retry.Settings? = nil, hedge: Hedge.Settings? = nil,
            adaptiveThrottle: AdaptiveThrottle.Settings? = nil, circuitBreaker: CircuitBreaker.Settings? = nil,
            throttle: Throttle.Settings? = nil, bulkhead: Bulkhead.Settings? = nil,
            attemptTimeout: Timeout.Settings? = nil, chaos: Chaos.Settings? = nil, isIdempotent: Bool? = nil
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
        public var policies: [String] { parts.filter { $0.isThere(self) }.map(\.name.rawValue) }

        /// With its policies, so that an empty one can be read again.
        public func written() throws -> SettingValue? {
            var members = try Self.schema.written(self)
            members["policies"] = .list(policies.map { .text($0) })
            return .group(members)
        }

        public static let schema = SettingsSchema(
            "Pipeline", standard: Settings(),
            parts.map(\.field) + [
                SettingField("policies", \.listed, need: .conditional("must be given if no policy has settings")),
                SettingField("isIdempotent", \.isIdempotent),
            ]
        ) { settings, given in
            defer { settings.listed = nil }
            guard let listed = settings.listed else {
                let isEmpty = !given.isInFile || parts.contains { given.has($0.name.rawValue) }
                if !isEmpty, given.areSound("policies") {
                    given.note("policies", "missing", "must be given if no policy has settings")
                }
                return
            }
            for part in parts {
                let name = part.name.rawValue
                if !listed.contains(part.name) {
                    part.drop(&settings)
                } else if !given.has(name), !part.add(&settings) {
                    given.note(name, "missing", "must be given, since policies lists it")
                }
            }
        }

        fileprivate enum Part: String, SettingChoice {
            case timeout, retry, hedge, adaptiveThrottle, circuitBreaker, throttle, bulkhead, attemptTimeout, chaos
        }

        /// A policy of the pipeline.
        private struct Place: Sendable {
            let name: Part
            let field: SettingField<Settings>
            let isThere: @Sendable (Settings) -> Bool
            let drop: @Sendable (inout Settings) -> Void
            /// Adds the defaults; false if there are none.
            let add: @Sendable (inout Settings) -> Bool

            init<Own: SettingsGroup>(
                _ name: Part, _ path: any WritableKeyPath<Settings, Own?> & Sendable, standard: Own? = nil
            ) {
                self.name = name
                field = SettingField(name.rawValue, path)
                isThere = { $0[keyPath: path] != nil }
                drop = { $0[keyPath: path] = nil }
                add = { settings in
                    settings[keyPath: path] = standard
                    return standard != nil
                }
            }
        }

        /// In the order of the pipeline.
        private static let parts: [Place] = [
            Place(.timeout, \.timeout), Place(.retry, \.retry, standard: Retry.Settings()),
            Place(.hedge, \.hedge, standard: Hedge.Settings()),
            Place(.adaptiveThrottle, \.adaptiveThrottle, standard: AdaptiveThrottle.Settings()),
            Place(.circuitBreaker, \.circuitBreaker, standard: CircuitBreaker.Settings()),
            Place(.throttle, \.throttle), Place(.bulkhead, \.bulkhead), Place(.attemptTimeout, \.attemptTimeout),
            Place(.chaos, \.chaos, standard: Chaos.Settings()),
        ]
        private var parts: [Place] { Self.parts }
    }

    /// Creates a pipeline with the policies of settings. Each policy is named as there: "retry", "circuitBreaker".
    /// - Parameters:
    ///   - name: The pipeline's name in events.
    ///   - settings: The settings.
    ///   - timeBase: The clock of the pipeline and of its policies.
    ///   - classifier: Decides what an error means, for all policies of the pipeline.
    ///   - observers: The observers that are told what the policies do to calls of this pipeline, and how the calls
    ///     end.
    public init(
        _ name: String = "pipeline", settings: Settings, timeBase: any TimeBase = .system,
        classifier: Classifier = .standard, observers: PolicyObservers? = nil
    ) {
        func named(_ part: Settings.Part) -> String { part.rawValue }
        self.init(
            name, timeBase: timeBase, classifier: classifier, isIdempotent: settings.isIdempotent,
            observers: observers
        ) {
            if let timeout = settings.timeout {
                timeout.enforcedBy.timeout(named(.timeout), limit: timeout.limit)
            }
            if let retry = settings.retry { Retry(named(.retry), settings: retry) }
            if let hedge = settings.hedge { Hedge(named(.hedge), settings: hedge, timeBase: timeBase) }
            if let throttle = settings.adaptiveThrottle {
                AdaptiveThrottle(named(.adaptiveThrottle), settings: throttle, timeBase: timeBase)
            }
            if let breaker = settings.circuitBreaker {
                CircuitBreaker(named(.circuitBreaker), settings: breaker, timeBase: timeBase)
            }
            if let throttle = settings.throttle {
                Throttle(named(.throttle), settings: throttle, timeBase: timeBase)
            }
            if let bulkhead = settings.bulkhead {
                Bulkhead(named(.bulkhead), settings: bulkhead, timeBase: timeBase)
            }
            if let timeout = settings.attemptTimeout {
                timeout.enforcedBy.timeout(named(.attemptTimeout), limit: timeout.limit)
            }
            if let chaos = settings.chaos { Chaos(named(.chaos), settings: chaos, timeBase: timeBase) }
        }
    }
}
