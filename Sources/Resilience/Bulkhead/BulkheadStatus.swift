/// What can be read of a ``Bulkhead`` at one moment.
public struct BulkheadStatus: Sendable, Hashable {
    public let limit: Int
    /// Calls inside; for a while more than ``limit`` after that was lowered.
    public let inUse: Int
    public let queueLimit: Int
    /// Calls in the queue; for a while more than ``queueLimit`` after that was lowered.
    public let queued: Int
    /// How long one more at the end of the queue would wait; nil if nobody can tell, as when nobody had to wait lately.
    public let estimatedWait: Duration?

    public init(limit: Int, inUse: Int, queueLimit: Int, queued: Int, estimatedWait: Duration? = nil) {
        self.limit = limit
        self.inUse = inUse
        self.queueLimit = queueLimit
        self.queued = queued
        self.estimatedWait = estimatedWait
    }

    /// Whether a call would get in now, without a wait.
    public var isAllowed: Bool { inUse < limit }
}
