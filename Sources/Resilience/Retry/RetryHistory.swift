/// A failed attempt, as a ``Retry`` saw it.
public struct RetryFailure: Sendable {
    /// The attempt's number, counted from 1 or from the call's ``RunOptions/firstAttempt``.
    public let attempt: Int
    /// The meaning of the failure.
    public let verdict: Verdict
    /// The error that the attempt threw; nil if it returned a result that means failure.
    public let error: (any Error)?

    /// Creates a failed attempt.
    ///
    /// - Parameters:
    ///   - attempt: The attempt's number, from 1.
    ///   - verdict: The meaning of the failure.
    ///   - error: The error that it threw; nil if it returned a result that means failure.
    public init(attempt: Int, verdict: Verdict, error: (any Error)? = nil) {
        self.attempt = attempt
        self.verdict = verdict
        self.error = error
    }

    /// Whether a policy rejected the attempt: it did not run.
    var isRejection: Bool { verdict.kind == .rejected && error != nil }
}

/// The failed attempts of one call in order: the first eight, the last eight, and how many there were.
public struct RetryHistory: Sendable {
    private static let limit = 8
    private var first: [RetryFailure] = []
    private var last: [RetryFailure] = []
    /// The number of all failed attempts, including those that are not kept.
    public private(set) var count = 0
    /// The number of failed attempts that ran.
    ///
    /// Policies rejected the others.
    public private(set) var attempts = 0

    /// Creates a history.
    ///
    /// - Parameter failures: All failed attempts, in order. None by default.
    public init(_ failures: some Sequence<RetryFailure> = []) {
        for failure in failures { append(failure) }
    }

    /// All failed attempts that are kept, in order.
    public var failures: [RetryFailure] { first + last }

    mutating func append(_ failure: RetryFailure) {
        count += 1
        if !failure.isRejection { attempts += 1 }
        guard first.count == Self.limit else { return first.append(failure) }
        if last.count == Self.limit { last.removeFirst() }
        last.append(failure)
    }
}
