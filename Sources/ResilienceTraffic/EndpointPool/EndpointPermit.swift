public import Resilience

/// An endpoint of an ``EndpointPool``, for work that is not a closure, or for a loop of your own.
///
/// ```swift
/// let permit = try pool.pick()
/// let reply = await send(request, to: permit.endpoint)
/// permit.complete(reply.isGood ? .success : .transient)
/// ```
///
/// Report once how the work ended; the report consumes the permit. A permit dropped without a report counts as
/// cancelled, neither for nor against the endpoint.
public struct EndpointPermit<Endpoint: Hashable & Sendable>: ~Copyable, Sendable {
    /// The endpoint that the pool chose.
    public let endpoint: Endpoint
    private var use: EndpointUse

    fileprivate init(_ endpoint: Endpoint, _ use: consuming EndpointUse) {
        self.endpoint = endpoint
        self.use = use
    }

    /// Reports how the work ended.
    ///
    /// - Parameter verdict: The meaning of the work's end.
    public consuming func complete(_ verdict: Verdict) { use.verdict = verdict }
}

/// Not generic: where code does not know the type, Swift 6.3 leaves out the deinit of a generic type of an optimized
/// module. Not private: the compiler would end with an error where another module stores a permit.
struct EndpointUse: ~Copyable, Sendable {
    let core: EndpointPoolCore
    let pick: EndpointPick
    var verdict = Verdict.cancelled

    init(_ pick: EndpointPick, _ core: EndpointPoolCore) { (self.pick, self.core) = (pick, core) }

    deinit { core.ended(pick, verdict) }
}

extension EndpointPool {
    /// Chooses an endpoint.
    ///
    /// - Returns: The endpoint, with a permit to be reported once.
    /// - Throws: ``NoEndpoint`` if there is none.
    public func pick() throws(NoEndpoint) -> EndpointPermit<Endpoint> {
        var tried = TriedEndpoints()
        return try pick(after: &tried)
    }

    /// Chooses an endpoint that a call has not tried, if there is one.
    ///
    /// - Parameter tried: The endpoints that the call has tried; the chosen one is added.
    /// - Returns: The endpoint, with a permit to be reported once.
    /// - Throws: ``NoEndpoint`` if there is none.
    public func pick(after tried: inout TriedEndpoints) throws(NoEndpoint) -> EndpointPermit<Endpoint> {
        let now = timeBase.now
        let (chosen, told) = core.choose(&tried, at: now)
        if let told { core.tell(told, at: now) }
        guard let chosen else { throw core.noEndpoint(at: now) }
        return EndpointPermit(list(chosen.list).endpoints[chosen.pick.place], EndpointUse(chosen.pick, core))
    }
}
