import Resilience

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// All that a queue decides: when it sends, what, how fast, and what becomes of a mutation then.
///
/// A flight asks it for the ``next(at:oldest:)`` action, does that, says how it went, and asks again, until the flight
/// ends. Whatever else happens may be told at any time.
struct SyncStateMachine: Sendable, Equatable {
    struct Settings: Sendable, Hashable {
        var maxFailures: Int
        var failureCounting: FailureCounting
        var laneRule: LaneRule
        var maxPause: Duration
        /// By which share a pause that the other side names is prolonged.
        var lateness = 0.0
        /// Whether a flight asks how the other side is before it sends anything.
        var checksHealth = false
        /// ``LanesStateMachine/Rules/oldest`` comes with each question.
        var rules: LanesStateMachine.Rules
    }

    enum Action: Sendable, Hashable {
        /// Become the one who sends what is in the store → ``locked(_:at:)``
        case lock
        /// Let others → ``unlocked()``
        case unlock
        /// Look for a pause in the store → ``pauseRead(left:at:)``
        case readPause
        /// Store a pause that ends so long from now; nil removes the one stored → ``pauseKept(_:)``
        case keepPause(Duration?)
        /// Ask a backoff for its delay → ``drawn(_:at:)``
        case draw(Backoffs, retry: Int)
        /// Read the next page of heads → ``found(_:)``
        case look(after: Int64)
        /// Make these changes and claim these mutations, in one transaction → ``applied(_:at:)``
        case apply([MutationChange], claiming: [Int64])
        /// Ask how the other side is → ``checked(_:sentAt:at:)``
        case check
        /// Count what is pending, and the heads of lanes → ``counted(pending:heads:)``
        case countPending
        /// Ask again at this instant, or after another input.
        case wait(until: MonotonicInstant)
        /// The round is over → ``roundEnded(_:)``
        case end(FlushReport.End)
        /// The flight is over, by the store's failure → ``flightFailed()``
        case fail
    }

    /// The backoffs of the queue's configuration.
    enum Backoffs: Sendable, Hashable {
        case failed, throttled
    }

    /// What comes after a round.
    enum After: Sendable, Hashable {
        /// Another round of the same flight.
        case again
        /// Another flight: its trigger must not be lost.
        case triggerAgain
        /// Nothing before this instant, or a trigger; nil: nothing without one.
        case rest(until: MonotonicInstant?)
    }

    enum Phase: Sendable, Hashable {
        case idle
        /// A round begins: is there a pause?
        case opening
        case sending
        /// It is decided how the round ends.
        case ending(FlushReport.End)
        /// The store has failed; what is in flight may end.
        case failing(error: String)
        case failed
    }

    /// Why nothing more is sent for now.
    enum Halt: Sendable, Hashable {
        /// Until when, the pace knows.
        case pause
        case outage(retryAt: MonotonicInstant)
    }

    /// What the store holds of a pause.
    enum StoredPause: Sendable, Hashable {
        case unknown, none, isThere
        /// Not the one that holds.
        case isStale
    }

    /// What the store and the observers are to be told of a mutation.
    struct Settlement: Sendable, Equatable {
        let changes: [MutationChange]
        let event: SyncEvent
    }

    /// Mutations that are sent together.
    struct Request: Sendable, Hashable {
        let id: Int
        var mutations: [LaneHead]
        var sentAt: MonotonicInstant
        /// How others had fared then.
        var witnesses = FailureWitnesses.Tally()

        var lanes: [String] { mutations.map(\.entity) }
    }

    let settings: Settings
    var flush = FlushStateMachine()
    var lanes: LanesStateMachine
    /// Its pause is the queue's.
    var pace: SendPace
    var witnesses = FailureWitnesses()
    var laneThrottles = LaneThrottles()

    var phase = Phase.idle
    var isCancelled = false
    /// Whether the other side was asked in this flight, and is well.
    var isWell = false
    var halt: Halt?
    /// How the last flight that was not cancelled ended; a failure of the store counts as an outage.
    var lastEnd = FlushReport.End.drained

