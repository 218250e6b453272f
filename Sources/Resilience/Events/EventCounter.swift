/// An observer that counts events by pipeline, policy and kind, and calls by how they ended and how long they took: for
/// a metrics exporter or a status page.
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
public final class EventCounter: MeteringObserver {
    private let state: Locked<EventCounts>

    /// Creates a counter without counts.
    ///
    /// - Parameter limit: How many combinations of pipeline and policy are counted separately, 0 or more, each with up
    ///     to 100 kinds of events. 1000 by default. Other events are counted together in ``EventCounts/others``, so
    ///     that memory stays bounded with a pipeline for each customer.
    public init(limit: Int = 1000) {
        state = Locked(EventCounts(limit: SettingChecks("EventCounter").atLeast(0, limit, "limit")))
    }

    public func receive(_ event: PolicyEvent) { count(event.detail, event.policy, event.pipeline) }

    private func count(_ detail: some PolicyEventDetail, _ policy: String, _ pipeline: String?) {
        // `kind` and `measure` are user code, and so are called before the lock is taken.
        let key = EventCounts.Key(pipeline: pipeline, policy: policy, kind: detail.kind)
        let measure = detail.measure
        state.withLock { $0.add(key, measure) }
    }

    public func meter(of pipeline: String) -> any CallMeter { Meter(counter: self, pipeline: pipeline) }

    private struct Meter: CallMeter {
        let counter: EventCounter
        let pipeline: String

        func count(_ end: some PolicyEventDetail) { counter.count(end, PolicyEvent.sourceOfEnds, pipeline) }
    }

    /// The events counted so far.
    public var counts: EventCounts { state.withLock { $0 } }

    /// Removes all counts and keys.
    ///
    /// - Returns: The events counted until now. No event is lost in between, and none is counted twice.
    @discardableResult
    public func reset() -> EventCounts {
        state.withLock { counts in
            defer { counts = EventCounts(limit: counts.limit) }
            return counts
        }
    }
}

/// The number of events, by pipeline, policy and kind, and the ends of calls.
public struct EventCounts: Sendable, Hashable {
    /// One kind of event of one policy in one pipeline.
    public struct Key: Sendable, Hashable, CustomStringConvertible {
        /// The pipeline's name; nil for events outside of a pipeline.
        public let pipeline: String?
        /// The policy's name.
        public let policy: String
        /// The event's kind: see ``PolicyEventDetail/kind``.
        public let kind: String

        /// Creates a key.
        ///
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

    /// The key by which calls and attempts are counted.
    public struct CallKey: Sendable, Hashable {
        /// The pipeline's name; nil for calls of a policy that is used without one.
        public let pipeline: String?
        /// How the calls or attempts ended.
        public let outcome: CallOutcome

        /// Creates a key.
        ///
        /// - Parameters:
        ///   - pipeline: The pipeline's name; nil for calls of a policy that is used without one.
        ///   - outcome: How the calls or attempts ended.
        public init(pipeline: String?, outcome: CallOutcome) {
            self.pipeline = pipeline
            self.outcome = outcome
        }
    }

    /// The key by which waits are counted.
    public struct WaitKey: Sendable, Hashable {
        /// The pipeline's name; nil for calls of a policy that is used without one.
        public let pipeline: String?
        /// The name of the policy that calls waited for.
        public let policy: String
    }

    private struct Names: Hashable {
        let pipeline: String?
        let policy: String
    }

    /// A policy has only a few kinds of events, unless it makes them from data.
    private static let kindLimit = 100

