public import Resilience

/// How a flush went.
public struct FlushReport: Sendable {
    public enum End: Sendable, Hashable {
        /// Nothing is pending.
        case drained
        /// What is pending waits behind mutations that were set aside and block their lanes.
        case blocked
        /// Nothing may be sent before this instant; the queue goes on by itself then.
        case paused(until: MonotonicInstant)
        /// What is pending has failed and waits to be tried again, or so much of it that others were not tried; the queue does
        /// that by itself at this instant.
        case stalled(retryAt: MonotonicInstant)
        /// The other side could not be reached; the queue tries again by itself at this instant, or when triggered.
        case offline(retryAt: MonotonicInstant)
        /// Another queue sends what is in this store; this one asks again by itself at this instant.
        case lockedOut(retryAt: MonotonicInstant)
        case cancelled

        /// When the queue goes on by itself; nil if it waits for a trigger.
        var goesOnAt: MonotonicInstant? {
            switch self {
            case .paused(let instant), .stalled(let instant), .offline(let instant), .lockedOut(let instant): instant
            case .drained, .blocked, .cancelled: nil
            }
        }

        /// Of a pause.
        func isOver(at now: MonotonicInstant) -> Bool {
            if case .paused(let until) = self { until <= now } else { false }
        }

        /// Whether waiting will get the rest through.
        var goesOn: Bool {
            switch self {
            case .paused, .stalled, .lockedOut: true
            case .offline, .drained, .blocked, .cancelled: false
            }
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
    public internal(set) var end = End.drained
    /// What the last failure, rejection or connection error was.
    public internal(set) var lastError: (any Error)?

    /// Requests sent.
    public var requests: Int { counts.requests }
    /// Requests that were answered with a 429.
    public var throttled: Int { counts.throttled }
    /// Mutations that the other side acknowledged.
    public var delivered: Int { counts.delivered }
    /// Attempts that failed, whether they count against their mutation or not.
    public var failed: Int { counts.failed }
    /// Mutations set aside for a reason of their own; not those that go with them under ``LaneRule/parkRest``.
    public var died: Int { counts.died }

    mutating func add(_ other: FlushReport) {
        counts += other.counts
        end = other.end
        lastError = other.lastError ?? lastError
    }
}
