/// A machine that several processes have together. No other machine can go on from where it stands.
package protocol SharedCircuit: CircuitStateMachine {}

extension CircuitBreaker {
    /// Tells the breaker's machine what it has learned from elsewhere. If that changes the state, observers are told.
    /// - Returns: What `body` returned; nil if the machine is of another type.
    package func tellMachine<Machine: CircuitStateMachine, R: Sendable>(
        _ type: Machine.Type, _ body: (inout Machine, MonotonicInstant) -> R
    ) -> R? {
        let (told, status) = changeByHand { ($0.circuit.tell(at: $1, body), $0.circuit.status(at: $1)) }
        if let transition = told.transition { tell(Event(transition, status)) }
        return told.result
    }
}
