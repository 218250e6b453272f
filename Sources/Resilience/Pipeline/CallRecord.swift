/// Counts the attempts of a call, and measures how long they and the call take, for the pipeline's observers.
@frozen @usableFromInline struct CallRecord: Sendable {
    /// The number of times that the operation has begun.
    @usableFromInline var attempts = 0
    /// Whether the call had an observer when it began. If not, nothing was noted: later observers see only later calls.
    @usableFromInline let isWatched: Bool
    @usableFromInline var began = MonotonicInstant.distantPast
    @usableFromInline var attemptBegan = MonotonicInstant.distantPast
    /// The verdict of the latest result.
    @usableFromInline var verdict = Verdict.success

    /// An empty record, which notes nothing.
    @inlinable init() { isWatched = false }

    /// The call begins.
    @inlinable init(of call: inout PolicyCall) {
        isWatched = call.isObserved()
        if isWatched { begin(&call) }
    }

    @usableFromInline mutating func begin(_ call: inout PolicyCall) {
        call.isWatched = true
        began = call.now
    }

    /// The operation begins.
    @inlinable mutating func attemptBegins(_ call: inout PolicyCall) {
        attempts += 1
        if isWatched { noteAttempt(&call) }
    }

    @usableFromInline mutating func noteAttempt(_ call: inout PolicyCall) {
        call.notes?.goOn()
        attemptBegan = call.now
    }

    /// The operation has returned.
    @inlinable mutating func attemptEnded<R>(_ call: inout PolicyCall, _ verdict: Verdict, result: R) {
        if verdict.kind != .success { note(verdict, of: result, in: &call) }
        attemptEnded(&call, verdict)
    }

    @usableFromInline func note<R>(_ verdict: Verdict, of result: R, in call: inout PolicyCall) {
        if !Task.isCancelled { call.failed(verdict) { FailureDetail(ofResult: result) } }
    }

    /// The attempt has ended after its operation returned.
    mutating func attemptEnded(_ call: inout PolicyCall, _ verdict: Verdict, error: (any Error)?) {
        attemptEnded(&call, verdict, error: error, isCancelled: Task.isCancelled)
    }

    mutating func attemptEnded(
        _ call: inout PolicyCall, _ verdict: Verdict, error: (any Error)?, isCancelled: Bool
    ) {
        if !isCancelled { call.failed(verdict) { error.map { FailureDetail(of: $0) } } }
        attemptEnded(&call, verdict, isCancelled: verdict.kind != .success && isCancelled)
    }

    @usableFromInline mutating func attemptEnded(_ call: inout PolicyCall, _ verdict: Verdict) {
        attemptEnded(&call, verdict, isCancelled: verdict.kind != .success && Task.isCancelled)
    }

    private mutating func attemptEnded(_ call: inout PolicyCall, _ verdict: Verdict, isCancelled: Bool) {
        self.verdict = verdict
        guard isTold(of: verdict, .debug, call) else { return }
        let number = call.attempt
        tell(&call, since: attemptBegan, failure: { $0.failure }) { length in
            verdict.kind == .success
                ? .attemptSucceeded(number, took: length)
                : .attemptFailed(number, isCancelled ? .cancelled : verdict, took: length)
        }
    }

    @usableFromInline mutating func attemptEnded(_ call: inout PolicyCall, error: any Error) {
        if isWatched || !call.hasRun { attemptEnded(&call, error: error, describing: { _ in nil }) }
    }

    /// - Parameter describe: Returns the failure of the operation, if the caller knows more of it than the error says;
    ///   else nil.
    @usableFromInline mutating func attemptEnded(
        _ call: inout PolicyCall, error: any Error, describing describe: (any Error) -> FailureDetail?
    ) {
        attemptEnded(&call, error: error, isCancelled: Task.isCancelled, describing: describe)
    }

    mutating func attemptEnded(
        _ call: inout PolicyCall, error: any Error, isCancelled: Bool,
        describing describe: (any Error) -> FailureDetail? = { _ in nil }
    ) {
        guard call.hasRun else {
            // The operation never began, so this was no attempt.
            attempts -= 1
            call.hasRun = true
            return
        }
        let verdict = call.settled ?? call.core.classifier.verdict(for: error)
        if !isCancelled { call.failed(verdict) { describe(error) ?? FailureDetail(of: error) } }
        attemptEnded(&call, verdict, isCancelled: verdict.kind != .success && isCancelled)
    }

    /// The call has ended with the latest result.
    @usableFromInline func ended(_ call: inout PolicyCall) {
        ended(&call, verdict, error: nil, isCancelled: verdict.kind != .success && Task.isCancelled)
        call.endNotes()
    }

