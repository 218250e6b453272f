public import Resilience

/// A response that is not a success, thrown as an error that knows what it means.
///
/// ```swift
/// let verdict = Verdict(httpStatus: response.status, for: request) { response.headers[$0] }
/// guard verdict == .success else { throw HTTPStatusError(status: response.status, verdict: verdict) }
/// ```
public struct HTTPStatusError: Error, VerdictConvertible, Hashable, CustomStringConvertible {
    /// As the server sent it.
    public let status: Int
    public let verdict: Verdict

    public init(status: Int, verdict: Verdict) {
        self.status = status
        self.verdict = verdict
    }

    /// For people: `HTTP status 429 (throttled, retry after 30 s)`.
    public var description: String { "HTTP status \(status) (\(meaning))" }

    private var meaning: String {
        switch verdict {
        case .success: "success"
        case .transient: "transient"
        case .throttled(nil): "throttled"
        case .throttled(let wait?): "throttled, retry after \(wait.wholeSecondsRoundedUp) s"
        case .permanent: "permanent"
        case .uncertain: "uncertain"
        case .rejected: "rejected"
        case .cancelled: "cancelled"
        }
    }
}
