public import Resilience

/// The results of a flush.
public struct FlushReport: Sendable {
    /// How a flush ended.
    public enum End: Sendable, Hashable {
        /// Nothing is pending.
        case drained
        /// All pending mutations wait behind dead mutations that block their lanes.
        case blocked
        /// Nothing may be sent before this instant; then the queue continues automatically.
        ///
        /// `MonotonicInstant.distantFuture` if it was paused by hand, without an end.
        case paused(until: MonotonicInstant)
        /// All pending mutations wait for a date (``Mutation/notBefore``), or behind mutations that wait for one, or
        /// behind dead mutations.
        ///
        /// The queue continues automatically at the earliest date; `MonotonicInstant.distantFuture` if that is too far
        /// away to compute.
        case waiting(until: MonotonicInstant)
        /// Pending mutations have failed and wait for the next try, or so many entities have failed that others were
        /// not tried.
        ///
        /// The queue tries again automatically at this instant.
        case stalled(retryAt: MonotonicInstant)
        /// The other side could not be reached.
        ///
        /// The queue tries again automatically at this instant, or when triggered.
        case offline(retryAt: MonotonicInstant)
        /// Another queue has this store's sending lock.
        ///
        /// This one tries again automatically at this instant.
        case lockedOut(retryAt: MonotonicInstant)
        /// The caller was cancelled before the flush ended.
        case cancelled

        /// When the queue continues automatically; nil if it waits for a trigger.
        var goesOnAt: MonotonicInstant? {
            switch self {
            case .paused(until: .distantFuture), .waiting(until: .distantFuture): nil
            case .paused(let instant), .waiting(let instant), .stalled(let instant), .offline(let instant),
                .lockedOut(let instant):
                instant
            case .drained, .blocked, .cancelled: nil
            }
        }

        /// Whether this was a pause that is now over.
        func isOver(at now: MonotonicInstant) -> Bool {
            if case .paused(let until) = self { until <= now } else { false }
        }

        /// Whether the queue continues automatically, so that waiting delivers the rest.
        var goesOn: Bool {
            if case .offline = self { false } else { goesOnAt != nil }
        }
    }

    struct Counts: Sendable, Hashable {
        var requests = 0
        var throttled = 0
        var delivered = 0
        var failed = 0
        var died = 0

        static func += (counts: inout Counts, more: Counts) {
            counts.requests += more.requests
            counts.throttled += more.throttled
            counts.delivered += more.delivered
            counts.failed += more.failed
            counts.died += more.died
        }
    }

    var counts = Counts()
    /// How the flush ended.
    public internal(set) var end = End.drained
    /// The last failure, rejection or connection error; nil if there was none.
    public internal(set) var lastError: (any Error)?

    /// The number of requests sent.
    public var requests: Int { counts.requests }
    /// The number of requests that were answered with a 429.
    public var throttled: Int { counts.throttled }
    /// The number of mutations that the other side acknowledged.
    public var delivered: Int { counts.delivered }
    /// The number of attempts that failed, whether they count against their mutation or not.
    public var failed: Int { counts.failed }
    /// The number of mutations that became dead, except those that died with another under ``LaneRule/killRest``.
    public var died: Int { counts.died }

    mutating func add(_ other: FlushReport) {
        counts += other.counts
        end = other.end
        lastError = other.lastError ?? lastError
    }
}
