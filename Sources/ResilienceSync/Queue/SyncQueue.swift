public import Resilience

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A durable queue of mutations, sent through a pipeline: in order within each entity, different entities concurrently.
///
/// ```swift
/// let store = try SQLiteStore(path: path)
/// let queue = SyncQueue(
///     "events", store: store, pipeline: pipeline
/// ) { mutation in
///     try await client.post(
///         mutation.payload, idempotencyKey: mutation.idempotencyKey)
/// }
/// let mutation = Mutation(entity: "evt-1", kind: "create", payload: data)
/// try await queue.enqueue(mutation)
/// queue.trigger()
/// ```
///
/// - A mutation leaves the store once it is acknowledged, which is when its handler has returned. After a crash before
///   that it is sent again, with the same idempotency key.
/// - Mutations of one entity are sent in order. If one fails, only later ones of its entity wait, and it is tried
///   again after ``SyncQueueConfiguration/failedBackoff``.
/// - 429s, open circuits, being offline and cancellations never count against a mutation. Other failures count only
///   while other mutations get through (``FailureCounting``). The fifth counted failure, or a permanent failure, makes
///   the mutation dead.
/// - A 429 or an open circuit pauses the whole queue. The pause outlasts a restart. Its end starts a flush
///   automatically, which begins with one request, and then sends at the rate that the queue has found the server to
///   allow.
/// - If the server reports how much of its limit is left, pass that to ``note(_:)``: this can avoid all 429s.
/// - Concurrent triggers share one flush, which looks again before it ends.
public final class SyncQueue: Sendable {
    struct State {
        var machine: SyncStateMachine
        var flight: Task<FlushReport, any Error>?
        var alarm: TimeBaseAlarm?
        /// The stored pause, as last stored or read by this queue.
        var knownPause: String?
        /// The stored pause by hand, as last stored or read by this queue.
        var knownHandPause: String?
        /// How often this queue has begun or finished storing a pause: a pause that is read meanwhile may be older.
        var pauseWrites = 0
        /// The flight's present waiter.
        var waker: PolicyWaiter?
        /// The last error of this round.
        var lastError: (any Error)?
        /// The error that the last flight failed with; nil if it did not fail.
        var failure: (any Error)?
        /// The entities for which, since each pull of a page began, mutations were enqueued or requests ended.
        var pulls: [ObjectIdentifier: Set<String>] = [:]
        /// Whether it follows other users of the store.
        var isFollowing = false
        /// The combined reports of the flushes during each drain in progress.
        var drains: [ObjectIdentifier: FlushReport] = [:]
        /// Tasks that wait for a flight, or a clearing, to end.
        var watchers: [PolicyWaiter] = []
        /// The readers to notify of each change, by number.
        var statusReaders: [Int: AsyncStream<Void>.Continuation] = [:]
        private var lastStatusReader = 0

        init(machine: SyncStateMachine) { self.machine = machine }

        mutating func touch(_ entities: some Sequence<String>) {
            for key in pulls.keys { pulls[key]?.formUnion(entities) }
        }

        mutating func add(_ reader: AsyncStream<Void>.Continuation) -> Int {
            lastStatusReader += 1
            statusReaders[lastStatusReader] = reader
            return lastStatusReader
        }

        struct RoundEnd: Sendable {
            let report: FlushReport
            let after: SyncStateMachine.After
            /// Whether the store reports when other queues leave lanes, so that this queue need not ask each second.
            let hearsOfOthers: Bool
        }

        mutating func roundEnded(_ end: FlushReport.End, at now: MonotonicInstant) -> RoundEnd {
            let round = machine.roundEnded(end, at: now)
            let report = FlushReport(counts: round.counts, end: round.end, lastError: lastError.take())
            for key in drains.keys { drains[key]?.add(report) }
            if round.after != .again {
                flight = nil
                if round.end != .cancelled { failure = nil }
            }
            return RoundEnd(report: report, after: round.after, hearsOfOthers: isFollowing && drains.isEmpty)
        }

        mutating func flightFailed(_ error: (any Error)?) -> SyncStateMachine.After {
            (flight, lastError, failure) = (nil, nil, error)
            return machine.flightFailed()
        }

        /// - Returns: The previous error, to be released outside of the lock.
        mutating func noteLast(_ error: (any Error)?) -> (any Error)? {
            let before = lastError
            if let error { lastError = error }
            return before
        }

        /// How the last flight that was not cancelled ended.
        func lastEnd() throws -> FlushReport.End {
            if machine.flush.isStopped { throw SyncQueueError.stopped }
            if let failure { throw failure }
            return machine.lastEnd
        }

        mutating func takeWatchers() -> [PolicyWaiter] {
            defer { watchers = [] }
            return watchers
        }
    }

