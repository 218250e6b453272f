public import Resilience

/// Something whose health a ``HealthMonitor`` reports: a pipeline, a policy, a registry, a queue, a
/// cache or a single flight.
///
/// Create one only to set more than the defaults. A pipeline, a policy, a registry or a queue in a monitor's list is
/// optional, and a registry there has no name.
///
/// ```swift
/// let health = HealthMonitor("orders") {
///     HealthSource(payments, isRequired: true)
///     HealthSource(breakers, name: "endpoints")
///     outbox
/// }
/// ```
public struct HealthSource: Sendable {
    /// A change of a circuit's state. `name` is the component's name in a registry, `policy` the breaker's place among
    /// the component's policies, and `age` the time since the change.
    package struct Change: Sendable {
        package let name: String?
        package let policy: Int
        package let transition: CircuitTransition
        package let age: Duration
    }

    let group: String?
    /// Whether its components are keys of a registry.
    let isRegistry: Bool
    /// The stored status, and whether it is required; nil for other sources.
    let stored: (probe: StatusProbe, isRequired: Bool)?
    let watch: @Sendable (_ told: @escaping @Sendable (Change) -> Void) -> [Task<Void, Never>]
    /// For a source without a store: passes its parts to a visitor, each with its key in a registry.
    private let subjects: @Sendable (_ visitor: (_ key: String?, Subject, _ isRequired: Bool) -> Void) -> Void

    /// Creates a source of a pipeline's policies.
    ///
    /// - Parameters:
    ///   - pipeline: The pipeline.
    ///   - isRequired: Whether the service can't work without it. false by default.
    public init(_ pipeline: Pipeline, isRequired: Bool = false) { self.init(isRequired) { Subject(pipeline) } }

    /// Creates a source of one policy, a cache or a single flight.
    ///
    /// - Parameters:
    ///   - policy: The policy.
    ///   - isRequired: Whether the service can't work without it. false by default.
    public init(_ policy: some StatusReporting, isRequired: Bool = false) { self.init(isRequired) { Subject(policy) } }

    private init(_ isRequired: Bool, _ subject: @escaping @Sendable () -> Subject) {
        (group, isRegistry, stored) = (nil, false, nil)
        subjects = { visitor in visitor(nil, subject(), isRequired) }
        watch = { told in
            subject().breakers.map { place, breaker in
                let transitions = breaker.transitions()
                return Task {
                    for await transition in transitions { told(Change(transition, place, at: breaker.presentTime)) }
                }
            }
        }
    }

    /// Creates a source of a queue.
    ///
    /// The policies of the queue's pipeline are not a part of this source: also list the pipeline.
    /// - Parameters:
    ///   - queue: The queue.
    ///   - isRequired: Whether the service can't work without it. false by default.
    public init(_ queue: some StoredStatusReporting, isRequired: Bool = false) {
        (group, isRegistry, stored) = (nil, false, (StatusProbe(queue), isRequired))
        subjects = { _ in }
        watch = { _ in [] }
    }

    /// Creates a source of a registry of pipelines.
    ///
    /// Each key is a component.
    ///
    /// - Parameters:
    ///   - registry: The registry.
    ///   - name: The name of the group, such as "tenants". None by default.
    ///   - isRequired: Returns whether the service can't work without a key. Returns false by default.
    public init<Key>(
        _ registry: PolicyRegistry<Key, Pipeline>, name: String? = nil,
        isRequired: @escaping @Sendable (Key) -> Bool = { _ in false }
    ) {
        self.init(registry, name, isRequired) { Subject($0) }
    }

    /// Creates a source of a registry of policies.
    ///
    /// Each key is a component.
    ///
    /// - Parameters:
    ///   - registry: The registry.
    ///   - name: The name of the group, such as "endpoints". None by default.
    ///   - isRequired: Returns whether the service can't work without a key. Returns false by default.
    public init<Key, Value: StatusReporting>(
        _ registry: PolicyRegistry<Key, Value>, name: String? = nil,
        isRequired: @escaping @Sendable (Key) -> Bool = { _ in false }
    ) {
        self.init(registry, name, isRequired) { Subject($0) }
    }

    private init<Key, Value>(
        _ registry: PolicyRegistry<Key, Value>, _ name: String?, _ isRequired: @escaping @Sendable (Key) -> Bool,
        _ subject: @escaping @Sendable (Value) -> Subject
    ) {
        (group, isRegistry, stored) = (name.map(bounded), true, nil)
        subjects = { visitor in
            for (key, value) in registry.values { visitor("\(key)", subject(value), isRequired(key)) }
        }
        watch = { told in
            let changes = registry.transitions()
            return [
                // A change counts as a use of its key. It is rare, and an open circuit is never evicted anyway.
                Task {
                    for await change in changes {
                        guard let subject = registry.existing(change.key).map(subject) else { continue }
                        // A registry's changes don't show which breaker of a pipeline has changed. The breakers' own
                        // statuses do.
                        let (breakers, transition) = (subject.breakers, change.transition)
                        let changed = breakers.first {
                            breakers.count == 1 || $0.breaker.status.since == transition.time
                        }
                        guard let place = (changed ?? breakers.first)?.place else { continue }
                        told(Change(transition, place, at: subject.now(), of: "\(change.key)"))
                    }
                }
            ]
        }
    }

    /// Passes the components to a visitor; their ids are unique within the source.
    func visit(_ visitor: (HealthComponent) -> Void) {
        subjects { key, subject, isRequired in
            let component = subject.component(isRequired: isRequired)
            visitor(key.map { component.named($0, in: group) } ?? component)
        }
    }

    /// Returns the policies at a place of the components of this name.
    func policies(_ name: String, _ place: Int) -> [any StatusReporting] {
        var found: [any StatusReporting] = []
        subjects { key, subject, _ in
            guard key.map(bounded) ?? "" == name, subject.policies.indices.contains(place) else { return }
            found.append(subject.policies[place])
        }
        return found
    }
}

extension HealthSource.Change {
    fileprivate init(_ transition: CircuitTransition, _ policy: Int, at now: MonotonicInstant, of name: String? = nil) {
        self.init(
            name: name, policy: policy, transition: transition, age: max(.zero, transition.time.duration(to: now)))
    }
}

/// The parts of a component: the policies of a pipeline, or one policy.
private struct Subject {
    let name: String
    var pipeline: String?
    /// The policies that report a status.
    let policies: [any StatusReporting]
    let now: () -> MonotonicInstant

    init(_ pipeline: Pipeline) {
        (name, self.pipeline, policies) = (pipeline.name, pipeline.name, pipeline.reporting)
        now = { pipeline.timeBase.now }
    }

    init(_ policy: some StatusReporting) {
        (name, policies) = (policy.name, policy.hasStatus ? [policy] : [])
        now = { policy.presentTime }
    }

    var breakers: [(place: Int, breaker: CircuitBreaker)] {
        policies.enumerated().compactMap { place, policy in (policy as? CircuitBreaker).map { (place, $0) } }
    }

    func component(isRequired: Bool) -> HealthComponent {
        let statuses = policies.map { PolicyStatus(policy: $0.name, detail: $0.status) }
        let now = now()
        return HealthComponent(
            id: "", name: name, pipeline: pipeline, isRequired: isRequired,
            policies: statuses.map { PolicyHealth($0, at: now) })
    }
}
