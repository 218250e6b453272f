/// A call on its way through a pipeline, as policies see it.
///
/// It can't be copied, and can't be kept after the call.
@frozen public struct PolicyCall: ~Copyable {
    /// The number of this attempt, from 1.
    ///
    /// Set by the innermost retry.
    public var attempt: Int

    /// The instant at which the call, as seen by this policy, must have ended: no attempt begins then or later.
    ///
    /// ``MonotonicInstant/distantFuture`` if there is none. Set by the caller, and by timeouts on the way in.
    public var deadline: MonotonicInstant

    /// The caller's options for this call.
    public let options: RunOptions

    /// Without reference counting. Safe: the code that makes a call holds the core until the call is over, and the call
    /// can't be copied.
    @usableFromInline package unowned(unsafe) let core: PipelineCore
    @usableFromInline package var reading: MonotonicInstant?
    /// Whether the call waits for admission if the policy says so. False for ``Policy/tryAcquire(options:)``.
    @usableFromInline package var mayWait = true
    /// Whether a policy may run its inside again. False while the policies are exited for a permit or a lost
    /// attempt.
    @usableFromInline package var mayRepeat = true
    /// Whether the operation of the latest attempt has begun. False if no copy of a `Hedge` got past its inner
    /// policies.
    @usableFromInline package var hasRun = true
    /// The present attempt's state in a budget: its payment, and whether its end was reported.
    @usableFromInline package var account = AttemptAccount()
    /// The verdict of the inner segment's failure. The outer segment uses it instead of classifying the error again.
    @usableFromInline package var settled: Verdict?
    /// The limit of an outer timeout without a task of its own; nil if there is none.
    @usableFromInline var sharedLimit: SharedLimit?
    /// Whether the waits and failures of the call are noted: only if it has an observer.
    @usableFromInline package var isWatched = false
    /// The notes, retained; nil if there are none. Unmanaged, because each call would have to check a strong reference
    /// at its end. So code that watches or continues a call must call ``endNotes()``.
    @usableFromInline var retainedNotes: Unmanaged<CallNotes>?

    // Borrowed: an initializer would retain the core otherwise.
    @inlinable init(_ core: borrowing PipelineCore, _ options: RunOptions = RunOptions()) {
        self.init(
            copy core, options, attempt: options.firstAttempt,
            deadline: CallDeadline.isInUse ? Self.narrowed(options.deadline, core) : options.deadline)
    }

    @inlinable package init(_ core: PipelineCore, _ options: RunOptions, attempt: Int, deadline: MonotonicInstant) {
        self.core = core
        self.options = options
        self.attempt = attempt
        self.deadline = deadline
    }

    /// Returns the earlier of this deadline and the deadline that travels with the task.
    @usableFromInline static func narrowed(
        _ deadline: MonotonicInstant, _ core: borrowing PipelineCore
    ) -> MonotonicInstant {
        CallDeadline.earlier(deadline, on: core.timeBase)
    }

    /// The pipeline's name; nil if the policy is used without a pipeline.
    public var pipeline: String? { core.name }

    /// The time base of the pipeline.
    public var timeBase: any TimeBase { core.timeBase }

    /// The time on the pipeline's time base, read once between two suspensions and shared by all policies.
    @inlinable public var now: MonotonicInstant {
        mutating get {
            if let reading { return reading }
            let now = readClock()
            reading = now
            return now
        }
    }

    @usableFromInline func readClock() -> MonotonicInstant { withCore { $0.timeBase.now } }

    /// The call's own priority, else the request's (``CallOrigin``), else normal.
    public var priority: CallPriority { options.effectivePriority ?? .normal }

    /// Whether the call can be repeated without harm: its own ``RunOptions/isIdempotent``, else its pipeline's.
    public var isIdempotent: Bool? { repetition.isIdempotent }

    /// Whether repeating the call does harm. A request with effects does not override a pipeline whose calls are
    /// never repeated.
    @inlinable package var repetition: Repetition {
        switch options.repetition {
        case .unsaid: core.repetition
        case .effectful: core.repetition == .never ? .never : .effectful
        case .harmless, .never: options.repetition
        }
    }

    /// Whether the call's deadline has come.
    @inlinable package var isOver: Bool {
        mutating get { deadline != .distantFuture && deadline <= now }
    }

    /// Whether an outer policy, or the caller, has cancelled the inside. The limit of an outer timeout without a task
    /// counts as well.
    package var isCancelled: Bool {
        mutating get {
            guard sharedLimit != nil else { return Task.isCancelled }
            return sharedLimit!.hasEnded(at: now, isCancelled: Task.isCancelled)
        }
    }

    /// The caller was cancelled before the limit of an outer timeout came.
    mutating func noteCancelled() { _ = sharedLimit?.machine.callerCancelled() }

