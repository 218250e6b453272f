extension Pipeline {
    /// Runs an operation through the policies until its result is a success, and stays inside the policies until the
    /// work behind the result has ended: a response body, a stream, a connection.
    ///
    /// ```swift
    /// let download = try await pipeline.open(
    ///     judging: { $0.verdict }
    /// ) { attempt in
    ///     try await client.download(from: url, timeout: attempt.remaining())
    /// } holding: { download, permit in
    ///     download.held(by: permit)               // completes the permit when the download has ended
    /// }
    /// ```
    ///
    /// Until then it works like `run`: a result that means failure, or an error, ends the attempt, and the policies may
    /// try again. If no attempt succeeds, the last result is returned, or the last error is thrown, and there is no
    /// permit: the call has ended.
    ///
    /// A success does not end the call. The call keeps its place in a ``Bulkhead``. When the permit is completed or
    /// dropped, a ``CircuitBreaker`` and the observers learn how the call ended. The operation is not repeated any
    /// more.
    ///
    /// The operation must end itself at its deadline: the call's deadline, or an earlier one of a ``ClientTimeout``. An
    /// error at the call's deadline or later becomes ``TimedOut``. So a call with a deadline costs no child task. A
    /// ``Timeout`` in the pipeline cancels the operation until there is a result, but not after. The permit's
    /// ``PipelinePermit/deadline`` is the operation's deadline.
    ///
    /// - Parameters:
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns what a result means. It is called once for each attempt that returns. By default each result
    ///     is a success.
    ///   - judgeError: Returns the verdict of an error that the operation or an around policy threw; nil, the default,
    ///     leaves it to the pipeline's classifier. It is not called for a ``Rejection``.
    ///   - operation: The operation, which is given its attempt. It runs in the caller's isolation.
    ///   - hold: Receives the successful result and the permit, and returns the result for the caller.
    /// - Returns: The result of `hold`, or of the operation's last attempt if it means failure.
    /// - Throws: The error of the operation's last attempt, or an error of a policy or of the pipeline: see
    ///   <doc:ErrorsGuide>.
    public nonisolated(nonsending) func open<R>(
        options: RunOptions = RunOptions(), judging judge: (R) -> Verdict = { _ in .success },
        judgingErrors judgeError: (any Error) -> Verdict? = { _ in nil },
        _ operation: nonisolated(nonsending) (CallAttempt) async throws -> R,
        holding hold: (R, consuming PipelinePermit) -> R
    ) async throws -> R {
        try await open(
            options: options, judging: judge, judgingErrors: judgeError, describing: { _ in nil }, operation,
            holding: hold)
    }

    /// Opens a call for a caller that can add to an error's description, such as the host.
    /// - Parameter describe: Returns the failure of the operation; nil for the error's own description. It is called
    ///   only if the call has an observer.
    package nonisolated(nonsending) func open<R>(
        options: RunOptions, judging judge: (R) -> Verdict, judgingErrors judgeError: (any Error) -> Verdict?,
        describing describe: (any Error) -> FailureDetail?,
        _ operation: nonisolated(nonsending) (CallAttempt) async throws -> R,
        holding hold: (R, consuming PipelinePermit) -> R
    ) async throws -> R {
        try await core.open(
            options, in: core, judgingErrors: judgeError, describing: describe,
            { call, _ in
                try await call.attempt(judging: judge, judgingErrors: judgeError) {
                    try await operation(CallAttempt($0))
                }
            }, holding: hold)
    }
}

extension PipelineCore {
    /// Drives a call through the policies, and keeps it inside of them after a success.
    /// - Parameters:
    ///   - whole: The core of the pipeline whose outermost policies these are; the permit is that pipeline's.
    ///   - judgeError: As for ``Pipeline/open(options:judging:judgingErrors:_:holding:)``.
    ///   - describe: Returns the failure of the operation; nil for the error's own description.
    ///   - attempt: Runs an attempt, and returns its result and the result's meaning.
    ///   - hold: Receives the successful result and the permit.
    nonisolated(nonsending) func open<R>(
        _ options: RunOptions, in whole: PipelineCore, judgingErrors judgeError: (any Error) -> Verdict?,
        describing describe: (any Error) -> FailureDetail?,
        _ attempt: nonisolated(nonsending) (inout PolicyCall, inout Opening) async throws -> (R, Verdict),
        holding hold: (R, consuming PipelinePermit) -> R
    ) async throws -> R {
        var call = PolicyCall(self, options)
        var opening = Opening(CallRecord(of: &call))
        defer {
            call.endNotes()
            withExtendedLifetime(self) {}
        }
        let (began, deadline) = (call.now, call.deadline)
        let (result, verdict): (R, Verdict)
        do {
            try begin(&call)
            (result, verdict) = try await open(
                &call, &opening, judgingErrors: judgeError, describing: describe, attempt)
        } catch {
            call.reading = nil
            let error = late(error, &call, since: began, deadline)
            opening.record.ended(&call, error: error)
            throw error
        }
        guard let attempt = opening.attempt else {
            opening.record.ended(&call, verdict)
            return result
        }
        let permit = PipelinePermit(
            whole, options, opening.allSlots, opening.record, attempt: attempt.number, account: call.account,
            notes: call.notes, deadline: attempt.deadline)
        return hold(result, permit)
    }

