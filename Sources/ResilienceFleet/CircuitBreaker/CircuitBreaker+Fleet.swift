public import Resilience

extension CircuitBreaker {
    /// Creates a breaker that decides for itself, and also obeys a circuit that all processes of a fleet share.
    ///
    /// The circuit opens in this process by its own rule, like any breaker, regardless of the others. It also opens in
    /// all processes when the fleet's rule is met: the processes share their counts, not their states. After the
    /// fleet's break, one call of one process probes, and its result opens or closes the circuit of all. If that
    /// process is gone, another process probes within 20 leases. A process without a call in the ten leases after the
    /// break decides alone: its next call is its own probe, and all processes learn the result.
    ///
    /// Actions by hand apply to this process. If the circuit is closed by hand during a break of the fleet, it stays
    /// closed until the fleet's next answer.
    ///
    /// A call does not ask the engine. While calls fail, a process sends its counts every two and a half leases, so
    /// with the default lease all processes learn of a break within half a second. While the engine is unavailable,
    /// each breaker decides alone.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors, and of the circuit in the fleet.
    ///   - fleet: The processes.
    ///   - rule: Decides when to open in this process; by default at the 5th failure in a row.
    ///   - shared: Decides when to open in all processes.
    ///   - openFor: How long the circuit stays open, here and in the fleet; by default 60 s.
    ///   - closing: Decides by a round of probes whether the circuit closes or opens again.
    ///   - observers: The observers of this breaker's events; nil for none at first.
    public convenience init(
        _ name: String = "breaker", in fleet: Fleet, tripping rule: some TripRule = .standard,
        sharing shared: FleetTripRule = FleetTripRule(), openFor: some BreakDuration = .standard,
        closing: ProbeRule = .successes(1), observers: PolicyObservers? = nil
    ) {
        let link = BreakerLink(fleet: fleet, key: fleet.key("breaker1", name), rule: shared)
        let circuit = FleetCircuit(
            ThreeStateCircuit(tripping: rule, openFor: openFor, closing: closing), openFor: openFor, rule: shared,
            grace: fleet.leaseTime * 10, ring: { link.ring() })
        self.init(name, circuit: circuit, timeBase: fleet.timeBase, observers: observers)
        link.link(self)
    }
}
