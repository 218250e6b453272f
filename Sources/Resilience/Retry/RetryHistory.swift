/// A failed attempt, as a ``Retry`` saw it.
public struct RetryFailure: Sendable {
    /// From 1, or from the call's ``RunOptions/firstAttempt``.
    public let attempt: Int
    public let verdict: Verdict
    /// What the attempt threw; nil if it returned something that means failure.
    public let error: (any Error)?

    public init(attempt: Int, verdict: Verdict, error: (any Error)? = nil) {
        self.attempt = attempt
        self.verdict = verdict
        self.error = error
    }

    /// Whether a policy of ours refused the attempt: it did not run.
    var isRefusal: Bool { verdict == .rejected && error != nil }
}

/// The failed attempts of one call, in order: the first eight, the last eight, and how many there were.
public struct RetryHistory: Sendable {
    /// The most that are kept of the first, and of the last.
    public static let limit = 8

    public private(set) var first: [RetryFailure] = []
    public private(set) var last: [RetryFailure] = []
    /// All of them, those that are not kept too.
    public private(set) var count = 0
    /// How many of them ran. The others were refused by a policy.
    public private(set) var attempts = 0

    public init() {}

    /// Those that are kept.
    public var failures: [RetryFailure] { first + last }

    public mutating func append(_ failure: RetryFailure) {
        count += 1
        if !failure.isRefusal { attempts += 1 }
        guard first.count == Self.limit else { return first.append(failure) }
        if last.count == Self.limit { last.removeFirst() }
        last.append(failure)
    }
}