    /// Drives a call through the policies as ``open(_:in:judgingErrors:describing:_:holding:)`` does, and makes no
    /// permit.
    /// - Returns: The latest result, and its meaning for outer policies.
    nonisolated(nonsending) func open<R>(
        _ call: inout PolicyCall, _ opening: inout Opening, judgingErrors judgeError: (any Error) -> Verdict?,
        describing describe: (any Error) -> FailureDetail?,
        _ attempt: nonisolated(nonsending) (inout PolicyCall, inout Opening) async throws -> (R, Verdict)
    ) async throws -> (R, Verdict) {
        var latest: R?
        var lastError: (any Error)?
        let verdict = try await outermost.open(&call, &opening, judgingErrors: judgeError) { call, opening in
            // The latest result is not dropped earlier: it is returned if this attempt is rejected before it begins. It
            // is not kept longer, since it may hold a connection.
            latest = nil
            opening.record.attemptBegins(&call)
            do {
                let (returned, verdict) = try await attempt(&call, &opening)
                call.reading = nil
                latest = returned
                opening.ended(&call, verdict, result: returned)
                return verdict
            } catch {
                call.reading = nil
                lastError = error
                opening.record.attemptEnded(&call, error: error, describing: describe)
                throw error
            }
        }
        guard let latest else { throw lastError ?? insideWasLost() }
        return (latest, verdict)
    }
}

extension PolicyCall {
    /// Runs an operation once.
    /// - Returns: Its result and verdict. If it throws, the error's verdict is ``settled``.
    nonisolated(nonsending) mutating func attempt<R>(
        judging judge: (R) -> Verdict, judgingErrors judgeError: (any Error) -> Verdict?,
        _ operation: nonisolated(nonsending) (inout PolicyCall) async throws -> R
    ) async throws -> (R, Verdict) {
        let result: R
        do {
            result = try await operation(&self)
        } catch {
            settled = verdict(for: error, judgeError)
            throw error
        }
        return (result, judge(result))
    }
}

/// A call that stays inside of its policies after its operation succeeded.
struct Opening {
    /// The attempt that succeeded.
    struct Attempt {
        let number: Int
        let deadline: MonotonicInstant
    }

    /// The policies that a hedge's winning copy is still inside of; they are not in the call's own core.
    struct Inside {
        let core: PipelineCore
        let slots: [PolicySlot]
        /// The deadline that the copy was given.
        let deadline: MonotonicInstant
    }

    var record: CallRecord
    /// nil until an attempt succeeds.
    private(set) var attempt: Attempt?
    var inside: Inside?
    /// The slots of the policies that the call is still inside of: those of ``segment`` and all inner segments.
    private(set) var slots: [PolicySlot] = []
    private var segment: PipelineSegment?

    init(_ record: CallRecord) { self.record = record }

    /// The slots of all policies, with the hedge's empty slot between the two halves.
    var allSlots: [PolicySlot] { inside.map { slots + [PolicySlot()] + $0.slots } ?? slots }

    mutating func ended<R>(_ call: inout PolicyCall, _ verdict: Verdict, result: R) {
        if verdict.kind == .success {
            attempt = Attempt(number: call.attempt, deadline: inside?.deadline ?? call.deadline)
        } else {
            record.attemptEnded(&call, verdict, result: result)
        }
    }

    /// The call also stays inside of this segment's policies.
    mutating func stay(in segment: PipelineSegment, _ frame: inout Frame) {
        slots.insert(contentsOf: (0..<segment.count).map { frame.withSlot($0) { $0 } }, at: 0)
        self.segment = segment
    }

