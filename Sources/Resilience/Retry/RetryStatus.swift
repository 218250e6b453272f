/// The state of the budget of a ``Retry`` at one moment.
public struct RetryStatus: PolicyStatusDetail {
    /// The retries that the budget would allow now.
    ///
    /// `Int.max`, written as null, means no limit.
    public let retriesLeft: Int

    /// Creates a status, for tests and previews.
    ///
    /// - Parameter retriesLeft: How many more retries the budget would allow.
    public init(retriesLeft: Int) { self.retriesLeft = retriesLeft }

    /// Always true: a retry rejects no call.
    public var isAllowed: Bool { true }

    public static var kind: String { "retry" }

    public func condition(at now: MonotonicInstant) -> PolicyCondition {
        retriesLeft > 0 ? PolicyCondition("ready", .up) : PolicyCondition("no retries left", .busy)
    }

    public func readings(at now: MonotonicInstant) -> [StatusReading] {
        [StatusReading("retries_left", "Retries that the budget still allows.", title: "retries left", retriesLeft)]
    }

    private enum CodingKeys: String, UnlimitedCodingKey { case retriesLeft }
}
