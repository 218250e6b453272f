public import Resilience

/// The failures that count against a mutation, and finally make it dead.
///
/// These never count: a 429, a rejection by a policy of the pipeline, a cancellation, and an error for which
/// ``SyncQueueConfiguration/isOffline`` returns true. A permanent failure needs no counting: its mutation
/// becomes dead at once.
public enum FailureCounting: Sendable, Hashable {
    /// A mutation's failures count only while other mutations get through, so an outage of any length makes nothing
    /// dead.
    ///
    /// For a server that fails in a fixed rhythm, the pipeline needs a circuit breaker, or
    /// ``SyncQueueConfiguration/failedBackoff`` needs jitter.
    ///
    /// A failure counts in full if, since the mutation's previous failure, at least nine other mutations of its kind
    /// got through for each that failed, this one included. It counts less if fewer got through. If the other side
    /// fails at random, the chance of five counted failures is 1 in 100 000. A mutation without others to compare it
    /// with is tried for ever, or up to ``SyncQueueConfiguration/maxAge``.
    case whileOthersSucceed
    /// Every failure counts.
    ///
    /// With the default backoff five failures take 15 seconds. So for a longer outage the pipeline needs a circuit
    /// breaker, whose failed probes also count.
    case always
}

/// The settings of a ``SyncQueue``.
///
/// They decide how fast the queue sends, when a mutation becomes dead, and how much is kept. The defaults suit most
/// queues:
///
/// ```swift
/// var configuration = SyncQueueConfiguration()
/// configuration.maxInFlight = 2
/// configuration.maxAge = .seconds(7 * 24 * 60 * 60)
/// ```
public struct SyncQueueConfiguration: Sendable {
    /// The most requests in flight at once; 1 or more.
    ///
    /// Mutations of one entity are sent in order in any case.
    public var maxInFlight: Int
    /// The number of counted failures at which a mutation becomes dead; 1 or more.
    public var maxFailures: Int
    /// The number of claims without an answer at which a mutation becomes dead; 3 or more.
    ///
    /// A handler that ends the process, or always outlasts it, never fails. So claims are counted until any answer,
    /// even a cancellation. After two claims without an answer the mutation is sent alone: after the others, and with
    /// nothing else in flight. Mutations that were only in flight beside it then get answers, and their counts restart.
    public var maxClaims: Int
    /// The failures that count.
    public var failureCounting: FailureCounting
    /// The rule for an entity's other mutations when one becomes dead.
    public var laneRule: LaneRule
    /// How long a mutation may be in the queue and still be sent, 0 or more.
    ///
    /// Older mutations become dead. nil for no limit.
    public var maxAge: Duration?
    /// The limits of pending mutations, and the coalescing.
    public var appending: AppendRules
    /// How many dead mutations are kept.
    ///
    /// Excess mutations are dropped whenever the queue sends; by default there are no limits.
    public var dead: DeadLimits
    /// The number of heads of lanes to read from the store at a time; 1 or more.
    ///
    /// Also the number of failed entities at which the queue stops trying others, while no mutation gets through.
    public var pageSize: Int
    /// How long to pause for the nth 429 in a row that names no wait; less for the first one, once the server's rate is
    /// known.
    ///
    /// If a 429 names a wait, and the pause before it did not help, this is the shortest pause.
    public var throttledBackoff: Backoff
    /// How long an entity waits after the nth failure of its mutation.
    ///
    /// Also how long the queue waits, before it tries again, after the nth failure in a row to reach the other side or
    /// the store.
    public var failedBackoff: Backoff
    /// The longest pause, 0 or more.
    ///
    /// It also bounds a longer wait that a server names, and a stored pause that a changed clock would prolong.
    public var maxPause: Duration
    /// The largest share, 0 to 1, by which the queue prolongs a pause that a server names.
    ///
    /// Each queue draws its own share when it is made, so that many queues with the same wait don't come back at the
    /// same instant. 0, the default, keeps to the named wait; 0.1 suits a fleet.
    public var pauseJitter: Double
    /// The highest rate of requests, even if the server allows more; nil for no limit.
    public var maxRate: ThrottleRate?
    /// Checks the other side through the pipeline before a flush sends its first mutation.
    ///
    /// If it throws, nothing is sent, and the queue tries again automatically after ``failedBackoff``. nil for no
    /// check.
    public var healthCheck: (@Sendable () async throws -> Void)?
    /// Whether an error means that the other side could not be reached at all.
    ///
    /// Such an error counts against no mutation. By default no error does; for URLSession it is `{ ($0 as?
    /// URLError)?.isOffline == true }`, with ResilienceHTTP.
    public var isOffline: @Sendable (any Error) -> Bool

