/// The settings of a ``Retry`` as a value, which can be read from a file or a server.
///
/// ```swift
/// let json = Data(#"{"maxRetries": 5}"#.utf8)
/// let configuration = try JSONDecoder().decode(
///     RetryConfiguration.self, from: json)
/// let retry = Retry("search", configuration: configuration)
/// ```
///
/// Its settings are always valid. What is left out has the default of ``Retry``. Codable: durations are numbers of
/// seconds, whose names end with `Seconds`; `verdicts` is a list of names.
///
/// See <doc:RetryGuide> for what the settings do, and <doc:ConfigurationGuide> for files.
public struct RetryConfiguration: Sendable, Hashable {
    /// How many attempts may follow the first.
    public let maxRetries: Int
    /// How long after the start of the first attempt another one may begin; nil for no limit.
    public let maxElapsed: Duration?
    /// The wait after any failure but a 429.
    public let backoff: Backoff
    /// The wait after the other side asked for fewer calls (a 429).
    public let throttledBackoff: Backoff
    /// Which failures are retried.
    public let verdicts: VerdictSet
    /// The longest wait that the other side or a rejecting policy may name.
    public let retryAfterCeiling: Duration
    /// Whether a call that is given up throws ``RetriesExhausted``.
    public let wrapsLastError: Bool

    /// Creates a configuration. For each optional parameter, nil is the default of ``Retry``.
    /// - Parameters:
    ///   - maxRetries: How many attempts may follow the first; 0 or more.
    ///   - maxElapsed: How long after the start of the first attempt another one may begin; 0 or more.
    ///   - backoff: The wait after any failure but a 429.
    ///   - throttledBackoff: The wait after the other side asked for fewer calls (a 429).
    ///   - verdicts: Which failures are retried; neither success nor cancelled.
    ///   - retryAfterCeiling: The longest wait that the other side or a rejecting policy may name; 0 or more.
    ///   - wrapsLastError: Whether a call that is given up throws ``RetriesExhausted``, with all its errors, instead of
    ///     the last error.
    /// - Throws: ``InvalidSettings``, with everything that is invalid. Settings of a backoff that is made in the call
    ///   are among it.
    public init(
        maxRetries: Int? = nil, maxElapsed: Duration? = nil,
        backoff: @autoclosure () -> Backoff = .exponential(from: .milliseconds(50), cap: .seconds(20)),
        throttledBackoff: @autoclosure () -> Backoff = .exponential(from: .seconds(1), cap: .seconds(20)),
        on verdicts: VerdictSet? = nil,
        retryAfterCeiling: Duration? = nil, wrapsLastError: Bool? = nil
    ) throws(InvalidSettings) {
        let settings = try PolicySettings.valid {
            let standard = Retry().settings
            return Retry(
                maxRetries: maxRetries ?? standard.maxRetries, maxElapsed: maxElapsed ?? standard.maxElapsed,
                backoff: backoff(),
                throttledBackoff: throttledBackoff(),
                on: verdicts ?? standard.verdicts,
                retryAfterCeiling: retryAfterCeiling ?? .nanoseconds(standard.retryAfterCeiling),
                wrapsLastError: wrapsLastError ?? standard.wrapsLastError
            ).settings
        }
        self.maxRetries = settings.maxRetries
        self.maxElapsed = settings.maxElapsed?.inNanoseconds
        self.backoff = settings.backoff
        self.throttledBackoff = settings.throttledBackoff
        self.verdicts = settings.verdicts
        self.retryAfterCeiling = .nanoseconds(settings.retryAfterCeiling)
        self.wrapsLastError = settings.wrapsLastError
    }
}

extension RetryConfiguration: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case maxRetries, backoff, throttledBackoff, verdicts, wrapsLastError
        case maxElapsed = "maxElapsedSeconds"
        case retryAfterCeiling = "retryAfterCeilingSeconds"
    }

    public init(from decoder: any Decoder) throws {
        self = try decoder.settings(of: "Retry", by: CodingKeys.self) { reader in
            let standard = Retry().settings
            let backoff = reader.value(.backoff) ?? standard.backoff
            let throttledBackoff = reader.value(.throttledBackoff) ?? standard.throttledBackoff
            return try RetryConfiguration(
                maxRetries: reader.value(.maxRetries), maxElapsed: reader.duration(.maxElapsed), backoff: backoff,
                throttledBackoff: throttledBackoff, on: reader.value(.verdicts),
                retryAfterCeiling: reader.duration(.retryAfterCeiling), wrapsLastError: reader.value(.wrapsLastError))
        }
    }
}

extension Retry {
    /// Creates a retry with the settings of a configuration; see
    /// ``init(_:maxRetries:maxElapsed:backoff:throttledBackoff:on:retryAfterCeiling:budget:wrapsLastError:generator:rules:beforeRetry:onGiveUp:)``.
    /// - Parameters:
    ///   - name: The name in events.
    ///   - configuration: The settings.
    ///   - budget: Limits the retries of many calls together; nil for no limit.
    ///   - generator: The source of jitter; pass a seeded one to repeat a run.
    ///   - rules: Decide for individual errors whether and how soon to retry.
    ///   - beforeRetry: Runs before each wait, on the call's task; must not block.
    ///   - onGiveUp: Runs when a call is given up, on the call's task; must not block.
    public init(
        _ name: String = "retry", configuration: RetryConfiguration, budget: RetryBudget? = nil,
        generator: SplitMix64 = .shared, rules: Rules? = nil, beforeRetry: BeforeRetry? = nil,
        onGiveUp: OnGiveUp? = nil
    ) {
        self.init(
            name, maxRetries: configuration.maxRetries, maxElapsed: configuration.maxElapsed,
            backoff: configuration.backoff, throttledBackoff: configuration.throttledBackoff,
            on: configuration.verdicts, retryAfterCeiling: configuration.retryAfterCeiling, budget: budget,
            wrapsLastError: configuration.wrapsLastError, generator: generator, rules: rules, beforeRetry: beforeRetry,
            onGiveUp: onGiveUp)
    }
}
