import Resilience

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Makes all decisions of a queue: when it sends, what, how fast, and what becomes of a mutation then.
///
/// A flight asks it for the ``next(at:oldest:)`` action, does that, reports the result, and asks again, until the
/// flight ends. All other inputs may come at any time.
struct SyncStateMachine: Sendable, Equatable {
    struct Settings: Sendable, Hashable {
        var maxFailures: Int
        var failureCounting: FailureCounting
        var laneRule: LaneRule
        var maxPause: Duration
        /// The share by which a pause that the other side names is prolonged.
        var lateness = 0.0
        /// Whether a flight checks the other side's health before it sends anything.
        var checksHealth = false
        /// Whether other queues send from the same store at the same time.
        var isShared = false
        /// ``LanesStateMachine/Rules/oldest`` comes with each question.
        var rules: LanesStateMachine.Rules
    }

    enum Action: Sendable, Hashable {
        /// Take the sending lock → ``locked(_:at:)``
        case lock
        /// Give the sending lock back → ``unlocked()``
        case unlock
        /// Read the stored pause → ``pauseRead(left:isKnown:at:)``
        case readPause
        /// Store a pause that ends after this time; nil removes the stored one → ``pauseKept(_:)``
        case keepPause(Duration?)
        /// Ask a backoff for its delay → ``drawn(_:at:)``
        case draw(Backoffs, retry: Int)
        /// Read the next page of heads → ``found(_:urgent:dueIn:at:)``
        case look(after: Int64)
        /// Make these changes and claim these mutations, in one transaction → ``applied(_:at:)``
        case apply([MutationChange], claiming: [Int64])
        /// Check the other side's health → ``checked(_:sentAt:at:)``
        case check
        /// Count what is pending, and the heads of lanes → ``counted(pending:heads:others:dueIn:at:)``
        case countPending
        /// Wait until this instant, or another input, then ask again.
        case wait(until: MonotonicInstant)
        /// The round is over → ``roundEnded(_:at:)``
        case end(FlushReport.End)
        /// The flight is over, because the store failed → ``flightFailed()``
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
        /// Another flight, because its trigger must not be lost.
        case triggerAgain
        /// Nothing before this instant, or a trigger; nil if only a trigger starts something.
        case rest(until: MonotonicInstant?)
    }

    enum Phase: Sendable, Hashable {
        case idle
        /// A round begins, and looks for a pause.
        case opening
        case sending
        /// How the round ends is decided.
        case ending(FlushReport.End)
        /// The store has failed. What is in flight may end.
        case failing(error: String)
        case failed
    }

    /// Why nothing more is sent for now.
    enum Halt: Sendable, Hashable {
        /// A pause; the pace knows its end.
        case pause
        case outage(retryAt: MonotonicInstant)
    }

    /// What is known of the pause in the store.
    enum StoredPause: Sendable, Hashable {
        case unknown, none, isThere
        /// The store has another pause than the one in force.
        case isStale
    }

    /// What the store and the observers are to be told about a mutation.
    struct Settlement: Sendable, Equatable {
        let changes: [MutationChange]
        /// nil if there is nothing to tell.
        var event: SyncEvent?
    }

    /// Mutations that are sent together.
    struct Request: Sendable, Hashable {
        let id: Int
        var mutations: [LaneHead]
        var sentAt: MonotonicInstant
        /// The tally of its kind when it was sent.
        var witnesses = FailureWitnesses.Tally()
        /// Whether its answer said what is left of a quota.
        var hasTold = false

        var lanes: [String] { mutations.map(\.entity) }
    }

    let settings: Settings
    var flush = FlushStateMachine()
    var lanes: LanesStateMachine
    /// The pace; its pause is the queue's.
    var pace: SendPace
    var witnesses = FailureWitnesses()
    var laneThrottles = LaneThrottles()

    var phase = Phase.idle
    var isCancelled = false
    /// Whether the other side was found healthy in this flight, or need not be checked.
    var isWell = false
    var halt: Halt?
    /// How the last flight that was not cancelled ended; a failure of the store counts as an outage.
    var lastEnd = FlushReport.End.drained

    var storedPause = StoredPause.unknown
    /// Whether another queue has stored or ended a pause since.
    var hasOtherPause = false
    /// Whether this flight has the sending lock.
    var hasLock = false
    /// Whether the lock was denied the last time, and the observers were told.
    var isLockedOut = false
    /// A pause to store, and then to tell the observers.
    var pauseToTell: Duration?
    /// Until when nothing is sent since somebody said so; ``MonotonicInstant/distantFuture`` if until somebody says otherwise.
    var pausedByHand: MonotonicInstant?
    /// The number of pauses in a row for 429s, or for rejections by the pipeline's policies that named no wait.
    var throttles = 0
    /// Whether the last of these answered a request that carried no mutation.
    var throttledWithout = false
    /// The number of flights in a row that ended because the other side, or the store, could not be reached.
    var outages = 0

    /// The requests whose mutations are being claimed.
    var claiming: [Request] = []
    /// The requests in flight, by id.
    var requests: [Int: Request] = [:]
    var lastRequest = 0
    /// What is known of mutations and not yet in the store. It outlasts a failure of the store.
    var unsettled: [Settlement] = []
    /// How many of these the store is being told now.
    var settling = 0
    /// The mutations that were removed by hand since the round began: if one is in flight, its failure means nothing to it.
    var removed: Set<Int64> = []

