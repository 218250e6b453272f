package import Resilience

extension Hedge: CopyingPolicy {
    package nonisolated(nonsending) func race<R: Sendable>(
        _ call: inout PolicyCall, inside inner: PipelineCore, _ walk: @escaping HedgeCopy.Run<R>,
        losing lose: @escaping @Sendable (R, inout PolicyCall) -> Void
    ) async throws -> (R, Verdict) {
        let (terms, delay) = begin()
        let (began, deadline, options) = (call.now, call.deadline, call.options)
        let repetition = call.repetition
        if repetition == .unsaid { noteUncopied(because: .unknownEffects, &call) }
        let (attempt, isWatched, account) = (call.attempt, call.isWatched, call.account)
        let race = HedgeRace<R>(
            HedgeStateMachine(
                maxHedges: repetition == .never ? 0 : terms.settings.maxHedges,
                delay: repetition == .harmless ? delay : nil,
                on: repetition.repeated(terms.settings.verdicts, namesUncertain: false),
                hasEffects: repetition != .harmless,
                deadline: deadline, at: began))
        let executor = inner.timeBase.executorForTasks
        await withDiscardingTaskGroup { group in
            @Sendable func run(_ copy: Int, _ withdrawal: Withdrawal) async {
                // The call holds a reference to it that is not counted.
                defer { withExtendedLifetime(inner) {} }
                var call = PolicyCall(inner, options, attempt: attempt, deadline: deadline)
                call.isWatched = isWatched
                defer { call.endNotes() }
                call.account = account
                if copy > 0 { terms.budget.begins(after: withdrawal, &call) }
                var (verdict, hasRun) = (Verdict.success, false)
                let result: Result<R, any Error>
                do {
                    // All threads may have been busy since the copy was to begin.
                    if race.isDecided { throw CopyLost(policy: self.name) }
                    try Task.checkCancellation()
                    if call.isOver { throw DeadlinePassed() }
                    let (value, meaning) = try await walk(&call) {
                        guard !race.isDecided else { throw CopyLost(policy: self.name) }
                        hasRun = true
                        return HedgeCopy(number: copy, mayBeginNoMore: race.mayBeginNoMore)
                    }
                    (result, verdict) = (.success(value), meaning)
                } catch {
                    verdict = call.settled ?? inner.classifier.verdict(for: error)
                    result = .failure(error)
                    // A policy that stands for the operation, and fails, has run in its place; a timeout has not.
                    if !verdict.saysNothing, !(error is any TimeLimitError) { hasRun = true }
                }
                if verdict.kind != .success, Task.isCancelled || race.isDecided { verdict = .cancelled }
                call.reading = nil
                let counts = race.ended(
                    HedgeRace.Ending(
                        copy: copy, result: result, verdict: verdict, waits: call.notes?.waits ?? [], hasRun: hasRun),
                    at: call.now)
                if !counts, case .success(let value) = result { lose(value, &call) }
                if !hasRun || counts && verdict.kind == .rejected {
                    // It never reached the other side.
                    if withdrawal != .none { terms.budget.giveBack(withdrawal) }
                } else if counts {
                    terms.report(verdict, after: withdrawal, &call)
                }
            }
            group.addTask(executorPreference: executor) { await run(0, .none) }
            while true {
                call.reading = nil
                let (step, waiter) = race.next(at: call.now)
                switch step {
                case .begin:
                    guard !Task.isCancelled, terms.budget.withdraw(.usual, &call) else {
                        if !Task.isCancelled { tell(.budgetExhausted, &call) }
                        race.mayBeginNoMore()
                        continue
                    }
                    guard let hedge = race.began(at: call.now) else {
                        terms.budget.giveBack(.usual)
                        continue
                    }
                    tell(.hedged(hedge, after: began.duration(to: call.now)), &call)
                    group.addTask(executorPreference: executor) { await run(hedge, .usual) }
                    continue
                case .wait(let instant):
                    if await waiter.wait(until: instant, on: inner.timeBase) != .cancelled { continue }
                    // The copies are cancelled, too, and their ends are waited for below.
                    race.mayBeginNoMore()
                case .end:
                    break
                }
                group.cancelAll()
                return
            }
        }
        call.reading = nil
        let outcome = race.outcome
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

    private func tell(_ event: Event, _ call: inout PolicyCall) {
        call.emit(event, from: name, to: lazyObservers.known)
    }
}

extension HedgeTerms {
    /// Tells the budget how a copy ended.
    fileprivate func report(_ verdict: Verdict, after withdrawal: Withdrawal, _ call: inout PolicyCall) {
        switch verdict.kind {
        case .success: budget.succeeded(after: withdrawal, &call)
        case .cancelled, .rejected: break
        case .transient, .throttled, .uncertain, .permanent:
            budget.failed(after: withdrawal, mayPass: settings.verdicts.contains(verdict), &call)
        }
    }
}
