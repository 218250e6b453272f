extension CircuitBreaker: RegistryEntry {
    /// Whether the mode was not set by hand, the circuit is not open (unless its settings isolate it), and its state
    /// last changed at least `time` ago.
    ///
    /// - Parameter time: How long the breaker has not been used.
    public func canBeEvicted(unusedFor time: Duration) -> Bool {
        let now = ownCore.timeBase.now
        let status = status
        // If its state never changed, or was restored, only the time of the last use matters.
        return inner.withLock { $0.circuit.modeByHand } == nil && (status.state != .open || status.mode == .isolated)
            && (status.since ?? .distantPast) + time <= now
    }

    /// Closes the circuit, with nothing counted; the mode stays.
    ///
    /// See ``reset(keepingGrowth:)``.
    public func reset() { reset(keepingGrowth: false) }

    /// Whether the breaker can take over the settings of another one.
    ///
    /// - Parameter other: The breaker with the new settings.
    public func canBeReconfigured(like other: CircuitBreaker) -> Bool {
        guard other !== self else { return true }
        let (now, machine) = (ownCore.timeBase.now, other.machine)
        return inner.withLock { $0.circuit.canBeReplaced(with: machine, at: now) }
    }

    /// Takes over the settings of another breaker, as ``reconfigure(circuit:)`` does.
    ///
    /// A mode that was set by hand stays, unless the mode of the settings changes.
    ///
    /// - Parameter other: The breaker with the new settings.
    /// - Returns: This breaker; nil, with nothing changed, if it can't continue with these settings.
    public func reconfigured(like other: CircuitBreaker) -> Self? {
        guard other !== self else { return self }
        guard reconfigure(machine: other.machine) else { return nil }
        settle(other.inner.withLock { $0.circuit.settledMode }, tells: true)
        return self
    }

    private var machine: any CircuitStateMachine { inner.withLock { $0.circuit.machine } }
}