    let limit: Int
    /// The number of kinds counted for each combination. A new kind has room if its combination is known, so that a
    /// pipeline that has succeeded can also count its failures.
    private var kinds: [Names: Int] = [:]
    /// The number of events of each key; for a sync queue, the number of mutations.
    public private(set) var byKey: [Key: Int] = [:]
    /// The number of events that got no key of their own, because the limit of combinations was reached.
    public private(set) var others = 0
    /// The keys of ``byKey`` whose events are the ends of calls and attempts.
    package private(set) var measured: Set<Key> = []
    /// The durations of calls by outcome, in seconds, with all attempts and waits.
    public private(set) var calls: [CallKey: CountedValues] = [:]
    /// The numbers of attempts of those calls.
    public private(set) var callAttempts: [CallKey: CountedValues] = [:]
    /// The durations of attempts by outcome, in seconds.
    public private(set) var attempts: [CallKey: CountedValues] = [:]
    /// The waits of calls that waited for a policy, in seconds.
    public private(set) var waits: [WaitKey: CountedValues] = [:]

    init(limit: Int) { self.limit = limit }

    /// Returns the number of a policy's events of one kind, in all pipelines and outside of them.
    ///
    /// - Parameters:
    ///   - kind: The kind of event: see ``PolicyEventDetail/kind``.
    ///   - policy: The policy's name.
    public func count(_ kind: String, of policy: String) -> Int {
        byKey.reduce(0) { sum, entry in
            entry.key.policy == policy && entry.key.kind == kind ? sum.saturatingAdding(entry.value) : sum
        }
    }

    private func hasRoom(for key: Key) -> Bool {
        kinds[Names(pipeline: key.pipeline, policy: key.policy)].map { $0 < Self.kindLimit } ?? (kinds.count < limit)
    }

    mutating func add(_ key: Key, _ measure: EventMeasure) {
        let amount = if case .count(let amount) = measure { max(0, amount) } else { 1 }
        if let index = byKey.index(forKey: key) {
            byKey.values[index] = byKey.values[index].saturatingAdding(amount)
        } else if hasRoom(for: key) {
            kinds[Names(pipeline: key.pipeline, policy: key.policy), default: 0] += 1
            byKey[key] = amount
            if case .count = measure {} else { measured.insert(key) }
        } else {
            others = others.saturatingAdding(amount)
            return
        }
        switch measure {
        case .count: break
        case .attempt(let outcome, let took):
            let key = CallKey(pipeline: key.pipeline, outcome: outcome)
            attempts[key, default: .seconds].add(took.inSeconds)
        case .call(let outcome, let took, let count, let waits):
            let ended = CallKey(pipeline: key.pipeline, outcome: outcome)
            calls[ended, default: .seconds].add(took.inSeconds)
            callAttempts[ended, default: .attempts].add(Double(count))
            for wait in waits {
                let key = WaitKey(pipeline: key.pipeline, policy: wait.policy)
                guard self.waits[key] != nil || self.waits.count < limit else { continue }
                self.waits[key, default: .seconds].add(wait.duration.inSeconds)
            }
        }
    }
}

/// Values of one kind, counted by their size: a Prometheus histogram.
public struct CountedValues: Sendable, Hashable {
    /// The inclusive upper bounds of the buckets, ascending.
    ///
    /// Greater values are counted as well.
    public let bounds: [Double]
    /// The number of values in the bucket of each bound, and at the end the number above all bounds.
    public private(set) var counts: [Int]
    /// The sum of all values.
    public private(set) var sum = 0.0

    private init(_ bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// The number of values.
    public var count: Int { counts.reduce(0) { $0.saturatingAdding($1) } }

    /// Adds the values of `other`, which must have the same bounds.
    package mutating func add(_ other: CountedValues) {
        for (index, count) in zip(counts.indices, other.counts) {
            counts[index] = counts[index].saturatingAdding(count)
        }
        sum += other.sum
    }

    mutating func add(_ value: Double) {
        let index = bounds.firstIndex { value <= $0 } ?? bounds.count
        counts[index] = counts[index].saturatingAdding(1)
        sum += value
    }

    static let seconds = CountedValues([
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ])
    static let attempts = CountedValues([1, 2, 3, 4, 5, 7, 10])
}
