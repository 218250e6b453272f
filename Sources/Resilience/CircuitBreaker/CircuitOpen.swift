/// A circuit breaker refused the call; the endpoint was not reached.
public struct CircuitOpen: Rejection, Hashable {
    /// The breaker's name.
    public let breaker: String
    public let retryAfter: Duration?

    public init(breaker: String, retryAfter: Duration?) {
        self.breaker = breaker
        self.retryAfter = retryAfter
    }

    /// For people.
    public var description: String {
        "Service temporarily unavailable due to repeated failures. \(retryAdvice)"
    }
}

extension Rejection {
    /// "Please try again in N seconds."
    package var retryAdvice: String {
        guard let retryAfter else { return "Please try again later." }
        let seconds = max(1, retryAfter.wholeSecondsRoundedUp)
        return "Please try again in \(seconds) second\(seconds == 1 ? "" : "s")."
    }
}
