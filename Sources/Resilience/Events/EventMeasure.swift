/// The contribution of an event to metrics.
///
/// All counters use it, so that all metrics have the same outcomes.
public enum EventMeasure: Sendable, Hashable {
    /// A number of events of its kind: 1 for almost all events; less than 0 counts as 0.
    case count(Int)
    /// An attempt of a call has ended, after this time.
    case attempt(CallOutcome, took: Duration)
    /// A call has ended, after this time, with this number of attempts and these waits.
    case call(CallOutcome, took: Duration, attempts: Int, waits: [PolicyWait])
}

/// How a call or an attempt ended.
///
/// The raw value is the value of the metrics' label `outcome`.
public enum CallOutcome: String, Sendable, Hashable, CaseIterable {
    /// It succeeded.
    case success
    /// It failed with the verdict ``Verdict/transient``.
    case transient
    /// It failed with the verdict ``Verdict/throttled``.
    case throttled
    /// It failed with the verdict ``Verdict/uncertain``.
    case uncertain
    /// It failed with the verdict ``Verdict/permanent``.
    case permanent
    /// The pipeline itself rejected the call, before its first attempt.
    case rejected
    /// The operation began and ended with the verdict ``Verdict/rejected``: something inside the operation rejected a
    /// call, such as the bulkhead of a service that the operation calls.
    ///
    /// For the caller, this is a failure.
    case rejectedInside = "rejected_inside"
    /// It was cancelled.
    case cancelled

    /// Creates the outcome of an operation that began.
    ///
    /// - Parameter verdict: The meaning of its end.
    public init(ofOperation verdict: Verdict) {
        self =
            switch verdict.kind {
            case .success: .success
            case .transient: .transient
            case .throttled: .throttled
            case .uncertain: .uncertain
            case .permanent: .permanent
            case .rejected: .rejectedInside
            case .cancelled: .cancelled
            }
    }
}
