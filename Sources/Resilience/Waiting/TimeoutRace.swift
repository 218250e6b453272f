import Synchronization

extension TimeoutRace {
    /// The error if the limit had passed when the inside threw its own error.
    struct Expired: Error {
        let underlying: any Error
    }

    /// Runs `inside` in a child task, and cancels it at `expiry`, or when the caller is cancelled.
    /// - Parameters:
    ///   - deadline: The deadline for `inside`.
    ///   - outer: The limit of an outer timeout without a task of its own, which also cancels the child.
    /// - Throws: ``Expired`` if the limit had passed when the inside threw; else the error of the inside.
    @inline(__always) static func run(
        until expiry: MonotonicInstant, deadline: MonotonicInstant, sharing outer: inout SharedLimit?,
        on timeBase: any TimeBase, isolation: isolated (any Actor)?,
        _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
    ) async throws -> Verdict {
        let race = TimeoutRace(NestedLimits(inner: expiry, outer: outer?.expiry ?? .distantFuture), on: timeBase)
        // Looked up before the cancellation handler is set: inside the handler, the system would have to search for the
        // executor.
        let executor = timeBase.executorForTasks
        // The alarm and the cancellation handler are set before the inside begins: its first step may never end.
        let alarm = timeBase.schedule(at: race.limits.earliest) { race.limitPassed() }
        defer {
            timeBase.cancel(alarm)
            if outer?.machine == .running { outer?.machine = race.machine.outer }
        }
        do {
            return try await withoutActuallyEscaping(inside) { inside in
                // Safe: the child runs in the caller's isolation, and the caller does nothing until the child has
                // ended, so the two never use what the closure captured at the same time.
                nonisolated(unsafe) let inside = inside
                return try await withTaskCancellationHandler {
                    let child = Task<Verdict, any Error>.startingHere(on: executor) {
                        _ = isolation
                        race.insideBegan()
                        do {
                            let verdict = try await inside(deadline)
                            race.insideEnded()
                            return verdict
                        } catch {
                            race.insideThrew()
                            throw error
                        }
                    }
                    race.keep(child)
                    return try await child.value
                } onCancel: {
                    race.callerCancelled()
                }
            }
        } catch let error where race.machine.inner == .expired {
            throw Expired(underlying: error)
        }
    }
}

extension Task where Failure == any Error {
    /// Starts a task that runs on this thread up to its first suspension, where the system supports that: a task that
    /// never suspends has ended when this returns. On other systems it is an ordinary task.
    ///
    /// The attribute lets the closure keep its caller's isolation, as if it were passed to `Task` itself.
    @inline(__always) fileprivate static func startingHere(
        on executor: (any TaskExecutor)?,
        @_inheritActorContext _ operation: sending @escaping @isolated(any) () async throws -> Success
    ) -> Task {
        if #available(macOS 26, macCatalyst 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            Task.immediate(executorPreference: executor, operation: operation)
        } else {
            Task(executorPreference: executor, operation: operation)
        }
    }
}

/// The end of one call under a timeout: the state machine, for several threads, and the task to cancel.
final class TimeoutRace: Sendable {
    let limits: NestedLimits
    private let timeBase: any TimeBase
    private let state = Atomic(NestedTimeoutsStateMachine())
    private let task = RunningTask()
    /// Keeps the task alive while it may still be cancelled. Safe: only the caller's thread sets it, once; it is
    /// released after that, with the race.
    nonisolated(unsafe) private var handle: Task<Verdict, any Error>?

    init(_ limits: NestedLimits, on timeBase: any TimeBase) { (self.limits, self.timeBase) = (limits, timeBase) }

    var machine: NestedTimeoutsStateMachine { state.load(ordering: .acquiring) }

    /// Called in the inside's task, before anything else.
    func insideBegan() {
        task.begins()
        if state.load(ordering: .sequentiallyConsistent).insideBegins == .cancelInside { task.cancel() }
    }

    func insideEnded() { apply { $0.insideEnded() } }

    func insideThrew() {
        let now = timeBase.now
        apply { $0.insideThrew(at: now, limits) }
    }

    func keep(_ handle: Task<Verdict, any Error>) { self.handle = handle }

    /// - Returns: Whether this ended the call; if so, the inside is cancelled.
    @discardableResult
    func limitPassed() -> Bool { cancelInside { $0.limitPassed(of: limits) } }

    /// - Returns: Whether this ended the call; if so, the inside is cancelled.
    @discardableResult
    func callerCancelled() -> Bool {
        let now = timeBase.now
        return cancelInside { $0.callerCancelled(at: now, limits) }
    }

    private func cancelInside(
        if input: (inout NestedTimeoutsStateMachine) -> NestedTimeoutsStateMachine.Answer
    ) -> Bool {
        guard apply(input) == .cancelInside else { return false }
        // The task exists as long as the race: during its first step because it runs, and later because of its handle.
        task.cancel()
        return true
    }

    /// Applies one input to the machine, as one step for all threads.
    private func apply<Answer>(_ input: (inout NestedTimeoutsStateMachine) -> Answer) -> Answer {
        var old = state.load(ordering: .sequentiallyConsistent)
        while true {
            var machine = old
            let answer = input(&machine)
            let (done, current) = state.compareExchange(
                expected: old, desired: machine, ordering: .sequentiallyConsistent)
            if done { return answer }
            old = current
        }
    }
}

extension NestedTimeoutsStateMachine: AtomicRepresentable {}
