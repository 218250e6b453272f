/// Turns an error into a ``Verdict``: the one place that decides what a failure means.
///
/// Cancellation is not its business: a failure in a cancelled task is ``Verdict/cancelled`` whatever the error, and a
/// `CancellationError` in a task that is not cancelled is a failure like any other.
///
/// ```swift
/// let classifier = Classifier { error in
///     (error as? MyError) == .notFound ? .permanent : nil      // nil: as the default would
/// }
/// ```
public struct Classifier: Sendable {
    private let judge: @Sendable (any Error) -> Verdict?

    /// `judge` answers for the errors it knows and returns nil for the rest, which go to ``standard``.
    public init(_ judge: @escaping @Sendable (any Error) -> Verdict?) {
        self.judge = judge
    }

    /// Rejections of our policies are ``Verdict/rejected``; errors that are ``VerdictConvertible`` say for themselves;
    /// anything else is ``Verdict/transient``.
    public static let standard = Classifier { _ in nil }

    public func verdict(for error: any Error) -> Verdict {
        if let rejection = error as? any Rejection { return rejection.verdict }
        if let verdict = judge(error) { return verdict }
        return (error as? any VerdictConvertible)?.verdict ?? .transient
    }
}

/// A result or an error that knows what it means.
public protocol VerdictConvertible {
    var verdict: Verdict { get }
}
