public import Resilience

/// The state of an ``EndpointPool`` at one moment.
public struct EndpointPoolStatus: PolicyStatusDetail {
    /// The endpoints, in the order of the list.
    public let endpoints: [EndpointStatus]
    /// Whether too few endpoints are left, so that all are used, even ejected ones.
    public let isPanicking: Bool

    /// Creates a status, for tests and previews.
    ///
    /// - Parameters:
    ///   - endpoints: The endpoints, in the order of the list.
    ///   - isPanicking: Whether all endpoints are used, because too few are left.
    public init(endpoints: [EndpointStatus], isPanicking: Bool = false) {
        self.endpoints = endpoints
        self.isPanicking = isPanicking
    }

    /// The number of ejected endpoints.
    public var ejected: Int { endpoints.count { $0.isEjected } }

    /// Whether any endpoint gets calls.
    public var isAllowed: Bool { endpoints.contains { $0.isUsed } }

    public static var kind: String { "endpointPool" }

    public func condition(at now: MonotonicInstant) -> PolicyCondition {
        if !isAllowed { return PolicyCondition("no endpoint", .degraded) }
        if isPanicking { return PolicyCondition("too few left, using all", .degraded) }
        return ejected > 0 ? PolicyCondition("some ejected", .busy) : PolicyCondition("none ejected", .up)
    }

    public func readings(at now: MonotonicInstant) -> [StatusReading] {
        [
            StatusReading("endpoints", "Endpoints of a pool.", endpoints.count),
            StatusReading(
                "endpoints_ejected", "Endpoints of a pool that are ejected.", title: "ejected", ejected,
                of: endpoints.count),
            StatusReading(
                "endpoint_panic", "Whether a pool uses all endpoints since too few are left.", isPanicking),
            StatusReading(
                "endpoint_calls", "Calls of a pool that are in flight.", title: "in flight",
                endpoints.reduce(0) { $0.saturatingAdding($1.inFlight) }),
        ]
    }
}

/// The state of one endpoint of an ``EndpointPool`` at one moment.
public struct EndpointStatus: Sendable, Hashable, Codable {
    /// The endpoint's description.
    public let endpoint: String
    /// Whether it gets calls: it is not ejected, or the pool uses all endpoints.
    public let isUsed: Bool
    /// Whether it is ejected.
    public let isEjected: Bool
    /// The time left of its ejection; nil if it is not ejected, or is ejected until ``EndpointPool/restore(_:)``.
    public let timeRemaining: Duration?
    /// The number of its remembered ejections in a row.
    public let ejections: Int
    /// Its weight now.
    ///
    /// While the weight grows, it is below the weight in the list.
    public let weight: Double
    /// The number of calls in flight.
    public let inFlight: Int
    /// The number of counted calls since the endpoint was added, including failures.
    public let calls: Int
    /// The number of failures among them.
    public let failures: Int

    /// Creates a status, for tests and previews.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint's description.
    ///   - isUsed: Whether it gets calls; nil, the default, for an endpoint that gets calls unless it is ejected.
    ///   - isEjected: Whether it is ejected.
    ///   - timeRemaining: How much longer it is ejected.
    ///   - ejections: How many times in a row it has been ejected.
    ///   - weight: Its weight now.
    ///   - inFlight: The number of calls in flight.
    ///   - calls: The number of counted calls, including failures.
    ///   - failures: The number of failures among them.
    public init(
        endpoint: String, isUsed: Bool? = nil, isEjected: Bool = false, timeRemaining: Duration? = nil,
        ejections: Int = 0, weight: Double = 1, inFlight: Int = 0, calls: Int = 0, failures: Int = 0
    ) {
        self.endpoint = endpoint
        self.isUsed = isUsed ?? !isEjected
        self.isEjected = isEjected
        self.timeRemaining = timeRemaining
        self.ejections = ejections
        self.weight = weight
        self.inFlight = inFlight
        self.calls = calls
        self.failures = failures
    }

    private enum CodingKeys: String, CodingKey {
        case endpoint, isUsed, isEjected, ejections, weight, inFlight, calls, failures
        case timeRemaining = "timeRemainingSeconds"
    }
}
