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
        /// Flights begun so far.
        var flights = 0
        /// How the last flight that was not cancelled ended, and so when the queue goes on by itself.
        var lastEnd: Result<FlushReport.End, any Error> = .success(.drained)
        /// What each drain under way has seen.
        var drains: [ObjectIdentifier: FlushReport] = [:]
        /// Who waits for a flight, or a clearing, to end.
        var watchers: [Waiter] = []

        mutating func takeWatchers() -> [Waiter] {
            defer { watchers = [] }
            return watchers
        }
    }

    public let name: String
    public let pipeline: Pipeline
    /// Who is told what the queue does, with ``SyncEvent``.
    public let observers: Observers
    private let store: any MutationStore
    private let configuration: SyncQueueConfiguration
    private let wallClock: @Sendable () -> Date
    private let send: Send
    private let state = Locked(State())

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
    private func waitForChange(while condition: (borrowing State) -> Bool) async -> Bool {
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

    private func tellWatchers() {
        for watcher in state.withLock({ $0.takeWatchers() }) { watcher.resume() }
    }

    private enum Beginning {
        case flight(Task<FlushReport, any Error>)
        case paused(until: Instant)
        case clearing
        case stopped
    }

    private func begin() -> Beginning {
        let now = now
        return state.withLock { state in
            if state.stopped { return .stopped }
            switch state.machine.triggered(at: now) {
            case .paused(let until):
                return .paused(until: until)
            case .clearing:
                return .clearing
            case .join:
                // A flight is there as long as the machine is flushing.
                return .flight(state.flight!)
            case .start:
                disarm(&state)
                let flight = Task { try await self.fly() }
                state.flight = flight
                state.flights += 1
                return .flight(flight)
            }
        }
    }

    /// Passes over the queue until one ends without a trigger having come meanwhile.
    private func fly() async throws -> FlushReport {
        var total = FlushReport()
        while true {
            let report: FlushReport
            do {
                report = try await pass()
            } catch {
                tell(.storeFailed(error: "\(error)"))
                settle(failure: error)
                throw error
            }
            total.add(report)
            if settle(report) == .rest { return total }
        }
    }

    private func settle(_ report: FlushReport) -> FlushStateMachine.After {
        if report.end == .cancelled {
            abandon(report)
            return .rest
        }
        var pausedUntil: Instant?
        if case .paused(let until) = report.end { pausedUntil = until }
        let (after, flights) = state.withLock { state in
            for key in state.drains.keys { state.drains[key]?.add(report) }
            let after = state.machine.passEnded(pausedUntil: pausedUntil)
            if after == .rest {
                state.flight = nil
                state.lastEnd = .success(report.end)
            }
            return (after, state.flights)
        }
        if after == .rest {
            if let instant = report.end.goesOnAt { arm(at: instant, afterFlight: flights) }
            if report.end == .drained { tell(.drained) }
            tellWatchers()
        }
        return after
    }

    /// The flight was cancelled: what others expect of it, and what the queue would have done by itself, is still to be done.
    private func abandon(_ report: FlushReport) {
        let (triggersAgain, lastEnd, flights) = state.withLock { state in
            for key in state.drains.keys { state.drains[key]?.add(report) }
            state.flight = nil
            return (state.machine.flushCancelled(), state.lastEnd, state.flights)
        }
        if triggersAgain {
            trigger()
        } else if case .success(let end) = lastEnd, let instant = end.goesOnAt {
            arm(at: instant, afterFlight: flights)
        }
        tellWatchers()
    }

    private func settle(failure error: any Error) {
        let retryAt = now + stallDelay()
        let (triggersAgain, flights) = state.withLock { state in
            state.flight = nil
            state.lastEnd = .failure(error)
            return (state.machine.flushCancelled(), state.flights)
        }
        if triggersAgain { trigger() } else { arm(at: retryAt, afterFlight: flights) }
        tellWatchers()
    }

    /// The end of a pause starts a flush; nobody has to poke.
    private func arm(at instant: Instant, afterFlight flights: Int) {
        // Not under the lock: a time base may fire at once what is due already.
        let alarm = pipeline.timeBase.schedule(at: instant) { [weak self] in self?.trigger() }
        let stale = state.withLock { state -> Alarm? in
            // A flight that has begun since sets its own.
            if state.stopped || state.flights != flights { return alarm }
            defer { state.alarm = alarm }
            return state.alarm
        }
        if let stale { pipeline.timeBase.cancel(stale) }
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
            // By somebody else, and not the mutation's fault: the flush itself goes on.
            return .holdBack
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

    /// Without it, a backoff of zero would have the queue try again and again at the same instant.
    private static let shortestWait = Duration.milliseconds(1)

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
        return max(configuration.stalledBackoff.delay(beforeRetry: stalls, using: &generator), Self.shortestWait)
    }

    // MARK: Pausing

    private func pause(for asked: Duration) async throws -> FlushReport.End {
        let length = max(min(asked, configuration.maxPause), Self.shortestWait)
        let until = now + length
        let date = wallClock().addingTimeInterval(length / .seconds(1))
        try await keepPause(until: date)
        tell(.paused(for: length))
        return .paused(until: until)
    }

    private func keepPause(until date: Date?) async throws {
        try await uncancelled { try await self.store.setPause(until: date) }
    }

    /// What is left of a pause from before a restart.
    private func storedPause() async throws -> Instant? {
        guard !state.withLock({ $0.knowsStoredPause }) else { return nil }
        let date = try await uncancelled { try await self.store.pause() }
        state.withLock { $0.knowsStoredPause = true }
        guard let date else { return nil }
        let left = date.timeIntervalSince(wallClock())
        guard left > 0 else { return nil }
        // A clock set back must not make it longer than any pause may be, not even over further restarts.
        let longest = configuration.maxPause
        guard left > longest / .seconds(1) else { return now + .seconds(left) }
        try await keepPause(until: wallClock().addingTimeInterval(longest / .seconds(1)))
        return now + longest
    }

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

    private func endPause() async throws {
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
        tellWatchers()
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
