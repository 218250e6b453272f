/// Something that a policy did, as its observers receive it.
///
/// Each policy declares an enum of its own, such as ``CircuitBreaker/Event``.
///
/// The description is one readable log line without a time stamp.
public protocol PolicyEventDetail: Sendable, CustomStringConvertible {
    /// A short, stable name for what happened, without details, such as "opened".
    ///
    /// ``/Resilience/EventCounter`` counts events by this name.
    ///
    /// A policy has only a few kinds, and no kind contains data. By default the kind is the name of the type, the same
    /// for all its events.
    var kind: String { get }
    /// The importance of the event: the level at which it is logged.
    ///
    /// By default ``/Resilience/PolicyEventSeverity/debug``.
    var severity: PolicyEventSeverity { get }
    /// The event's contribution to metrics.
    ///
    /// By default one event of its kind.
    var measure: EventMeasure { get }
    /// Its details by name, for logs and traces.
    ///
    /// None by default.
    var fields: EventFields { get }
}

extension PolicyEventDetail {
    public var kind: String { "\(Self.self)" }
    public var severity: PolicyEventSeverity { .debug }
    public var measure: EventMeasure { .count(1) }
    public var fields: EventFields { [:] }
}

/// The importance of an event, in ascending order.
@frozen public enum PolicyEventSeverity: UInt8, Sendable, Hashable, CaseIterable, Comparable {
    /// It happens in every call, even when all is well.
    case trace
    /// It is about one call.
    case debug
    /// One call failed.
    case info
    /// Something changed for all calls.
    case notice
    /// Something changed for the worse.
    case warning
    /// Something is lost unless somebody acts.
    case error

    @inlinable public static func < (lhs: PolicyEventSeverity, rhs: PolicyEventSeverity) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}

/// An event, and where and when it happened.
///
/// It is written as an object of `timeNanoseconds`, `pipeline` if there is one, `policy`, `kind`, `message`, which is
/// the detail's description, and `failure`, the failure's description, if there is one.
public struct PolicyEvent: Sendable, Encodable, CustomStringConvertible {
    /// The policy's name.
    public let policy: String
    /// The pipeline's name; nil if the event belongs to no call of a pipeline, for example an event of a policy used by
    /// hand.
    ///
    /// An event outside of calls has the name of the first pipeline that the policy was put into, if that pipeline was
    /// made with observers; these observers receive the event.
    public let pipeline: String?
    /// The time of the event, on the policy's time base.
    public let time: MonotonicInstant
    /// What happened.
    public let detail: any PolicyEventDetail
    /// The failure of the event's attempt or call; nil if none failed, or if unknown.
    ///
    /// It is known in calls of a pipeline that has observers, for all events that follow from the failure: a breaker
    /// opens, a retry waits, the call fails.
    public let failure: FailureDetail?

    /// Creates an event.
    ///
    /// - Parameters:
    ///   - policy: The policy's name.
    ///   - pipeline: The pipeline's name; nil if the event belongs to no call of a pipeline.
    ///   - time: The time of the event, on the policy's time base.
    ///   - detail: What happened.
    ///   - failure: The failure of the event's attempt or call. nil, the default, if none failed.
    public init(
        policy: String, pipeline: String?, time: MonotonicInstant, detail: any PolicyEventDetail,
        failure: FailureDetail? = nil
    ) {
        self.policy = policy
        self.pipeline = pipeline
        self.time = time
        self.detail = detail
        self.failure = failure
    }

    /// The place and the event, and after a colon the failure: `[prices/call] failed after 20 ms, 1 attempt
    /// (transient): HTTP 503`.
    public var description: String {
        "[\(pipeline.map { "\($0)/" } ?? "")\(policy)] \(detail)\(failure.map { ": \($0)" } ?? "")"
    }

    /// The "policy" of the ends of attempts and calls.
    static let sourceOfEnds = "call"

    private enum CodingKeys: String, CodingKey {
        case pipeline, policy, kind, message, failure
        case time = "timeNanoseconds"
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(time, forKey: .time)
        try container.encodeIfPresent(pipeline, forKey: .pipeline)
        try container.encode(policy, forKey: .policy)
        try container.encode(detail.kind, forKey: .kind)
        try container.encode("\(detail)", forKey: .message)
        try container.encodeIfPresent(failure?.description, forKey: .failure)
    }
}

/// Receives events, in the task or on the thread that caused them, outside of every lock.
///
/// It must not block.
public protocol PolicyObserver: Sendable {
    /// Receives an event.
    ///
    /// May be called concurrently.
    ///
    /// - Parameter event: The event.
    func receive(_ event: PolicyEvent)

    /// The lowest severity of the events that it receives.
    ///
    /// Read once, when the observer is added. By default `PolicyEventSeverity.trace`: everything. An event that happens
    /// in every call is not even made if no observer wants it.
    var leastSeverity: PolicyEventSeverity { get }
}

extension PolicyObserver {
    public var leastSeverity: PolicyEventSeverity { .trace }
}

/// An observer made of a closure.
struct ClosureObserver: PolicyObserver {
    let body: @Sendable (PolicyEvent) -> Void

    func receive(_ event: PolicyEvent) { body(event) }
}
