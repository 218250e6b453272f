public import Resilience

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
    /// What is read from outside, and whether it is required; nil for other sources.
    let stored: (probe: StatusProbe, isRequired: Bool)?
    /// Hands over the components of anything else, whose ids are those within the source.
    let visit: @Sendable (_ visitor: (HealthComponent) -> Void) -> Void
    let watch: @Sendable (_ told: @escaping @Sendable (Change) -> Void) -> [Task<Void, Never>]
    /// Returns the policies at a place of the components of this name.
    let policies: @Sendable (_ name: String, _ place: Int) -> [any StatusReporting]

    /// Creates a source of a pipeline's policies.
    /// - Parameters:
    ///   - pipeline: The pipeline.
    ///   - isRequired: Whether the service can't do its work without it. false by default.
    public init(_ pipeline: Pipeline, isRequired: Bool = false) {
        self.init(
            visit: { $0(pipeline.component(isRequired: isRequired)) },
            watch: { told in
                pipeline.reporting.enumerated().flatMap { place, policy in
                    (policy as? CircuitBreaker).map { [Self.follow($0, place, told)] } ?? []
                }
            },
            policies: { _, place in pipeline.policy(at: place).map { [$0] } ?? [] })
    }

    /// Creates a source of one policy, a cache or a single flight.
    /// - Parameters:
    ///   - policy: The policy.
    ///   - isRequired: Whether the service can't do its work without it. false by default.
    public init(_ policy: some StatusReporting, isRequired: Bool = false) {
        self.init(
            visit: { $0(policy.component(isRequired: isRequired)) },
            watch: { told in (policy as? CircuitBreaker).map { [Self.follow($0, 0, told)] } ?? [] },
            policies: { _, place in place == 0 ? [policy] : [] })
    }

    /// Creates a source of a queue.
    ///
    /// The policies of the queue's pipeline are not a part of it: list the pipeline too.
    /// - Parameters:
    ///   - queue: The queue.
    ///   - isRequired: Whether the service can't do its work without it. false by default.
    public init(_ queue: some StoredStatusReporting, isRequired: Bool = false) {
        self.init(stored: (StatusProbe(queue), isRequired))
    }

    private init(
        stored: (probe: StatusProbe, isRequired: Bool)? = nil,
        visit: @escaping @Sendable (_ visitor: (HealthComponent) -> Void) -> Void = { _ in },
        watch: @escaping @Sendable (_ told: @escaping @Sendable (Change) -> Void) -> [Task<Void, Never>] = { _ in [] },
        policies: @escaping @Sendable (_ name: String, _ place: Int) -> [any StatusReporting] = { _, _ in [] }
    ) {
        group = nil
        isRegistry = false
        self.stored = stored
        self.visit = visit
        self.watch = watch
        self.policies = policies
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
            registry: registry, name, isRequired, component: { $0.component(isRequired: $1) }, now: \.timeBase.now,
            policy: { $0.policy(at: $1) },
            place: { pipeline, transition in
                // A registry's changes don't say which breaker of a pipeline has changed. Its own status does.
                let places = pipeline.reporting.enumerated()
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
            registry: registry, name, isRequired, component: { $0.component(isRequired: $1) }, now: \.presentTime,
            policy: { value, place in place == 0 ? value : nil },
            place: { value, _ in value is CircuitBreaker ? 0 : nil })
    }

    private init<Key, Value>(
        registry: PolicyRegistry<Key, Value>, _ name: String?, _ isRequired: @escaping @Sendable (Key) -> Bool,
        component: @escaping @Sendable (Value, _ isRequired: Bool) -> HealthComponent,
        now: @escaping @Sendable (Value) -> MonotonicInstant,
        policy: @escaping @Sendable (Value, Int) -> (any StatusReporting)?,
        place: @escaping @Sendable (Value, CircuitTransition) -> Int?
    ) {
        group = name.map(bounded)
        isRegistry = true
        stored = nil
        visit = { [group] visitor in
            for (key, value) in registry.values {
                visitor(component(value, isRequired(key)).named("\(key)", in: group))
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
    fileprivate func component(isRequired: Bool) -> HealthComponent {
        let told = hasStatus ? [PolicyHealth(PolicyStatus(policy: name, detail: status), at: presentTime)] : []
        return HealthComponent(id: "", name: name, isRequired: isRequired, policies: told)
    }
}

extension Pipeline {
    fileprivate func component(isRequired: Bool) -> HealthComponent {
        let (statuses, now) = (statuses, timeBase.now)
        return HealthComponent(
            id: "", name: name, pipeline: name, isRequired: isRequired,
            policies: statuses.map { PolicyHealth($0, at: now) })
    }

    /// - Parameter place: A place among the policies that tell their status.
    fileprivate func policy(at place: Int) -> (any StatusReporting)? {
        let policies = reporting
        return policies.indices.contains(place) ? policies[place] : nil
    }
}
