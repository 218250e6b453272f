import Synchronization

/// Ends the wait for what takes too long, even if that ignores cancellation: it is cancelled, and left to run on by itself.
///
/// ```swift
/// let patience = AbandoningTimeout("export", limit: .seconds(5))
///
/// let pipeline = Pipeline { Retry(maxRetries: 3) }
/// let export = try await pipeline.run {
///     try await patience.run { try await legacyClient.export() }       // each attempt
/// }
/// ```
///
/// Prefer ``Timeout`` for everything that heeds cancellation. The operation outlives its call here, so it is `@Sendable`, runs
/// apart from the caller's actor, and its result is `Sendable`. That is also why this is no policy of a pipeline: put it
/// around an operation, as above, or around a whole pipeline.
///
/// What was abandoned goes on: it keeps its connection, its permit of a bulkhead further in and its share of the load until
/// it really ends, and a retry starts another beside it. So watch ``abandoned``, and put a ``Bulkhead`` inside of it to bound
/// it. A result that comes too late is dropped.
///
/// A caller that is cancelled returns at once, too, and the operation is abandoned in the same way.
public final class AbandoningTimeout: Sendable, CustomStringConvertible {
    public let name: String
    public let limit: Duration
    /// Who is told of calls that timed out and of operations that ended late.
    public let observers: PolicyObservers
    public let timeBase: any TimeBase
    private let stillRunning = Atomic(0)

    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - limit: How long a call waits for its operation; above zero.
    ///   - timeBase: The clock that the limit is measured on.
    ///   - observers: Who is told of calls that timed out and of operations that ended late.
    public init(
        _ name: String = "timeout", limit: Duration, timeBase: any TimeBase = .system,
        observers: PolicyObservers = PolicyObservers()
    ) {
        self.name = name
        self.limit = SettingChecks("AbandoningTimeout").aboveZero(limit, "limit")
        self.timeBase = timeBase
        self.observers = observers
    }

    /// How many abandoned operations still run. One that grows is a leak.
    public var abandoned: Int { stillRunning.load(ordering: .relaxed) }

    /// Runs `operation` in a task of its own, with the caller's priority and task-local values, and waits for it no longer
    /// than the limit. Where the system can tell, the task runs on the executor that the caller's task prefers (Swift 6.3 on
    /// Linux, macOS 26.4), and is raised in priority with the caller (Linux, macOS 26).
    ///
    /// - Returns: what the operation returned, at the limit too, if it is there when the caller looks.
    /// - Throws: what the operation threw; ``TimedOut``; `CancellationError` if the caller was cancelled. The operation of a
    ///   caller that was cancelled before does not run, nor does one that no thread had time for within the limit.
    public nonisolated(nonsending) func run<R: Sendable>(
        _ operation: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        try await run { _ in try await operation() }
    }

    /// As ``run(_:)``, for an operation that wants to know its deadline: to hand it to a pipeline by ``RunOptions``.
    public nonisolated(nonsending) func run<R: Sendable>(
        _ operation: @escaping @Sendable (_ deadline: MonotonicInstant) async throws -> R
    ) async throws -> R {
        try Task.checkCancellation()
        let deadline = timeBase.now + limit
        let call = AbandonableCall<R>()
        // Never in the caller's thread, not even for its first step: that may block.
        let task = Task(executorPreference: timeBase.executorForTasks) { @concurrent [self] in
            let result: Result<R, any Error>
            do {
                // Where every thread was busy it may be too late to begin.
                guard !call.isAbandoned, timeBase.now < deadline else { throw NotBegun() }
                result = .success(try await operation(deadline))
            } catch {
                result = .failure(error)
            }
            if let abandonedAt = call.operationEnded(with: result) { endedLate(after: abandonedAt) }
        }
        let wake = await Self.escalating(task) { await call.waiter.wait(until: deadline, on: timeBase) }
        let result = call.callerLeaves(at: timeBase.now) { stillRunning.add(1, ordering: .relaxed) }
        guard let result else {
            // Not in the caller's thread: what the operation does when it is cancelled may block.
            Task(executorPreference: timeBase.executorForTasks) { @concurrent in task.cancel() }
            throw wake == .expired ? timedOut(nil) : CancellationError()
        }
        do {
            return try result.get()
        } catch is NotBegun {
            throw timedOut(DeadlinePassed())
        } catch let error where wake == .expired {
            throw timedOut(error)
        }
    }

    private struct NotBegun: Error {}

    /// Hands on to the task what the caller's priority is raised to while it waits, where the system can tell.
    private static nonisolated(nonsending) func escalating<R>(
        _ task: Task<Void, Never>, _ wait: nonisolated(nonsending) () async -> R
    ) async -> R {
        guard #available(macOS 26, macCatalyst 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
            return await wait()
        }
        return await withTaskPriorityEscalationHandler(operation: wait) { _, priority in
            task.escalatePriority(to: priority)
        }
    }

    public var description: String { "\(name): \(limit.text), abandoning" }

    private func timedOut(_ error: (any Error)?) -> TimedOut {
        tell(.timedOut(limit), at: timeBase.now)
        return TimedOut(timeout: name, limit: limit, underlying: error)
    }

    private func endedLate(after abandonedAt: MonotonicInstant) {
        stillRunning.subtract(1, ordering: .relaxed)
        let now = timeBase.now
        tell(.endedLate(by: abandonedAt.duration(to: now)), at: now)
    }

    private func tell(_ event: Timeout.Event, at time: MonotonicInstant) {
        observers.send(event, from: name, at: time)
    }
}

/// One operation and whoever waits for it: the state machine, for both, and what goes from one to the other.
private final class AbandonableCall<R: Sendable>: Sendable {
    private struct State {
        var machine = AbandoningStateMachine.running
        var result: Result<R, any Error>?
        var abandonedAt = MonotonicInstant.distantFuture
    }

    let waiter = PolicyWaiter()
    private let state = Locked(State())

    /// - Returns: since when nobody waits for it; nil if somebody does.
    func operationEnded(with result: Result<R, any Error>) -> MonotonicInstant? {
        let abandonedAt: MonotonicInstant? = state.withLock { state in
            if state.machine.operationEnded() { return state.abandonedAt }
            state.result = result
            return nil
        }
        if abandonedAt == nil { waiter.resume() }
        return abandonedAt
    }

    /// Whether nobody waits for it any more.
    var isAbandoned: Bool { state.withLock { $0.machine == .abandoned } }

    /// - Parameter abandon: called before the operation can end late.
    /// - Returns: the result; nil if the operation was abandoned.
    func callerLeaves(at now: MonotonicInstant, abandon: () -> Void) -> Result<R, any Error>? {
        state.withLock { state in
            switch state.machine.callerLeaves() {
            case .takeResult:
                return state.result
            case .abandon:
                state.abandonedAt = now
                abandon()
                return nil
            }
        }
    }
}
