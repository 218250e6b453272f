import Resilience
import Synchronization

/// Connects the copies of one call with their caller: it has their state machine, and the values that a copy passes to
/// the caller. It does not know the type of the results.
final class HedgeRace: CopyRace, Sendable {
    /// The input of each copy.
    struct Start: Sendable {
        let hedge: Hedge
        let terms: HedgeTerms
        /// The inner policies.
        let inner: PipelineCore
        let options: RunOptions
        let attempt: Int
        let deadline: MonotonicInstant
        let isWatched: Bool
        let account: AttemptAccount
        let began: MonotonicInstant
        let executor: (any TaskExecutor)?
        /// Runs a copy through the inner policies.
        let walk: HedgeCopy.Run
        /// Disposes of a result that arrives after another copy has ended the call.
        let lose: @Sendable (CopyResult, inout PolicyCall) -> Void
    }

    /// How a copy ended.
    struct Ending: Sendable {
        let copy: Int
        let result: Result<CopyResult, any Error>
        let verdict: Verdict
        let waits: [PolicyWait]
        /// Whether the copy passed the inner policies: it reached the operation, or a policy that acts in its place.
        let hasRun: Bool
    }

    /// How the call ends.
    struct Outcome: Sendable {
        let kept: Ending
        /// When the call's end was certain.
        let time: MonotonicInstant
        /// When the first copy ended, or when its loss was certain.
        let firstEnded: MonotonicInstant
        let firstLost: Bool
        /// Whether any copy passed the inner policies.
        let hasRun: Bool
    }

    private struct State {
        var machine: HedgeStateMachine
        /// The best end of a copy so far, and its time.
        var kept: (Ending, MonotonicInstant)?
        /// When the first copy ended, if that was before the call's end was certain.
        var firstEnded: MonotonicInstant?
        var hasRun = false
        var waiter: PolicyWaiter?
    }

    let start: Start
    private let state: Locked<State>
    private let decided = Atomic(false)
    private let first = RunningTask()
    private let isFirstCancelled = Atomic(false)
    private let hasFirstEnded = Atomic(false)

    init(_ machine: HedgeStateMachine, _ start: consuming Start) {
        self.start = start
        state = Locked(State(machine: machine))
    }

    /// The caller's next step. If it waits, the waiter is resumed when a copy ends.
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
    var isDecided: Bool { decided.load(ordering: .acquiring) }

    /// Called first in the first copy's task, if it is not in the caller's group.
    func firstBegins() {
        first.begins()
        if isFirstCancelled.load(ordering: .sequentiallyConsistent) { first.cancel() }
    }

    /// Called last in the first copy's task.
    func firstEnds() { hasFirstEnded.store(true, ordering: .releasing) }

    /// Whether the first copy's task has nothing left to do. False if it is in the caller's group.
    var firstHasEnded: Bool { hasFirstEnded.load(ordering: .acquiring) }

    /// Cancels the first copy, even if it has not begun, unless it is in the caller's group. The caller keeps the
    /// copy's task.
    func cancelFirst() {
        isFirstCancelled.store(true, ordering: .sequentiallyConsistent)
        first.cancel()
    }

    /// The call's running time, in nanoseconds.
    var age: Int64 { start.began.duration(to: start.inner.timeBase.now).saturatedNanoseconds }

    /// - Returns: Whether the copy's end counts: not if the call's end was already certain.
    fileprivate func ended(_ ending: Ending, at now: MonotonicInstant) -> Bool {
        let (counts, waiter, old) = state.withLock { state in
            let counts = !state.machine.isDecided
            // The replaced value is released outside of the lock, since its deinit may be user code.
            let old = state.kept
            if state.machine.ended(ending.verdict, hasRun: ending.hasRun, at: now) { state.kept = (ending, now) }
            if state.machine.isDecided { decided.store(true, ordering: .releasing) }
            if ending.hasRun { state.hasRun = true }
            if counts, ending.copy == 0 { state.firstEnded = now }
            return (counts, state.waiter.take(), old)
        }
        _ = old
        waiter?.resume()
        return counts
    }

