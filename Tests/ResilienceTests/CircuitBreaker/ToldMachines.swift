@testable import Resilience

// Shorthand for the inputs of machines, rules and breaks.

extension CircuitStateMachine {
    mutating func admit(at now: MonotonicInstant) -> CircuitAdmission { admit(at: now, using: SplitMix64(seed: 1)) }

    @discardableResult
    mutating func record(_ verdict: Verdict, ticket: UInt64 = 0, at now: MonotonicInstant) -> Bool {
        record(CallEnd(verdict, at: now), ticket: ticket, using: SplitMix64(seed: 1))
    }

    /// Whether further calls and successes would change nothing.
    var isAtRest: Bool { needs.isDisjoint(with: [.admissions, .successes]) }
}

extension CircuitBreakerStatus {
    /// The status without the time at which the circuit entered its state.
    var timeless: CircuitBreakerStatus {
        CircuitBreakerStatus(
            state: state, failureCount: failureCount, failureLimit: failureLimit, callCount: callCount,
            timeRemaining: timeRemaining, isAllowed: isAllowed, mode: mode)
    }
}

extension Circuit {
    mutating func set(_ mode: CircuitBreaker.Mode) -> Transition? { set(mode, at: latest) }
    mutating func reset(keepingGrowth: Bool) -> Transition? { reset(keepingGrowth: keepingGrowth, at: latest) }

    /// The generation if further calls and successes would change nothing, else 0.
    var restingGeneration: UInt64 { needs.isEmpty ? generation : 0 }
}

extension TripRule {
    /// - Returns: Whether the circuit should be open now.
    mutating func ended(
        _ verdict: Verdict, at now: MonotonicInstant = MonotonicInstant(nanoseconds: 0), began: MonotonicInstant? = nil
    ) -> Bool {
        ended(CallEnd(verdict, at: now, began: began))
        return isMet(at: now)
    }

    func evidence(of verdict: Verdict) -> TripEvidence {
        evidence(of: CallEnd(verdict, at: MonotonicInstant(nanoseconds: 0)))
    }
}

extension BreakDuration {
    func duration(afterTrips trips: Int) -> Duration {
        duration(of: CircuitTrip(earlier: trips), using: SplitMix64(seed: 1))
    }
}

/// A break that ends before it begins, which must count as zero.
struct NegativeBreak: BreakDuration {
    var description: String { "for less than no time" }
    func duration(of trip: CircuitTrip, using generator: SplitMix64) -> Duration { .seconds(-5) }
}

/// A custom circuit that uses only verdicts, and changes when asked: open for a minute after a failure.
struct PlainCircuit: CircuitStateMachine {
    private(set) var state = CircuitState.closed
    private var until = MonotonicInstant.distantPast

    var description: String { "plain" }
    var changesAt: MonotonicInstant? { state == .open ? until : nil }

    mutating func admit(at now: MonotonicInstant, using generator: SplitMix64) -> CircuitAdmission {
        if state == .open, now < until { return .reject(retryAfter: now.duration(to: until)) }
        if state == .open { state = .halfOpen }
        return .allow(ticket: state == .halfOpen ? 1 : 0)
    }

    mutating func record(_ end: CallEnd, ticket: UInt64, using generator: SplitMix64) -> Bool {
        state = end.verdict == .success ? .closed : .open
        until = end.time + .seconds(60)
        return state == .open
    }

    mutating func reset(keepingGrowth: Bool) { state = .closed }
    func status(at now: MonotonicInstant) -> CircuitBreakerStatus {
        CircuitBreakerStatus(state: state, failureCount: 0)
    }
    func wantsProbe(at now: MonotonicInstant) -> Bool { state == .open && until <= now }

    /// It always restores as closed.
    func memory(at now: MonotonicInstant) -> CircuitMemory? { CircuitMemory(state: .closed) }
    mutating func restore(_ memory: CircuitMemory, takenAt instant: MonotonicInstant) -> Bool {
        state = .closed
        return true
    }
}
