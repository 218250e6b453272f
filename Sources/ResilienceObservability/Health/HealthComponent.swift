import Resilience

/// One dependency of a service, as a part of a ``HealthReport``: a pipeline, a policy, one key of a registry, a
/// queue, a cache or a single flight.
public struct HealthComponent: Sendable, Hashable, Encodable {
    /// The component's unique identifier in its monitor, such as "2/eu". It is the same in every report of one process.
    public internal(set) var id: String
    /// The name of the pipeline, the policy or the queue, or the key in a registry.
    ///
    /// A name of more than 200 Unicode scalars is cut.
    public let name: String
    /// The name that the registry was given; nil if it has none, or if the component is not in a registry.
    public let group: String?
    /// The name of the pipeline, as in its events and counts; nil if the component is not a pipeline.
    public let pipeline: String?
    /// Whether the service can't work without it.
    public let isRequired: Bool
    /// Its status, by the monitor's rule.
    public internal(set) var status: HealthStatus
    /// The states of its policies, outermost first, or the queue's state.
    public let policies: [PolicyHealth]
    /// The reason why a queue has no state: its store failed, or did not answer in time; nil if the queue has a state.
    public let problem: String?
    /// Whether the state is read from a store, which may fail.
    let isStored: Bool

    /// Creates a component, for example to test a ``HealthRule``.
    ///
    /// - Parameters:
    ///   - id: Its identifier.
    ///   - name: Its name.
    ///   - group: The name of its registry; nil if there is none.
    ///   - pipeline: The name of the pipeline; nil if the component is not a pipeline.
    ///   - isRequired: Whether the service can't work without it.
    ///   - status: Its status.
    ///   - policies: The state of its policies.
    ///   - problem: The reason why it has no state. A long text is cut.
    public init(
        id: String, name: String, group: String? = nil, pipeline: String? = nil, isRequired: Bool = false,
        status: HealthStatus = .up, policies: [PolicyHealth] = [], problem: String? = nil
    ) {
        self.init(
            id: id, name: name, group: group, pipeline: pipeline, isRequired: isRequired, status: status,
            policies: policies, problem: problem, isStored: problem != nil)
    }

    init(
        id: String, name: String, group: String? = nil, pipeline: String? = nil, isRequired: Bool,
        status: HealthStatus = .up, policies: [PolicyHealth], problem: String? = nil, isStored: Bool = false
    ) {
        self.id = id
        self.name = bounded(name)
        self.group = group.map(bounded)
        self.pipeline = pipeline.map(bounded)
        self.isRequired = isRequired
        self.status = status
        self.policies = policies
        self.problem = problem.map(bounded)
        self.isStored = isStored
    }

    /// Returns this component as one key of a registry.
    func named(_ key: String, in group: String?) -> HealthComponent {
        let key = bounded(key)
        return HealthComponent(
            id: "/\(key)", name: key, group: group, pipeline: pipeline, isRequired: isRequired, policies: policies)
    }

    private enum CodingKeys: String, CodingKey {
        case id, name, group, pipeline, isRequired, status, policies, problem
    }
}
