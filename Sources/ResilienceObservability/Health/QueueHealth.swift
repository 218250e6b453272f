public import Resilience
public import ResilienceSync

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a sync queue told about itself, as a part of a ``HealthReport``.
public struct QueueHealth: Sendable, Hashable, Codable {
    /// The queue's status; nil if its store failed, or did not answer in time.
    public let status: SyncStatus?
    /// How much longer the queue sends nothing; nil if it is not paused, or if that is unknown, as it is of a pause by hand
    /// without an end.
    public let pausedFor: Duration?
    /// Why there is no status: the store's error, or that it did not answer in time; nil if there is one.
    public let problem: String?

    /// Creates the health of a queue that answered.
    /// - Parameters:
    ///   - status: The queue's status. A rate that is not a finite number is left out.
    ///   - now: The present time on the queue's time base.
    public init(_ status: SyncStatus, at now: MonotonicInstant) {
        self.status = SyncStatus(
            pending: status.pending, bytes: status.bytes, dead: status.dead, deadBytes: status.deadBytes,
            inFlight: status.inFlight, isFlushing: status.isFlushing, pausedUntil: status.pausedUntil,
            isPausedByHand: status.isPausedByHand,
            // JSON has no infinity, and a report must always be written.
            rate: status.rate.flatMap { $0.isFinite ? $0 : nil }, oldestAge: status.oldestAge,
            nextDue: status.nextDue.flatMap { $0.timeIntervalSinceReferenceDate.isFinite ? $0 : nil },
            estimatedTimeLeft: status.estimatedTimeLeft)
        pausedFor = status.pausedUntil.map { now.duration(to: $0) }.flatMap { $0 > .zero ? $0 : nil }
        problem = nil
    }

    /// Creates the health of a queue that has no status.
    /// - Parameter problem: Why there is none. A long text is cut.
    public init(problem: String) {
        status = nil
        pausedFor = nil
        self.problem = bounded(problem)
    }

    var isPaused: Bool { pausedFor != nil || status?.isPausedByHand ?? false }

    private enum CodingKeys: String, CodingKey {
        case status, problem
        case pausedFor = "pausedForSeconds"
    }
}
