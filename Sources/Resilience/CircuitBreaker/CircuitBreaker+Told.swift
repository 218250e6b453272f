/// A machine that several processes share. No other machine can continue from its state.
package protocol SharedCircuit: CircuitStateMachine {}

extension CircuitBreaker {
    /// Passes news that comes from no call to the breaker's machine. If the news changes the state, observers are told.
    /// - Returns: The result of `body`; nil if the machine is of another type.
    package func tellMachine<Machine: CircuitStateMachine, R: Sendable>(
        _ type: Machine.Type, _ body: (inout Machine, MonotonicInstant) -> R
    ) -> R? {
        let (told, status) = changeByHand { ($0.circuit.tell(at: $1, body), $0.circuit.status(at: $1)) }
        if let transition = told.transition { tell(Event(transition, status)) }
        return told.result
    }
}
