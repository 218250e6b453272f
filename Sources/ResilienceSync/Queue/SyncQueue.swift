public import Resilience

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A durable queue of mutations, sent one after the other through a pipeline.
///
/// ```swift
/// let queue = SyncQueue("events", store: try SQLiteStore(path: path), pipeline: pipeline) { mutation in
///     try await client.post(mutation.payload, idempotencyKey: mutation.idempotencyKey)
/// }
/// try await queue.enqueue(Mutation(entity: "evt-1", kind: "create", payload: data))
/// queue.trigger()
/// ```
///
/// - A mutation leaves the store once it is acknowledged: when `send` has returned. A crash before that sends it again, with
///   the same idempotency key.
/// - Mutations of one entity are sent in order. One that fails holds back those behind it, of its entity alone.
/// - What is not a mutation's fault is never counted against it: 429, an open circuit, being offline, cancellation. Other
///   failures are, and the fifth, or one that will not pass by itself, sets it aside.
/// - A 429 or an open circuit pauses the whole queue. The pause outlasts a restart, and its end starts a flush by itself.
/// - However many triggers come at once, one flush runs, and it looks again before it ends.
public final class SyncQueue: Sendable {
    /// Sends one mutation; returns when the other side has acknowledged it.
    public typealias Send = @Sendable (Mutation) async throws -> Void

    struct State {
        var machine = FlushStateMachine()
        var flight: Task<FlushReport, any Error>?
        var alarm: Alarm?
        var stopped = false
        var knowsStoredPause = false
        /// 429s in a row that named no wait.
        var throttles = 0
        /// Passes in a row that got nothing through.
        var stalls = 0
        /// Flights begun so far.
        var flights = 0
        /// How the last flight that was not cancelled ended, and so when the queue goes on by itself.
        var lastEnd: Result<FlushReport.End, any Error> = .success(.drained)
        /// What each drain under way has seen.
        var drains: [ObjectIdentifier: FlushReport] = [:]
        /// Who waits for a flight, or a clearing, to end.
        var watchers: [Waiter] = []

        mutating func tellDrains(_ report: FlushReport) {
            for key in drains.keys { drains[key]?.add(report) }
        }

        mutating func takeWatchers() -> [Waiter] {
            defer { watchers = [] }
            return watchers
        }
    }

    public let name: String
    public let pipeline: Pipeline
    /// Who is told what the queue does, with ``SyncEvent``.
    public let observers: Observers
    let store: any MutationStore
    let configuration: SyncQueueConfiguration
    let wallClock: @Sendable () -> Date
    let send: Send
    let state = Locked(State())

    /// - Parameters:
    ///   - pipeline: guards every send. Its time base is the queue's.
    ///   - wallClock: for what is stored over restarts.
    ///   - send: sends one mutation.
    public init(
        _ name: String = "sync", store: some MutationStore, pipeline: Pipeline,
        configuration: SyncQueueConfiguration = SyncQueueConfiguration(), observers: Observers = Observers(),
        wallClock: @escaping @Sendable () -> Date = { Date() }, send: @escaping Send
    ) {
        self.name = name
        self.store = store
        self.pipeline = pipeline
        self.configuration = configuration
        self.observers = observers
        self.wallClock = wallClock
        self.send = send
    }

    var now: Instant { pipeline.timeBase.now }

    // MARK: Filling

    /// Stores a mutation; durable when it returns. Does not send: ``trigger()`` or ``flush()`` does.
    public func enqueue(_ mutation: Mutation) async throws { try await enqueue([mutation]) }

    /// Stores mutations, all or none; durable when it returns.
    /// - Throws: ``SyncQueueError/duplicate(id:)``, ``SyncQueueError/invalid(id:reason:)``, or the store's error.
    public func enqueue(_ mutations: [Mutation]) async throws {
        guard !mutations.isEmpty else { return }
        for mutation in mutations {
            guard !mutation.id.isEmpty else { throw SyncQueueError.invalid(id: "", reason: "its id is empty.") }
            guard (1...255).contains(mutation.idempotencyKey.count) else {
                throw SyncQueueError.invalid(
                    id: mutation.id,
                    reason: "its idempotency key has \(mutation.idempotencyKey.count) characters, not 1 to 255.")
            }
        }
        try await store.append(mutations)
        tell(.enqueued(mutations.count))
    }

    // MARK: Sending

    /// Has the queue flushed, soon and in the background. Call it whenever there may be something to do: after a write, when
    /// the network is back, when the app opens.
    public func trigger() { _ = begin() }

    /// Sends what is pending, once through the queue.
    ///
    /// If a flush is under way it is joined; it will look again for what is new. Cancelling the caller cancels the flush;
    /// nothing is lost.
    /// - Throws: the store's error; ``SyncQueueError/stopped``.
    public func flush() async throws -> FlushReport {
        while true {
            switch begin() {
            case .stopped:
                throw SyncQueueError.stopped
            case .paused(let until):
                var report = FlushReport()
                report.end = .paused(until: until)
                return report
            case .clearing:
                if await waitForChange(while: { $0.machine.clearings > 0 }) { continue }
                var report = FlushReport()
                report.end = .cancelled
                return report
            case .flight(let flight):
                let report = try await withTaskCancellationHandler {
                    try await flight.value
                } onCancel: {
                    flight.cancel()
                }
                // Somebody else's cancellation is not ours: our trigger must not be lost.
                if report.end == .cancelled, !Task.isCancelled { continue }
                return report
            }
        }
    }

