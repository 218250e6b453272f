public import Resilience

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The state of a ``SyncQueue``, for a user interface.
///
/// An encoder writes durations in seconds, and the end of a pause in nanoseconds on the queue's time base.
public struct SyncStatus: PolicyStatusDetail {
    /// The number of mutations that are not yet acknowledged.
    public let pending: Int
    /// The bytes of the payloads of pending mutations.
    public let bytes: Int
    /// The number of dead mutations.
    public let dead: Int
    /// The bytes of the payloads of dead mutations.
    public let deadBytes: Int
    /// The number of mutations that were sent and not yet answered.
    public let inFlight: Int
    /// Whether a flush is in progress.
    public let isFlushing: Bool
    /// The end of the pause, before which nothing is sent; nil if there is no pause, or a pause by hand without an end.
    ///
    /// A pause for a noted quota also counts.
    public let pausedUntil: MonotonicInstant?
    /// Whether the queue is paused by hand.
    public let isPausedByHand: Bool
    /// The estimated rate that the other side allows, in requests per second; nil until at least two of its 429s have
    /// shown the rate, or a quota with a limit and a window was noted.
    public let rate: Double?
    /// How long the first pending mutation has been in the queue; nil if none is pending.
    public let oldestAge: Duration?
    /// The earliest date for which a pending mutation waits (``Mutation/notBefore``); nil if none does.
    public let nextDue: Date?
    /// The estimated time until nothing is pending; nil if unknown.
    ///
    /// It follows from the rate, or else from this flush's deliveries so far. It ignores dates, and assumes that the
    /// rest of a quota is sent as fast as before.
    public let estimatedTimeLeft: Duration?

    /// Creates a status, for tests and previews.
    ///
    /// - Parameters:
    ///   - pending: The number of mutations that are not yet acknowledged.
    ///   - bytes: The bytes of their payloads.
    ///   - dead: The number of dead mutations.
    ///   - deadBytes: The bytes of their payloads.
    ///   - inFlight: The number of mutations that were sent and not yet answered.
    ///   - isFlushing: Whether a flush is in progress.
    ///   - pausedUntil: The end of the pause; nil if there is none.
    ///   - isPausedByHand: Whether the queue is paused by hand.
    ///   - rate: The estimated rate, in requests per second; nil if unknown.
    ///   - oldestAge: How long the first pending mutation has been in the queue; nil if none is pending.
    ///   - nextDue: The earliest date for which a pending mutation waits; nil if none does.
    ///   - estimatedTimeLeft: The estimated time until nothing is pending; nil if unknown.
    public init(
        pending: Int, bytes: Int = 0, dead: Int = 0, deadBytes: Int = 0, inFlight: Int = 0, isFlushing: Bool = false,
        pausedUntil: MonotonicInstant? = nil, isPausedByHand: Bool = false, rate: Double? = nil,
        oldestAge: Duration? = nil, nextDue: Date? = nil, estimatedTimeLeft: Duration? = nil
    ) {
        self.pending = pending
        self.bytes = bytes
        self.dead = dead
        self.deadBytes = deadBytes
        self.inFlight = inFlight
        self.isFlushing = isFlushing
        self.pausedUntil = pausedUntil
        self.isPausedByHand = isPausedByHand
        self.rate = rate
        self.oldestAge = oldestAge
        self.nextDue = nextDue
        self.estimatedTimeLeft = estimatedTimeLeft
    }

    /// Whether the queue is not paused.
    public var isAllowed: Bool { pausedUntil == nil && !isPausedByHand }

    public static var kind: String { "queue" }

    private func pausedFor(at now: MonotonicInstant) -> Duration? {
        pausedUntil.map { now.duration(to: $0) }.flatMap { $0 > .zero ? $0 : nil }
    }

    public func condition(at now: MonotonicInstant) -> PolicyCondition {
        let pausedFor = pausedFor(at: now)
        if isPausedByHand { return PolicyCondition("paused by hand", .degraded, timeLeft: pausedFor) }
        if let pausedFor { return PolicyCondition("paused", .degraded, timeLeft: pausedFor) }
        return PolicyCondition(isFlushing ? "sending" : "idle", .up)
    }

    public func readings(at now: MonotonicInstant) -> [StatusReading] {
        [
            StatusReading("sync_pending", "Mutations that are not acknowledged.", title: "pending", pending),
            StatusReading(
                "sync_bytes", "Bytes of the payloads of those mutations.", title: bytes > 0 ? "size" : nil,
                unit: .bytes,
                bytes),
            StatusReading(
                "sync_in_flight", "Mutations that were sent and not answered.", title: "in flight", inFlight),
            StatusReading("sync_dead", "Dead mutations.", title: "dead", dead),
            StatusReading(
                "sync_oldest_age_seconds", "How long the first pending mutation has waited.",
                title: oldestAge == nil ? nil : "oldest", unit: .since, oldestAge ?? .zero),
            StatusReading(
                "sync_rate", "Requests per second that the server is believed to allow.", title: "pace",
                unit: .perSecond,
                rate),
            StatusReading(
                "sync_paused_seconds", "The time left of a sync queue's pause.", pausedFor(at: now) ?? .zero),
            StatusReading(
                "sync_time_left_seconds", "The estimated time until nothing is pending.", title: "time left",
                pending > 0 ? estimatedTimeLeft : nil),
        ]
    }

