/// A machine that several processes have together. No other machine can go on from where it stands.
package protocol SharedCircuit: CircuitStateMachine {}

extension CircuitBreaker {
    /// Tells the breaker's machine what it has learned from elsewhere. If that changes the state, observers are told.
    /// - Returns: What `body` returned; nil if the machine is of another type.
    package func tellMachine<Machine: CircuitStateMachine, R: Sendable>(
        _ type: Machine.Type, _ body: (inout Machine, MonotonicInstant) -> R
    ) -> R? {
        let now = ownCore.timeBase.now
        let (told, status) = change(at: now, afterTime: true) { state in
            state.extras?.rejection = nil
            return (state.circuit.tell(at: now, body), state.circuit.status(at: now))
        }
        if let transition = told.transition { tell(Event(transition, status)) }
        return told.result
    }
}
