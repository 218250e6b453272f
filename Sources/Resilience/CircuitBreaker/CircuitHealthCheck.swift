/// Finds out whether an endpoint has recovered, in place of a caller's call.
///
/// ```swift
/// let breaker = CircuitBreaker(
///     "search", healthCheck: CircuitHealthCheck { try await client.ping() })
/// ```
///
/// When the break is over, the breaker runs the check in a task of its own. If the check returns, it has succeeded; if
/// it throws or takes too long, it has failed. Calls are rejected until as many checks have succeeded as the circuit
/// needs; no call is a probe.
public struct CircuitHealthCheck: Sendable {
    let timeout: Duration
    let body: @Sendable () async throws -> Void

    /// Creates a health check.
    ///
    /// - Parameters:
    ///   - timeout: How long a check may take; above 0. A check that takes longer counts as failed, and is cancelled.
    ///   - body: The check: returns if the endpoint is healthy, throws if it is not.
    public init(timeout: Duration = .seconds(10), _ body: @escaping @Sendable () async throws -> Void) {
        self.timeout = SettingChecks("CircuitHealthCheck").aboveZero(timeout, "timeout")
        self.body = body
    }
}

extension CircuitBreaker {
    /// The check in flight. There is one at a time.
    struct Check {
        /// The number of the check in flight, from 1; 0 if there is none. The check's ticket can't be used for this:
        /// after a change of settings, tickets begin anew while an old check may still be in flight.
        var number: UInt64 = 0
        /// The number of checks begun so far.
        var begun: UInt64 = 0
        /// The alarm that ends a check that takes too long.
        var timeout: TimeBaseAlarm?
    }

    /// Begins a check, if the circuit wants one now.
    func checkHealth() {
        // Called only if there is a check.
        let healthCheck = healthCheck!
        let now = ownCore.timeBase.now
        let (admission, number) = change(at: now) { state -> (Circuit.Admission?, UInt64) in
            // An alarm that rang while a mode was set by hand, or after a reset, finds nothing to do.
            let extras = state.needExtras()
            guard state.circuit.mode == .automatic, extras.check.number == 0, state.circuit.machine.wantsProbe(at: now)
            else { return (nil, 0) }
            let admission = state.circuit.admit(at: now, asCheck: true)
            if case .allow = admission {
                extras.check.begun += 1
                extras.check.number = extras.check.begun
            }
            return (admission, extras.check.number)
        }
        guard case .allow(let generation, let ticket, let began, _, let transition)? = admission else {
            return plan(at: now)
        }
        if let transition { tell(Event(transition, status)) }
        let end: @Sendable (TripEvidence) -> Void = { [weak self] evidence in
            self?.checkEnded(number, evidence, generation: generation, ticket: ticket, began: began)
        }
        let task = Task(executorPreference: ownCore.timeBase.taskExecutor) {
            do {
                try await healthCheck.body()
                end(.healthy)
            } catch {
                end(.failing)
            }
        }
        let timeout = ownCore.timeBase.schedule(at: now + healthCheck.timeout) {
            task.cancel()
            end(.failing)
        }
        let isUnderWay = inner.withLock { state in
            let extras = state.needExtras()
            guard extras.check.number == number else { return false }
            extras.check.timeout = timeout
            return true
        }
        if !isUnderWay { ownCore.timeBase.cancel(timeout) }
    }

    private func checkEnded(
        _ number: UInt64, _ evidence: TripEvidence, generation: UInt64, ticket: UInt64, began: MonotonicInstant?
    ) {
        let now = ownCore.timeBase.now
        let verdict: Verdict = evidence == .healthy ? .success : .transient
        let ended = change(at: now) { state -> (Circuit.Recording, CircuitBreakerStatus, timeout: TimeBaseAlarm?)? in
            // Only the first of two events counts: the end of the check, or its timeout.
            let extras = state.needExtras()
            guard extras.check.number == number else { return nil }
            extras.check.number = 0
            let recording = state.circuit.record(
                verdict, generation: generation, ticket: ticket, began: began, evidence: evidence, at: now)
            return (recording, state.circuit.status(at: now), extras.check.timeout.take())
        }
        guard let (recording, status, timeout) = ended else { return }
        if let timeout { ownCore.timeBase.cancel(timeout) }
        if case .recorded(_, let transition?) = recording { tell(Event(transition, status)) }
        // The circuit may want another success.
        plan(at: now)
    }
}
