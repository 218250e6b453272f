/// An observer that counts events by pipeline, policy and kind: for a metrics exporter or a status page.
///
/// ```swift
/// let counter = EventCounter()
/// let pipeline = Pipeline(
///     "activities", observers: PolicyObservers(counter)
/// ) {
///     breaker
///     Retry()
/// }
/// // Later, each minute, for example "activities/breaker.opened", 3:
/// for (key, count) in counter.counts.byKey { report("\(key)", count) }
/// ```
///
/// Until ``reset()``, counts only grow, as metrics exporters expect.
public final class EventCounter: PolicyObserver {
    private let state: Locked<EventCounts>

    /// Creates a counter without counts.
    /// - Parameter limit: How many different keys are counted separately, 0 or more. 1000 by default. Events of other
    ///   keys are counted together in ``EventCounts/others``, so that a pipeline for each customer does not use ever
    ///   more memory.
    public init(limit: Int = 1000) {
        state = Locked(EventCounts(limit: SettingChecks("EventCounter").atLeast(0, limit, "limit")))
    }

    public func receive(_ event: PolicyEvent) {
        // Made before the lock is taken: `kind` is user code.
        let key = EventCounts.Key(pipeline: event.pipeline, policy: event.policy, kind: event.detail.kind)
        state.withLock { $0.add(key) }
    }

    /// The events counted so far.
    public var counts: EventCounts { state.withLock { $0 } }

    /// Removes all counts and keys.
    /// - Returns: The events counted until now. No event is lost in between, and none is counted twice.
    @discardableResult
    public func reset() -> EventCounts {
        state.withLock { counts in
            defer { counts = EventCounts(limit: counts.limit) }
            return counts
        }
    }
}

/// How many events there were, by pipeline, policy and kind.
public struct EventCounts: Sendable, Hashable {
    /// What is counted separately: one kind of event of one policy, in one pipeline.
    public struct Key: Sendable, Hashable, CustomStringConvertible {
        /// The pipeline's name; nil for events outside of a pipeline.
        public let pipeline: String?
        /// The policy's name.
        public let policy: String
        /// The event's kind: see ``PolicyEventDetail/kind``.
        public let kind: String

        /// Creates a key.
        /// - Parameters:
        ///   - pipeline: The pipeline's name; nil for events outside of a pipeline.
        ///   - policy: The policy's name.
        ///   - kind: The event's kind.
        public init(pipeline: String?, policy: String, kind: String) {
            self.pipeline = pipeline
            self.policy = policy
            self.kind = kind
        }

        public var description: String { "\(pipeline.map { "\($0)/" } ?? "")\(policy).\(kind)" }
    }

    let limit: Int
    /// The number of events of each key.
    public private(set) var byKey: [Key: Int] = [:]
    /// The number of events whose key came after as many other keys as are counted.
    public private(set) var others = 0

    init(limit: Int) { self.limit = limit }

    /// Returns the number of a policy's events of one kind, in all pipelines and outside of them.
    /// - Parameters:
    ///   - kind: The kind of event: see ``PolicyEventDetail/kind``.
    ///   - policy: The policy's name.
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
