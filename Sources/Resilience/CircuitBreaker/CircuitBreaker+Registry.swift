extension CircuitBreaker: RegistryEntry {
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        let now = ownCore.timeBase.now
        let status = status
        // One that never changed its state, or was restored, has no more to tell than when it was last used.
        return status.mode == .automatic && status.state != .open && (status.since ?? .distantPast) + time <= now
    }

    public func reset() { reset(keepingGrowth: false) }

    public func canBeReconfigured(like other: CircuitBreaker) -> Bool {
        guard other !== self else { return true }
        let (now, machine) = (ownCore.timeBase.now, other.machine)
        return inner.withLock { $0.circuit.canBeReplaced(with: machine, at: now) }
    }

    public func reconfigured(like other: CircuitBreaker) -> Self? {
        other === self || reconfigure(machine: other.machine) ? self : nil
    }

    private var machine: any CircuitStateMachine { inner.withLock { $0.circuit.machine } }

    public var circuitBreakers: [CircuitBreaker] { [self] }
}
