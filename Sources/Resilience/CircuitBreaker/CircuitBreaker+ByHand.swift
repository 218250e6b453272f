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
        let isNew = change(at: now, afterTime: true) { state in
            let isNew = state.circuit.mode != mode
            _ = state.circuit.set(mode, at: now)
            state.refusal = nil
            return isNew
        }
        guard isNew else { return }
        resumeParked()
        plan(at: now)
        tell(.modeChanged(mode))
    }

    /// Back to closed with nothing counted, whatever the state; the mode stays. Calls under way no longer count.
    /// - Parameter keepingGrowth: whether a next break is as long as if this reset had not been.
    public func reset(keepingGrowth: Bool = false) {
        let now = ownCore.timeBase.now
        let transition = change(at: now, afterTime: true) { $0.circuit.reset(keepingGrowth: keepingGrowth, at: now) }
        if transition != nil { tell(.reset) }
    }

    /// Opens it now, whatever the state, as a trip of its own: for as long as it would open by itself, or, if it is open
    /// already, from now on. Calls in flight no longer count.
    /// - Returns: false if nothing has changed, since the mode is not ``Mode/automatic``, or the circuit is of a kind that
    ///   can't be opened by hand.
    @discardableResult
    public func trip() -> Bool { trip(length: nil) }

    /// Opens it now, whatever the state, for this time. See ``trip()``.
    ///
    /// To keep it shut until somebody says otherwise, set ``Mode/isolated``.
    /// - Parameter length: zero or more; less is taken for zero. In a snapshot it is cut to the longest break of the circuit.
    @discardableResult
    public func trip(for length: Duration) -> Bool { trip(length: length) }

    private func trip(length: Duration?) -> Bool {
        let now = ownCore.timeBase.now
        let (isDone, remaining) = change(at: now, afterTime: true) { state in
            let (isDone, _) = state.circuit.trip(for: length, at: now)
            state.refusal = nil
            return (isDone, state.circuit.status(at: now).timeRemaining)
        }
        guard isDone else { return false }
        tell(.tripped(for: remaining))
        return true
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
        guard SettingChecks.mayChange else { return false }
        let now = ownCore.timeBase.now
        return change(at: now, afterTime: true) { state in
            state.refusal = nil
            return state.circuit.replace(with: machine, at: now)
        }
    }

    /// As the other, for a circuit with three states.
    /// - Parameters:
    ///   - rule: when to open; at the 5th failure in a row if not told otherwise.
    ///   - openFor: for how long; 60 s if not told otherwise.
    @discardableResult
    public func reconfigure(
        tripping rule: some TripRule = .standard,
        openFor: some BreakDuration = .standard
    ) -> Bool {
        reconfigure(circuit: ThreeStateCircuit(tripping: rule, openFor: openFor))
    }
}
