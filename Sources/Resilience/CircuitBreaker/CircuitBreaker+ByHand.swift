extension CircuitBreaker {
    /// Who decides what a breaker does.
    public enum Mode: String, Sendable, Hashable, Codable {
        /// Its circuit.
        case automatic
        /// Nobody gets through, until somebody sets another mode: no time that passes and no result undoes it.
        case isolated
        /// Everybody gets through, and nothing is counted.
        case disabled
        /// Everybody gets through, and what happens is counted: it tells when it would open, and never does.
        case observing
    }

    /// Who decides now.
    public var mode: Mode { inner.withLock { $0.circuit.mode } }

    /// Sets who decides, until somebody sets it again. Calls under way no longer count.
    ///
    /// Back in ``Mode/automatic`` the circuit goes on from where it stood; after ``Mode/observing`` that is closed.
    public func setMode(_ mode: Mode) {
        let now = ownCore.timeBase.now
        let isNew = change(at: now) { state in
            let isNew = state.circuit.mode != mode
            _ = state.circuit.set(mode)
            state.refusal = nil
            return isNew
        }
        guard isNew else { return }
        resumeParked()
        planCheck(at: now)
        tell(.modeChanged(mode))
    }

    /// Back to closed with nothing counted, whatever the state; the mode stays. Calls under way no longer count.
    /// - Parameter keepingGrowth: whether a next break is as long as if this reset had not been.
    public func reset(keepingGrowth: Bool = false) {
        let transition = change(at: ownCore.timeBase.now) { $0.circuit.reset(keepingGrowth: keepingGrowth) }
        if transition != nil { tell(.reset) }
    }

    /// Puts other settings in the place of the present ones: the state, the counts and the time remaining go on.
    ///
    /// A half-open circuit is tested anew. Calls under way count as before if the state stays.
    /// - Returns: false if the new circuit can't go on from the old one's state, being of another kind; nothing has
    ///   changed then.
    @discardableResult
    public func reconfigure(circuit machine: some CircuitStateMachine) -> Bool {
        reconfigure(machine: machine)
    }

    func reconfigure(machine: any CircuitStateMachine) -> Bool {
        let now = ownCore.timeBase.now
        return change(at: now) { state in
            state.refusal = nil
            return state.circuit.replace(with: machine, at: now)
        }
    }

    /// As the other, for a circuit with three states.
    @discardableResult
    public func reconfigure(
        tripping rule: some TripRule = .consecutiveFailures(5),
        openFor: some BreakDuration = .constant(.seconds(60))
    ) -> Bool {
        reconfigure(circuit: ThreeStateCircuit(tripping: rule, openFor: openFor))
    }
}
