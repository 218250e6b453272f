/// A class, so that a ``Retry`` is three words and moving it costs nothing.
final class RetryConfiguration: Sendable, CustomStringConvertible {
    let maxRetries: Int
    let backoff: Backoff
    let throttledBackoff: Backoff
    let verdicts: VerdictSet
    let retryAfterCeiling: Int64
    let generator: SplitMix64

    init(
        maxRetries: Int, backoff: Backoff, throttledBackoff: Backoff, verdicts: VerdictSet,
        retryAfterCeiling: Duration, generator: SplitMix64
    ) {
        precondition(maxRetries >= 0, "Retry: maxRetries is \(maxRetries), and must not be negative")
        precondition(
            retryAfterCeiling >= .zero,
            "Retry: retryAfterCeiling is \(retryAfterCeiling), and must not be negative")
        precondition(
            !verdicts.contains(.success) && !verdicts.contains(.cancelled),
            "Retry: verdicts are \(verdicts), and neither success nor cancellation can be retried")
        self.maxRetries = maxRetries
        self.backoff = backoff
        self.throttledBackoff = throttledBackoff
        self.verdicts = verdicts
        self.retryAfterCeiling = retryAfterCeiling.saturatedNanoseconds
        self.generator = generator
    }

    var maxAttempts: Int { maxRetries.saturatingAdding(1) }

    var description: String {
        "\(maxRetries) retries on \(verdicts), backoff \(backoff), throttled \(throttledBackoff)"
    }
}
