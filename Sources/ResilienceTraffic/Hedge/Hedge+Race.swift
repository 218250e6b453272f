package import Resilience

extension Hedge: CopyingPolicy {
    package nonisolated(nonsending) func race(
        _ call: inout PolicyCall, inside inner: PipelineCore, _ walk: @escaping HedgeCopy.Run,
        losing lose: @escaping @Sendable (CopyResult, inout PolicyCall) -> Void
    ) async throws -> (CopyResult, Verdict) {
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
        call.reading = nil
        let outcome = race.takeOutcome()
        let kept = outcome.kept
        for wait in kept.waits { call.sharedNotes?.add(wait.duration, of: wait.policy) }
        if kept.verdict.kind == .success {
            // Latencies of calls that can't be repeated show nothing about calls that can. A cancelled call shows
            // nothing.
            if outcome.firstLost || kept.copy == 0, repetition == .harmless, !Task.isCancelled {
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
        let budget = race.start.terms.budget
        while true {
            call.reading = nil
            let (step, waiter) = race.next(at: call.now)
            switch step {
            case .begin:
                guard !Task.isCancelled, budget.withdraw(.usual, &call) else {
                    if !Task.isCancelled { tell(.budgetExhausted, &call) }
                    race.mayBeginNoMore()
                    break
                }
                guard let hedge = race.began(at: call.now) else {
                    budget.giveBack(.usual)
                    break
                }
                tell(.hedged(hedge, after: race.start.began.duration(to: call.now)), &call)
                return hedge
            case .wait(let instant):
                // The first copy is not a child of the caller, but has its priority.
                let wake = await waiter.wait(until: instant, on: call.timeBase) { first?.raise(to: $0) }
                if wake == .cancelled {
                    // All copies are also cancelled.
                    race.mayBeginNoMore()
                    return nil
                }
            case .end:
                return nil
            }
        }
    }

    private func tell(_ event: Event, _ call: inout PolicyCall) {
        call.emit(event, from: name, to: lazyObservers.known)
    }
}
