/// Counts the attempts of a call, and measures how long they and the call take, for the pipeline's observers.
///
/// Made only for calls that are not plain: see `PipelineCore.isPlain(_:)`.
@usableFromInline struct CallRecord: Sendable {
    private let began: MonotonicInstant
    /// Whether somebody observed the call when it began. An observer that comes later is told of later calls: of this one not all
    /// was noted.
    let isWatched: Bool
    /// The number of times that the operation has begun.
    @usableFromInline private(set) var attempts = 0

    /// The call begins.
    @usableFromInline init(of call: inout PolicyCall) {
        began = call.now
        isWatched = call.isObserved()
        call.isWatched = isWatched
    }

    @usableFromInline mutating func attemptBegan(_ call: inout PolicyCall) -> MonotonicInstant {
        attempts += 1
        call.notes?.goOn()
        return call.now
    }

    /// The operation has returned.
    @usableFromInline func attemptEnded<R>(
        _ call: inout PolicyCall, since began: MonotonicInstant, verdict: Verdict, result: R
    ) {
        if verdict.kind != .success, !Task.isCancelled { call.failed(verdict) { FailureDetail(ofResult: result) } }
        attemptEnded(&call, since: began, verdict: verdict)
    }

    /// The attempt has ended after its operation returned.
    func attemptEnded(
        _ call: inout PolicyCall, since began: MonotonicInstant, verdict: Verdict, error: (any Error)?
    ) {
        if !Task.isCancelled { call.failed(verdict) { error.map { FailureDetail(of: $0) } } }
        attemptEnded(&call, since: began, verdict: verdict)
    }

    private func attemptEnded(_ call: inout PolicyCall, since began: MonotonicInstant, verdict: Verdict) {
        // A success as what happens in every call.
        guard isWatched, call.isObserved(at: verdict.kind == .success ? .trace : .debug) else { return }
        let number = call.attempt
        tell(&call, since: began, failure: call.failure) { length in
            verdict.kind == .success
                ? .attemptSucceeded(number, took: length)
                : .attemptFailed(number, Task.isCancelled ? .cancelled : verdict, took: length)
        }
    }

    @usableFromInline mutating func attemptEnded(
        _ call: inout PolicyCall, since began: MonotonicInstant, error: any Error
    ) {
        attemptEnded(&call, since: began, error: error, describing: { _ in nil })
    }

    /// - Parameter describe: Returns what the operation failed with, if the caller knows more of it than the error does.
    mutating func attemptEnded(
        _ call: inout PolicyCall, since began: MonotonicInstant, error: any Error,
        describing describe: (any Error) -> FailureDetail?
    ) {
        guard call.hasRun else {
            // There was none after all.
            attempts -= 1
            call.hasRun = true
            return
        }
        let verdict = call.settled ?? call.core.classifier.verdict(for: error)
        if !Task.isCancelled { call.failed(verdict) { describe(error) ?? FailureDetail(of: error) } }
        attemptEnded(&call, since: began, verdict: verdict)
    }

    @usableFromInline func ended(_ call: inout PolicyCall, _ verdict: Verdict) {
        ended(&call, verdict, error: nil, isCancelled: Task.isCancelled)
    }

    @usableFromInline func ended(_ call: inout PolicyCall, error: any Error) {
        ended(&call, call.settled ?? call.core.classifier.verdict(for: error), error: error)
    }

    func ended(_ call: inout PolicyCall, _ verdict: Verdict, error: any Error) {
        ended(&call, verdict, error: error, isCancelled: Task.isCancelled)
    }

    private func ended(_ call: inout PolicyCall, _ verdict: Verdict, error: (any Error)?, isCancelled: Bool) {
        guard isWatched, call.isObserved(at: verdict.kind == .success ? .trace : .info) else { return }
        let waits = call.notes?.waits ?? []
        let isOver = verdict.kind == .success || verdict.kind == .cancelled || isCancelled
        tell(&call, since: began, failure: isOver ? nil : failure(of: call, error)) { length in
            switch verdict.kind {
            case .success: .succeeded(took: length, attempts: attempts, waits: waits)
            case _ where isCancelled, .cancelled: .cancelled(took: length, attempts: attempts, waits: waits)
            case .rejected where attempts == 0: .rejected(took: length, attempts: attempts, waits: waits)
            case .rejected, .transient, .throttled, .uncertain, .permanent:
                .failed(verdict, took: length, attempts: attempts, waits: waits)
            }
        }
    }

    /// What the call failed with: a time limit or a rejection is an end of its own; otherwise it is the last attempt's.
    private func failure(of call: borrowing PolicyCall, _ error: (any Error)?) -> FailureDetail? {
        if let error, attempts == 0 || error is any TimeLimitError { return FailureDetail(of: error) }
        return call.notes?.lastFailure ?? error.map { FailureDetail(of: $0) }
    }

    /// The work of a ``PipelinePermit`` has ended, which is the end of its one attempt and of the call.
    func permitEnded(
        _ call: inout PolicyCall, since began: MonotonicInstant, _ outcome: PolicyOutcome, _ failure: FailureDetail?
    ) {
        guard isWatched else { return }
        let (number, verdict) = (call.attempt, outcome.verdict)
        if verdict.kind != .success {
            call.failed(verdict) { failure ?? outcome.error.map { FailureDetail(of: $0) } }
        }
        if call.isObserved(at: verdict.kind == .success ? .trace : .debug) {
            tell(&call, since: began, failure: call.failure) { length in
                verdict.kind == .success
                    ? .attemptSucceeded(number, took: length) : .attemptFailed(number, verdict, took: length)
            }
        }
        ended(&call, verdict, error: outcome.error, isCancelled: false)
    }

    private func tell(
        _ call: inout PolicyCall, since began: MonotonicInstant, failure: FailureDetail?,
        _ event: (_ took: Duration) -> Pipeline.Event
    ) {
        call.reading = nil
        let event = event(began.duration(to: call.now))
        call.send(event, from: Pipeline.Event.source, failure: failure)
    }
}

extension PolicyCall {
    /// Notes what the attempt has failed with, if somebody observes the call.
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
        /// The attempt with this number failed, after this time: the operation threw, or returned a result that means
        /// failure. The verdict is ``Verdict/cancelled`` if the task was cancelled.
        case attemptFailed(Int, Verdict, took: Duration)
        /// The call succeeded. `took` is its duration with all attempts and waits; `attempts` is how often the
        /// operation ran; `waits` is how long the call waited, for each policy that it waited for.
        case succeeded(took: Duration, attempts: Int, waits: [PolicyWait] = [])
        /// The call failed with this verdict: it threw, or returned a result that means failure. The rest is as for
        /// ``succeeded(took:attempts:waits:)``.
        case failed(Verdict, took: Duration, attempts: Int, waits: [PolicyWait] = [])
        /// The call was rejected before its first attempt: by a policy of the pipeline, or since its deadline passed. A
        /// call whose operation ends with the verdict ``Verdict/rejected``, as one does that a policy of another
        /// pipeline rejects inside of it, has ``failed(_:took:attempts:waits:)``. The rest is as for
        /// ``succeeded(took:attempts:waits:)``.
        case rejected(took: Duration, attempts: Int, waits: [PolicyWait] = [])
        /// The call did not succeed, and its task was cancelled or its verdict is ``Verdict/cancelled``. The rest is as
        /// for ``succeeded(took:attempts:waits:)``.
        case cancelled(took: Duration, attempts: Int, waits: [PolicyWait] = [])

        static var source: String { "call" }

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
            // The policy that has rejected it has told so.
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