    /// Whether the caller's deadline has come. Timeouts do not change it.
    var hasNoTimeLeft: Bool {
        mutating get {
            let deadline = CallDeadline.earlier(options.deadline, on: timeBase)
            return deadline != .distantFuture && deadline <= now
        }
    }

    /// Uses the core without reference counting.
    @inline(__always) borrowing func withCore<R>(_ body: (PipelineCore) -> R) -> R {
        Unmanaged.passUnretained(core)._withUnsafeGuaranteedRef(body)
    }

    /// Returns whether an event has an observer: the policy's own, or the pipeline's.
    ///
    /// - Parameters:
    ///   - observers: The policy's own observers. nil, the default, if it has none.
    ///   - severity: The severity of the event. By default the highest: whether there is any observer.
    @inlinable public func isObserved(
        by observers: PolicyObservers? = nil, at severity: PolicyEventSeverity = .error
    ) -> Bool {
        if let observers, observers.want(severity) { return true }
        return core.observers.wantInCalls(severity)
    }

    /// The notes on the call; nil if there are none.
    package var notes: CallNotes? { retainedNotes?.takeUnretainedValue() }

    /// The notes, which are made now if there are none: for several tasks of one call. nil if the call has no observer.
    package var sharedNotes: CallNotes? {
        mutating get {
            if isWatched, retainedNotes == nil { retainedNotes = .passRetained(CallNotes()) }
            return notes
        }
    }

    /// Continues with the notes of another part of the call, if it has any. The caller must call ``endNotes()`` later.
    package mutating func goOn(noting notes: CallNotes?) {
        retainedNotes = notes.map { .passRetained($0) }
        if notes != nil { isWatched = true }
    }

    /// Stops noting, and releases the notes.
    @usableFromInline package mutating func endNotes() {
        isWatched = false
        retainedNotes.take()?.release()
    }

    /// Sends an event to the policy's own observers and to the pipeline's.
    ///
    /// The event is made only if there is an observer.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - policy: The policy's name.
    ///   - observers: The policy's own observers. nil, the default, if it has none.
    @inlinable public mutating func emit(
        _ event: @autoclosure () -> any PolicyEventDetail, from policy: String, to observers: PolicyObservers? = nil
    ) {
        if isObserved(by: observers) { emitMade(event(), from: policy, to: observers) }
    }

    @usableFromInline mutating func emitMade(
        _ event: any PolicyEventDetail, from policy: String, to observers: PolicyObservers?
    ) {
        send(event, from: policy, to: observers, failure: failure)
    }

    mutating func send(
        _ event: any PolicyEventDetail, from policy: String, to observers: PolicyObservers? = nil,
        failure: FailureDetail?
    ) {
        let now = now
        withCore { core in
            let event = PolicyEvent(policy: policy, pipeline: core.name, time: now, detail: event, failure: failure)
            observers?.send(event)
            core.observers.sendInCall(event)
        }
    }

    /// The failure that the policies are now learning of; nil if there is none, or if the call has no observer.
    package var failure: FailureDetail? { notes?.failure }
}

/// The attempt in which an operation runs.
@frozen public struct CallAttempt: Sendable, Hashable {
    /// The number of the attempt, from 1, counted by the innermost retry.
    public let number: Int
    /// The instant at which the attempt must have ended; ``MonotonicInstant/distantFuture`` if neither a timeout nor
    /// the caller sets one.
    public let deadline: MonotonicInstant
    /// The number of the `Hedge` copy, from 1; 0 for the attempt's first copy, and without a hedge.
    ///
    /// Use it, for example, to send copies to different servers.
    public let hedge: Int

    /// Creates an attempt, for example to test an operation.
    ///
    /// - Parameters:
    ///   - number: The number of the attempt, from 1.
    ///   - deadline: The instant at which the attempt must have ended. None by default.
    ///   - hedge: The number of the copy, from 1; 0, the default, for the first.
    public init(number: Int, deadline: MonotonicInstant = .distantFuture, hedge: Int = 0) {
        self.number = number
        self.deadline = deadline
        self.hedge = hedge
    }

    /// Returns the time until the deadline, for a client that takes a timeout: always above zero, and 292 years without
    /// a deadline.
    ///
    /// - Parameter timeBase: The time base of the pipeline.
    public func remaining(on timeBase: any TimeBase = .system) -> Duration {
        deadline == .distantFuture ? .infinite : max(.nanoseconds(1), timeBase.now.duration(to: deadline))
    }

    @inlinable package init(_ call: borrowing PolicyCall, hedge: Int = 0) {
        number = call.attempt
        deadline = call.deadline
        self.hedge = hedge
    }
}
