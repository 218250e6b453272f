public import Resilience

/// The state of an ``AdaptiveThrottle`` at one moment.
public struct AdaptiveThrottleStatus: PolicyStatusDetail {
    /// The number of calls in the window, ended or rejected.
    public let calls: Int
    /// The number of calls that the service accepted.
    public let accepted: Int
    /// The share of calls that is rejected, 0…1.
    public let rejection: Double

    /// Creates a status, for tests and previews.
    ///
    /// - Parameters:
    ///   - calls: The calls of the window.
    ///   - accepted: The number of calls that the service accepted.
    ///   - rejection: The share of calls that is rejected, 0…1.
    public init(calls: Int, accepted: Int, rejection: Double) {
        self.calls = calls
        self.accepted = accepted
        self.rejection = rejection
    }

    /// Whether at least half of the calls are admitted: ``rejection`` is at most 0.5.
    public var isAllowed: Bool { rejection <= 0.5 }

    public static var kind: String { "adaptiveThrottle" }

    public func condition(at now: MonotonicInstant) -> PolicyCondition {
        rejection > 0 ? PolicyCondition("rejecting", .degraded) : PolicyCondition("accepting", .up)
    }

    public func readings(at now: MonotonicInstant) -> [StatusReading] {
        [
            StatusReading(
                "adaptive_throttle_rejection", "The share of calls that is rejected, 0 to 1.", title: "rejected",
                unit: .share,
                rejection),
            StatusReading(
                "adaptive_throttle_accepted", "Calls that the service has accepted lately.", title: "accepted",
                accepted,
                of: calls),
        ]
    }
}