    @usableFromInline func ended(_ call: inout PolicyCall, error: any Error) {
        ended(&call, call.settled ?? call.core.classifier.verdict(for: error), error: error)
        call.endNotes()
    }

    func ended(_ call: inout PolicyCall, _ verdict: Verdict, error: (any Error)? = nil) {
        ended(&call, verdict, error: error, isCancelled: Task.isCancelled)
    }

    private func ended(_ call: inout PolicyCall, _ verdict: Verdict, error: (any Error)?, isCancelled: Bool) {
        guard isTold(of: verdict, .info, call) else { return }
        let notes = call.notes
        let isOver = verdict.kind == .success || verdict.kind == .cancelled || isCancelled
        tell(&call, since: began, failure: { _ in isOver ? nil : failure(of: notes, error) }) { length in
            let waits = notes?.waits ?? []
            return switch verdict.kind {
            case .success: .succeeded(took: length, attempts: attempts, waits: waits)
            case _ where isCancelled, .cancelled: .cancelled(took: length, attempts: attempts, waits: waits)
            case .rejected where attempts == 0: .rejected(took: length, attempts: attempts, waits: waits)
            case .rejected, .transient, .throttled, .uncertain, .permanent:
                .failed(verdict, took: length, attempts: attempts, waits: waits)
            }
        }
    }

    /// The failure of the call: its time limit or rejection, otherwise the last attempt's failure.
    private func failure(of notes: CallNotes?, _ error: (any Error)?) -> FailureDetail? {
        if let error, attempts == 0 || error is any TimeLimitError { return FailureDetail(of: error) }
        return notes?.lastFailure ?? error.map { FailureDetail(of: $0) }
    }

    /// The work of a ``PipelinePermit`` has ended, which is the end of its one attempt and of the call.
    mutating func permitEnded(_ call: inout PolicyCall, _ outcome: PolicyOutcome, _ failure: FailureDetail?) {
        let verdict = outcome.verdict
        if verdict.kind != .success {
            call.failed(verdict) { failure ?? outcome.error.map { FailureDetail(of: $0) } }
        }
        // A task other than the call's may report, so it does not matter whether the reporting task is cancelled.
        attemptEnded(&call, verdict, isCancelled: false)
        ended(&call, verdict, error: outcome.error, isCancelled: false)
    }

    /// Returns whether an end has an observer. A success has the lowest severity: every call sends such events.
    /// - Parameter severity: The highest severity that the event of a failure can have.
    @inline(__always) private func isTold(
        of verdict: Verdict, _ severity: PolicyEventSeverity, _ call: borrowing PolicyCall
    ) -> Bool {
        guard isWatched else { return false }
        let severity = verdict.kind == .success ? .trace : severity
        return call.withCore { $0.isMetered || $0.observers.wantEnds(severity) }
    }

    private func tell(
        _ call: inout PolicyCall, since began: MonotonicInstant, failure: (borrowing PolicyCall) -> FailureDetail?,
        _ event: (_ took: Duration) -> Pipeline.Event
    ) {
        let event = event(began.duration(to: call.now))
        let severity = event.severity
        let isWanted = call.withCore { core in
            for meter in core.meters { meter.count(event) }
            return core.observers.wantEnds(severity)
        }
        guard isWanted else { return }
        let (now, failure) = (call.now, failure(call))
        call.withCore { core in
            core.observers.sendEnd(
                PolicyEvent(
                    policy: PolicyEvent.sourceOfEnds, pipeline: core.name, time: now, detail: event, failure: failure),
                severity)
        }
    }
}

extension PolicyCall {
    /// Notes the failure of the attempt, if the call has an observer.
    @inline(__always) mutating func failed(_ verdict: Verdict, with failure: () -> FailureDetail?) {
        guard isWatched, verdict.kind != .cancelled else { return }
        sharedNotes?.failed(with: failure())
    }
}