    /// The name of the queue, in events.
    public let name: String
    /// The pipeline that guards every request.
    public let pipeline: Pipeline
    /// The observers of the queue's ``SyncEvent``.
    public let observers: PolicyObservers
    /// The settings of the queue.
    public let configuration: SyncQueueConfiguration
    let store: any MutationStore
    /// Identifies the queue among all queues on the store.
    let id = UUID()
    private let wallClock: @Sendable () -> Date
    /// The wall clock's reading when the queue was made, or when the clock was last found to be set back.
    private let reading: Locked<(date: Date, instant: MonotonicInstant)>
    /// How far the wall clock had jumped ahead when a mutation with a date was last enqueued: the date was set by the
    /// clock after that jump.
    private let believedJump = Locked(Duration.zero)
    let handlers: [String?: SyncHandler]
    let state: Locked<State>

    /// Creates a queue.
    ///
    /// Traps if a setting is out of range, or two handlers are for the same kind.
    ///
    /// - Parameters:
    ///   - name: The name of the queue, in events; `sync` by default.
    ///   - store: Keeps the mutations.
    ///   - pipeline: Guards every request. Its time base is the queue's.
    ///   - configuration: The settings of the queue.
    ///   - observers: The observers of the queue; nil for none at first.
    ///   - wallClock: Returns the date, for stored values and ages; by default the system's.
    ///   - handlers: Send the mutations, by kind.
    public init(
        _ name: String = "sync", store: some MutationStore, pipeline: Pipeline,
        configuration: SyncQueueConfiguration = SyncQueueConfiguration(),
        observers: PolicyObservers? = nil,
        wallClock: @escaping @Sendable () -> Date = { Date() }, handlers: [SyncHandler]
    ) {
        var configuration = configuration
        configuration.check()
        self.name = name
        self.store = store
        self.pipeline = pipeline
        self.configuration = configuration
        self.observers = observers ?? PolicyObservers()
        self.wallClock = wallClock
        reading = Locked((wallClock(), pipeline.timeBase.now))
        var byKind: [String?: SyncHandler] = [:]
        for handler in handlers {
            precondition(
                byKind.updateValue(handler, forKey: handler.kind) == nil,
                "SyncQueue: there are two handlers of \(handler.kind.map { "\"\($0)\"" } ?? "other kinds")")
        }
        self.handlers = byKind
        let rules = LanesStateMachine.Rules(
            batchLimits: Dictionary(
                uniqueKeysWithValues: byKind.compactMap { kind, handler in kind.map { ($0, handler.batchLimit) } }),
            otherKinds: byKind[nil]?.batchLimit, maxClaims: configuration.maxClaims)
        state = Locked(State(machine: SyncStateMachine(configuration, rules, isShared: store.isShared)))
    }

    /// Creates a queue with one handler for all kinds.
    ///
    /// Traps if a setting is out of range.
    ///
    /// - Parameters:
    ///   - name: The name of the queue, in events; `sync` by default.
    ///   - store: Keeps the mutations.
    ///   - pipeline: Guards every request. Its time base is the queue's.
    ///   - configuration: The settings of the queue.
    ///   - observers: The observers of the queue; nil for none at first.
    ///   - wallClock: Returns the date, for stored values and ages; by default the system's.
    ///   - send: Sends one mutation, of any kind. It returns when the other side has acknowledged it, and throws
    ///     otherwise.
    public convenience init(
        _ name: String = "sync", store: some MutationStore, pipeline: Pipeline,
        configuration: SyncQueueConfiguration = SyncQueueConfiguration(),
        observers: PolicyObservers? = nil,
        wallClock: @escaping @Sendable () -> Date = { Date() },
        send: @escaping @Sendable (Mutation) async throws -> Void
    ) {
        self.init(
            name, store: store, pipeline: pipeline, configuration: configuration, observers: observers,
            wallClock: wallClock, handlers: [.others(send)])
    }

    /// The queue's store, for operations that only this type of store has.
    /// - Throws: If the queue's store has another type.
    func store<Wanted: MutationStore>(as _: Wanted.Type) throws(SyncQueueError) -> Wanted {
        guard let wanted = store as? Wanted else {
            throw .unreadable(path: "\(type(of: store))", reason: "It is not a \(Wanted.self).")
        }
        return wanted
    }

    var now: MonotonicInstant { pipeline.timeBase.now }

    /// Now, by the clock that all queues on the store share, or else by the wall clock.
    var date: Date { dateAndJump.date }

    /// Now, and how far the wall clock has jumped ahead while the queue ran: ages do not include this jump. A clock
    /// that was set back jumps ahead when it is corrected, and ages of mutations queued meanwhile do not include that
    /// jump either.
    var dateAndJump: (date: Date, jump: Duration) {
        if let date = store.now { return (date, .zero) }
        let (now, date) = (now, wallClock())
        let steady = reading.withLock { reading in
            let steady = reading.date.later(by: reading.instant.duration(to: now))
            if date < steady { reading = (date, now) }
            return steady
        }
        return (date, date.time(since: steady))
    }

    /// Mutations with an earlier date may be sent. As ages do, this date ignores a jump ahead of the clock, unless a
    /// date was set after the jump.
    var dueDate: Date {
        let (date, jump) = dateAndJump
        return date.earlier(by: max(.zero, jump - believedJump.withLock { $0 }))
    }

    // MARK: Filling

    /// Stores a mutation, which is durable when this returns.
    ///
    /// ``trigger()`` or ``flush()`` sends it.
    ///
    /// - Parameter mutation: The mutation to store.
    /// - Returns: Its result.
    /// - Throws: ``SyncQueueError/duplicate(id:)``, ``SyncQueueError/invalid(id:reason:)``,
    ///   ``SyncQueueError/full(count:bytes:)``, or the store's error.
    @discardableResult
    public func enqueue(_ mutation: Mutation) async throws -> AppendResult {
        let appended = try await enqueue([mutation])
        if !appended.duplicates.isEmpty { throw SyncQueueError.duplicate(id: mutation.id) }
        return appended
    }

    /// Stores mutations, which are durable when this returns.
    ///
    /// They may be coalesced with pending mutations: see ``Coalescing``.
    ///
    /// A duplicate id does not stop the others: its mutation is skipped, listed in ``AppendResult/duplicates``, and
    /// reported as ``SyncEvent/duplicate(id:)``. If this throws, none is stored.
    ///
    /// - Parameter mutations: The mutations to store.
    /// - Returns: The result of each.
    /// - Throws: ``SyncQueueError/invalid(id:reason:)``, ``SyncQueueError/full(count:bytes:)``, or the store's error.
    @discardableResult
    public func enqueue(_ mutations: [Mutation]) async throws -> AppendResult {
        guard !mutations.isEmpty else { return AppendResult() }
        try prepare(mutations)
        let appended = try await store.append(mutations, under: configuration.appending, at: date)
        tell(appended)
        return appended
    }

    /// Checks mutations before they are enqueued.
    func prepare(_ mutations: [Mutation]) throws(SyncQueueError) {
        for mutation in mutations {
            guard mutation.notBefore?.timeIntervalSinceReferenceDate.isNaN != true else {
                throw .invalid(id: mutation.id, reason: "its date is no number.")
            }
            guard !mutation.id.isEmpty else { throw .invalid(id: "", reason: "its id is empty.") }
            guard mutation.earlierFailures >= 0 else {
                throw .invalid(id: mutation.id, reason: "it has \(mutation.earlierFailures) earlier failures.")
            }
            guard (1...255).contains(mutation.idempotencyKey.count) else {
                throw .invalid(
                    id: mutation.id,
                    reason: "its idempotency key has \(mutation.idempotencyKey.count) characters, not 1 to 255.")
            }
        }
        if mutations.contains(where: { $0.notBefore != nil }) {
            let jump = dateAndJump.jump
            believedJump.withLock { $0 = jump }
        }
        state.withLock { state in
            state.touch(mutations.lazy.map(\.entity))
            if mutations.contains(where: \.isUrgent) { state.machine.lanes.knowsUrgent = true }
        }
    }

    func tell(_ appended: AppendResult) {
        if appended.added > 0 { tell(.enqueued(appended.added)) }
        for merge in appended.merges { tell(.coalesced(id: merge.id, into: merge.into, cancelsOut: merge.cancelsOut)) }
        for id in appended.dropped { tell(.dropped(id: id)) }
        for id in appended.duplicates { tell(.duplicate(id: id)) }
    }

    // MARK: Sending

    /// Makes the queue flush soon, in the background.
    ///
    /// If a flush is in progress, it looks again before it ends.
    ///
    /// Call it whenever there may be something to send: after a write, when the network is back, when the app opens.
    public func trigger() { _ = begin() }

    /// Sends the pending mutations, once through the queue.
    ///
    /// If a flush is in progress, this joins it, and that flush looks again for new mutations. Mutations that failed
    /// recently are not sent before their time; use ``resume(keepingGrowth:)`` for that. Cancelling the caller cancels
    /// the flush that it began. If it joined a flush, only its own wait ends. Nothing is lost.
    ///
    /// - Returns: The results of the flush.
    /// - Throws: The store's error; ``SyncQueueError/stopped``.
    @discardableResult
    public func flush() async throws -> FlushReport {
        while true {
            switch begin() {
            case .stopped:
                throw SyncQueueError.stopped
            case .paused(let until):
                return FlushReport(end: .paused(until: until))
            case .clearing:
                guard await waitForChange(while: { $0.machine.flush.clearings > 0 }) else {
                    return FlushReport(end: .cancelled)
                }
            case .flight(let flight, isJoined: true):
                guard await waitForChange(while: { $0.flight == flight }) else { return FlushReport(end: .cancelled) }
                let report = try await flight.value
                // This caller's trigger must not be lost if another caller was cancelled, or if the report is of a
                // pause that is now over.
                if report.end != .cancelled, !report.end.isOver(at: now) { return report }
            case .flight(let flight, isJoined: false):
                let report = try await withTaskCancellationHandler {
                    try await flight.value
                } onCancel: {
                    flight.cancel()
                }
                if report.end != .cancelled || Task.isCancelled { return report }
            }
        }
    }

    /// Flushes until nothing is pending.
    ///
    /// It waits for the ends of pauses and for dates, and retries failures.
    ///
    /// It may never return, if one mutation always fails: see ``FailureCounting``. It returns early, with
    /// ``FlushReport/End/offline(retryAt:)``, if the other side can't be reached, and with
    /// ``FlushReport/End/paused(until:)`` if the queue is paused by hand without an end. Cancelling the caller during
    /// its first flush cancels that flush, as with ``flush()``. Cancelling it later ends only its wait, and the queue
    /// continues.
    ///
    /// - Returns: The queue's results meanwhile, in all flushes of all callers.
    /// - Throws: The store's error; ``SyncQueueError/stopped``.
    @discardableResult
    public func drain() async throws -> FlushReport {
        let key = PolicyWaiter()
        state.withLock { $0.drains[ObjectIdentifier(key)] = FlushReport() }
        defer { _ = state.withLock { $0.drains.removeValue(forKey: ObjectIdentifier(key)) } }
        var end = try await flush().end
        while end.goesOn {
            // The queue's alarm starts the next flight; a trigger here would cause another attempt.
            let changed = await waitForChange { state in
                (try? state.lastEnd())?.goesOn ?? false
            }
            end = changed ? try state.withLock { try $0.lastEnd() } : .cancelled
        }
        var report = state.withLock { $0.drains[ObjectIdentifier(key)] } ?? FlushReport()
        report.end = end
        return report
    }

    /// Waits while a condition holds.
    /// - Returns: False if the task was cancelled, or the deadline passed, while the condition held.
    func waitForChange(
        until deadline: MonotonicInstant = .distantFuture, while condition: (borrowing State) -> Bool
    ) async -> Bool {
        while true {
            let waiter = PolicyWaiter()
            let waits = state.withLock { state in
                guard condition(state) else { return false }
                state.watchers.append(waiter)
                return true
            }
            guard waits else { return true }
            if await waiter.wait(until: deadline, on: pipeline.timeBase) != .resumed {
                state.withLock { $0.watchers.removeAll { $0 === waiter } }
                return false
            }
        }
    }

    func tellWatchers() {
        for watcher in state.withLock({ $0.takeWatchers() }) { watcher.resume() }
    }

    /// Runs a store's operation to its end even if the flush is cancelled, so that no acknowledgement is lost.
    func uncancelled<R: Sendable>(_ operation: @escaping @Sendable () async throws -> R) async throws -> R {
        try await Task(executorPreference: pipeline.timeBase.taskExecutor) { try await operation() }.value
    }

    /// The result of a change of the state, and its effects, which follow outside of the lock.
    private struct Effects<R: Sendable>: Sendable {
        let result: R
        let events: [SyncEvent]
        let statusReaders: [Int: AsyncStream<Void>.Continuation]
    }

    /// Passes an input to the machine, and its events to the observers.
    @discardableResult
    func change<R: Sendable>(_ body: (inout State, MonotonicInstant) -> R) -> R {
        let now = now
        let effects = state.withLock { state in
            Effects(
                result: body(&state, now), events: state.machine.takeEvents(), statusReaders: state.statusReaders)
        }
        for reader in effects.statusReaders.values { reader.yield() }
        for event in effects.events { tellObservers(event) }
        return effects.result
    }

    /// Reports a change of the store.
    func tell(_ event: @autoclosure () -> SyncEvent) {
        for reader in state.withLock({ $0.statusReaders }).values { reader.yield() }
        tellObservers(event())
    }

    private func tellObservers(_ event: @autoclosure () -> SyncEvent) {
        guard !observers.isEmpty else { return }
        observers.send(PolicyEvent(policy: name, pipeline: pipeline.name, time: now, detail: event()))
    }
}