    var storedPause = StoredPause.unknown
    /// Whether this flight has the sending lock.
    var hasLock = false
    /// Whether it was last denied, and that was told.
    var isLockedOut = false
    /// A pause that is to be stored, and then told.
    var pauseToTell: Duration?
    /// Pauses in a row that 429s have asked for, and policies of ours without naming a wait.
    var throttles = 0
    /// Whether the last of these was the answer to a request that carried no mutation.
    var throttledWithout = false
    /// Flights in a row that ended because the other side, or the store, could not be reached.
    var outages = 0

    /// Requests whose mutations are being claimed.
    var claiming: [Request] = []
    /// Requests in flight, by id.
    var requests: [Int: Request] = [:]
    var lastRequest = 0
    /// What is known of mutations and not yet in the store: it outlasts a failure of the store.
    var unsettled: [Settlement] = []
    /// How many of these the store is being told.
    var settling = 0

    /// What is still to be made of requests' ends, in order: see SyncStateMachine+Ends.swift.
    var ended: [EndedRequest] = []
    var notes: [Note] = []
    var draws: [Draw] = []

    /// What this round has done, and the rounds of this flight before it.
    var counts = FlushReport.Counts()
    var before = FlushReport.Counts()
    /// Since when the flight is under way.
    var since: MonotonicInstant?
    var events: [SyncEvent] = []

    init(_ settings: Settings, lanes: LanesStateMachine, pace: SendPace) {
        (self.settings, self.lanes, self.pace) = (settings, lanes, pace)
    }

    // MARK: Seen from outside

    func pausedUntil(at now: MonotonicInstant) -> MonotonicInstant? { pace.pausedUntil(at: now) }

    /// When the queue goes on by itself; nil if it waits for a trigger.
    var goesOnAt: MonotonicInstant? { flush.isStopped ? nil : lastEnd.goesOnAt }

    /// Mutations in flight.
    var inFlight: Int { requests.values.reduce(0) { $0 + $1.mutations.count } }

    /// What the flight has done so far, or the last one did.
    var progress: FlushReport.Counts {
        var progress = before
        progress += counts
        return progress
    }

    /// What is to be told, in order, since this was last asked.
    mutating func takeEvents() -> [SyncEvent] {
        defer { events = [] }
        return events
    }

    // MARK: From outside

    /// - Returns: `start`: a flight is to begin.
    mutating func triggered(at now: MonotonicInstant) -> FlushStateMachine.Trigger {
        // A pause that no flight has ended with yet has no alarm: this one sets it.
        var pausedUntil: MonotonicInstant?
        // Neither does a refusal that is still to be looked at.
        if case .paused = lastEnd, notes.isEmpty { pausedUntil = pace.pausedUntil(at: now) }
        let trigger = flush.triggered(pausedUntil: pausedUntil)
        if trigger == .start {
            (isCancelled, isWell, since) = (false, !settings.checksHealth, now)
            (counts, before) = (FlushReport.Counts(), FlushReport.Counts())
            beginRound()
        }
        return trigger
    }

    /// The flight's task was cancelled: what is in flight may end, and nothing more is sent.
    mutating func cancelled() { isCancelled = true }

    /// Nothing more is sent, for good.
    mutating func stop() { flush.stop() }

    /// By hand: a pause and the waiting of what failed are over. The store holds no pause any more.
    mutating func resumed(keepingGrowth: Bool = false, at now: MonotonicInstant) {
        pace.resumed(keepingRate: keepingGrowth, at: now)
        lanes.releaseAll()
        laneThrottles = LaneThrottles()
        if !keepingGrowth { (throttles, outages) = (0, 0) }
    }

    /// What was set aside is pending again, or no longer blocks its lane.
    mutating func revived() { lanes.revived() }

    mutating func clearingBegan() { flush.clearingBegan() }

    /// Everything pending was removed.
    mutating func cleared() {
        unsettled = []
        laneThrottles = LaneThrottles()
        witnesses.forgetAll()
    }

    mutating func clearingEnded() { flush.clearingEnded() }
}
