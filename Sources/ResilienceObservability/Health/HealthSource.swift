public import Resilience
public import ResilienceSync

/// Something whose health a ``HealthMonitor`` reports: a pipeline, a policy, a registry, a queue, a
/// cache or a single flight.
///
/// Name one only to say more than its name alone does. A pipeline, a policy, a registry or a queue in a monitor's list
/// is optional, and a registry there has no name.
///
/// ```swift
/// let health = HealthMonitor("orders") {
///     HealthSource(payments, isRequired: true)
///     HealthSource(breakers, name: "endpoints")
///     outbox
/// }
/// ```
public struct HealthSource: Sendable {
    /// A component, as its source tells it.
    struct Subject {
        let name: String
        let isRequired: Bool
        var content = Content()
    }

    /// What there is to tell of a component that is no queue.
    struct Content {
        var policies: [PolicyHealth] = []
        var pipeline: String?
        var retriesLeft: [String: Int]?
        var cache: CacheStatus?
        var flights: SingleFlightStatus?
    }

    /// A change of a circuit's state. `name` is that of the component in a registry, `policy` the place of the breaker
    /// among the component's policies, and `age` how long ago it was.
    package struct Change: Sendable {
        package let name: String?
        package let policy: Int
        package let transition: CircuitTransition
        package let age: Duration
    }

    let group: String?
    /// Whether its components are keys of a registry.
    let isRegistry: Bool
    /// The queue, and whether it is required; nil for other sources.
    let queue: (probe: QueueProbe, isRequired: Bool)?
    let visit: @Sendable (_ visitor: (Subject) -> Void) -> Void
    let watch: @Sendable (_ told: @escaping @Sendable (Change) -> Void) -> [Task<Void, Never>]
    /// Returns the policies at a place of the components of this name.
    let policies: @Sendable (_ name: String, _ place: Int) -> [any StatusReporting]

    /// Creates a source of a pipeline's policies.
    /// - Parameters:
    ///   - pipeline: The pipeline.
    ///   - isRequired: Whether the service can't do its work without it. false by default.
    public init(_ pipeline: Pipeline, isRequired: Bool = false) {
        group = nil
        isRegistry = false
        queue = nil
        visit = { visitor in
            visitor(Subject(name: pipeline.name, isRequired: isRequired, content: pipeline.content))
        }
        watch = { told in
            pipeline.policies(of: (any StatusReporting).self).enumerated().flatMap { place, policy in
                (policy as? CircuitBreaker).map { [Self.follow($0, place, told)] } ?? []
            }
        }
        policies = { _, place in pipeline.policy(at: place).map { [$0] } ?? [] }
    }

    /// Creates a source of one policy.
    /// - Parameters:
    ///   - policy: The policy.
    ///   - isRequired: Whether the service can't do its work without it. false by default.
    public init(_ policy: some StatusReporting, isRequired: Bool = false) {
        group = nil
        isRegistry = false
        queue = nil
        visit = { visitor in
            visitor(Subject(name: policy.name, isRequired: isRequired, content: policy.content))
        }
        watch = { told in (policy as? CircuitBreaker).map { [Self.follow($0, 0, told)] } ?? [] }
        policies = { _, place in place == 0 ? [policy] : [] }
    }

    /// Creates a source of a queue.
    ///
    /// The policies of the queue's pipeline are not a part of it: list the pipeline too.
    /// - Parameters:
    ///   - queue: The queue.
    ///   - isRequired: Whether the service can't do its work without it. false by default.
    public init(_ queue: SyncQueue, isRequired: Bool = false) {
        group = nil
        isRegistry = false
        self.queue = (QueueProbe(queue), isRequired)
        visit = { _ in }
        watch = { _ in [] }
        policies = { _, _ in [] }
    }

    /// Creates a source of a cache: its entries, and its loads.
    /// - Parameters:
    ///   - cache: The cache.
    ///   - isRequired: Whether the service can't do its work without it. false by default.
    public init<Key, Value>(_ cache: CallCache<Key, Value>, isRequired: Bool = false) {
        self.init(cache.name, isRequired) { HealthSource.Content(cache: cache.status) }
    }

    /// Creates a source of the flights of a single flight.
    /// - Parameters:
    ///   - flights: The single flight.
    ///   - isRequired: Whether the service can't do its work without it. false by default.
    public init<Key, Value>(_ flights: SingleFlight<Key, Value>, isRequired: Bool = false) {
        self.init(flights.name, isRequired) { HealthSource.Content(flights: flights.status) }
    }

    private init(_ name: String, _ isRequired: Bool, _ content: @escaping @Sendable () -> Content) {
        group = nil
        isRegistry = false
        queue = nil
        visit = { visitor in visitor(Subject(name: name, isRequired: isRequired, content: content())) }
        watch = { _ in [] }
        policies = { _, _ in [] }
    }

