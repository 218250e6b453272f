package import Resilience

/// Reports the health of a service and its dependencies.
///
/// ```swift
/// let health = HealthMonitor("orders") {
///     HealthSource(payments, isRequired: true)
///     breakers
///     outbox
/// }
/// let report = await health.report()
/// ```
///
/// A monitor has no task of its own: it reads the statuses when it is asked for a report.
///
/// See <doc:HealthGuide>.
public final class HealthMonitor: Sendable {
    /// The name of the service.
    public let name: String
    private let sources: [HealthSource]
    private let rule: HealthRule
    private let limit: Int
    private let queueTimeout: Duration

    /// Creates a monitor.
    ///
    /// - Parameters:
    ///   - name: The name of the service. "service" by default.
    ///   - rule: Decides the status of a component. ``HealthRule/standard`` by default.
    ///   - limit: How many components a report lists at most; other components are only counted. 200 by default; less
    ///     than 0 counts as 0.
    ///   - queueTimeout: How long the store of a queue has to answer. All stores are asked concurrently, so a report
    ///     takes no longer than this. 1 second by default; less than zero counts as zero.
    ///   - sources: The sources of the report. Components of equal status keep this order.
    public init(
        _ name: String = "service", rule: HealthRule = .standard, limit: Int = 200,
        queueTimeout: Duration = .seconds(1), @HealthSourceBuilder sources: () -> [HealthSource]
    ) {
        self.name = name
        self.rule = rule
        self.limit = limit
        self.queueTimeout = max(.zero, queueTimeout)
        self.sources = sources()
    }

    /// Returns the service's present health.
    ///
    /// It never fails, and waits only for the stores of queues, for a limited time. A store that fails or hangs is
    /// reported as the problem of its queue. If the task is cancelled, it stops waiting.
    /// - Parameter limit: How many components the report lists at most, 0 or more. nil, the default, for the monitor's
    ///   own limit. With 0 the report has only counts, and no names of dependencies.
    /// - Returns: The report.
    public nonisolated(nonsending) func report(limit: Int? = nil) async -> HealthReport {
        await report(limit: limit ?? self.limit, patience: queueTimeout)
    }

    /// Returns the service's present health, for a repeated reader: if the store of a queue is slow, a recent answer is
    /// used.
    /// - Parameters:
    ///   - limit: How many components the report lists at most.
    ///   - patience: How long to wait for a queue whose last answer is recent, or whose store is known to be late.
    package nonisolated(nonsending) func report(limit: Int, patience: Duration) async -> HealthReport {
        var ranking = HealthRanking(limit: limit)
        await sources.components(limit: queueTimeout, patience: patience) { source, component in
            var component = component
            component.status = rule.status(of: component)
            ranking.add(component, source: source)
        }
        return ranking.report(name: name)
    }

    /// Follows the changes of all circuits until the tasks are cancelled.
    /// - Parameter told: Receives each change, and the id of the component.
    package func watch(
        _ told: @escaping @Sendable (_ component: String, HealthSource.Change) -> Void
    ) -> [Task<Void, Never>] {
        sources.enumerated().flatMap { index, source in
            source.watch { change in
                told(change.name.map { "\(index)/\(bounded($0))" } ?? "\(index)", change)
            }
        }
    }

    /// Returns the policy at a place among a component's policies; nil if no policy is there, or more than one.
    /// - Parameters:
    ///   - component: The component's id.
    ///   - place: The place.
    package func policy(of component: String, at place: Int) -> (any StatusReporting)? {
        let parts = component.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let index = Int(parts[0]), sources.indices.contains(index),
            sources[index].isRegistry == (parts.count == 2)
        else { return nil }
        let found = sources[index].policies(parts.count == 2 ? String(parts[1]) : "", place)
        return found.count == 1 ? found[0] : nil
    }
}

extension [HealthSource] {
    /// Passes all present components to a visitor.
    /// - Parameters:
    ///   - limit: How long stored statuses have to answer.
    ///   - patience: How long to wait for a stored status whose last answer is recent, or whose store is known to be
    ///     late.
    ///   - visitor: Receives each component, and the place of its source.
    nonisolated(nonsending) func components(
        limit: Duration, patience: Duration, _ visitor: (_ source: Int, HealthComponent) -> Void
    ) async {
        // All stores are asked before the first wait.
        let readings = map { source in source.stored.map { ($0.probe.begin(), $0.probe.timeBase.now) } }
        for (index, source) in enumerated() {
            if let (probe, isRequired) = source.stored, let (reading, start) = readings[index] {
                let name = probe.source.name
                var (policies, problem): ([PolicyHealth], String?) = ([], nil)
                switch await probe.outcome(reading, since: start, limit: limit, patience: patience) {
                case .status(let status):
                    policies = [PolicyHealth(PolicyStatus(policy: name, detail: status), at: probe.timeBase.now)]
                case .failed(let text): problem = text
                }
                visitor(
                    index,
                    HealthComponent(
                        id: "\(index)", name: name, isRequired: isRequired, policies: policies, problem: problem,
                        isStored: true))
            } else {
                source.visit { component in
                    var component = component
                    component.id = "\(index)\(component.id)"
                    visitor(index, component)
                }
            }
        }
    }
}
