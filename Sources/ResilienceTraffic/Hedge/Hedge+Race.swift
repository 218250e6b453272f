package import Resilience

extension Hedge: CopyingPolicy {
    package nonisolated(nonsending) func race(
        _ call: inout PolicyCall, inside inner: PipelineCore, _ walk: @escaping HedgeCopy.Run,
        losing lose: @escaping @Sendable (CopyResult, inout PolicyCall) -> Void
    ) async throws -> (CopyResult, Verdict) {
        let (race, delay, mayBeHere) = begin(&call, inside: inner, walk, losing: lose)
        // Copies run outside the caller's actor.
        let isHere = mayBeHere && #isolation == nil
        let first = await withTaskCancellationHandler {
            let first = isHere ? beginHere(race, delay: delay) : nil
            if first == nil || !race.isDecided { await hedge(race, beside: first, &call) }
            return first
        } onCancel: {
            // The first copy's task is returned, so it lives as long as this handler may be called.
            race.cancelFirst()
        }
        // Usually the first copy has already ended on this thread: awaiting its value would still take some 50 ns.
        if let first, !race.firstHasEnded { await first.value }
        return try end(race, &call, isCancelled: Task.isCancelled)
    }

    func begin(
        _ call: inout PolicyCall, inside inner: PipelineCore, _ walk: @escaping HedgeCopy.Run,
        losing lose: @escaping @Sendable (CopyResult, inout PolicyCall) -> Void
    ) -> (HedgeRace, delay: Int64?, isHere: Bool) {
        let (began, repetition) = (call.now, call.repetition)
        let (terms, delay, mayBeHere) = begin(mayWait: repetition == .harmless)
        if repetition == .unsaid { noteUncopied(because: .unknownEffects, &call) }
        let machine = HedgeStateMachine(
            maxHedges: repetition == .never ? 0 : terms.settings.maxHedges, delay: delay,
            on: repetition.repeated(terms.settings.verdicts, namesUncertain: false),
            hasEffects: repetition != .harmless, deadline: call.deadline, at: began)
        let race = HedgeRace(
            machine,
            HedgeRace.Start(
                hedge: self, terms: terms, inner: inner, options: call.options, attempt: call.attempt,
                deadline: call.deadline, isWatched: call.isWatched, account: call.account, began: began,
                executor: inner.timeBase.executorForTasks, walk: walk, lose: lose))
        return (race, delay, mayBeHere)
    }

    /// All copies have ended.
    func end(_ race: HedgeRace, _ call: inout PolicyCall, isCancelled: Bool) throws -> (CopyResult, Verdict) {
        let terms = race.start.terms
        let (began, repetition) = (race.start.began, call.repetition)
        call.reading = nil
        let outcome = race.takeOutcome()
        let kept = outcome.kept
        for wait in kept.waits { call.sharedNotes?.add(wait.duration, of: wait.policy) }
        if kept.verdict.kind == .success {
            // Latencies of calls that can't be repeated show nothing about calls that can. A cancelled call shows
            // nothing.
            if outcome.firstLost || kept.copy == 0, repetition == .harmless, !isCancelled {
                note(began.duration(to: outcome.firstEnded), isLost: outcome.firstLost)
            }
            if kept.copy > 0 { tell(.won(kept.copy, after: began.duration(to: outcome.time)), &call) }
        }
        // The budget counts the call by its first copy. The end of that copy is unknown, so it counts as a failure.
        if outcome.firstLost { terms.budget.failed(after: .none, mayPass: false, &call) }
        // The copies have reported their ends, so a retry that shares the budget reports nothing.
        if !kept.verdict.saysNothing {
            terms.budget.wasTold(mayPass: terms.settings.verdicts.contains(kept.verdict), &call)
        }
        call.hasRun = outcome.hasRun
        switch kept.result {
        case .success(let result):
            return (result, kept.verdict)
        case .failure(let error):
            call.settled = kept.verdict
            throw error
        }
    }

    /// Begins the first copy on this thread, if the system supports that. If the copy never suspends, it has ended when
    /// this returns.
    private func beginHere(_ race: HedgeRace, delay: Int64?) -> Task<Void, Never>? {
        guard #available(macOS 26, macCatalyst 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return nil }
        defer { if let delay, race.age >= delay { firstStepWasLate() } }
        return Task.immediate(executorPreference: race.start.executor) { @concurrent in
            race.firstBegins()
            await race.run(0, .none)
            race.firstEnds()
        }
    }