    /// Creates a configuration.
    ///
    /// Traps if a setting is out of range.
    ///
    /// - Parameters:
    ///   - maxInFlight: The most requests in flight at once, 1 or more; 4 by default.
    ///   - maxFailures: The number of counted failures at which a mutation becomes dead, 1 or more; 5 by default.
    ///   - maxClaims: The number of claims without an answer at which a mutation becomes dead, 3 or more; 6 by default.
    ///   - failureCounting: The failures that count; `.whileOthersSucceed` by default.
    ///   - laneRule: The rule for an entity's other mutations when one becomes dead; `.skip` by default.
    ///   - maxAge: How long a mutation may be in the queue and still be sent, 0 or more; nil, the default, for no
    ///     limit.
    ///   - appending: How much may be pending, and what is coalesced; no limits and `.lastWriteWins` by default.
    ///   - dead: How many dead mutations are kept; no limits by default.
    ///   - pageSize: The number of heads to read at a time, 1 or more; 100 by default.
    ///   - throttledBackoff: How long to pause for 429s that name no wait; 1 s, doubling, up to 60 s by default.
    ///   - failedBackoff: How long to wait after failures; 1 s, doubling, up to 60 s by default.
    ///   - maxPause: The longest pause, 0 or more; 1 hour by default.
    ///   - pauseJitter: The largest share by which a named pause is prolonged, 0 to 1; 0 by default.
    ///   - maxRate: The highest rate of requests; nil, the default, for no limit.
    ///   - healthCheck: Checks the other side before a flush sends anything; nil, the default, for no check.
    ///   - isOffline: Whether an error means that the other side could not be reached at all; by default none does.
    public init(
        maxInFlight: Int = 4,
        maxFailures: Int = 5,
        maxClaims: Int = 6,
        failureCounting: FailureCounting = .whileOthersSucceed,
        laneRule: LaneRule = .skip,
        maxAge: Duration? = nil,
        appending: AppendRules = AppendRules(),
        dead: DeadLimits = DeadLimits(),
        pageSize: Int = 100,
        throttledBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
        failedBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(60), jitter: .none),
        maxPause: Duration = .seconds(3600),
        pauseJitter: Double = 0,
        maxRate: ThrottleRate? = nil,
        healthCheck: (@Sendable () async throws -> Void)? = nil,
        isOffline: @escaping @Sendable (any Error) -> Bool = { _ in false }
    ) {
        self.maxInFlight = maxInFlight
        self.maxFailures = maxFailures
        self.maxClaims = maxClaims
        self.failureCounting = failureCounting
        self.laneRule = laneRule
        self.maxAge = maxAge
        self.appending = appending
        self.dead = dead
        self.pageSize = pageSize
        self.throttledBackoff = throttledBackoff
        self.failedBackoff = failedBackoff
        self.maxPause = maxPause
        self.pauseJitter = pauseJitter
        self.maxRate = maxRate
        self.healthCheck = healthCheck
        self.isOffline = isOffline
        check()
    }

    /// Checks the settings. The queue calls it again, since they may have changed after `init`.
    mutating func check() {
        let checks = SettingChecks("SyncQueue")
        maxInFlight = checks.atLeast(1, maxInFlight, "maxInFlight")
        maxFailures = checks.atLeast(1, maxFailures, "maxFailures")
        maxClaims = checks.atLeast(LaneHead.suspectClaims + 1, maxClaims, "maxClaims")
        maxAge = maxAge.map { checks.notNegative($0, "maxAge") }
        pageSize = checks.atLeast(1, pageSize, "pageSize")
        maxPause = checks.notNegative(maxPause, "maxPause")
        pauseJitter = checks.share(pauseJitter, "pauseJitter")
    }
}

extension SyncQueueConfiguration {
    func delay(of backoff: SyncStateMachine.Backoffs, beforeRetry retry: Int) -> Duration {
        var generator = SplitMix64.shared
        switch backoff {
        case .failed: return failedBackoff.delay(beforeRetry: retry, using: &generator)
        case .throttled: return throttledBackoff.delay(beforeRetry: retry, using: &generator)
        }
    }
}