    /// The ends of requests that are still to be processed, in order: see SyncStateMachine+Ends.swift.
    var ended: [EndedRequest] = []
    var notes: [Note] = []
    var draws: [Draw] = []

    /// What this round has done, and what the earlier rounds of this flight have done.
    var counts = FlushReport.Counts()
    var before = FlushReport.Counts()
    /// When the flight began.
    var since: MonotonicInstant?
    var events: [SyncEvent] = []

    init(_ settings: Settings, lanes: LanesStateMachine, pace: SendPace) {
        (self.settings, self.lanes, self.pace) = (settings, lanes, pace)
    }

    // MARK: Seen from outside

    /// The latest end of a pause, of one by hand, and of the silence for a quota; nil if there is none.
    func pausedUntil(at now: MonotonicInstant) -> MonotonicInstant? {
        [pace.pausedUntil(at: now), pace.silentUntil(at: now), pausedByHand(at: now)].compactMap(\.self).max()
    }

    func pausedByHand(at now: MonotonicInstant) -> MonotonicInstant? { pausedByHand.flatMap { now < $0 ? $0 : nil } }

    /// When the queue continues by itself; nil if it waits for a trigger.
    var goesOnAt: MonotonicInstant? { flush.isStopped ? nil : lastEnd.goesOnAt }

    /// The number of mutations in flight.
    var inFlight: Int { requests.values.reduce(0) { $0 + $1.mutations.count } }

    /// What the flight has done so far; or the last flight, if there is none.
    var progress: FlushReport.Counts {
        var progress = before
        progress += counts
        return progress
    }

    /// The events to tell, in order, since this was last called.
    mutating func takeEvents() -> [SyncEvent] {
        defer { events = [] }
        return events
    }

    // MARK: From outside

    /// - Returns: `start` if a flight is to begin.
    mutating func triggered(at now: MonotonicInstant) -> FlushStateMachine.Trigger {
        // If no flight has ended with the pause yet, there is no alarm for its end: this flight sets it.
        var pausedUntil: MonotonicInstant?
        // Nor is there an alarm for a 429 or a rejection that is still to be processed, or for a pause whose end has moved
        // since. And another process may have ended a pause by hand, which only a flight finds out.
        if case .paused(let alarm) = lastEnd, notes.isEmpty, pausedByHand(at: now) == nil,
            let until = self.pausedUntil(at: now), until == alarm
        {
            pausedUntil = until
        }
        let trigger = flush.triggered(pausedUntil: pausedUntil)
        if trigger == .start {
            (isCancelled, isWell, since) = (false, !settings.checksHealth, now)
            (counts, before) = (FlushReport.Counts(), FlushReport.Counts())
            beginRound()
        }
        return trigger
    }

    /// Called when the flight's task was cancelled: what is in flight may end, and nothing more is sent.
    mutating func cancelled() { isCancelled = true }

    /// Stops sending for good.
    mutating func stop() { flush.stop() }

    /// Called when the other side said what is left of a quota.
    /// - Parameter request: The request that it answered; nil if that is not known.
    /// - Returns: Whether the flight must look again.
    mutating func noted(_ quota: ServerQuota, from request: Int?, at now: MonotonicInstant) -> Bool {
        guard let quota = quota.ofRequests else { return false }
        func answer() -> SendPace.Answer { pace.answer(at: now, inFlight: requests.count + claiming.count) }
        let before = (pace.silentUntil(at: now), answer())
        if let request, quota.remaining != nil { requests[request]?.hasTold = true }
        pace.note(quota, from: request, of: lastRequest, at: now)
        return (pace.silentUntil(at: now), answer()) != before
    }

    /// Ends the pause, and the waits of what failed, by hand. The store holds no pause any more.
    mutating func resumed(keepingGrowth: Bool = false, at now: MonotonicInstant) {
        pace.resumed(keepingRate: keepingGrowth, after: lastRequest, at: now)
        // It would be stored now, and taken for the pause of another queue that is stored meanwhile.
        pauseToTell = nil
        lanes.releaseAll()
        laneThrottles = LaneThrottles()
        if !keepingGrowth { (throttles, outages) = (0, 0) }
    }

    /// Called when another queue has stored or ended a pause.
    mutating func otherPause() { hasOtherPause = true }

    /// Called when dead mutations are pending again, or no longer block their lanes.
    mutating func revived() { lanes.revived() }

    /// Called when a pending mutation was removed by hand.
    mutating func removed(_ head: LaneHead) {
        if phase != .idle { removed.insert(head.position) }
        witnesses.forget(head.position)
        lanes.removed(head, isLimited: laneThrottles.isLimited(head.entity))
    }

    mutating func clearingBegan() { flush.clearingBegan() }

    /// Called when everything pending was removed.
    mutating func cleared() {
        unsettled = []
        laneThrottles = LaneThrottles()
        witnesses.forgetAll()
    }

    mutating func clearingEnded() { flush.clearingEnded() }
}
