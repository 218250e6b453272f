/// An admission to a whole pipeline, for work that is not a closure: a stream, a connection, a callback.
///
/// ```swift
/// let permit = try await pipeline.acquire()
/// upload.onEnd = { error in
///     permits.take()?.complete(error == nil ? .success : .transient)
/// }
/// ```
///
/// Report once how the work ended; the report consumes the permit. A permit that is dropped without a report counts as
/// cancelled.
///
/// The work is one attempt. So a ``Retry`` retries nothing and only uses its budget, and an around policy such as
/// ``Timeout`` does not guard the work: end it yourself, at ``deadline`` at the latest. To retry until the work has
/// begun, take the permit from ``Pipeline/open(options:judging:judgingErrors:_:holding:)``.
public struct PipelinePermit: ~Copyable, Sendable {
    private let core: PipelineCore
    private let options: RunOptions
    private let slots: [PolicySlot]
    private let record: CallRecord
    private let attempt: Int
    private let account: AttemptAccount
    private let notes: CallNotes?
    /// The instant at which the work must have ended, set by the caller, a travelling deadline or client timeouts;
    /// ``MonotonicInstant/distantFuture`` if there is none.
    public let deadline: MonotonicInstant
    private var outcome = PolicyOutcome(.cancelled)
    private var failure: FailureDetail?

    /// Creates a permit for a call that is inside of all policies.
    /// - Parameters:
    ///   - slots: A slot for each policy that is not an around policy, outermost first.
    ///   - record: The record of the call so far.
    ///   - attempt: The number of the attempt that the work belongs to.
    ///   - account: The payment for that attempt.
    ///   - notes: The notes on the call so far.
    init(
        _ core: PipelineCore, _ options: RunOptions, _ slots: [PolicySlot], _ record: CallRecord, attempt: Int,
        account: AttemptAccount, notes: CallNotes?, deadline: MonotonicInstant
    ) {
        self.core = core
        self.options = options
        self.slots = slots
        self.record = record
        self.attempt = attempt
        self.account = account
        self.notes = notes
        self.deadline = deadline
    }

    /// Reports how the work ended.
    ///
    /// - Parameters:
    ///   - verdict: The meaning of the work's end.
    ///   - error: The error that the work ended with. nil, the default, if there is none.
    ///   - failure: The failure that is reported to observers. nil, the default, for the error's own description.
    public consuming func complete(_ verdict: Verdict, error: (any Error)? = nil, failure: FailureDetail? = nil) {
        outcome = PolicyOutcome(verdict, error: error)
        self.failure = failure
    }

    /// Reports that the work ended with an error, whose verdict comes from the pipeline's classifier.
    ///
    /// - Parameter error: The error.
    public consuming func complete(throwing error: any Error) {
        outcome = PolicyOutcome(core.classifier.verdict(for: error), error: error)
    }

    deinit {
        var call = PolicyCall(core, options, attempt: attempt, deadline: deadline)
        call.account = account
        call.goOn(noting: notes)
        defer { call.endNotes() }
        call.isWatched = record.isWatched
        var record = record
        record.permitEnded(&call, outcome, failure)
        core.outermost.exitAll(&call, slots, outcome)
    }
}

extension Pipeline {
    /// Asks all policies for admission, outermost first, and waits if they say so.
    ///
    /// - Parameter options: The options of the work.
    /// - Returns: A permit; report once how the work ended.
    /// - Throws: The error of the policy that rejects the work; ``DeadlinePassed`` if the deadline comes first;
    ///   `CancellationError` if the task is cancelled.
    public nonisolated(nonsending) func acquire(options: RunOptions = RunOptions()) async throws -> PipelinePermit {
        let core = core
        var call = PolicyCall(core, options)
        var record = CallRecord(of: &call)
        defer {
            call.endNotes()
            withExtendedLifetime(core) {}
        }
        var slots: [PolicySlot] = []
        do {
            try core.begin(&call)
            try await core.outermost.enterAll(&call, &slots)
        } catch {
            record.ended(&call, error: error)
            throw error
        }
        record.attemptBegins(&call)
        return PipelinePermit(
            core, options, slots, record, attempt: options.firstAttempt, account: call.account,
            notes: call.notes, deadline: call.deadline)
    }
}

extension PipelineSegment {
    /// Enters the policies of this and all inner segments, and skips around policies.
    /// - Parameter slots: Receives the slots of all policies that were entered.
    fileprivate nonisolated(nonsending) func enterAll(
        _ call: inout PolicyCall, _ slots: inout [PolicySlot]
    ) async throws {
        for segment in self.all {
            var frame = Frame()
            do {
                try await segment.enter(&call, &frame)
            } catch {
                // The inner policies see the failure as if the segments were nested calls.
                throw exitAll(&call, slots, PolicyOutcome(call.settled.take() ?? .rejected, error: error)).error
                    ?? error
            }
            slots += (0..<segment.count).map { frame.withSlot($0) { $0 } }
        }
    }

    /// Exits the policies that have a slot, innermost first. No policy begins another round.
    /// - Returns: The outcome that leaves the outermost policy.
    @discardableResult
    func exitAll(_ call: inout PolicyCall, _ slots: [PolicySlot], _ outcome: PolicyOutcome) -> PolicyOutcome {
        let policies = all.flatMap { segment in (0..<segment.count).map { (segment, $0) } }
        var outcome = outcome
        let mayRepeat = call.mayRepeat
        call.mayRepeat = false
        defer { call.mayRepeat = mayRepeat }
        for ((segment, index), var slot) in zip(policies, slots).reversed() {
            switch segment.exit(at: index, &call, &slot, outcome) {
            case .pass: break
            case .again: segment.abandon(at: index, &call, &slot)
            case .replace(let error, let verdict): outcome = PolicyOutcome(verdict, error: error)
            }
        }
        return outcome
    }

    /// This segment and all inner ones.
    private var all: UnfoldFirstSequence<PipelineSegment> { sequence(first: self, next: \.inner) }
}