    /// Creates a source of a registry of pipelines. Each key is a component.
    /// - Parameters:
    ///   - registry: The registry.
    ///   - name: The name of all of them together, such as "tenants". None by default.
    ///   - isRequired: Returns whether the service can't do its work without a key. Returns false by default.
    public init<Key>(
        _ registry: PolicyRegistry<Key, Pipeline>, name: String? = nil,
        isRequired: @escaping @Sendable (Key) -> Bool = { _ in false }
    ) {
        self.init(
            registry: registry, name, isRequired, content: \.content, now: \.timeBase.now,
            policy: { $0.policy(at: $1) },
            place: { pipeline, transition in
                // A registry's changes don't say which breaker of a pipeline has changed. Its own status does.
                let places = pipeline.policies(of: (any StatusReporting).self).enumerated()
                    .compactMap { place, policy in (policy as? CircuitBreaker).map { (place, $0) } }
                return
                    (places.first { places.count == 1 || $0.1.status.since == transition.time } ?? places.first)?.0
            })
    }

    /// Creates a source of a registry of policies. Each key is a component.
    /// - Parameters:
    ///   - registry: The registry.
    ///   - name: The name of all of them together, such as "endpoints". None by default.
    ///   - isRequired: Returns whether the service can't do its work without a key. Returns false by default.
    public init<Key, Value: StatusReporting>(
        _ registry: PolicyRegistry<Key, Value>, name: String? = nil,
        isRequired: @escaping @Sendable (Key) -> Bool = { _ in false }
    ) {
        self.init(
            registry: registry, name, isRequired, content: \.content, now: \.presentTime,
            policy: { value, place in place == 0 ? value : nil },
            place: { value, _ in value is CircuitBreaker ? 0 : nil })
    }

    private init<Key, Value>(
        registry: PolicyRegistry<Key, Value>, _ name: String?, _ isRequired: @escaping @Sendable (Key) -> Bool,
        content: @escaping @Sendable (Value) -> Content, now: @escaping @Sendable (Value) -> MonotonicInstant,
        policy: @escaping @Sendable (Value, Int) -> (any StatusReporting)?,
        place: @escaping @Sendable (Value, CircuitTransition) -> Int?
    ) {
        group = name.map(bounded)
        isRegistry = true
        queue = nil
        visit = { visitor in
            for (key, value) in registry.values {
                visitor(Subject(name: "\(key)", isRequired: isRequired(key), content: content(value)))
            }
        }
        watch = { told in
            let changes = registry.transitions()
            return [
                // A change counts as a use of its key. It is rare, and an open circuit is never evicted anyway.
                Task {
                    for await change in changes {
                        guard let value = registry.existing(change.key), let place = place(value, change.transition)
                        else { continue }
                        let age = max(.zero, change.transition.time.duration(to: now(value)))
                        told(
                            Change(name: "\(change.key)", policy: place, transition: change.transition, age: age))
                    }
                }
            ]
        }
        policies = { name, place in
            registry.values.filter { bounded("\($0.key)") == name }.values.compactMap { policy($0, place) }
        }
    }

    private static func follow(
        _ breaker: CircuitBreaker, _ place: Int, _ told: @escaping @Sendable (Change) -> Void
    ) -> Task<Void, Never> {
        let transitions = breaker.transitions()
        return Task {
            for await transition in transitions {
                let age = max(.zero, transition.time.duration(to: breaker.presentTime))
                told(Change(name: nil, policy: place, transition: transition, age: age))
            }
        }
    }
}

extension StatusReporting {
    /// The time on the policy's time base; on the system's if it has none.
    fileprivate var presentTime: MonotonicInstant { timeBase?.now ?? SystemTimeBase.shared.now }

    var content: HealthSource.Content {
        let status = PolicyStatus(policy: name, detail: status)
        return HealthSource.Content(policies: [PolicyHealth(status, at: presentTime)])
    }
}

extension Pipeline {
    var content: HealthSource.Content {
        let statuses = statuses
        let now = timeBase.now
        var left: [String: Int] = [:]
        for retry in policies(of: Retry.self) {
            if let budget = retry.budget, budget.retriesLeft != .max {
                left[retry.name, default: 0] += budget.retriesLeft
            }
        }
        return HealthSource.Content(
            policies: statuses.map { PolicyHealth($0, at: now) }, pipeline: name, retriesLeft: left.isEmpty ? nil : left
        )
    }

    /// - Parameter place: A place among the policies that tell their status.
    fileprivate func policy(at place: Int) -> (any StatusReporting)? {
        let policies = policies(of: (any StatusReporting).self)
        return policies.indices.contains(place) ? policies[place] : nil
    }
}
