extension Retry {
    /// The settings of a ``Retry``, readable from a file or a server: `{"maxRetries": 5}`.
    ///
    /// See <doc:RetryGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
    public struct Settings: SettingsGroup {
        /// How many attempts may follow the first; 0 or more, 3 by default.
        public var maxRetries: Int
        /// How long after the start of the first attempt another attempt may begin; 0 s or more, no limit by default.
        public var maxElapsed: Duration?
        /// The wait after any failure but a 429; by default exponential from 50 ms to 20 s, with full jitter.
        public var backoff: Backoff
        /// The wait after a 429; by default exponential from 1 s to 20 s, with full jitter.
        public var throttledBackoff: Backoff
        /// Which failures are retried; `transient` and `throttled` by default; success and cancelled are never among
        /// them.
        public var verdicts: VerdictSet
        /// The longest wait that the other side or a rejecting policy may name; 0 s or more, 120 s by default.
        public var retryAfterCeiling: Duration
        /// Whether a call that is given up throws ``RetriesExhausted``; false by default.
        public var wrapsLastError: Bool

        /// Creates settings.
        public init(
            maxRetries: Int = 3, maxElapsed: Duration? = nil,
            backoff: Backoff = .exponential(from: .milliseconds(50), cap: .seconds(20)),
            throttledBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(20)),
            on verdicts: VerdictSet = [.transient, .throttled], retryAfterCeiling: Duration = .seconds(120),
            wrapsLastError: Bool = false
        ) {
            self.maxRetries = maxRetries
            self.maxElapsed = maxElapsed
            self.backoff = backoff
            self.throttledBackoff = throttledBackoff
            self.verdicts = verdicts
            self.retryAfterCeiling = retryAfterCeiling
            self.wrapsLastError = wrapsLastError
        }

        public static let schema = SettingsSchema(
            "Retry", standard: Settings(),
            [
                SettingField("maxRetries", \.maxRetries, .atLeast(0)),
                SettingField("maxElapsedSeconds", \.maxElapsed, .atLeast(0)),
                SettingField("backoff", \.backoff),
                SettingField("throttledBackoff", \.throttledBackoff),
                SettingField("verdicts", \.verdicts, .failures),
                SettingField("retryAfterCeilingSeconds", \.retryAfterCeiling, .atLeast(0)),
                SettingField("wrapsLastError", \.wrapsLastError),
            ])
    }
}

/// The constant part of a ``Retry``. A class, so that a ``Retry`` is three words and cheap to move.
final class RetryTerms: Sendable, CustomStringConvertible {
    let settings: Retry.Settings
    /// Whether `maxElapsed` is set: one byte, since every call reads it.
    let hasMaxElapsed: Bool
    let budget: RetryBudget?
    let generator: SplitMix64
    let rules: Retry.Rules?
    let beforeRetry: Retry.BeforeRetry?
    let onGiveUp: Retry.OnGiveUp?

    init(
        _ settings: Retry.Settings, budget: RetryBudget?, generator: SplitMix64, rules: Retry.Rules?,
        beforeRetry: Retry.BeforeRetry?, onGiveUp: Retry.OnGiveUp?
    ) {
        self.settings = settings
        hasMaxElapsed = settings.maxElapsed != nil
        self.budget = budget
        self.generator = generator
        self.rules = rules
        self.beforeRetry = beforeRetry
        self.onGiveUp = onGiveUp
    }

    private static let recent = Recent<RetryTerms>()

    /// These terms, or an equal object that is already in use: nearly all keys of a registry have equal terms.
    var shared: RetryTerms { Self.recent.shared(self) { $0.isLike($1) } }

    private func isLike(_ other: RetryTerms) -> Bool {
        // Closures can't be compared.
        rules == nil && beforeRetry == nil && onGiveUp == nil && other.rules == nil && other.beforeRetry == nil
            && other.onGiveUp == nil && budget === other.budget && generator === other.generator
            && settings == other.settings
    }

    var maxAttempts: Int { settings.maxRetries.saturatingAdding(1) }

    /// Whether the errors of a call's attempts are needed.
    var keepsHistory: Bool { settings.wrapsLastError || onGiveUp != nil }

    var description: String {
        var parts = [
            "\(settings.maxRetries) retries on \(settings.verdicts)", "backoff \(settings.backoff)",
            "throttled \(settings.throttledBackoff)",
        ]
        if let maxElapsed = settings.maxElapsed { parts.append("for \(maxElapsed.text)") }
        if let budget { parts.append("budget \(budget)") }
        if rules != nil { parts.append("rules") }
        return parts.joined(separator: ", ")
    }
}
