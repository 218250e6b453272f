extension CircuitBreaker {
    /// How a breaker decides about calls.
    public enum Mode: String, SettingChoice {
        /// The circuit decides.
        case automatic
        /// All calls are rejected until another mode is set; neither time nor results change that.
        case isolated
        /// All calls get through, and nothing is counted.
        case disabled
        /// All calls get through and are counted.
        ///
        /// The breaker never opens; it tells its observers when it would have opened.
        case observing
    }

    /// The present mode.
    public var mode: Mode { inner.withLock { $0.circuit.mode } }

    /// Sets the mode.
    ///
    /// Calls in flight no longer count.
    ///
    /// Back in ``Mode/automatic``, the circuit continues from its earlier state; after ``Mode/observing``, it is
    /// closed.
    /// - Parameter mode: The new mode. If it is the present one, nothing changes.
    public func setMode(_ mode: Mode) {
        setMode(mode, tells: true) { circuit, now in
            let isNew = circuit.mode != mode
            _ = circuit.set(mode, at: now)
            return isNew
        }
    }

    /// Sets the mode of the settings, unless the earlier settings have the same mode.
    /// - Parameter tells: Whether observers are told: false for a breaker that is being made.
    func settle(_ mode: Mode, tells: Bool) { setMode(mode, tells: tells) { $0.settle(mode, at: $1) } }

    private func setMode(_ mode: Mode, tells: Bool, _ set: (inout Circuit, MonotonicInstant) -> Bool) {
        guard changeByHand({ set(&$0.circuit, $1) }) else { return }
        resumeParked()
        plan()
        if tells { tell(.modeChanged(mode)) }
    }

    /// Changes the circuit without a call. The last rejection no longer holds.
    func changeByHand<R: Sendable>(_ body: (inout State, MonotonicInstant) -> R) -> R {
        let now = ownCore.timeBase.now
        return change(at: now, afterTime: true) { state in
            state.extras?.rejection = nil
            return body(&state, now)
        }
    }

    /// Closes the circuit, with nothing counted.
    ///
    /// The mode stays. Calls in flight no longer count.
    ///
    /// - Parameter keepingGrowth: Whether the next break is as long as it would be without this reset.
    public func reset(keepingGrowth: Bool) {
        let transition = changeByHand { $0.circuit.reset(keepingGrowth: keepingGrowth, at: $1) }
        if transition != nil { tell(.reset) }
    }

    /// Opens the circuit now, whatever its state, for as long as if it had opened by itself.
    ///
    /// This counts as a trip of its own. If the circuit is open already, the break begins anew. Calls in flight no
    /// longer count.
    /// - Returns: false if nothing has changed: the mode is not ``Mode/automatic``, or the circuit is of a kind that
    ///   can't be opened by hand.
    @discardableResult
    public func trip() -> Bool { trip(length: nil) }

    /// Opens the circuit now, whatever its state, for a given time.
    ///
    /// See ``trip()``.
    ///
    /// To keep it open until you decide otherwise, set ``Mode/isolated``.
    /// - Parameter length: How long it stays open; less than zero counts as zero. A restore from a snapshot cuts the
    ///   remaining time to the circuit's longest break.
    /// - Returns: false if nothing has changed; see ``trip()``.
    @discardableResult
    public func trip(for length: Duration) -> Bool { trip(length: length) }

    private func trip(length: Duration?) -> Bool {
        let (isDone, remaining) = changeByHand { state, now in
            (state.circuit.trip(for: length, at: now).isDone, state.circuit.status(at: now).timeRemaining)
        }
        guard isDone else { return false }
        tell(.tripped(for: remaining))
        return true
    }

    /// Ends a break now: the next call is a probe, and probes decide whether the circuit closes.
    ///
    /// For an operator who knows that the endpoint has recovered, and for a "retry now" button.
    ///
    /// This does not close the circuit: if the probe fails, the next break is as long as after a break that ended by
    /// itself. With a ``CircuitHealthCheck``, the check runs now. A half-open circuit begins a new round of probes,
    /// without waiting for those in flight. A ``BackoffGate``, which has no probes, admits all calls.
    /// - Returns: false if nothing has changed: the circuit kept no calls out, the mode is not ``Mode/automatic``, or
    ///   the circuit is of a kind whose breaks can't be ended by hand.
    @discardableResult
    public func endBreak() -> Bool {
        let (isDone, state) = changeByHand { ($0.circuit.endBreak(at: $1).isDone, $0.circuit.state) }
        guard isDone else { return false }
        // `changeByHand` does this only if the state changes, but here a half-open circuit stays half-open.
        resumeParked()
        plan()
        tell(.breakEndedByHand(state))
        return true
    }

    /// Replaces all settings.
    ///
    /// The state, the counts and the time remaining stay.
    ///
    /// A half-open circuit begins a new round of probes. Calls in flight still count if the state stays and the new
    /// circuit can take them over.
    /// - Parameter machine: A circuit with the new settings.
    /// - Returns: false, with nothing changed, if the new circuit can't continue from the old one's state, for example
    ///   because it is of another kind; or within [PolicySettings.checked(_:)](<doc:PolicySettings/checked(_:)>) if a
    ///   setting was invalid.
    @discardableResult
    public func reconfigure(circuit machine: some CircuitStateMachine) -> Bool {
        reconfigure(machine: machine)
    }

    func reconfigure(machine: any CircuitStateMachine) -> Bool {
        SettingChecks.mayChange && changeByHand { $0.circuit.replace(with: machine, at: $1) }
    }

    /// Replaces all settings with a three-state circuit's settings.
    ///
    /// See ``reconfigure(circuit:)``.
    ///
    /// - Parameters:
    ///   - rule: Decides when to open; by default at the 5th failure in a row.
    ///   - openFor: How long the circuit stays open; by default 60 s.
    /// - Returns: false if nothing has changed; see ``reconfigure(circuit:)``.
    @discardableResult
    public func reconfigure(
        tripping rule: some TripRule = .standard,
        openFor: some BreakDuration = .standard
    ) -> Bool {
        reconfigure(circuit: ThreeStateCircuit(tripping: rule, openFor: openFor))
    }
}
