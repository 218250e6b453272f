package import Resilience

extension Hedge: CopyingPolicy {
    package nonisolated(nonsending) func race(
        _ call: inout PolicyCall, inside inner: PipelineCore, _ walk: @escaping HedgeCopy.Run,
        losing lose: @escaping @Sendable (HedgeCopy.Result, inout PolicyCall) -> Void
    ) async throws -> (HedgeCopy.Result, Verdict) {
        let (terms, usualDelay) = begin()
        let (began, repetition) = (call.now, call.repetition)
        if repetition == .unsaid { noteUncopied(because: .unknownEffects, &call) }
        let delay = repetition == .harmless ? usualDelay : nil
        let race = HedgeRace(
            HedgeStateMachine(
                maxHedges: repetition == .never ? 0 : terms.settings.maxHedges, delay: delay,
                on: repetition.repeated(terms.settings.verdicts, namesUncertain: false),
                hasEffects: repetition != .harmless, deadline: call.deadline, at: began),
            HedgeRace.Start(
                hedge: self, terms: terms, inner: inner, options: call.options, attempt: call.attempt,
                deadline: call.deadline, isWatched: call.isWatched, account: call.account, walk: walk, lose: lose))
        let executor = inner.timeBase.executorForTasks
        let isHere = firstSteps.mayBeHere(in: #isolation, before: delay)
        let (first, isOver) = await withTaskCancellationHandler {
            let first = Self.begin(race, here: isHere, on: executor)
            if race.isDecided { return (first, true) }
            call.reading = nil
            if first != nil { firstSteps.took(began.duration(to: call.now), of: delay) }
            await hedge(race, beside: first, &call, since: began, on: executor)
            return (first, false)
        } onCancel: {
            // The task is kept until this can't be called any more.
            race.cancelFirst()
        }
        await first?.value
        call.reading = nil
        let outcome = race.takeOutcome()
        if isOver { firstSteps.took(began.duration(to: outcome.firstEnded), of: delay) }
        let kept = outcome.kept
        for wait in kept.waits { call.sharedNotes?.add(wait.duration, of: wait.policy) }
        if kept.verdict.kind == .success {
            // Calls that can't be repeated say nothing about those that can; a cancelled one says nothing at all.
            if outcome.firstLost || kept.copy == 0, repetition == .harmless, !Task.isCancelled {
                note(began.duration(to: outcome.firstEnded), isLost: outcome.firstLost)
            }
            if kept.copy > 0 { tell(.won(kept.copy, after: began.duration(to: outcome.time)), &call) }
        }
        // The call counts by its first copy, however that would have ended.
        if outcome.firstLost { terms.budget.failed(after: .none, mayPass: false, &call) }
        // The copies have told their ends: a retry that shares the budget has nothing to add.
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

    /// Begins the first copy on this thread, if it may and the system supports that. If it never suspends, it has ended when
    /// this returns.
    private static func begin(
        _ race: HedgeRace, here isHere: Bool, on executor: (any TaskExecutor)?
    ) -> Task<Void, Never>? {
        guard isHere, #available(macOS 26, macCatalyst 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
            return nil
        }
        return Task.immediate(executorPreference: executor) { @concurrent in
            race.firstBegins()
            await race.run(0, .none)
        }
    }

    /// Waits until the call's end is certain, and begins hedges meanwhile, and the first copy unless it has a task.
    private nonisolated(nonsending) func hedge(
        _ race: HedgeRace, beside first: Task<Void, Never>?, _ call: inout PolicyCall, since began: MonotonicInstant,
        on executor: (any TaskExecutor)?
    ) async {
        let budget = race.start.terms.budget
        await withDiscardingTaskGroup { group in
            if first == nil { group.addTask(executorPreference: executor) { await race.run(0, .none) } }
            while true {
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
                    tell(.hedged(hedge, after: began.duration(to: call.now)), &call)
                    group.addTask(executorPreference: executor) { await race.run(hedge, .usual) }
                case .wait(let instant):
                    // The first copy is no child of the caller, and has its priority all the same.
                    let wake = await waiter.wait(until: instant, on: call.timeBase) { first?.raise(to: $0) }
                    if wake == .cancelled {
                        // All copies are cancelled, too.
                        race.mayBeginNoMore()
                        return
                    }
                case .end:
                    race.cancelFirst()
                    return group.cancelAll()
                }
                call.reading = nil
            }
        }
    }

    private func tell(_ event: Event, _ call: inout PolicyCall) {
        call.emit(event, from: name, to: lazyObservers.known)
    }
}
