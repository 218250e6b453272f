/// An admission to a policy, for work that is not a closure.
///
/// ```swift
/// func upload() async throws {
///     let permit = try breaker.tryAcquire()
///     let outcome = await somethingThatIsNotAClosure()
///     permit.complete(outcome.ok ? .success : .transient)
/// }
/// ```
///
/// Report once how the work ended; the report consumes the permit. A permit that is dropped without a report counts as
/// cancelled. In a property or a global variable, keep a `PolicyPermit?` and take it out:
/// `permit.take()?.complete(.success)`.
public struct PolicyPermit: ~Copyable, Sendable {
    private let policy: any Policy
    private let core: PipelineCore
    private let options: RunOptions
    private let slot: PolicySlot
    private var outcome = PolicyOutcome(.cancelled)

    fileprivate init(_ policy: any Policy, _ core: PipelineCore, _ options: RunOptions, _ slot: PolicySlot) {
        self.policy = policy
        self.core = core
        self.options = options
        self.slot = slot
    }

    /// Reports how the work ended.
    ///
    /// - Parameters:
    ///   - verdict: The meaning of the work's end.
    ///   - error: The error that the work ended with. nil, the default, if there is none.
    public consuming func complete(_ verdict: Verdict, error: (any Error)? = nil) {
        outcome = PolicyOutcome(verdict, error: error)
    }

    deinit {
        var call = PolicyCall(core, options)
        call.mayRepeat = false
        var slot = slot
        if case .again = policy.exit(&call, &slot, outcome) { policy.abandon(&call, &slot) }
    }
}

extension Policy {
    /// Asks the policy for admission, without waiting.
    ///
    /// - Parameter options: The options of the work.
    /// - Returns: A permit, to be reported once.
    /// - Throws: The error that the policy rejects with; `WouldWait` if it would make the call wait; `DeadlinePassed`
    ///   if the call's deadline has come.
    public func tryAcquire(options: RunOptions = RunOptions()) throws -> PolicyPermit {
        let core = PipelineCore.bare(on: timeBase)
        defer { withExtendedLifetime(core) {} }
        var call = PolicyCall(core, options)
        if call.isOver { throw DeadlinePassed() }
        call.mayWait = false
        var slot = PolicySlot()
        switch enter(&call, &slot) {
        case .proceed:
            return PolicyPermit(self, core, options, slot)
        case .reject(let error), .fail(let error):
            throw error
        case .cancel:
            throw CancellationError()
        case .sleep(let instant):
            let retryAfter = call.now.duration(to: instant)
            _ = exit(&call, &slot, PolicyOutcome(.cancelled))
            throw WouldWait(policy: name, retryAfter: retryAfter)
        case .park(let waiter, _):
            let retryAfter = waiter.turn.map { call.now.duration(to: $0) }
            _ = exit(&call, &slot, PolicyOutcome(.cancelled))
            throw WouldWait(policy: name, retryAfter: retryAfter)
        }
    }

    /// Asks the policy for admission, and waits if the policy says so.
    ///
    /// - Parameter options: The options of the work.
    /// - Returns: A permit, to be reported once.
    /// - Throws: The error that the policy rejects with; `DeadlinePassed` if the deadline comes first;
    ///   `CancellationError` if the task is cancelled.
    public nonisolated(nonsending) func acquire(options: RunOptions = RunOptions()) async throws -> PolicyPermit {
        let core = PipelineCore.bare(on: timeBase)
        defer { withExtendedLifetime(core) {} }
        var call = PolicyCall(core, options)
        try core.begin(&call)
        var frame = Frame()
        try await LoneSegment(self).enter(&call, &frame)
        return PolicyPermit(self, core, options, frame.slots.0)
    }
}
