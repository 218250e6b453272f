public import Resilience

extension Pipeline {
    /// The settings of a pipeline with all policies of this package, which can be read from a file or a server.
    ///
    /// The order is fixed, outermost first: the timeout of the whole call, retry, hedge, adaptive throttle, circuit
    /// breaker, throttle, bulkhead, adaptive bulkhead, the timeout of each attempt, chaos. Each policy with settings is
    /// in the pipeline.
    public struct AllSettings: PipelineSettings {
        /// The time limit of the whole call; nil for none.
        public var timeout: Timeout.Settings?
        /// The retry; nil for none.
        public var retry: Retry.Settings?
        /// The hedge; nil for none.
        ///
        /// `runHedged` and the clients for HTTP and gRPC make copies; `run` makes none.
        public var hedge: Hedge.Settings?
        /// The adaptive throttle; nil for none.
        public var adaptiveThrottle: AdaptiveThrottle.Settings?
        /// The circuit breaker; nil for none.
        public var circuitBreaker: CircuitBreaker.Settings?
        /// The throttle; nil for none.
        public var throttle: Throttle.Settings?
        /// The bulkhead; nil for none.
        public var bulkhead: Bulkhead.Settings?
        /// The adaptive bulkhead, which finds its limit; nil for none.
        public var adaptiveBulkhead: AdaptiveBulkhead.Settings?
        /// The time limit of each attempt; nil for none.
        public var attemptTimeout: Timeout.Settings?
        /// The injected faults and delays; nil for none.
        public var chaos: Chaos.Settings?
        /// Whether the pipeline's calls may be repeated; nil, the default, if unknown.
        ///
        /// See `Pipeline.isIdempotent`.
        public var isIdempotent: Bool?

        /// Creates the settings of a pipeline without policies.
        public init() {}

        /// Creates settings.
        public init(
            timeout: Timeout.Settings? = nil, retry: Retry.Settings? = nil, hedge: Hedge.Settings? = nil,
            adaptiveThrottle: AdaptiveThrottle.Settings? = nil, circuitBreaker: CircuitBreaker.Settings? = nil,
            throttle: Throttle.Settings? = nil, bulkhead: Bulkhead.Settings? = nil,
            adaptiveBulkhead: AdaptiveBulkhead.Settings? = nil,
            attemptTimeout: Timeout.Settings? = nil, chaos: Chaos.Settings? = nil, isIdempotent: Bool? = nil
        ) {
            self.timeout = timeout
            self.retry = retry
            self.hedge = hedge
            self.adaptiveThrottle = adaptiveThrottle
            self.circuitBreaker = circuitBreaker
            self.throttle = throttle
            self.bulkhead = bulkhead
            self.adaptiveBulkhead = adaptiveBulkhead
            self.attemptTimeout = attemptTimeout
            self.chaos = chaos
            self.isIdempotent = isIdempotent
        }

        public static let places: [PolicyPlace<AllSettings>] = [
            .timeout(\.timeout), .retry(\.retry), .hedge(\.hedge), .adaptiveThrottle(\.adaptiveThrottle),
            .circuitBreaker(\.circuitBreaker), .throttle(\.throttle), .bulkhead(\.bulkhead),
            .adaptiveBulkhead(\.adaptiveBulkhead),
            .attemptTimeout(\.attemptTimeout), .chaos(\.chaos),
        ]
        public static let schema = SettingsSchema("Pipeline", places: places)
    }
}

extension PolicyPlace {
    /// The place of a hedge.
    ///
    /// - Parameter path: Where its settings are.
    public static func hedge(_ path: Path<Hedge.Settings>) -> PolicyPlace {
        PolicyPlace("hedge", path, standard: Hedge.Settings()) { Hedge($0, settings: $1, timeBase: $2) }
    }

    /// The place of an adaptive throttle.
    ///
    /// - Parameter path: Where its settings are.
    public static func adaptiveThrottle(_ path: Path<AdaptiveThrottle.Settings>) -> PolicyPlace {
        PolicyPlace("adaptiveThrottle", path, standard: AdaptiveThrottle.Settings()) {
            AdaptiveThrottle($0, settings: $1, timeBase: $2)
        }
    }

    /// The place of an adaptive bulkhead.
    ///
    /// - Parameter path: Where its settings are.
    public static func adaptiveBulkhead(_ path: Path<AdaptiveBulkhead.Settings>) -> PolicyPlace {
        PolicyPlace("adaptiveBulkhead", path, standard: AdaptiveBulkhead.Settings()) {
            AdaptiveBulkhead($0, settings: $1, timeBase: $2)
        }
    }

    /// The place of chaos.
    ///
    /// - Parameter path: Where its settings are.
    public static func chaos(_ path: Path<Chaos.Settings>) -> PolicyPlace {
        PolicyPlace("chaos", path, standard: Chaos.Settings()) { Chaos($0, settings: $1, timeBase: $2) }
    }
}
