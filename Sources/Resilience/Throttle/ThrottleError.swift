/// A throttle rejected the call; it did not run.
public struct Throttled: Rejection, Hashable {
    /// The throttle's name.
    public let throttle: String
    /// How long until the call's turn would come; nil if its cost exceeds the burst or the limit of the window.
    public let retryAfter: Duration?

    /// Creates an error for a rejected call.
    /// - Parameters:
    ///   - throttle: The throttle's name.
    ///   - retryAfter: How long until the call's turn would come; nil if never.
    public init(throttle: String, retryAfter: Duration?) {
        self.throttle = throttle
        self.retryAfter = retryAfter
    }

    public var description: String { "Too many calls (\(throttle)). \(retryAdvice)" }
}
