public import Resilience

/// How a ``SyncQueue`` behaves.
public struct SyncQueueConfiguration: Sendable {
    /// The counted failure that sets a mutation aside; 1 or more.
    public var maxFailures: Int
    /// Mutations read from the store at a time; 1 or more.
    public var pageSize: Int
    /// How long to pause for the nth 429 in a row that names no wait.
    public var throttledBackoff: Backoff
    /// How long until the queue tries by itself again, after the nth flush in a row that got nothing through.
    public var stalledBackoff: Backoff
    /// The longest pause; whatever a server asks, and whatever a stored pause says after the clock was set.
    public var maxPause: Duration
    /// Whether an error means that the other side could not be reached at all: then nobody is to blame.
    public var isOffline: @Sendable (any Error) -> Bool

    public init(
        maxFailures: Int = 5,
        pageSize: Int = 100,
        throttledBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
        stalledBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
        maxPause: Duration = .seconds(3600),
        isOffline: @escaping @Sendable (any Error) -> Bool = { _ in false }
    ) {
        precondition(maxFailures >= 1, "SyncQueue: maxFailures is \(maxFailures), and must be at least 1")
        precondition(pageSize >= 1, "SyncQueue: pageSize is \(pageSize), and must be at least 1")
        precondition(maxPause >= .zero, "SyncQueue: maxPause is \(maxPause), and must not be negative")
        self.maxFailures = maxFailures
        self.pageSize = pageSize
        self.throttledBackoff = throttledBackoff
        self.stalledBackoff = stalledBackoff
        self.maxPause = maxPause
        self.isOffline = isOffline
    }
}
