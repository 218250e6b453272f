/// The only place that waits.
extension Segment {
    /// Walks in from where the call stands.
    @inlinable func walkIn(_ call: inout PolicyCall, _ frame: inout Frame) -> Step {
        var index = frame.next
        while index < count {
            switch frame.withSlot(index, { enter(at: index, &call, &$0) }) {
            case .proceed:
                index += 1
            case .refuse(let error):
                frame.open = index
                let refusal = PolicyOutcome(.rejected, error: error)
                return walkOut(&call, &frame, frame.rounds == 0 ? refusal : frame.leave(index, with: refusal))
            case .sleep(let deadline):
                return frame.wait(nil, until: deadline, next: index, open: index + 1, after: frame.last)
            case .park(let waiter, let deadline):
                return frame.wait(waiter, until: deadline, next: index, open: index + 1, after: frame.last)
            }
        }
        frame.open = index
        return .operation
    }

    /// Walks out of every policy that is owed an exit, or to the first that wants another round.
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
        call.reading = nil
        if case .success = verdict { return walkOut(&call, &frame, .success) }
        // Nobody waits for a better result: what there is goes back as it is.
        return walkOut(&call, &frame, PolicyOutcome(Task.isCancelled ? .cancelled : verdict))
    }

    @usableFromInline func threw(_ error: any Error, _ call: inout PolicyCall, _ frame: inout Frame) -> Step {
        call.reading = nil
        let settled = call.settled.take()
        let verdict = Task.isCancelled ? .cancelled : settled ?? call.core.classifier.verdict(for: error)
        return walkOut(&call, &frame, PolicyOutcome(verdict, error: error))
    }

    /// Suspends as the frame says, then walks in again; or, if the task was cancelled meanwhile, walks out.
    @usableFromInline nonisolated(nonsending) func wait(_ call: inout PolicyCall, _ frame: inout Frame) async -> Step {
        guard case .wait(let wait) = frame.trouble else { preconditionFailure("a wait of nothing") }
        let wake = await wait.waiter.wait(until: wait.ends, on: call.timeBase)
        call.reading = nil
        guard wake == .cancelled || Task.isCancelled else {
            let step = walkIn(&call, &frame)
            // The wake, or what came before it, may have been late: no attempt begins after the deadline.
            guard step == .operation, call.isOver else { return step }
            return walkOut(&call, &frame, PolicyOutcome(.rejected, error: DeadlinePassed()))
        }
        let error: any Error =
            wait.last.map { CancelledWhileWaiting(lastError: $0.error, lastVerdict: $0.verdict) } ?? CancellationError()
        let outcome = PolicyOutcome(.cancelled, error: error)
        // The policy to be asked next is owed no exit: the wait was between two rounds of its own.
        let next = frame.next
        guard next == frame.open else { return walkOut(&call, &frame, outcome) }
        frame.withSlot(next) { abandon(at: next, &call, &$0) }
        return walkOut(&call, &frame, frame.leave(next, with: outcome))
    }

    /// Walks in and stays inside, however long that takes: for a ``PolicyPermit``, whose holder walks out.
    nonisolated(nonsending) func enter(_ call: inout PolicyCall, _ frame: inout Frame) async throws {
        var step = walkIn(&call, &frame)
        while step == .wait { step = await wait(&call, &frame) }
        if case .failure(let error) = frame.trouble { throw error }
    }

    /// The driver: walks in, calls `body` where the caller is, walks out, and does all the waiting in between.
    ///
    /// The call is passed on `inout`, here and below, for one reason: copying it would count references.
    @inlinable @inline(__always) nonisolated(nonsending) func drive<R>(
        _ call: inout PolicyCall, judging judge: (R) -> Verdict,
        _ body: nonisolated(nonsending) (inout PolicyCall) async throws -> R
    ) async throws -> R {
        var frame = Frame()
        // What the operation returned, if that is not the end of it.
        var last: R?
        var step = walkIn(&call, &frame)
        while true {
            switch step {
            case .operation:
                let result: R
                do {
                    result = try await body(&call)
                } catch {
                    step = threw(error, &call, &frame)
                    continue
                }
                step = returned(judge(result), &call, &frame)
                if step == .done { return result }
                last = result
            case .wait:
                step = await wait(&call, &frame)
            case .done:
                // The call was refused after this.
                if let last { return last }
                preconditionFailure("done without a result")
            case .failed:
                guard case .failure(let error) = frame.trouble else { preconditionFailure("failed without an error") }
                throw error
            }
        }
    }
}