extension Pipeline {
    /// How an attempt or a whole call of a pipeline ended, and how long it took: for metrics and logs.
    ///
    /// A pipeline sends these events to its observers, in addition to the events of its policies. Their
    /// ``PolicyEvent/policy`` is "call", and their ``PolicyEvent/pipeline`` is the pipeline's name.
    public enum Event: PolicyEventDetail, Equatable {
        /// The attempt with this number succeeded, after this time.
        case attemptSucceeded(Int, took: Duration)
        /// The attempt with this number failed, after this time: the operation threw an error, or returned a result
        /// that means failure.
        ///
        /// The verdict is ``Verdict/cancelled`` if the task was cancelled.
        case attemptFailed(Int, Verdict, took: Duration)
        /// The call succeeded.
        ///
        /// `took` is its duration with all attempts and waits; `attempts` is how often the operation ran; `waits` is
        /// how long the call waited for each policy.
        case succeeded(took: Duration, attempts: Int, waits: [PolicyWait] = [])
        /// The call failed with this verdict: it threw, or returned a result that means failure.
        ///
        /// The rest is as for ``succeeded(took:attempts:waits:)``.
        case failed(Verdict, took: Duration, attempts: Int, waits: [PolicyWait] = [])
        /// The call was rejected before its first attempt: by a policy of the pipeline, or because its deadline had
        /// passed.
        ///
        /// If the operation ran and ended with ``Verdict/rejected``, for example because it uses another pipeline that
        /// rejected its call, the event is ``failed(_:took:attempts:waits:)``. The other values are as for
        /// ``succeeded(took:attempts:waits:)``.
        case rejected(took: Duration, attempts: Int, waits: [PolicyWait] = [])
        /// The call did not succeed, and its task was cancelled or its verdict is ``Verdict/cancelled``.
        ///
        /// The rest is as for ``succeeded(took:attempts:waits:)``.
        case cancelled(took: Duration, attempts: Int, waits: [PolicyWait] = [])

        public var kind: String {
            switch self {
            case .attemptSucceeded: "attemptSucceeded"
            case .attemptFailed: "attemptFailed"
            case .succeeded: "succeeded"
            case .failed: "failed"
            case .rejected: "rejected"
            case .cancelled: "cancelled"
            }
        }

        public var severity: PolicyEventSeverity {
            switch self {
            case .attemptSucceeded, .succeeded: .trace
            case .attemptFailed, .rejected, .cancelled: .debug
            // The policy that rejected the call has sent an event of its own.
            case .failed(let verdict, _, _, _): verdict.kind == .rejected ? .debug : .info
            }
        }

        public var measure: EventMeasure {
            switch self {
            case .attemptSucceeded(_, let length): .attempt(.success, took: length)
            case .attemptFailed(_, let verdict, let length): .attempt(CallOutcome(ofOperation: verdict), took: length)
            case .succeeded(let length, let attempts, let waits):
                .call(.success, took: length, attempts: attempts, waits: waits)
            case .failed(let verdict, let length, let attempts, let waits):
                .call(CallOutcome(ofOperation: verdict), took: length, attempts: attempts, waits: waits)
            case .rejected(let length, let attempts, let waits):
                .call(.rejected, took: length, attempts: attempts, waits: waits)
            case .cancelled(let length, let attempts, let waits):
                .call(.cancelled, took: length, attempts: attempts, waits: waits)
            }
        }

        public var fields: EventFields {
            switch self {
            case .attemptSucceeded(let number, let took): ["attempt": number, "duration": took]
            case .attemptFailed(let number, let verdict, let took):
                ["attempt": number, "duration": took] + verdict.fields
            case .succeeded(let took, let attempts, let waits), .rejected(let took, let attempts, let waits),
                .cancelled(let took, let attempts, let waits):
                Self.fields(took, attempts, waits)
            case .failed(let verdict, let took, let attempts, let waits):
                Self.fields(took, attempts, waits) + verdict.fields
            }
        }

        private static func fields(_ took: Duration, _ attempts: Int, _ waits: [PolicyWait]) -> EventFields {
            let waited = waits.isEmpty ? nil : waits.reduce(.zero) { $0 + $1.duration }
            return ["attempts": attempts, "duration": took, "waited": waited]
        }

        public var description: String {
            switch self {
            case .attemptSucceeded(let number, let length): "attempt \(number) succeeded after \(length.text)"
            case .attemptFailed(let number, let verdict, let length):
                "attempt \(number) failed after \(length.text) (\(verdict))"
            case .succeeded(let length, let attempts, let waits):
                "succeeded after \(Self.text(length, attempts, waits))"
            case .failed(let verdict, let length, let attempts, let waits):
                "failed after \(Self.text(length, attempts, waits)) (\(verdict))"
            case .rejected(let length, let attempts, let waits): "rejected after \(Self.text(length, attempts, waits))"
            case .cancelled(let length, let attempts, let waits):
                "cancelled after \(Self.text(length, attempts, waits))"
            }
        }

        private static func text(_ length: Duration, _ attempts: Int, _ waits: [PolicyWait]) -> String {
            let waited = waits.map { "\($0.duration.text) for \($0.policy)" }.joined(separator: ", ")
            return "\(length.text), \(attempts) attempt\(attempts == 1 ? "" : "s")"
                + (waited.isEmpty ? "" : ", waited \(waited)")
        }
    }
}
