import Resilience

/// The copies of one call, and the caller that waits for the first good end: the state machine for all of them, and what
/// a copy passes to the caller.
final class HedgeRace<R: Sendable>: Sendable {
    /// How a copy ended.
    struct Ending: Sendable {
        let copy: Int
        let result: Result<R, any Error>
        let verdict: Verdict
        let waits: [PolicyWait]
        /// Whether it got past the policies further in, to the operation or to a policy that stands for it.
        let hasRun: Bool
    }

    /// How the call ends.
    struct Outcome: Sendable {
        let kept: Ending
        /// When it was certain.
        let time: MonotonicInstant
        /// When the first copy ended; if it has lost, when that was certain.
        let firstEnded: MonotonicInstant
        let firstLost: Bool
        /// Whether any copy got past the policies further in.
        let hasRun: Bool
    }

    private struct State {
        var machine: HedgeStateMachine
        /// How the call ends, as far as is known, and when it ended so.
        var kept: (Ending, MonotonicInstant)?
        /// When the first copy ended, if that was before the call's end was certain.
        var firstEnded: MonotonicInstant?
        var hasRun = false
        var waiter: PolicyWaiter?
    }

    private let state: Locked<State>

    init(_ machine: HedgeStateMachine) { state = Locked(State(machine: machine)) }

    /// What the caller does now. If it waits, the waiter is resumed when a copy ends.
    func next(at now: MonotonicInstant) -> (HedgeStateMachine.Step, PolicyWaiter) {
        let waiter = PolicyWaiter()
        return state.withLock { state in
            state.waiter = waiter
            return (state.machine.step(at: now), waiter)
        }
    }

    /// - Returns: The number of the hedge that begins; nil if none may begin any more.
    func began(at now: MonotonicInstant) -> Int? {
        state.withLock { state in state.machine.began(at: now) ? state.machine.hedges : nil }
    }

    func mayBeginNoMore() { state.withLock { $0.machine.mayBeginNoMore() } }

    /// Whether the call's end is certain.
    var isDecided: Bool { state.withLock { $0.machine.isDecided } }

    /// - Returns: Whether its end counts: not if the call's end was certain before.
    func ended(_ ending: Ending, at now: MonotonicInstant) -> Bool {
        let (counts, waiter, old) = state.withLock { state in
            let counts = !state.machine.isDecided
            // What is replaced is released outside of the lock, since its deinit may be user code.
            let old = state.kept
            if state.machine.ended(ending.verdict, hasRun: ending.hasRun, at: now) { state.kept = (ending, now) }
            if ending.hasRun { state.hasRun = true }
            if counts, ending.copy == 0 { state.firstEnded = now }
            return (counts, state.waiter.take(), old)
        }
        _ = old
        waiter?.resume()
        return counts
    }

    /// How the call ends. Called when all copies have ended.
    var outcome: Outcome {
        let state = state.withLock { $0 }
        guard let (kept, time) = state.kept else { preconditionFailure("a race without an end") }
        return Outcome(
            kept: kept, time: time, firstEnded: state.firstEnded ?? time, firstLost: state.firstEnded == nil,
            hasRun: state.hasRun)
    }
}
