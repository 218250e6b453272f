public import Resilience

/// A response that is not a success, thrown as an error that carries its verdict.
///
/// ```swift
/// let verdict = Verdict(httpStatus: response.status, for: request) {
///     response.headers[$0]
/// }
/// guard verdict.kind == .success else {
///     throw HTTPStatusError(status: response.status, verdict: verdict)
/// }
/// ```
public struct HTTPStatusError: Error, VerdictConvertible, Hashable, CustomStringConvertible {
    /// The status as the server sent it.
    public let status: Int
    /// The verdict of the response: see `Verdict.init(httpStatus:for:remark:dialect:now:header:)`.
    public let verdict: Verdict

    /// Creates the error.
    ///
    /// - Parameters:
    ///   - status: The status as the server sent it.
    ///   - verdict: The verdict of the response. A pipeline with the standard classifier uses it for the error.
    public init(status: Int, verdict: Verdict) {
        self.status = status
        self.verdict = verdict
    }

    /// Text for people: `HTTP status 429 (throttled, retry after 30 s)`.
    public var description: String { "HTTP status \(status) (\(meaning))" }

    private var meaning: String {
        let wait = verdict.retryAfter.map { ", retry after \($0.wholeSecondsRoundedUp) s" } ?? ""
        return "\(verdict.kind)\(wait)"
    }
}
