/// One call on its way through a pipeline: what a policy may know of it. It can't be copied, or kept beyond the call.
@frozen public struct PolicyCall: ~Copyable {
    /// Which attempt this is, from 1. Set by the innermost retry.
    public var attempt: Int

    /// When the whole call, as seen from here, must have ended: no attempt begins then or later. Set by timeouts on the way
    /// in.
    public var deadline: MonotonicInstant

    /// What the caller said of it.
    public let options: RunOptions

    /// Not counted. Safe: whoever makes a call holds the core until the call is over, and nobody can copy it meanwhile.
    @usableFromInline unowned(unsafe) let core: PipelineCore
    @usableFromInline var reading: MonotonicInstant?
    /// Whether whoever asks for admission would wait for it.
    @usableFromInline var mayWait = true
    /// What the failure of the inner segment means; the segment around it takes this instead of classifying the error again.
    @usableFromInline var settled: Verdict?

    @inlinable init(_ core: PipelineCore, _ options: RunOptions = RunOptions()) {
        self.init(core, options, attempt: options.firstAttempt, deadline: options.deadline)
    }

    @inlinable init(_ core: PipelineCore, _ options: RunOptions, attempt: Int, deadline: MonotonicInstant) {
        self.core = core
        self.options = options
        self.attempt = attempt
        self.deadline = deadline
    }

    /// The pipeline's name.
    public var name: String { core.name ?? "" }

    /// The time base of the pipeline.
    public var timeBase: any TimeBase { core.timeBase }

    /// The time, read once between two suspensions and shared by all policies.
    public var now: MonotonicInstant {
        mutating get {
            if let reading { return reading }
            let now = core.timeBase.now
            reading = now
            return now
        }
    }

    /// Whether its deadline has come.
    var isOver: Bool {
        mutating get { deadline != .distantFuture && deadline <= now }
    }

    /// Whether anybody would be told of an event: the policy's own observers or the pipeline's.
    public func isObserved(by observers: PolicyObservers? = nil) -> Bool {
        if let observers, !observers.isEmpty { return true }
        return !core.observers.isEmpty
    }

    /// Tells observers: the policy's own and the pipeline's. The event is made only if somebody listens.
    public mutating func emit(
        _ event: @autoclosure () -> any PolicyEventDetail, from policy: String, to observers: PolicyObservers? = nil
    ) {
        let own = observers.map { !$0.isEmpty } ?? false
        let outer = !core.observers.isEmpty
        guard own || outer else { return }
        let event = PolicyEvent(policy: policy, pipeline: core.name, time: now, detail: event())
        if own { observers?.send(event) }
        if outer { core.observers.send(event) }
    }
}

/// What an operation may know of the attempt that it is.
@frozen public struct CallAttempt: Sendable, Hashable {
    /// From 1, as the innermost retry counts.
    public let number: Int
    /// When it must have ended; ``MonotonicInstant/distantFuture`` if neither a timeout nor the caller says.
    public let deadline: MonotonicInstant

    public init(number: Int, deadline: MonotonicInstant = .distantFuture) {
        self.number = number
        self.deadline = deadline
    }

    @inlinable init(_ call: borrowing PolicyCall) {
        number = call.attempt
        deadline = call.deadline
    }
}
