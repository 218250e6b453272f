public import Resilience

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A durable queue of mutations, sent through a pipeline: in order within each entity, several entities at once.
///
/// ```swift
/// let queue = SyncQueue("events", store: try SQLiteStore(path: path), pipeline: pipeline) { mutation in
///     try await client.post(mutation.payload, idempotencyKey: mutation.idempotencyKey)
/// }
/// try await queue.enqueue(Mutation(entity: "evt-1", kind: "create", payload: data))
/// queue.trigger()
/// ```
///
/// - A mutation leaves the store once it is acknowledged: when its handler has returned. A crash before that sends it again,
///   with the same idempotency key.
/// - Mutations of one entity are sent in order. One that fails holds back those behind it, of its entity alone, and is
///   tried again after ``SyncQueueConfiguration/failedBackoff``.
/// - What is not a mutation's fault is never counted against it: 429, an open circuit, being offline, cancellation. Other
///   failures are as far as others get through meanwhile (``FailureCounting``), and the fifth that counts, or one that will not
///   pass by itself, sets it aside.
/// - A 429 or an open circuit pauses the whole queue. The pause outlasts a restart, its end starts a flush by itself, and
///   what follows begins with one request. From then on the queue sends at the rate that it finds the server to allow.
/// - However many triggers come at once, one flush runs, and it looks again before it ends.
public final class SyncQueue: Sendable {
    struct State {
        var machine: SyncStateMachine
        var flight: Task<FlushReport, any Error>?
        var alarm: TimeBaseAlarm?
        /// The stored pause, as this queue has stored or read it last.
        var knownPause: String?
        /// How often this queue has begun to store one, or has done so: what is read meanwhile may be older.
        var pauseWrites = 0
        /// What the flight waits on.
        var waker: PolicyWaiter?
        /// The last error of this round.
        var lastError: (any Error)?
        /// Why the last flight failed; nil if it did not.
        var failure: (any Error)?
        /// Entities that were enqueued to, or acknowledged, since each pull of a page began.
        var pulls: [ObjectIdentifier: Set<String>] = [:]
        /// What each drain under way has seen.
        var drains: [ObjectIdentifier: FlushReport] = [:]
        /// Who waits for a flight, or a clearing, to end.
        var watchers: [PolicyWaiter] = []
        /// Who is told of each change, by number.
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

        mutating func roundEnded(_ end: FlushReport.End) -> (FlushReport, SyncStateMachine.After) {
            let (counts, after) = machine.roundEnded(end)
            let report = FlushReport(counts: counts, end: end, lastError: lastError.take())
            for key in drains.keys { drains[key]?.add(report) }
            if after != .again {
                flight = nil
                if end != .cancelled { failure = nil }
            }
            return (report, after)
        }

        mutating func flightFailed(_ error: (any Error)?) -> SyncStateMachine.After {
            (flight, lastError, failure) = (nil, nil, error)
            return machine.flightFailed()
        }

        /// - Returns: the error before it, which is let go of outside of the lock.
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

    public let name: String
    public let pipeline: Pipeline
    /// Who is told what the queue does, with ``SyncEvent``.
    public let observers: PolicyObservers
    public let configuration: SyncQueueConfiguration
    let store: any MutationStore
    /// Among all queues on the store.
    let id = UUID()
    let wallClock: @Sendable () -> Date
    let handlers: [String?: SyncHandler]
    let state: Locked<State>

    /// - Parameters:
    ///   - pipeline: guards every request. Its time base is the queue's.
    ///   - wallClock: for what is stored over restarts, and for ages.
    ///   - handlers: send the mutations, by kind.
    public init(
        _ name: String = "sync", store: some MutationStore, pipeline: Pipeline,
        configuration: SyncQueueConfiguration = SyncQueueConfiguration(),
        observers: PolicyObservers = PolicyObservers(),
        wallClock: @escaping @Sendable () -> Date = { Date() }, handlers: [SyncHandler]
    ) {
        var configuration = configuration
        configuration.check()
        self.name = name
        self.store = store
        self.pipeline = pipeline
        self.configuration = configuration
        self.observers = observers
        self.wallClock = wallClock
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
            otherKinds: byKind[nil]?.batchLimit)
        let machine = SyncStateMachine(
            SyncStateMachine.Settings(
                maxFailures: configuration.maxFailures, failureCounting: configuration.failureCounting,
                laneRule: configuration.laneRule, maxPause: configuration.maxPause,
                lateness: .random(in: 0...configuration.pauseJitter), checksHealth: configuration.healthCheck != nil,
                rules: rules),
            lanes: LanesStateMachine(pageSize: configuration.pageSize),
            pace: SendPace(
                maxInFlight: configuration.maxInFlight,
                maxRate: configuration.maxRate.map { Double($0.calls) / ($0.period / .seconds(1)) }))
        state = Locked(State(machine: machine))
    }

