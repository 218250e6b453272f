/// A class, so that a ``Retry`` is three words and cheap to move.
final class RetrySettings: Sendable, CustomStringConvertible {
    let maxRetries: Int
    let maxElapsed: Duration?
    /// Whether `maxElapsed` is set: one byte, since every call reads it.
    let hasMaxElapsed: Bool
    let backoff: Backoff
    let throttledBackoff: Backoff
    let verdicts: VerdictSet
    let retryAfterCeiling: Int64
    let budget: RetryBudget?
    let wrapsLastError: Bool
    let generator: SplitMix64
    let rules: Retry.Rules?
    let beforeRetry: Retry.BeforeRetry?
    let onGiveUp: Retry.OnGiveUp?

    init(
        maxRetries: Int, maxElapsed: Duration? = nil, backoff: Backoff, throttledBackoff: Backoff, verdicts: VerdictSet,
        retryAfterCeiling: Duration, budget: RetryBudget? = nil, wrapsLastError: Bool = false, generator: SplitMix64,
        rules: Retry.Rules? = nil, beforeRetry: Retry.BeforeRetry? = nil, onGiveUp: Retry.OnGiveUp? = nil
    ) {
        let checks = SettingChecks("Retry")
        self.maxRetries = checks.atLeast(0, maxRetries, "maxRetries")
        self.maxElapsed = maxElapsed.map { checks.notNegative($0, "maxElapsed") }
        hasMaxElapsed = maxElapsed != nil
        self.backoff = backoff
        self.throttledBackoff = throttledBackoff
        self.verdicts = checks.failures(verdicts, "verdicts")
        self.retryAfterCeiling = checks.notNegative(retryAfterCeiling, "retryAfterCeiling").saturatedNanoseconds
        self.budget = budget
        self.wrapsLastError = wrapsLastError
        self.generator = generator
        self.rules = rules
        self.beforeRetry = beforeRetry
        self.onGiveUp = onGiveUp
    }

    var maxAttempts: Int { maxRetries.saturatingAdding(1) }

    /// Whether the errors of a call's attempts are needed.
    var keepsHistory: Bool { wrapsLastError || onGiveUp != nil }

    var description: String {
        var parts = ["\(maxRetries) retries on \(verdicts)", "backoff \(backoff)", "throttled \(throttledBackoff)"]
        if let maxElapsed { parts.append("for \(maxElapsed.text)") }
        if let budget { parts.append("budget \(budget)") }
        if rules != nil { parts.append("rules") }
        return parts.joined(separator: ", ")
    }
}
