public import Resilience

/// Which failures count against a mutation, and set it aside in the end.
///
/// A 429, a refusal by a policy of the pipeline, a cancellation, and what ``SyncQueueConfiguration/isOffline`` tells of never
/// count. A permanent failure needs no counting: it sets its mutation aside at once.
public enum FailureCounting: Sendable, Hashable {
    /// Those of a mutation while others get through: so an outage sets nothing aside, however long it is. For a server that
    /// comes and goes in a fixed rhythm the pipeline needs a circuit breaker, or ``SyncQueueConfiguration/failedBackoff`` jitter.
    ///
    /// A failure counts in full if, since the mutation's failure before it, nine others of its kind got through for each that
    /// failed, itself included; and the less, the fewer got through. Five that count are as unlikely as one in 100 000 where
    /// the other side fails whoever comes. One that nobody can be compared with is tried for ever, or up to
    /// ``SyncQueueConfiguration/maxAge``.
    case whileOthersSucceed
    /// Each. With the default backoff five take 15 seconds, so for an outage that lasts longer the pipeline needs a circuit
    /// breaker, and what its probes cost counts too.
    case always
}

/// How a ``SyncQueue`` behaves.
public struct SyncQueueConfiguration: Sendable {
    /// Requests in flight at once; 1 or more. Mutations of one entity are sent one after the other in any case.
    public var maxInFlight: Int
    /// The counted failure that sets a mutation aside; 1 or more.
    public var maxFailures: Int
    /// Which failures count.
    public var failureCounting: FailureCounting
    /// What becomes of an entity's other mutations then.
    public var laneRule: LaneRule
    /// How long a mutation may be in the queue and still be sent; older ones are set aside. nil for no limit.
    public var maxAge: Duration?
    /// How much may be pending, and what is coalesced.
    public var appending: AppendRules
    /// How much of what was set aside is kept. What is beyond that is dropped whenever the queue sends; by default nothing is.
    public var dead: DeadLimits
    /// Heads of lanes read from the store at a time; and, while nobody gets through, entities that may be waiting to be tried
    /// again before the queue stops trying others; 1 or more.
    public var pageSize: Int
    /// How long to pause for the nth 429 in a row that names no wait, or less for the first one once the server's rate is
    /// known; and at least how long for one that names a wait when the pause before it was of no use.
    public var throttledBackoff: Backoff
    /// How long to wait with an entity after the nth failure of its mutation; and how long until the queue tries
    /// again by itself after the nth failure in a row to reach the other side, or the store.
    public var failedBackoff: Backoff
    /// The longest pause; whatever a server asks, and whatever a stored pause says after the clock was set.
    public var maxPause: Duration
    /// By which share, at most, a pause that a server names is prolonged, 0 to 1. Each queue has a share of its own, drawn when it
    /// is made, so that many that were told the same don't come back at the same instant. 0, the default, keeps to what was
    /// named; 0.1 suits a fleet.
    public var pauseJitter: Double
    /// Requests are sent no faster than this, whatever the server allows; nil for no limit.
    public var maxRate: ThrottleRate?
    /// Asked through the pipeline before a flush sends its first mutation; if it throws, nothing is sent, and the queue tries
    /// again by itself after ``failedBackoff``. nil for no check.
    public var healthCheck: (@Sendable () async throws -> Void)?
    /// Whether an error means that the other side could not be reached at all: then nobody is to blame. By default no error
    /// does; for URLSession it is `{ ($0 as? URLError)?.isOffline == true }`, with ResilienceHTTP.
    public var isOffline: @Sendable (any Error) -> Bool

    public init(
        maxInFlight: Int = 4,
        maxFailures: Int = 5,
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

    /// By the queue too: each of them may have been set since.
    mutating func check() {
        let checks = SettingChecks("SyncQueue")
        maxInFlight = checks.atLeast(1, maxInFlight, "maxInFlight")
        maxFailures = checks.atLeast(1, maxFailures, "maxFailures")
        maxAge = maxAge.map { checks.notNegative($0, "maxAge") }
        pageSize = checks.atLeast(1, pageSize, "pageSize")
        maxPause = checks.notNegative(maxPause, "maxPause")
        pauseJitter = checks.share(pauseJitter, "pauseJitter")
    }
}
