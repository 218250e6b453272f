extension Pipeline {
    /// The settings of a ``Pipeline`` with the policies of this module, readable from a file or a server.
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
    /// The order is fixed, outermost first: the timeout of the whole call, retry, circuit breaker, throttle, bulkhead,
    /// the timeout of each attempt. The pipeline has each policy that has settings. See ``PipelineSettings`` for the
    /// rest, and for settings of policies of your own.
    ///
    /// See <doc:ConfigurationGuide> for the settings of each policy.
    public struct Settings: PipelineSettings {
        /// The timeout of the whole call; none by default.
        public var timeout: Timeout.Settings?
        /// The retry; none by default.
        public var retry: Retry.Settings?
        /// The circuit breaker; none by default.
        public var circuitBreaker: CircuitBreaker.Settings?
        /// The throttle; none by default.
        public var throttle: Throttle.Settings?
        /// The bulkhead; none by default.
        public var bulkhead: Bulkhead.Settings?
        /// The timeout of each attempt; none by default.
        public var attemptTimeout: Timeout.Settings?
        public var isIdempotent: Bool?

        /// Creates the settings of a pipeline without policies.
        public init() {}

        /// Creates settings.
        public init(
            timeout: Timeout.Settings? = nil, retry: Retry.Settings? = nil,
            circuitBreaker: CircuitBreaker.Settings? = nil, throttle: Throttle.Settings? = nil,
            bulkhead: Bulkhead.Settings? = nil, attemptTimeout: Timeout.Settings? = nil, isIdempotent: Bool? = nil
        ) {
            self.timeout = timeout
            self.retry = retry
            self.circuitBreaker = circuitBreaker
            self.throttle = throttle
            self.bulkhead = bulkhead
            self.attemptTimeout = attemptTimeout
            self.isIdempotent = isIdempotent
        }

        public static let places: [PolicyPlace<Settings>] = [
            .timeout(\.timeout), .retry(\.retry), .circuitBreaker(\.circuitBreaker), .throttle(\.throttle),
            .bulkhead(\.bulkhead), .attemptTimeout(\.attemptTimeout),
        ]
        public static let schema = SettingsSchema("Pipeline", places: places)
    }

    /// Creates a pipeline with the policies that the settings describe.
    ///
    /// Each policy is named as in the settings: "retry", "circuitBreaker".
    ///
    /// - Parameters:
    ///   - name: The pipeline's name in events.
    ///   - settings: The settings.
    ///   - timeBase: The clock of the pipeline and of its policies.
    ///   - classifier: Decides what an error means, for all policies of the pipeline.
    ///   - observers: The observers of the events of its policies and calls.
    public init<Own: PipelineSettings>(
        _ name: String = "pipeline", settings: Own, timeBase: any TimeBase = .system,
        classifier: Classifier = .standard, observers: PolicyObservers? = nil
    ) {
        self.init(
            name, timeBase: timeBase, classifier: classifier, isIdempotent: settings.isIdempotent,
            observers: observers
        ) {
            for place in Own.places { place.make(settings, timeBase) }
        }
    }
}

extension PolicyPlace {
    /// The path of a policy's settings in a pipeline's settings.
    public typealias Path<Own> = any WritableKeyPath<Settings, Own?> & Sendable

    /// The place of a timeout of the whole call.
    ///
    /// - Parameter path: Where its settings are.
    public static func timeout(_ path: Path<Timeout.Settings>) -> PolicyPlace { timeout("timeout", path) }

    /// The place of a timeout of each attempt.
    ///
    /// - Parameter path: Where its settings are.
    public static func attemptTimeout(_ path: Path<Timeout.Settings>) -> PolicyPlace { timeout("attemptTimeout", path) }

    private static func timeout(_ name: String, _ path: Path<Timeout.Settings>) -> PolicyPlace {
        PolicyPlace(name, path) { name, settings, _ in settings.enforcedBy.timeout(name, limit: settings.limit) }
    }

    /// The place of a retry.
    ///
    /// - Parameter path: Where its settings are.
    public static func retry(_ path: Path<Retry.Settings>) -> PolicyPlace {
        PolicyPlace("retry", path, standard: Retry.Settings()) { name, settings, _ in Retry(name, settings: settings) }
    }

    /// The place of a circuit breaker.
    ///
    /// - Parameter path: Where its settings are.
    public static func circuitBreaker(_ path: Path<CircuitBreaker.Settings>) -> PolicyPlace {
        PolicyPlace("circuitBreaker", path, standard: CircuitBreaker.Settings()) {
            CircuitBreaker($0, settings: $1, timeBase: $2)
        }
    }

    /// The place of a throttle.
    ///
    /// - Parameter path: Where its settings are.
    public static func throttle(_ path: Path<Throttle.Settings>) -> PolicyPlace {
        PolicyPlace("throttle", path) { Throttle($0, settings: $1, timeBase: $2) }
    }

    /// The place of a bulkhead.
    ///
    /// - Parameter path: Where its settings are.
    public static func bulkhead(_ path: Path<Bulkhead.Settings>) -> PolicyPlace {
        PolicyPlace("bulkhead", path) { Bulkhead($0, settings: $1, timeBase: $2) }
    }
}
