/// Turns an error into a ``Verdict``: the one place that decides what a failure means.
///
/// It does not decide about cancellation. A failure in a cancelled task is ``Verdict/cancelled`` whatever the error,
/// and a `CancellationError` in a task that is not cancelled is classified like any other error.
///
/// ```swift
/// let classifier = Classifier { error in
///     // nil: as the default would
///     (error as? MyError) == .notFound ? .permanent : nil
/// }
/// ```
public struct Classifier: Sendable {
    let judge: @Sendable (any Error) -> Verdict?

    /// Creates a classifier of your own.
    ///
    /// - Parameter judge: Returns the verdict of an error that it knows, and nil for all other errors, which
    ///   ``standard`` then classifies. It is not asked about a ``Rejection``; its answer for an ``InjectedFault`` is
    ///   ignored.
    public init(_ judge: @escaping @Sendable (any Error) -> Verdict?) {
        self.judge = judge
    }

    /// The default classifier.
    ///
    /// A ``Rejection``, or any other error that is ``VerdictConvertible``, has its own verdict. For a rejection this is
    /// ``Verdict/rejected``, unless its type says otherwise. Any other error is ``Verdict/uncertain``: the call may
    /// have had its effect, so it is retried only if the call may be repeated (`isIdempotent: true`, on the pipeline or
    /// the call).
    public static let standard = Classifier { _ in nil }

    /// Returns what an error means.
    ///
    /// - Parameter error: The error.
    public func verdict(for error: any Error) -> Verdict {
        if let rejection = error as? any Rejection { return rejection.verdict }
        if let verdict = judge(error) { return (error as? InjectedFault)?.verdict ?? verdict }
        return (error as? any VerdictConvertible)?.verdict ?? .uncertain
    }
}

/// A result or an error that has a verdict of its own.
public protocol VerdictConvertible {
    /// The meaning of the result or the error.
    var verdict: Verdict { get }
}
