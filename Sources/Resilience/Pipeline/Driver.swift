/// The driver: walks a call through a segment's policies, and does all their waiting.
extension Segment {
    /// Enters the policies from `frame.next` on, until one stops the call, or all have admitted it.
    @inlinable func walkIn(_ call: inout PolicyCall, _ frame: inout Frame) -> Step {
        var index = frame.next
        while index < count {
            switch frame.withSlot(index, { enter(at: index, &call, &$0) }) {
            case .proceed:
                index += 1
            case .reject(let error):
                return rejected(error, at: index, &call, &frame)
            case .fail(let error):
                frame.open = index
                return failed(error, &call, &frame)
            case .cancel:
                frame.open = index
                return walkOut(&call, &frame, PolicyOutcome(.cancelled, error: CancellationError()))
            case .sleep(let deadline):
                return frame.wait(nil, until: deadline, next: index, open: index + 1, after: frame.last)
            case .park(let waiter, let deadline):
                return frame.wait(waiter, until: deadline, next: index, open: index + 1, after: frame.last)
            }
        }
        frame.open = index
        return .operation
    }

    @usableFromInline func rejected(
        _ error: consuming any Error, at index: Int, _ call: inout PolicyCall, _ frame: inout Frame
    ) -> Step {
        frame.open = index
        let rejection = PolicyOutcome(.rejected, error: error)
        return walkOut(&call, &frame, frame.rounds == 0 ? rejection : frame.leave(index, with: rejection))
    }

    /// Exits each policy that is owed an exit, innermost first, until one asks for another round.
    @inlinable func walkOut(_ call: inout PolicyCall, _ frame: inout Frame, _ outcome: PolicyOutcome) -> Step {
        var index = frame.open
        while index > 0 {
            index -= 1
            switch frame.withSlot(index, { exit(at: index, &call, &$0, outcome) }) {
            case .pass:
                if frame.rounds == 0 { continue }
                frame.open = index
                return walkOut(&call, &frame, frame.leave(index, with: outcome))
            case .again(let instant):
                return frame.goRound(at: instant, from: index, after: outcome)
            case .replace(let error, let verdict):
                frame.open = index
                _ = frame.leave(index, with: outcome)
                return walkOut(&call, &frame, PolicyOutcome(verdict, error: error))
            }
        }
        frame.open = 0
        guard let error = outcome.error else { return .done }
        call.settled = outcome.verdict
        frame.trouble = .failure(error)
        return .failed
    }

    @inlinable func returned(_ verdict: Verdict, _ call: inout PolicyCall, _ frame: inout Frame) -> Step {
        verdict.kind == .success ? walkOut(&call, &frame, .success) : returnedFailure(verdict, &call, &frame)
    }

    @usableFromInline func returnedFailure(
        _ verdict: Verdict, _ call: inout PolicyCall, _ frame: inout Frame
    ) -> Step {
        // After a cancellation the verdict is `.cancelled`, so that no policy asks for another attempt. The call
        // returns this result unchanged.
        walkOut(&call, &frame, PolicyOutcome(call.isCancelled ? .cancelled : verdict))
    }

    /// A policy ended the attempt in place of the operation.
    @usableFromInline func failed(_ error: any Error, _ call: inout PolicyCall, _ frame: inout Frame) -> Step {
        let verdict = call.isCancelled ? .cancelled : call.core.classifier.verdict(for: error)
        call.failed(verdict) { FailureDetail(of: error) }
        return walkOut(&call, &frame, PolicyOutcome(verdict, error: error))
    }

    @usableFromInline func threw(
        _ error: any Error, _ call: inout PolicyCall, _ record: inout CallRecord, _ frame: inout Frame
    ) -> Step {
        call.reading = nil
        record.attemptEnded(&call, error: error)
        return threw(error, &call, &frame, isEndedByClient: call.core.isEndedByClient)
    }

    /// - Parameter isEndedByClient: Whether only the operation's client ends the operation at the caller's deadline.
    func threw(
        _ error: any Error, _ call: inout PolicyCall, _ frame: inout Frame, isEndedByClient: Bool
    ) -> Step {
        let settled = call.settled.take()
        let verdict = call.isCancelled ? .cancelled : settled ?? call.core.classifier.verdict(for: error)
        // The attempt's own failure has been noted, unless an around policy ended it.
        if call.failure == nil { call.failed(verdict) { FailureDetail(of: error) } }
        // The policies get the same verdict as if the deadline had cancelled the operation.
        let isCutOff = isEndedByClient && verdict.kind != .throttled && verdict.kind != .rejected && call.hasNoTimeLeft
        return walkOut(&call, &frame, PolicyOutcome(isCutOff ? .cancelled : verdict, error: error))
    }

