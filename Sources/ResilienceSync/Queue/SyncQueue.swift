public import Resilience
import Synchronization

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

    private struct State {
        var machine = FlushStateMachine()
        var flight: Task<FlushReport, any Error>?
        var alarm: Alarm?
        var stopped = false
        var knowsStoredPause = false
        /// 429s in a row that named no wait.
        var throttles = 0
        /// Passes in a row that got nothing through.
        var stalls = 0
    }

    public let name: String
    public let pipeline: Pipeline
    /// Who is told what the queue does, with ``SyncEvent``.
    public let observers: Observers
    private let store: any MutationStore
    private let configuration: SyncQueueConfiguration
    private let wallClock: @Sendable () -> Date
    private let send: Send
    private let state = Mutex(State())

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

    private var now: Instant { pipeline.timeBase.now }

    // MARK: Filling

    /// Stores a mutation; durable when it returns. Does not send: ``trigger()`` or ``flush()`` does.
    public func enqueue(_ mutation: Mutation) async throws { try await enqueue([mutation]) }

    /// Stores mutations, all or none; durable when it returns.
    /// - Throws: ``SyncQueueError/duplicate(id:)``, ``SyncQueueError/invalid(id:reason:)``, or the store's error.
    public func enqueue(_ mutations: [Mutation]) async throws {
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

    /// Flushes until nothing is pending, waiting out pauses and trying again what failed.
    ///
    /// Returns early, with ``FlushReport/End/offline(retryAt:)``, if the other side can't be reached.
    public func drain() async throws -> FlushReport {
        var total = FlushReport()
        while true {
            total.add(try await flush())
            switch total.end {
            case .drained, .offline, .cancelled:
                return total
            case .paused(let instant), .stalled(let instant):
                if await Waiter().wait(until: instant, on: pipeline.timeBase) == .cancelled {
                    total.end = .cancelled
                    return total
                }
            }
        }
    }

    private enum Beginning {
        case flight(Task<FlushReport, any Error>)
        case paused(until: Instant)
        case stopped
    }

    private func begin() -> Beginning {
        let now = now
        return state.withLock { state in
            if state.stopped { return .stopped }
            switch state.machine.triggered(at: now) {
            case .paused(let until):
                return .paused(until: until)
            case .join:
                // A flight is there as long as the machine is flushing.
                return .flight(state.flight!)
            case .start:
                disarm(&state)
                let flight = Task { try await self.fly() }
                state.flight = flight
                return .flight(flight)
            }
        }
    }

    /// Passes over the queue until one ends without a trigger having come meanwhile.
    private func fly() async throws -> FlushReport {
        var total = FlushReport()
        while true {
            do {
                total.add(try await pass())
            } catch {
                settle(.cancelled)
                tell(.storeFailed(error: "\(error)"))
                throw error
            }
            if settle(total.end) == .rest { return total }
        }
    }

    @discardableResult
    private func settle(_ end: FlushReport.End) -> FlushStateMachine.After {
        let (after, triggersAgain) = state.withLock { state -> (FlushStateMachine.After, Bool) in
            if end == .cancelled {
                state.flight = nil
                return (.rest, state.machine.flushCancelled() && !state.stopped)
            }
            var pausedUntil: Instant?
            if case .paused(let until) = end { pausedUntil = until }
            let after = state.machine.passEnded(pausedUntil: pausedUntil)
            if after == .rest {
                state.flight = nil
                arm(for: end, &state)
            }
            return (after, false)
        }
        if triggersAgain { trigger() }
        if after == .rest, end == .drained { tell(.drained) }
        return after
    }

    /// The end of a pause starts a flush; nobody has to poke.
    private func arm(for end: FlushReport.End, _ state: inout State) {
        disarm(&state)
        switch end {
        case .paused(let instant), .stalled(let instant), .offline(let instant):
            state.alarm = pipeline.timeBase.schedule(at: instant) { [weak self] in self?.trigger() }
        case .drained, .cancelled:
            break
        }
    }

    private func disarm(_ state: inout State) {
        if let alarm = state.alarm.take() { pipeline.timeBase.cancel(alarm) }
    }

    // MARK: One pass

    private func pass() async throws -> FlushReport {
        var report = FlushReport()
        if let until = try await storedPause() {
            report.end = .paused(until: until)
            return report
        }
        var position = Int64.min
        var heldBack: Set<String> = []
        while true {
            let page = try await uncancelled { [position] in
                try await self.store.pending(after: position, limit: self.configuration.pageSize)
            }
            guard !page.isEmpty else { break }
            for stored in page {
                position = stored.position
                if heldBack.contains(stored.mutation.entity) { continue }
                if Task.isCancelled {
                    report.end = .cancelled
                    return report
                }
                switch try await attempt(stored, &report) {
                case .next: continue
                case .holdBack: heldBack.insert(stored.mutation.entity)
                case .end(let end):
                    report.end = end
                    return report
                }
                // Everything fails, and no breaker has said so: enough for this time.
                if heldBack.count >= configuration.pageSize { break }
            }
            if heldBack.count >= configuration.pageSize { break }
        }
        report.end = heldBack.isEmpty ? .drained : .stalled(retryAt: now + stallDelay())
        return report
    }

    private enum Sequel {
        case next
        case holdBack
        case end(FlushReport.End)
    }

    private func attempt(_ stored: StoredMutation, _ report: inout FlushReport) async throws -> Sequel {
        do {
            try await pipeline.run { try await send(stored.mutation) }
        } catch {
            return try await failed(stored, error, &report)
        }
        try await uncancelled { try await self.store.remove(at: stored.position) }
        report.delivered += 1
        state.withLock { state in
            state.throttles = 0
            state.stalls = 0
        }
        tell(.delivered(id: stored.mutation.id))
        return .next
    }

    private func failed(
        _ stored: StoredMutation, _ error: any Error, _ report: inout FlushReport
    ) async throws -> Sequel {
        if Task.isCancelled { return .end(.cancelled) }
        report.lastError = error
        if configuration.isOffline(error) {
            tell(.offline(error: "\(error)"))
            return .end(.offline(retryAt: now + stallDelay()))
        }
        switch pipeline.verdict(for: error) {
        case .throttled(let named):
            return .end(try await pause(for: named ?? throttleDelay()))
        case .rejected:
            return .end(try await pause(for: (error as? any Rejection)?.retryAfter ?? throttleDelay()))
        case .cancelled:
            return .end(.cancelled)
        case .permanent:
            return try await setAside(stored, error, &report)
        case .transient, .uncertain, .success:
            report.failed += 1
            if stored.failures + 1 >= configuration.maxFailures { return try await setAside(stored, error, &report) }
            try await uncancelled { try await self.store.countFailure(at: stored.position, error: "\(error)") }
            tell(.failed(id: stored.mutation.id, failures: stored.failures + 1, error: "\(error)"))
            return .holdBack
        }
    }

    private func setAside(
        _ stored: StoredMutation, _ error: any Error, _ report: inout FlushReport
    ) async throws -> Sequel {
        try await uncancelled { try await self.store.park(at: stored.position, error: "\(error)") }
        report.died += 1
        tell(.died(id: stored.mutation.id, error: "\(error)"))
        return .next
    }

    private func throttleDelay() -> Duration {
        let throttles = state.withLock { state in
            defer { state.throttles = min(state.throttles + 1, 1_000_000) }
            return state.throttles
        }
        var generator = SplitMix64.shared
        return configuration.throttledBackoff.delay(beforeRetry: throttles, using: &generator)
    }

    private func stallDelay() -> Duration {
        let stalls = state.withLock { state in
            defer { state.stalls = min(state.stalls + 1, 1_000_000) }
            return state.stalls
        }
        var generator = SplitMix64.shared
        return configuration.stalledBackoff.delay(beforeRetry: stalls, using: &generator)
    }

    // MARK: Pausing

    private func pause(for asked: Duration) async throws -> FlushReport.End {
        let length = min(max(asked, .milliseconds(1)), configuration.maxPause)
        let until = now + length
        let date = wallClock().addingTimeInterval(length / .seconds(1))
        try await uncancelled { try await self.store.setPause(until: date) }
        tell(.paused(for: length))
        return .paused(until: until)
    }

    /// What is left of a pause from before a restart.
    private func storedPause() async throws -> Instant? {
        guard !state.withLock({ $0.knowsStoredPause }) else { return nil }
        let date = try await uncancelled { try await self.store.pause() }
        state.withLock { $0.knowsStoredPause = true }
        guard let date else { return nil }
        let left = date.timeIntervalSince(wallClock())
        guard left > 0 else { return nil }
        // A clock set back must not make it longer than any pause may be.
        return now + min(.seconds(left), configuration.maxPause)
    }

    /// Until when nothing is sent; nil if there is no pause.
    public var pausedUntil: Instant? {
        let now = now
        return state.withLock { $0.machine.pausedUntil }.flatMap { now < $0 ? $0 : nil }
    }

    /// Ends a pause before its time: resets the pipeline's circuit breakers, and triggers.
    public func resume() async throws {
        try await store.setPause(until: nil)
        for case .policy(let policy) in pipeline.elements { (policy as? CircuitBreaker)?.reset() }
        state.withLock { state in
            state.machine.endPause()
            state.throttles = 0
            state.stalls = 0
        }
        trigger()
    }

    // MARK: Looking, clearing, stopping

    public func pendingCount() async throws -> Int { try await store.pendingCount() }
    public func deadCount() async throws -> Int { try await store.deadCount() }

    /// What was set aside, oldest first.
    public func dead(after position: Int64 = .min, limit: Int = 100) async throws -> [StoredMutation] {
        try await store.dead(after: position, limit: limit)
    }

    /// Gives up everything that is pending: cancels what is in flight, removes the rest, ends a pause and resets the
    /// pipeline's circuit breakers. Nothing of it can come back, whatever answer arrives late.
    ///
    /// - Parameter markFailed: told of the mutations, a page at a time, before they are removed; for an app that shows
    ///   their entities as failed.
    /// - Returns: how many were removed.
    @discardableResult
    public func clear(markFailed: ((_ page: [Mutation]) async throws -> Void)? = nil) async throws -> Int {
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
        try await resume()
        return count
    }

    private func nextPage(after position: Int64) async throws -> [StoredMutation]? {
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
    }

    private func cancelFlight() async {
        guard let flight = state.withLock({ $0.flight }) else { return }
        flight.cancel()
        _ = await flight.result
    }

    /// Runs a store's operation to its end although the flush is cancelled: an acknowledgement in hand is not thrown away.
    private func uncancelled<R: Sendable>(_ operation: @escaping @Sendable () async throws -> R) async throws -> R {
        try await Task { try await operation() }.value
    }

    private func tell(_ event: @autoclosure () -> SyncEvent) {
        guard !observers.isEmpty else { return }
        observers.send(Event(policy: name, pipeline: pipeline.name, time: now, detail: event()))
    }
}