    /// Flushes until nothing is pending: waits while the queue waits out pauses and tries again what failed.
    ///
    /// Returns early, with ``FlushReport/End/offline(retryAt:)``, if the other side can't be reached. Cancelling the caller
    /// ends the waiting; what the queue does by itself goes on.
    /// - Returns: what became of the queue meanwhile, whoever began the flushes.
    /// - Throws: the store's error; ``SyncQueueError/stopped``.
    public func drain() async throws -> FlushReport {
        let key = Waiter()
        state.withLock { $0.drains[ObjectIdentifier(key)] = FlushReport() }
        defer { _ = state.withLock { $0.drains.removeValue(forKey: ObjectIdentifier(key)) } }
        var end = try await flush().end
        while end.goesOn {
            // The queue's own alarm starts the next flight: one more trigger would mean one more attempt.
            let changed = await waitForChange { state in
                guard !state.stopped, case .success(let lastEnd) = state.lastEnd else { return false }
                return state.flight != nil || lastEnd.goesOn
            }
            end =
                changed
                ? try state.withLock { $0.stopped ? .failure(SyncQueueError.stopped) : $0.lastEnd }.get() : .cancelled
        }
        var report = state.withLock { $0.drains[ObjectIdentifier(key)] } ?? FlushReport()
        report.end = end
        return report
    }

    /// Waits while a condition holds.
    /// - Returns: false if the task was cancelled instead.
    func waitForChange(while condition: (borrowing State) -> Bool) async -> Bool {
        while true {
            let waiter = Waiter()
            let waits = state.withLock { state in
                guard condition(state) else { return false }
                state.watchers.append(waiter)
                return true
            }
            guard waits else { return true }
            if await waiter.wait(until: .distantFuture, on: pipeline.timeBase) == .cancelled {
                state.withLock { $0.watchers.removeAll { $0 === waiter } }
                return false
            }
        }
    }

    func tellWatchers() {
        for watcher in state.withLock({ $0.takeWatchers() }) { watcher.resume() }
    }

    // MARK: Pausing

    /// Until when nothing is sent; nil if there is no pause.
    public var pausedUntil: Instant? {
        let now = now
        return state.withLock { $0.machine.pausedUntil }.flatMap { now < $0 ? $0 : nil }
    }

    /// Ends a pause before its time: resets the pipeline's circuit breakers, and triggers.
    public func resume() async throws {
        try await endPause()
        trigger()
    }

    func endPause() async throws {
        try await keepPause(until: nil)
        for case .policy(let policy) in pipeline.elements { (policy as? CircuitBreaker)?.reset() }
        state.withLock { state in
            state.machine.endPause()
            state.throttles = 0
            state.stalls = 0
        }
    }

    // MARK: Looking, clearing, stopping

    public func pendingCount() async throws -> Int { try await store.pendingCount() }
    public func deadCount() async throws -> Int { try await store.deadCount() }

    /// What was set aside, oldest first.
    public func dead(after position: Int64 = .min, limit: Int = 100) async throws -> [StoredMutation] {
        try await store.dead(after: position, limit: limit)
    }

    /// Gives up everything that is pending: cancels what is in flight, removes the rest, ends a pause and resets the
    /// pipeline's circuit breakers. Nothing of it can come back, whatever answer arrives late. No flush begins meanwhile; one
    /// begins afterwards, for what was enqueued since.
    ///
    /// - Parameter markFailed: told of the mutations, a page at a time, before they are removed; for an app that shows
    ///   their entities as failed. It must not wait for a flush.
    /// - Returns: how many were removed.
    @discardableResult
    public func clear(markFailed: ((_ page: [Mutation]) async throws -> Void)? = nil) async throws -> Int {
        state.withLock { $0.machine.clearingBegan() }
        defer {
            state.withLock { $0.machine.clearingEnded() }
            trigger()
            tellWatchers()
        }
        await cancelFlight()
        if let markFailed {
            var position = Int64.min
            while let page = try await nextPage(after: position) {
                try await markFailed(page.map(\.mutation))
                position = page.last?.position ?? .max
            }
        }
        let count = try await store.removePending()
        tell(.cleared(count))
        try await endPause()
        return count
    }

    func nextPage(after position: Int64) async throws -> [StoredMutation]? {
        let page = try await store.pending(after: position, limit: configuration.pageSize)
        return page.isEmpty ? nil : page
    }

    /// Ends the flush that is under way and starts no other. What is pending stays for the next start. For good.
    public func stop() async {
        state.withLock { state in
            state.stopped = true
            disarm(&state)
        }
        await cancelFlight()
        tellWatchers()
    }

    func cancelFlight() async {
        guard let flight = state.withLock({ $0.flight }) else { return }
        flight.cancel()
        _ = await flight.result
    }

    /// Runs a store's operation to its end although the flush is cancelled: an acknowledgement in hand is not thrown away.
    func uncancelled<R: Sendable>(_ operation: @escaping @Sendable () async throws -> R) async throws -> R {
        try await Task(executorPreference: pipeline.timeBase.taskExecutor) { try await operation() }.value
    }

    func tell(_ event: @autoclosure () -> SyncEvent) {
        guard !observers.isEmpty else { return }
        observers.send(Event(policy: name, pipeline: pipeline.name, time: now, detail: event()))
    }
}
