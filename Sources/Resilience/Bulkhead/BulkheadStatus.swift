/// The state of a ``Bulkhead`` at one moment.
public struct BulkheadStatus: PolicyStatusDetail {
    /// How many calls may run at the same time.
    ///
    /// `Int.max`, written as null, means no limit.
    public let limit: Int
    /// The number of calls inside.
    ///
    /// It may exceed ``limit`` for a while after a decrease.
    public let inUse: Int
    /// How many calls may wait.
    ///
    /// `Int.max`, written as null, means no limit.
    public let queueLimit: Int
    /// The number of calls in the queue.
    ///
    /// It may exceed ``queueLimit`` for a while after a decrease.
    public let queued: Int
    /// The wait of one more call at the end of the queue; nil if there are no recent service times, for example
    /// because no call had to wait.
    public let estimatedWait: Duration?
    /// Whether the bulkhead is overloaded, and rejects waiting calls by its ``LoadShedding``.
    public let isShedding: Bool

    /// Creates a status, for tests and previews.
    ///
    /// - Parameters:
    ///   - limit: How many calls may run at the same time.
    ///   - inUse: The number of calls inside.
    ///   - queueLimit: How many calls may wait.
    ///   - queued: The number of calls in the queue.
    ///   - estimatedWait: The wait of one more call at the end of the queue; nil if unknown.
    ///   - isShedding: Whether waiting calls are rejected because of an overload.
    public init(
        limit: Int, inUse: Int, queueLimit: Int, queued: Int, estimatedWait: Duration? = nil,
        isShedding: Bool = false
    ) {
        self.limit = limit
        self.inUse = inUse
        self.queueLimit = queueLimit
        self.queued = queued
        self.estimatedWait = estimatedWait
        self.isShedding = isShedding
    }

    /// Whether a call would be admitted now without a wait.
    public var isAllowed: Bool { inUse < limit }

    public static var kind: String { "bulkhead" }

    /// Returns the bulkhead's condition.
    ///
    /// Waiting calls are normal; a full queue and shedding are not.
    ///
    /// - Parameter now: The present time.
    public func condition(at now: MonotonicInstant) -> PolicyCondition {
        if isShedding { return PolicyCondition("overloaded, shedding", .degraded) }
        if isAllowed { return PolicyCondition("free", .up) }
        return queued >= queueLimit ? PolicyCondition("full, rejecting", .degraded) : PolicyCondition("full", .busy)
    }

    public func readings(at now: MonotonicInstant) -> [StatusReading] {
        [
            StatusReading("permits_in_use", "Calls inside a bulkhead.", title: "in use", inUse, of: limit),
            StatusReading("permits_limit", "Calls that a bulkhead admits at the same time.", limit),
            .queueLength(queued, of: queueLimit, hasQueue: queueLimit > 0),
            StatusReading("shedding", "Whether a bulkhead is overloaded and rejects waiting calls.", isShedding),
        ]
    }

    private enum CodingKeys: String, UnlimitedCodingKey {
        case limit, inUse, queueLimit, queued, isShedding
        case estimatedWait = "estimatedWaitSeconds"
    }
}
