/// Something a policy did, told to observers. Each policy declares its own enum of these, e.g. ``CircuitBreaker/Event``.
///
/// The description is one readable log line without a time stamp.
public protocol PolicyEvent: Sendable, CustomStringConvertible {
    /// A short, stable name for what happened, without its particulars: "opened". It counts events: see ``EventCounter``.
    ///
    /// One of few for a policy, and never made of data. By default the type's name, for all its events alike.
    var kind: String { get }
}

extension PolicyEvent {
    public var kind: String { "\(Self.self)" }
}

/// A ``PolicyEvent`` and where it came from.
public struct Event: Sendable, CustomStringConvertible {
    /// The policy's name.
    public let policy: String
    /// The pipeline's name; nil when the policy was used by hand.
    public let pipeline: String?
    /// When it happened, on the policy's time base.
    public let time: Instant
    public let detail: any PolicyEvent

    public init(policy: String, pipeline: String?, time: Instant, detail: any PolicyEvent) {
        self.policy = policy
        self.pipeline = pipeline
        self.time = time
        self.detail = detail
    }

    public var description: String { "[\(pipeline.map { "\($0)/" } ?? "")\(policy)] \(detail)" }
}

/// Receives events, on whatever task caused them, outside every lock. It must not block.
public protocol Observer: Sendable {
    func receive(_ event: Event)
}

/// An observer made of a closure.
public struct ClosureObserver: Observer {
    private let body: @Sendable (Event) -> Void

    public init(_ body: @escaping @Sendable (Event) -> Void) { self.body = body }

    public func receive(_ event: Event) { body(event) }
}