    /// Waits until the call's end is certain, and all copies but the first have ended; begins hedges meanwhile.
    /// - Parameter first: The first copy, if it has begun.
    private nonisolated(nonsending) func hedge(
        _ race: HedgeRace, beside first: Task<Void, Never>?, _ call: inout PolicyCall
    ) async {
        var copy = first == nil ? 0 : await nextHedge(of: race, beside: first, &call)
        // Most calls have no hedge, and need no task group.
        guard copy != nil else { return race.cancelFirst() }
        await withDiscardingTaskGroup { group in
            while let number = copy {
                group.addTask(executorPreference: race.start.executor) {
                    await race.run(number, number == 0 ? .none : .usual)
                }
                copy = await nextHedge(of: race, beside: first, &call)
            }
            group.cancelAll()
            race.cancelFirst()
        }
    }

    /// Waits until a hedge is due.
    /// - Returns: The number of the hedge that begins; nil if the call's end is certain, or the task is cancelled.
    private nonisolated(nonsending) func nextHedge(
        of race: HedgeRace, beside first: Task<Void, Never>?, _ call: inout PolicyCall
    ) async -> Int? {
        while true {
            call.reading = nil
            let (step, waiter) = next(of: race, &call, isCancelled: Task.isCancelled)
            switch step {
            case .begin(let hedge): return hedge
            case .wait(let instant):
                // The first copy is not a child of the caller, but has its priority.
                let wake = await waiter.wait(until: instant, on: call.timeBase) { first?.raise(to: $0) }
                if wake == .cancelled {
                    // All copies are also cancelled.
                    race.mayBeginNoMore()
                    return nil
                }
            case .end: return nil
            }
        }
    }

    /// The next step of a race, which pays for the hedge that begins.
    func next(of race: HedgeRace, _ call: inout PolicyCall, isCancelled: Bool) -> (SteppedRaceStep, PolicyWaiter) {
        let budget = race.start.terms.budget
        while true {
            let (step, waiter) = race.next(at: call.now)
            switch step {
            case .begin:
                guard !isCancelled, budget.withdraw(.usual, &call) else {
                    if !isCancelled { tell(.budgetExhausted, &call) }
                    race.mayBeginNoMore()
                    break
                }
                guard let hedge = race.began(at: call.now) else {
                    budget.giveBack(.usual)
                    break
                }
                tell(.hedged(hedge, after: race.start.began.duration(to: call.now)), &call)
                return (.begin(hedge), waiter)
            case .wait(let instant): return (.wait(until: instant), waiter)
            case .end: return (.end, waiter)
            }
        }
    }

    private func tell(_ event: Event, _ call: inout PolicyCall) {
        call.emit(event, from: name, to: lazyObservers.known)
    }
}

// MARK: Without tasks

extension Hedge {
    package func steppedRace(_ call: inout PolicyCall, inside inner: PipelineCore) -> any SteppedRace {
        let (race, _, _) = begin(&call, inside: inner, { _, _ in throw CancellationError() }, losing: { _, _ in })
        return Stepped(self, race)
    }

    private final class Stepped: SteppedRace {
        private let hedge: Hedge
        private let race: HedgeRace
        private var hasBegun = false

        init(_ hedge: Hedge, _ race: HedgeRace) { (self.hedge, self.race) = (hedge, race) }

        var isDecided: Bool { race.isDecided }

        func next(_ call: inout PolicyCall, isCancelled: Bool) -> SteppedRaceStep {
            guard hasBegun else {
                hasBegun = true
                return .begin(0)
            }
            return hedge.next(of: race, &call, isCancelled: isCancelled).0
        }

        private func withdrawal(_ copy: Int) -> Withdrawal { copy == 0 ? .none : .usual }

        func begin(_ copy: Int) -> PolicyCall { race.begin(withdrawal(copy)) }

        func ended(
            _ copy: Int, _ verdict: Verdict, _ error: (any Error)?, hasRun: Bool, isCancelled: Bool,
            _ call: inout PolicyCall
        ) {
            let result: Result<CopyResult, any Error> = error.map { .failure($0) } ?? .success(CopyResult(0))
            race.ended(
                copy, result, verdict, hasRun: hasRun, withdrawal(copy), isCancelled: isCancelled, &call)
        }

        func end(_ call: inout PolicyCall, isCancelled: Bool) -> (Verdict, (any Error)?) {
            do { return (try hedge.end(race, &call, isCancelled: isCancelled).1, nil) } catch {
                return (call.settled ?? race.start.inner.classifier.verdict(for: error), error)
            }
        }
    }
}