    /// Waits as the frame says, then goes on.
    @usableFromInline nonisolated(nonsending) func wait(_ call: inout PolicyCall, _ frame: inout Frame) async -> Step {
        let began = waitBegins(&call)
        let wait = frame.wait(of: call)
        return waitEnded(await wait.waiter.wait(until: wait.ends, on: call.timeBase), since: began, &call, &frame)
    }

    /// - Returns: The present time, if the call is watched.
    func waitBegins(_ call: inout PolicyCall) -> MonotonicInstant? {
        // The wait is between two rounds: after it, another attempt begins.
        if call.account.isTold { call.account = AttemptAccount() }
        let began = call.isWatched ? call.now : nil
        call.notes?.goOn()
        return began
    }

    /// Enters the policies again after a wait; if the call was cancelled meanwhile, exits them instead.
    func waitEnded(
        _ wake: PolicyWaiter.Wake, since began: MonotonicInstant?, _ call: inout PolicyCall, _ frame: inout Frame
    ) -> Step {
        call.reading = nil
        if wake == .cancelled { call.noteCancelled() }
        if let began, began < call.now { call.sharedNotes?.add(began.duration(to: call.now), of: name(at: frame.next)) }
        guard call.isCancelled || wake == .cancelled else {
            let step = walkIn(&call, &frame)
            // The call may be late, because it was woken late or came late: no attempt begins at the deadline or later.
            guard step == .operation, call.isOver else { return step }
            return walkOut(&call, &frame, PolicyOutcome(.rejected, error: DeadlinePassed()))
        }
        // If an outer timeout cancelled the wait, it learns from this error that no attempt has begun.
        let error: any Error =
            frame.last.map { CancelledWhileWaiting(lastError: $0.error, lastVerdict: $0.verdict) }
            ?? (call.isOver ? DeadlinePassed() as any Error : CancellationError())
        let outcome = PolicyOutcome(.cancelled, error: error)
        // If `next` equals `open`, the wait was between two rounds of the policy at `next`. That policy is owed no
        // exit, but is told that the next round does not come.
        let next = frame.next
        guard next == frame.open else { return walkOut(&call, &frame, outcome) }
        frame.withSlot(next) { abandon(at: next, &call, &$0) }
        return walkOut(&call, &frame, frame.leave(next, with: outcome))
    }

    /// Enters the policies, waits if they say so, and stays inside: for a ``PolicyPermit``, which exits on its report.
    nonisolated(nonsending) func enter(_ call: inout PolicyCall, _ frame: inout Frame) async throws {
        var step = walkIn(&call, &frame)
        while step == .wait { step = await wait(&call, &frame) }
        if case .failure(let error) = frame.trouble { throw error }
    }

    /// Enters the policies, calls `body` in the caller's isolation, exits the policies, and does all the waiting in
    /// between.
    ///
    /// The call is passed `inout`, here and below: it can't be copied, and reading its time changes it.
    /// - Parameter record: Notes the attempts, if the body is the operation.
    @_alwaysEmitIntoClient @inline(__always) nonisolated(nonsending) func drive<R>(
        _ call: inout PolicyCall, _ record: inout CallRecord, judging judge: (R) -> Verdict,
        _ body: nonisolated(nonsending) (inout PolicyCall) async throws -> R
    ) async throws -> R {
        var frame = Frame()
        // The operation's latest result, for a call that continues after it.
        var last: R?
        var step = walkIn(&call, &frame)
        while true {
            switch step {
            case .operation:
                let result: R
                record.attemptBegins(&call)
                do {
                    result = try await body(&call)
                } catch {
                    step = threw(error, &call, &record, &frame)
                    continue
                }
                call.reading = nil
                // `judge` is user code: call it only once for each attempt.
                let verdict = judge(result)
                if record.isWatched { record.attemptEnded(&call, verdict, result: result) }
                step = returned(verdict, &call, &frame)
                if step == .done { return result }
                last = result
            case .wait:
                step = await wait(&call, &frame)
            case .done:
                // A further attempt was rejected: the call ends with the result of the attempt before it.
                if let last { return last }
                preconditionFailure("done without a result")
            case .failed:
                throw frame.takeError()
            }
        }
    }
}