    private enum CodingKeys: String, CodingKey {
        case pending, bytes, dead, deadBytes, inFlight, isFlushing, isPausedByHand, rate, nextDue
        case pausedUntil = "pausedUntilNanoseconds"
        case oldestAge = "oldestAgeSeconds"
        case estimatedTimeLeft = "estimatedTimeLeftSeconds"
    }
}

extension SyncQueue: StoredStatusReporting {
    public var clock: any TimeBase { pipeline.timeBase }
    public func readStatus() async throws -> any PolicyStatusDetail { try await status }

    /// The estimated rate that the other side allows, in requests per second; nil until at least two of its 429s have
    /// shown the rate, or a quota with a limit and a window was noted.
    public var rate: Double? { state.withLock { $0.machine.pace.rate } }

    /// The queue's state now.
    ///
    /// Throws the store's error.
    public var status: SyncStatus {
        get async throws {
            try await readHandPause()
            let totals = try await store.totals()
            let (now, pausedUntil) = (now, pausedUntil)
            let (date, jump) = dateAndJump
            return state.withLock { state in
                SyncStatus(
                    pending: totals.pending, bytes: totals.bytes, dead: totals.dead, deadBytes: totals.deadBytes,
                    inFlight: state.machine.inFlight, isFlushing: state.flight != nil,
                    pausedUntil: pausedUntil.flatMap { $0 < .distantFuture ? $0 : nil },
                    isPausedByHand: state.machine.pauses.byHand(at: now) != nil, rate: state.machine.pace.rate,
                    oldestAge: totals.oldest.map { date.earlier(by: jump).time(since: $0) }, nextDue: totals.nextDue,
                    estimatedTimeLeft: Self.timeLeft(
                        for: totals.pending, state.machine, pausedUntil: pausedUntil, at: now))
            }
        }
    }

    private static func timeLeft(
        for pending: Int, _ machine: SyncStateMachine, pausedUntil: MonotonicInstant?, at now: MonotonicInstant
    ) -> Duration? {
        if pending == 0 { return .zero }
        if pausedUntil == .distantFuture { return nil }
        let done = machine.progress?.total ?? FlushReport.Counts()
        let elapsed = machine.progress.map { $0.since.duration(to: now) / .seconds(1) } ?? 0
        let delivered = Double(done.delivered)
        let measured = elapsed > 0 ? delivered / elapsed : nil
        // The rate counts requests, and a batch is one request.
        let size = max(1, delivered / Double(max(1, done.requests)))
        guard let speed = machine.pace.rate.map({ $0 * size }) ?? measured, speed > 0 else { return nil }
        let atOnce = min(machine.pace.left(at: now), pending)
        let seconds = Double(atOnce) / max(speed, measured ?? 0) + Double(pending - atOnce) / speed
        let pause = pausedUntil.map { now.duration(to: $0) } ?? .zero
        return max(pause, .zero) + .seconds(min(seconds, 1e9))
    }

    /// Returns a stream of the queue's state: now, and after each change.
    ///
    /// A reader that lags behind sees only the latest state. The stream ends with the reader's task. If the store can't
    /// be read, it is tried again after a second, or at the next change.
    ///
    /// - Returns: The stream.
    public func statusUpdates() -> AsyncStream<SyncStatus> {
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

    /// Returns a stream of the queue's events from now on, in order.
    ///
    /// - Parameter limit: The most events kept for a reader that lags behind, at least 1; the oldest are dropped first.
    ///   1 000 by default.
    /// - Returns: The stream.
    public func events(bufferingNewest limit: Int = 1000) -> AsyncStream<SyncEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SyncEvent.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
        let subscription = observers.add { [name] event in
            // Other queues and policies may share the observers.
            if event.policy == name, let event = event.detail as? SyncEvent { continuation.yield(event) }
        }
        continuation.onTermination = { _ in subscription.cancel() }
        return stream
    }
}

/// Plans at most one retry at a time for each reader.
private final class StatusRetry: Sendable {
    let isPlanned = Locked(false)

    /// - Returns: Whether a retry was already planned.
    func plan() -> Bool {
        isPlanned.withLock { isPlanned in
            defer { isPlanned = true }
            return isPlanned
        }
    }
}
