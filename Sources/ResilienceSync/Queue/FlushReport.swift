public import Resilience

/// How a flush went.
public struct FlushReport: Sendable {
    public enum End: Sendable, Hashable {
        /// Nothing is pending.
        case drained
        /// What is pending waits behind mutations that were set aside and block their lanes.
        case blocked
        /// Nothing may be sent before this instant; the queue goes on by itself then.
        case paused(until: Instant)
        /// All that is pending has failed and waits to be tried again; the queue does that by itself at this instant.
        case stalled(retryAt: Instant)
        /// The other side could not be reached; the queue tries again by itself at this instant, or when triggered.
        case offline(retryAt: Instant)
        case cancelled

        /// When the queue goes on by itself; nil if it waits for a trigger.
        var goesOnAt: Instant? {
            switch self {
            case .paused(let instant), .stalled(let instant), .offline(let instant): instant
            case .drained, .blocked, .cancelled: nil
            }
        }

        /// Whether waiting will get the rest through.
        var goesOn: Bool {
            switch self {
            case .paused, .stalled: true
            case .offline, .drained, .blocked, .cancelled: false
            }
        }
    }

    /// Requests sent.
    public internal(set) var requests = 0
    /// Requests that were answered with a 429.
    public internal(set) var throttled = 0
    /// Mutations that the other side acknowledged.
    public internal(set) var delivered = 0
    /// Attempts that failed and count.
    public internal(set) var failed = 0
    /// Mutations set aside.
    public internal(set) var died = 0
    public internal(set) var end = End.drained
    /// What the last failure, rejection or connection error was.
    public internal(set) var lastError: (any Error)?

    mutating func add(_ other: FlushReport) {
        requests += other.requests
        throttled += other.throttled
        delivered += other.delivered
        failed += other.failed
        died += other.died
        end = other.end
        lastError = other.lastError ?? lastError
    }
}