    /// How the call ends. Called once, when all copies have ended.
    func takeOutcome() -> Outcome {
        let outcome = state.withLock { state in
            state.kept.take().map { kept, time in
                Outcome(
                    kept: kept, time: time, firstEnded: state.firstEnded ?? time, firstLost: state.firstEnded == nil,
                    hasRun: state.hasRun)
            }
        }
        guard let outcome else { preconditionFailure("a race without an end") }
        return outcome
    }
}

// MARK: Copies

extension HedgeRace {
    /// Runs a copy.
    /// - Parameters:
    ///   - copy: The copy's number; 0 for the first.
    ///   - withdrawal: The budget's payment for the copy.
    @inline(__always) func run(_ copy: Int, _ withdrawal: Withdrawal) async {
        // The call holds an uncounted reference to the core, which this object keeps.
        defer { withExtendedLifetime(self) {} }
        var call = begin(withdrawal)
        defer { call.endNotes() }
        var hasRun = false
        do {
            // All threads may have been busy since the copy was due.
            if isDecided { throw CopyLost(policy: start.hedge.name) }
            try Task.checkCancellation()
            if call.isOver { throw DeadlinePassed() }
            let (value, verdict) = try await start.walk(&call) {
                guard !isDecided else { throw CopyLost(policy: start.hedge.name) }
                hasRun = true
                return HedgeCopy(number: copy, of: self)
            }
            ended(copy, .success(value), verdict, hasRun: hasRun, withdrawal, isCancelled: Task.isCancelled, &call)
        } catch {
            let verdict = call.settled ?? start.inner.classifier.verdict(for: error)
            ended(copy, .failure(error), verdict, hasRun: hasRun, withdrawal, isCancelled: Task.isCancelled, &call)
        }
    }

    /// A copy begins. The caller must hold the race until the copy is over.
    func begin(_ withdrawal: Withdrawal) -> PolicyCall {
        var call = PolicyCall(start)
        call.isWatched = start.isWatched
        if withdrawal != .none { start.terms.budget.begins(after: withdrawal, &call) }
        return call
    }

    /// A copy has ended.
    /// - Parameter hasRun: Whether it reached its operation.
    func ended(
        _ copy: Int, _ result: Result<CopyResult, any Error>, _ verdict: Verdict, hasRun: Bool,
        _ withdrawal: Withdrawal, isCancelled: Bool, _ call: inout PolicyCall
    ) {
        var (verdict, hasRun) = (verdict, hasRun)
        // A policy's failure in place of the operation counts as a run of the operation; a timeout does not.
        if case .failure(let error) = result, !verdict.saysNothing, !(error is any TimeLimitError) { hasRun = true }
        if verdict.kind != .success, isCancelled || isDecided { verdict = .cancelled }
        call.reading = nil
        let counts = ended(
            Ending(copy: copy, result: result, verdict: verdict, waits: call.notes?.waits ?? [], hasRun: hasRun),
            at: call.now)
        if !counts, case .success(let value) = result { start.lose(value, &call) }
        if !hasRun || counts && verdict.kind == .rejected {
            // The copy never reached the other side.
            if withdrawal != .none { start.terms.budget.giveBack(withdrawal) }
        } else if counts {
            start.terms.report(verdict, after: withdrawal, &call)
        }
    }
}

extension PolicyCall {
    fileprivate init(_ start: HedgeRace.Start) {
        self.init(start.inner, start.options, attempt: start.attempt, deadline: start.deadline)
        account = start.account
    }
}

extension HedgeTerms {
    /// Reports the end of a copy to the budget.
    fileprivate func report(_ verdict: Verdict, after withdrawal: Withdrawal, _ call: inout PolicyCall) {
        switch verdict.kind {
        case .success: budget.succeeded(after: withdrawal, &call)
        case .cancelled, .rejected: break
        case .transient, .throttled, .uncertain, .permanent:
            budget.failed(after: withdrawal, mayPass: settings.verdicts.contains(verdict), &call)
        }
    }
}