    /// An outer policy did not pass on the result: the attempt has ended after all.
    mutating func lose(_ call: inout PolicyCall, _ outcome: PolicyOutcome) {
        guard let lost = attempt.take() else { return }
        // The lost attempt's policies restore the deadline of their own call. That deadline may differ from this
        // call's, and so may the attempt's number.
        let (deadline, number) = (call.deadline, call.attempt)
        defer { (call.deadline, call.attempt) = (deadline, number) }
        call.attempt = lost.number
        call.reading = nil
        record.attemptEnded(&call, outcome.verdict, error: outcome.error)
        var outcome = outcome
        if let inside = inside.take() { outcome = inside.core.outermost.exitAll(&call, inside.slots, outcome) }
        segment?.exitAll(&call, slots, outcome)
        segment = nil
        slots = []
    }
}

extension PipelineSegment {
    /// Drives a call through this segment and all inside of it, as `drive` does, but exits no policy after a success.
    nonisolated(nonsending) func open(
        _ call: inout PolicyCall, _ opening: inout Opening, judgingErrors judgeError: (any Error) -> Verdict?,
        _ innermost: nonisolated(nonsending) (inout PolicyCall, inout Opening) async throws -> Verdict
    ) async throws -> Verdict {
        var frame = Frame()
        // The verdict of the latest result.
        var last: Verdict?
        var step = walkIn(&call, &frame)
        while true {
            switch step {
            case .operation:
                let verdict: Verdict
                do {
                    verdict = try await goOn(&call, &opening, judgeError, innermost)
                } catch {
                    call.reading = nil
                    step = threw(error, &call, &frame, isEndedByClient: true)
                    continue
                }
                call.reading = nil
                if opening.attempt != nil {
                    opening.stay(in: self, &frame)
                    return verdict
                }
                step = returned(verdict, &call, &frame)
                last = verdict
            case .wait:
                step = await wait(&call, &frame)
            case .done:
                guard let last else { preconditionFailure("done without a result") }
                return last
            case .failed:
                guard case .failure(let error) = frame.trouble else { preconditionFailure("failed without an error") }
                throw error
            }
        }
    }

    /// Runs the inside of this segment.
    private nonisolated(nonsending) func goOn(
        _ call: inout PolicyCall, _ opening: inout Opening, _ judgeError: (any Error) -> Verdict?,
        _ innermost: nonisolated(nonsending) (inout PolicyCall, inout Opening) async throws -> Verdict
    ) async throws -> Verdict {
        guard let inner else { return try await innermost(&call, &opening) }
        guard let around else {
            return try await inner.open(&call, &opening, judgingErrors: judgeError, innermost)
        }
        let (core, options, attempt, notes) = (call.core, call.options, call.attempt, call.sharedNotes)
        let account = call.account
        var settled: Verdict?
        var told = account
        defer { call.account = told }
        do {
            let verdict = try await around.around(&call, isolation: #isolation) { deadline in
                try await CallDeadline.narrowing(to: deadline, on: core.timeBase) {
                    var call = PolicyCall(core, options, attempt: attempt, deadline: deadline)
                    call.goOn(noting: notes)
                    call.account = account
                    // If the policy runs its inside again, the previous run has ended.
                    opening.lose(&call, PolicyOutcome(.cancelled))
                    defer {
                        (settled, told) = (call.settled, call.account)
                        call.endNotes()
                    }
                    return try await inner.open(&call, &opening, judgingErrors: judgeError, innermost)
                }
            }
            if verdict.kind != .success { opening.lose(&call, PolicyOutcome(verdict)) }
            return verdict
        } catch {
            // An inner policy may have ended the call as if it had been cancelled.
            let isAsCancelled = error is CancellationError && settled?.kind == .cancelled
            let verdict = isAsCancelled ? .cancelled : call.verdict(for: error, judgeError)
            opening.lose(&call, PolicyOutcome(verdict, error: error))
            call.settled = verdict
            throw error
        }
    }
}

extension PolicyCall {
    fileprivate mutating func verdict(for error: any Error, _ judge: (any Error) -> Verdict?) -> Verdict {
        reading = nil
        if Task.isCancelled { return .cancelled }
        guard !(error is any Rejection), !(error is InjectedFault) else { return core.classifier.verdict(for: error) }
        return judge(error) ?? core.classifier.verdict(for: error)
    }
}
