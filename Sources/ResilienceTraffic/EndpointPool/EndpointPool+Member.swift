public import Resilience

extension PipelineBuilder {
    /// Returns a list of one policy that admits every call and reports the pool's status, so that the pool is among the
    /// pipeline's ``/Resilience/Pipeline/statuses``, gauges and health.
    ///
    /// The pool chooses endpoints only in ``Resilience/Pipeline/run(over:options:judging:_:)-(_,_,_,(Endpoint)->R)``
    /// and its siblings.
    ///
    /// - Parameter pool: A pool of endpoints.
    public static func buildExpression<Endpoint>(_ pool: EndpointPool<Endpoint>) -> [Pipeline.Element] {
        [Pipeline.Element(kind: .policy(EndpointPoolMember(pool)))]
    }
}

/// A pool in the list of a pipeline.
private struct EndpointPoolMember<Endpoint: Hashable & Sendable>: Policy, StatusReporting, RegistryEntry {
    private var pool: EndpointPool<Endpoint>

    init(_ pool: EndpointPool<Endpoint>) { self.pool = pool }

    var name: String { pool.name }
    var timeBase: (any TimeBase)? { pool.timeBase }
    var isAtRest: Bool { pool.isAtRest }
    var status: EndpointPoolStatus { pool.status }
    var description: String { pool.description }
    func reset() { pool.reset() }

    static func isUniquelyHeld(_ entry: inout Self) -> Bool { isKnownUniquelyReferenced(&entry.pool) }
    /// When the registry evicts an unused entry, its counted failures no longer matter.
    func canBeEvicted(unusedFor time: Duration) -> Bool { pool.isIdle }
    /// Calls use the pool that the program passes, not the pool of this policy.
    func canBeReconfigured(like other: Self) -> Bool { true }
    func reconfigured(like other: Self) -> Self? { other }
}
