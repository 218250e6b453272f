/// A throttle refused the call; it did not run.
public struct Throttled: Rejection, Hashable {
    /// The throttle's name.
    public let throttle: String
    /// When its turn would come; nil if never, since it costs more than the throttle ever has.
    public let retryAfter: Duration?

    public init(throttle: String, retryAfter: Duration?) {
        self.throttle = throttle
        self.retryAfter = retryAfter
    }

    public var description: String { "Too many calls (\(throttle)). \(retryAdvice)" }
}
