public import Resilience

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How a ``SyncQueue`` stands, for a user interface.
public struct SyncStatus: Sendable, Hashable {
    /// Mutations not yet acknowledged.
    public let pending: Int
    /// Bytes of their payloads.
    public let bytes: Int
    /// Mutations set aside.
    public let dead: Int
    /// Bytes of their payloads.
    public let deadBytes: Int
    /// Mutations whose answer is being waited for.
    public let inFlight: Int
    public let isFlushing: Bool
    /// Until when nothing is sent; nil if there is no pause.
    public let pausedUntil: MonotonicInstant?
    /// Requests a second that the other side is believed to allow; nil as long as it has refused none.
    public let rate: Double?
    /// How long the first pending mutation has been in the queue.
    public let oldestAge: Duration?
    /// How long until nothing is pending, going by the rate, or else by what this flush has got through; nil if nobody can
    /// tell.
    public let estimatedTimeLeft: Duration?
}

extension SyncQueue {
    /// Requests a second that the other side is believed to allow; nil as long as it has refused none.
    public var rate: Double? { state.withLock { $0.machine.pace.rate } }

    /// How the queue stands now. Throws the store's error.
    public var status: SyncStatus {
        get async throws {
            let totals = try await store.totals()
            let (now, pausedUntil) = (now, pausedUntil)
            let wallNow = wallClock()
            return state.withLock { state in
                SyncStatus(
                    pending: totals.pending, bytes: totals.bytes, dead: totals.dead, deadBytes: totals.deadBytes,
                    inFlight: state.machine.inFlight, isFlushing: state.flight != nil, pausedUntil: pausedUntil,
                    rate: state.machine.pace.rate,
                    // A store may hold any date, and a duration can't be any number of seconds.
                    oldestAge: totals.oldest.map { .seconds(min(max(0, wallNow.timeIntervalSince($0)), 1e12)) },
                    estimatedTimeLeft: Self.timeLeft(
                        for: totals.pending, state.machine, pausedUntil: pausedUntil, at: now))
            }
        }
    }

    private static func timeLeft(
        for pending: Int, _ machine: SyncStateMachine, pausedUntil: MonotonicInstant?, at now: MonotonicInstant
    ) -> Duration? {
        if pending == 0 { return .zero }
        let progress = machine.progress
        let elapsed = machine.since.map { $0.duration(to: now) / .seconds(1) } ?? 0
        let delivered = Double(progress.delivered)
        // The rate is of requests, and a batch is one.
        let allowed = machine.pace.rate.map { $0 * max(1, delivered / Double(max(1, progress.requests))) }
        guard let speed = allowed ?? (elapsed > 0 ? delivered / elapsed : nil), speed > 0 else { return nil }
        let pause = pausedUntil.map { now.duration(to: $0) } ?? .zero
        return max(pause, .zero) + .seconds(min(Double(pending) / speed, 1e9))
    }

    /// How the queue stands now, and again after each change, as often as the reader asks: a reader that lags behind sees
    /// the latest only. Ends with the reader's task. If the store can't be read, it is tried again after a second, or
    /// at the next change.
    public func statuses() -> AsyncStream<SyncStatus> {
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield()
        let number = state.withLock { $0.add(continuation) }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.statusReaders.removeValue(forKey: number) }
        }
        let retry = StatusRetry()
        return AsyncStream { [self] in
            for await _ in changes {
                if let status = try? await self.status { return status }
                if retry.plan() { continue }
                _ = pipeline.timeBase.schedule(at: now + .seconds(1)) {
                    retry.isPlanned.withLock { $0 = false }
                    continuation.yield()
                }
            }
            return nil
        }
    }

    /// What the queue does from now on, in order.
    /// - Parameter limit: events kept for a reader that lags behind; the oldest are dropped first.
    public func events(bufferingNewest limit: Int = 1000) -> AsyncStream<SyncEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SyncEvent.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
        let subscription = observers.add { [name] event in
            // Others may share the observers.
            if event.policy == name, let event = event.detail as? SyncEvent { continuation.yield(event) }
        }
        continuation.onTermination = { _ in subscription.cancel() }
        return stream
    }
}

/// One at a time for each reader.
private final class StatusRetry: Sendable {
    let isPlanned = Locked(false)

    /// - Returns: whether one was planned already.
    func plan() -> Bool {
        isPlanned.withLock { isPlanned in
            defer { isPlanned = true }
            return isPlanned
        }
    }
}
