public import Resilience

/// The state of an ``AdaptiveBulkhead`` at one moment.
public struct AdaptiveBulkheadStatus: PolicyStatusDetail {
    /// The state of the bulkhead, with its present limit.
    public let bulkhead: BulkheadStatus
    /// The values learned so far.
    public let adaptive: AdaptiveLimitStatus

    /// Creates a status, for tests and previews.
    ///
    /// - Parameters:
    ///   - bulkhead: The state of the bulkhead, with its present limit.
    ///   - adaptive: The values learned so far.
    public init(bulkhead: BulkheadStatus, adaptive: AdaptiveLimitStatus) {
        self.bulkhead = bulkhead
        self.adaptive = adaptive
    }

    public static var kind: String { "adaptiveBulkhead" }
    public var isAllowed: Bool { bulkhead.isAllowed }
    public func condition(at now: MonotonicInstant) -> PolicyCondition { bulkhead.condition(at: now) }

    public func readings(at now: MonotonicInstant) -> [StatusReading] {
        bulkhead.readings(at: now) + [
            StatusReading(
                "adaptive_limit_latency_seconds", "How long the latest calls took.", title: "calls take",
                adaptive.latency),
            StatusReading(
                "adaptive_limit_baseline_seconds", "How long a call takes without a queue.",
                title: "without a queue", adaptive.baseline),
        ]
    }
}

extension AdaptiveBulkhead {
    /// An event of an adaptive bulkhead, in addition to a `Bulkhead`'s events.
    public enum Event: PolicyEventDetail, Equatable {
        /// The ``AdaptiveLimit`` has changed how many calls may run at the same time.
        case limitAdapted(from: Int, to: Int)

        private var limits: (old: Int, new: Int) {
            switch self {
            case .limitAdapted(let old, let new): (old, new)
            }
        }

        public var kind: String { "limitAdapted" }
        public var severity: PolicyEventSeverity { .debug }
        public var fields: EventFields { ["limit": limits.new] }
        public var description: String { "limit adapted \(limits.old) → \(limits.new)" }
    }
}