    /// - Parameter send: sends one mutation, of whatever kind; returns when the other side has acknowledged it.
    public convenience init(
        _ name: String = "sync", store: some MutationStore, pipeline: Pipeline,
        configuration: SyncQueueConfiguration = SyncQueueConfiguration(),
        observers: PolicyObservers = PolicyObservers(),
        wallClock: @escaping @Sendable () -> Date = { Date() },
        send: @escaping @Sendable (Mutation) async throws -> Void
    ) {
        self.init(
            name, store: store, pipeline: pipeline, configuration: configuration, observers: observers,
            wallClock: wallClock, handlers: [.others(send)])
    }

    var now: MonotonicInstant { pipeline.timeBase.now }

    // MARK: Filling

    /// Stores a mutation; durable when it returns. Does not send: ``trigger()`` or ``flush()`` does.
    @discardableResult
    public func enqueue(_ mutation: Mutation) async throws -> Appended { try await enqueue([mutation]) }

    /// Stores mutations, all or none; durable when it returns. What is known of their entities already may be coalesced with
    /// them: see ``Coalescing``.
    /// - Throws: ``SyncQueueError/duplicate(id:)``, ``SyncQueueError/invalid(id:reason:)``,
    ///   ``SyncQueueError/full(count:bytes:)``, or the store's error.
    @discardableResult
    public func enqueue(_ mutations: [Mutation]) async throws -> Appended {
        guard !mutations.isEmpty else { return Appended() }
        try Self.check(mutations)
        state.withLock { $0.touch(mutations.lazy.map(\.entity)) }
        let appended = try await store.append(mutations, under: configuration.appending, at: wallClock())
        tell(appended)
        return appended
    }

    static func check(_ mutations: [Mutation]) throws(SyncQueueError) {
        for mutation in mutations {
            guard !mutation.id.isEmpty else { throw .invalid(id: "", reason: "its id is empty.") }
            guard (1...255).contains(mutation.idempotencyKey.count) else {
                throw .invalid(
                    id: mutation.id,
                    reason: "its idempotency key has \(mutation.idempotencyKey.count) characters, not 1 to 255.")
            }
        }
    }

    func tell(_ appended: Appended) {
        if appended.added > 0 { tell(.enqueued(appended.added)) }
        for merge in appended.merges { tell(.coalesced(id: merge.id, into: merge.into, cancelsOut: merge.cancelsOut)) }
        for id in appended.dropped { tell(.dropped(id: id)) }
    }

    // MARK: Sending

    /// Has the queue flushed, soon and in the background. Call it whenever there may be something to do: after a write, when
    /// the network is back, when the app opens.
    public func trigger() { _ = begin() }

    /// Sends what is pending, once through the queue.
    ///
    /// If a flush is under way it is joined; it will look again for what is new. What failed a short while ago is not sent
    /// before its time: ``resume()`` does that. Cancelling the caller cancels the flush that it began, and ends no more than
    /// its waiting for one that it joined; nothing is lost.
    /// - Throws: the store's error; ``SyncQueueError/stopped``.
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
                // Somebody else's cancellation is not ours: our trigger must not be lost. Neither is a pause that was over by then.
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

    /// Flushes until nothing is pending: waits while the queue waits out pauses and tries again what failed.
    ///
    /// That may be never, if one mutation always fails: see ``FailureCounting``. Returns early, with
    /// ``FlushReport/End/offline(retryAt:)``, if the other side can't be reached. Cancelling the caller
    /// cancels the flush that it begins with, as with ``flush()``; from then on it ends the waiting, and what the queue does
    /// by itself goes on.
    /// - Returns: what became of the queue meanwhile, whoever began the flushes.
    /// - Throws: the store's error; ``SyncQueueError/stopped``.
    @discardableResult
    public func drain() async throws -> FlushReport {
        let key = PolicyWaiter()
        state.withLock { $0.drains[ObjectIdentifier(key)] = FlushReport() }
        defer { _ = state.withLock { $0.drains.removeValue(forKey: ObjectIdentifier(key)) } }
        var end = try await flush().end
        while end.goesOn {
            // The queue's own alarm starts the next flight: one more trigger would mean one more attempt.
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
    /// - Returns: false if the task was cancelled, or the time was up, instead.
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

    /// Runs a store's operation to its end although the flush is cancelled: an acknowledgement in hand is not thrown away.
    func uncancelled<R: Sendable>(_ operation: @escaping @Sendable () async throws -> R) async throws -> R {
        try await Task(executorPreference: pipeline.timeBase.taskExecutor) { try await operation() }.value
    }

    /// Tells the machine what happened, and the observers what there is to tell.
    @discardableResult
    func change<R: Sendable>(_ body: (inout State, MonotonicInstant) -> R) -> R {
        let now = now
        let (result, events) = state.withLock { state in
            (body(&state, now), state.machine.takeEvents())
        }
        tellStatusReaders()
        for event in events { tell(event) }
        return result
    }

    /// Of the queue's own state, or of the store's.
    private func tellStatusReaders() {
        for reader in state.withLock({ $0.statusReaders }).values { reader.yield() }
    }

    func tell(_ event: @autoclosure () -> SyncEvent) {
        tellStatusReaders()
        guard !observers.isEmpty else { return }
        observers.send(PolicyEvent(policy: name, pipeline: pipeline.name, time: now, detail: event()))
    }
}
