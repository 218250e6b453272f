public import Resilience

/// One thing that a service depends on, as a part of a ``HealthReport``: a pipeline, a policy, one key of a registry, a
/// queue, a cache or a single flight.
public struct HealthComponent: Sendable, Hashable, Codable {
    /// What tells this component from the others of its monitor, such as "2/eu". It is the same in every report of one
    /// process.
    public internal(set) var id: String
    /// The name of the pipeline, the policy or the queue, or the key in a registry. A name of more than 200 Unicode
    /// scalars is cut.
    public let name: String
    /// The name that the registry was given; nil if it has none, or if the component is not in a registry.
    public let group: String?
    /// The name of the pipeline, which its events and counts have; nil if the component is not a pipeline.
    public let pipeline: String?
    /// Whether the service can't do its work without it.
    public let isRequired: Bool
    /// How well it is, by the monitor's rule.
    public internal(set) var status: HealthStatus
    /// What its policies tell, outermost first. Empty for a queue.
    public let policies: [PolicyHealth]
    /// What the queue tells; nil if the component is not a queue.
    public let queue: QueueHealth?
    /// How many retries the budgets of the pipeline's retries still allow, by the names of the retries; nil if none has
    /// a budget. One without a limit is left out.
    public let retriesLeft: [String: Int]?
    /// What the cache tells; nil if the component is not a cache.
    public let cache: CacheStatus?
    /// What the single flight tells; nil if the component is not a single flight.
    public let flights: SingleFlightStatus?

    /// Creates a component, for example to test a ``HealthRule``.
    /// - Parameters:
    ///   - id: What tells it from others.
    ///   - name: Its name.
    ///   - group: The name of its registry; nil if there is none.
    ///   - pipeline: The name of the pipeline; nil if it is not one.
    ///   - isRequired: Whether the service can't do its work without it.
    ///   - status: How well it is.
    ///   - policies: What its policies tell.
    ///   - queue: What the queue tells; nil if it is not a queue.
    ///   - retriesLeft: How many retries the budgets of the pipeline's retries still allow.
    ///   - cache: What the cache tells; nil if it is not a cache.
    ///   - flights: What the single flight tells; nil if it is not a single flight.
    public init(
        id: String, name: String, group: String? = nil, pipeline: String? = nil, isRequired: Bool = false,
        status: HealthStatus = .up, policies: [PolicyHealth] = [], queue: QueueHealth? = nil,
        retriesLeft: [String: Int]? = nil, cache: CacheStatus? = nil, flights: SingleFlightStatus? = nil
    ) {
        self.id = id
        self.name = name
        self.group = group
        self.pipeline = pipeline
        self.isRequired = isRequired
        self.status = status
        self.policies = policies
        self.queue = queue
        self.retriesLeft = retriesLeft
        self.cache = cache
        self.flights = flights
    }

    init(id: String, name: String, group: String?, isRequired: Bool, content: HealthSource.Content) {
        self.init(
            id: id, name: name, group: group, pipeline: content.pipeline.map(bounded), isRequired: isRequired,
            policies: content.policies, retriesLeft: content.retriesLeft, cache: content.cache, flights: content.flights
        )
    }
}
