/// Something a policy did, told to observers. Each policy declares its own enum of these, e.g. ``CircuitBreaker/Event``.
///
/// The description is one readable log line without a time stamp.
public protocol PolicyEventDetail: Sendable, CustomStringConvertible {
    /// A short, stable name for what happened, without its particulars: "opened". It counts events: see ``EventCounter``.
    ///
    /// One of few for a policy, and never made of data. By default the type's name, for all its events alike.
    var kind: String { get }
}

extension PolicyEventDetail {
    public var kind: String { "\(Self.self)" }
}

/// A ``PolicyEventDetail`` and where it came from.
public struct PolicyEvent: Sendable, CustomStringConvertible {
    /// The policy's name.
    public let policy: String
    /// The pipeline's name; nil when the policy was used by hand.
    public let pipeline: String?
    /// When it happened, on the policy's time base.
    public let time: MonotonicInstant
    public let detail: any PolicyEventDetail

    public init(policy: String, pipeline: String?, time: MonotonicInstant, detail: any PolicyEventDetail) {
        self.policy = policy
        self.pipeline = pipeline
        self.time = time
        self.detail = detail
    }

    public var description: String { "[\(pipeline.map { "\($0)/" } ?? "")\(policy)] \(detail)" }
}

/// Receives events, on whatever task caused them, outside every lock. It must not block.
public protocol PolicyObserver: Sendable {
    func receive(_ event: PolicyEvent)
}

/// An observer made of a closure.
public struct ClosureObserver: PolicyObserver {
    private let body: @Sendable (PolicyEvent) -> Void

    public init(_ body: @escaping @Sendable (PolicyEvent) -> Void) { self.body = body }

    public func receive(_ event: PolicyEvent) { body(event) }
}
