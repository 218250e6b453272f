public import Resilience

extension Bulkhead {
    /// Creates a bulkhead whose limit all processes of a fleet share.
    ///
    /// Each process leases a part of the limit: as much as it needs if there is enough for all, else an equal part. A
    /// call does not ask the engine. A process that has used up its part asks for more, at most every half lease, and
    /// gets the other processes' spare permits after asking twice: within three leases, or within 21 from an idle
    /// process. So give the bulkhead a queue.
    ///
    /// A process that dies or stalls loses its part after ten leases, even if its calls still run. Each running process
    /// keeps one permit if there are enough for all; an idle process that dies keeps its permit for 60 leases.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors, and of the limit in the fleet.
    ///   - limit: How many calls may run at the same time, over all processes; 1 or more. All processes must pass the
    ///     same limit. It can't be changed: ``/Resilience/Bulkhead/setLimit(_:)`` changes this process's part until the
    ///     fleet's next answer.
    ///   - fleet: The processes.
    ///   - fallback: The bulkhead's behavior while the engine is unavailable, once its part has ended.
    ///   - queue: How many calls of this process may wait; 0 or more.
    ///   - order: Which waiting call is next, and which is rejected when the queue is full.
    ///   - maxWait: The longest wait in the queue; 0 or more. nil, the default, for no limit. With 0, no call waits.
    ///   - predictsWait: Whether to reject a call at once if it would probably wait too long.
    ///   - shedding: The rule that rejects waiting calls under overload. nil, the default, lets them wait.
    ///   - observers: The observers of this bulkhead's events; nil for none at first.
    public convenience init(
        _ name: String = "bulkhead", limit: Int, in fleet: Fleet, whenAway fallback: FleetFallback = .localShare,
        queue: Int = 0, order: Order = .firstInFirstOut, maxWait: Duration? = nil, predictsWait: Bool = true,
        shedding: LoadShedding? = nil, observers: PolicyObservers? = nil
    ) {
        let settings = Settings(
            limit: limit, queue: queue, order: order, maxWait: maxWait, predictsWait: predictsWait, shedding: shedding
        ).valid()
        let link = BulkheadLink(
            fleet: fleet, key: fleet.key("bulkhead1", name), limit: settings.limit, fallback: fallback)
        self.init(name, settings: settings, supply: link, timeBase: fleet.timeBase, observers: observers)
        link.link(self)
    }
}
