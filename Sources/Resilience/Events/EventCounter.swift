/// An observer that counts: how often each policy of each pipeline did what. For a metrics exporter, or a status page.
///
/// ```swift
/// let counter = EventCounter()
/// let pipeline = Pipeline("activities", observers: PolicyObservers(counter)) { breaker; Retry() }
/// // later, each minute
/// for (key, count) in counter.counts.byKey { report("\(key)", count) }       // "activities/breaker.opened", 3
/// ```
///
/// Counts only grow, as exporters want it, until ``reset()``.
public final class EventCounter: PolicyObserver {
    private let state: Locked<EventCounts>

    /// - Parameter limit: how many different keys are counted apart, 0 or more. The rest are counted together, so that a
    ///   pipeline for each customer does not take memory for ever.
    public init(limit: Int = 1000) {
        state = Locked(EventCounts(limit: SettingChecks("EventCounter").atLeast(0, limit, "limit")))
    }

    public func receive(_ event: PolicyEvent) {
        // Made before the lock: `kind` is a user's code.
        let key = EventCounts.Key(pipeline: event.pipeline, policy: event.policy, kind: event.detail.kind)
        state.withLock { $0.add(key) }
    }

    /// What was counted so far.
    public var counts: EventCounts { state.withLock { $0 } }

    /// Begins anew, with no keys.
    /// - Returns: what was counted until then. No event is lost in between, nor counted twice.
    @discardableResult
    public func reset() -> EventCounts {
        state.withLock { counts in
            defer { counts = EventCounts(limit: counts.limit) }
            return counts
        }
    }
}

/// How often what happened.
public struct EventCounts: Sendable, Hashable {
    /// What is counted apart.
    public struct Key: Sendable, Hashable, CustomStringConvertible {
        /// nil for policies used by hand.
        public let pipeline: String?
        public let policy: String
        /// See ``PolicyEventDetail/kind``.
        public let kind: String

        public init(pipeline: String?, policy: String, kind: String) {
            self.pipeline = pipeline
            self.policy = policy
            self.kind = kind
        }

        public var description: String { "\(pipeline.map { "\($0)/" } ?? "")\(policy).\(kind)" }
    }

    /// The most keys that are counted apart.
    public let limit: Int
    public private(set) var byKey: [Key: Int] = [:]
    /// Events whose keys came after `limit` others.
    public private(set) var others = 0

    init(limit: Int) { self.limit = limit }

    /// How often a policy did this, in all pipelines and by hand.
    public func count(_ kind: String, of policy: String) -> Int {
        byKey.reduce(0) { sum, entry in
            entry.key.policy == policy && entry.key.kind == kind ? sum.saturatingAdding(entry.value) : sum
        }
    }

    mutating func add(_ key: Key) {
        if byKey[key] == nil, byKey.count >= limit {
            others = others.saturatingAdding(1)
        } else {
            byKey[key] = (byKey[key] ?? 0).saturatingAdding(1)
        }
    }
}
