import Synchronization

/// Ends the wait for an operation that takes too long, even if it ignores cancellation: the operation is cancelled, and
/// continues without its caller.
///
/// ```swift
/// let patience = AbandoningTimeout("export", limit: .seconds(5))
///
/// let pipeline = Pipeline { Retry(maxRetries: 3) }
/// let export = try await pipeline.run {
///     try await patience.run { try await legacyClient.export() }
/// }
/// ```
///
/// Prefer ``Timeout`` for everything that reacts to cancellation. Here the operation may outlive its call, so it is
/// `@Sendable`, runs away from the caller's actor, and its result is `Sendable`. For the same reason this is not a
/// policy of a pipeline: put it around an operation, as above, or around a whole pipeline.
///
/// Until an abandoned operation really ends, it keeps its connection, its permit of an inner bulkhead and its share of
/// the load, and a retry starts another operation. So watch ``abandoned``, and limit such operations with a
/// ``Bulkhead`` inside. A result that comes too late is dropped.
///
/// If the caller is cancelled, it also returns at once, and the operation is abandoned in the same way.
///
/// See <doc:TimeoutGuide>.
public final class AbandoningTimeout: Sendable, CustomStringConvertible {
    /// The name in events and errors.
    public let name: String
    /// How long a call may take.
    public let limit: Duration
    /// The observers of the events for calls that timed out and operations that ended late.
    public let observers: PolicyObservers
    let timeBase: any TimeBase
    private let stillRunning = Atomic(0)

    /// Creates a timeout.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - limit: How long a call may take; above 0.
    ///   - timeBase: The time base that the limit is measured on.
    ///   - observers: The observers of calls that timed out and of operations that ended late; nil for none at first.
    public init(
        _ name: String = "timeout", limit: Duration, timeBase: any TimeBase = .system,
        observers: PolicyObservers? = nil
    ) {
        self.name = name
        self.limit = Timeout.Settings(limit: limit).valid().limit
        self.timeBase = timeBase
        self.observers = observers ?? PolicyObservers()
    }

    /// The number of abandoned operations that still run.
    ///
    /// If it keeps growing, there is a leak.
    public var abandoned: Int { stillRunning.load(ordering: .relaxed) }

    /// Runs an operation in a task of its own, and waits for it no longer than the limit.
    ///
    /// The task has the caller's priority and task-local values. Where the system supports it, the task runs on the
    /// executor that the caller's task prefers (Swift 6.3 on Linux, macOS 26.4), and its priority is raised with the
    /// caller's (Linux, macOS 26).
    ///
    /// The operation does not run if the caller was already cancelled, or if no thread was free for it within the
    /// limit.
    /// - Parameter operation: The work; at the limit it is cancelled and abandoned.
    /// - Returns: The operation's result, even at the limit, if the result is there when the caller looks.
    /// - Throws: The operation's error; ``TimedOut``; `CancellationError` if the caller was cancelled.
    public nonisolated(nonsending) func run<R: Sendable>(
        _ operation: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        try await run { _ in try await operation() }
    }

    /// Runs an operation that needs its deadline, for example to pass it to a pipeline in ``RunOptions``.
    ///
    /// Otherwise it works like the other `run`.
    ///
    /// - Parameter operation: The work; it is given the instant at which it is cancelled and abandoned.
    /// - Returns: The operation's result, even at the limit, if the result is there when the caller looks.
    /// - Throws: The operation's error; ``TimedOut``; `CancellationError` if the caller was cancelled.
    public nonisolated(nonsending) func run<R: Sendable>(
        _ operation: @escaping @Sendable (_ deadline: MonotonicInstant) async throws -> R
    ) async throws -> R {
        try Task.checkCancellation()
        let deadline = timeBase.now + limit
        let call = AbandonableCall<R>()
        // The operation never runs on the caller's thread, not even its first step, because that step may block.
        let priority = Task.currentPriority
        let task = Task(executorPreference: timeBase.executorForTasks, priority: priority) { @concurrent [self] in
            let result: Result<R, any Error>
            do {
                guard call.mayBegin(at: timeBase.now, before: deadline) else { throw NotBegun() }
                result = .success(try await operation(deadline))
            } catch {
                result = .failure(error)
            }
            if let abandonedAt = call.operationEnded(with: result) { endedLate(after: abandonedAt) }
        }
        let wake = await call.waiter.wait(until: deadline, on: timeBase) { raised in
            if raised > priority { task.raise(to: raised) }
        }
        let result = call.callerLeaves(at: timeBase.now) { stillRunning.add(1, ordering: .relaxed) }
        guard let result else {
            task.cancel(on: timeBase.executorForTasks)
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

    public var description: String { "\(name): \(limit.text), abandoning" }

    private func timedOut(_ error: (any Error)?) -> TimedOut {
        tell(.timedOut(limit), at: timeBase.now)
        return TimedOut(policy: name, limit: limit, underlying: error)
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

/// One operation and its waiting caller: the state machine for both, and the values passed between them.
private final class AbandonableCall<R: Sendable>: Sendable {
    private struct State {
        var machine = AbandoningStateMachine.running
        var result: Result<R, any Error>?
        var abandonedAt = MonotonicInstant.distantFuture
    }

    let waiter = PolicyWaiter()
    private let state = Locked(State())

    /// - Returns: When the operation was abandoned; nil if the caller still waits for it.
    func operationEnded(with result: Result<R, any Error>) -> MonotonicInstant? {
        let abandonedAt: MonotonicInstant? = state.withLock { state in
            if state.machine.operationEnded() { return state.abandonedAt }
            state.result = result
            return nil
        }
        if abandonedAt == nil { waiter.resume() }
        return abandonedAt
    }

    func mayBegin(at now: MonotonicInstant, before deadline: MonotonicInstant) -> Bool {
        state.withLock { $0.machine.mayBegin(at: now, before: deadline) }
    }

    /// - Parameter abandon: Called before the operation can end late.
    /// - Returns: The result; nil if the operation was abandoned.
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
