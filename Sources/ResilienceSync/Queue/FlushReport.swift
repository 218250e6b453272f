public import Resilience

/// How a flush went.
public struct FlushReport: Sendable {
    public enum End: Sendable, Hashable {
        /// Nothing is pending.
        case drained
        /// Nothing may be sent before this instant; the queue goes on by itself then.
        case paused(until: Instant)
        /// Something failed and stays pending; the queue tries again by itself at this instant, or when triggered.
        case stalled(retryAt: Instant)
        /// The other side could not be reached; the queue tries again by itself at this instant, or when triggered.
        case offline(retryAt: Instant)
        case cancelled

        /// When the queue goes on by itself; nil if it waits for a trigger.
        var goesOnAt: Instant? {
            switch self {
            case .paused(let instant), .stalled(let instant), .offline(let instant): instant
            case .drained, .cancelled: nil
            }
        }

        /// Whether waiting will get the rest through.
        var goesOn: Bool {
            switch self {
            case .paused, .stalled: true
            case .offline, .drained, .cancelled: false
            }
        }
    }

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
        delivered += other.delivered
        failed += other.failed
        died += other.died
        end = other.end
        lastError = other.lastError ?? lastError
    }
}

/// What a ``SyncQueue`` tells its observers.
public enum SyncEvent: PolicyEvent, Equatable {
    case enqueued(Int)
    case delivered(id: String)
    /// It failed for the nth time, by its own fault.
    case failed(id: String, failures: Int, error: String)
    /// It was set aside.
    case died(id: String, error: String)
    /// Nothing is sent for this long.
    case paused(for: Duration)
    case offline(error: String)
    case drained
    case cleared(Int)
    /// The store failed; nothing is lost.
    case storeFailed(error: String)

    public var kind: String {
        switch self {
        case .enqueued: "enqueued"
        case .delivered: "delivered"
        case .failed: "failed"
        case .died: "died"
        case .paused: "paused"
        case .offline: "offline"
        case .drained: "drained"
        case .cleared: "cleared"
        case .storeFailed: "storeFailed"
        }
    }

    public var description: String {
        switch self {
        case .enqueued(let count): "\(count) enqueued"
        case .delivered(let id): "\(id) delivered"
        case .failed(let id, let failures, let error): "\(id) failed (\(failures)): \(error)"
        case .died(let id, let error): "\(id) set aside: \(error)"
        case .paused(let length): "paused for \(length)"
        case .offline(let error): "offline: \(error)"
        case .drained: "drained"
        case .cleared(let count): "\(count) cleared"
        case .storeFailed(let error): "store failed: \(error)"
        }
    }
}
