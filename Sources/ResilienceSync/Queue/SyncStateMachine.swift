import Resilience

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Makes all decisions of a queue: when, what and how fast it sends, and what happens to mutations afterwards.
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
        /// Each call of ``next(at:oldest:)`` sets ``LanesStateMachine/Rules/oldest``.
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
        /// Count the pending mutations, and the heads of lanes → ``counted(_:at:)``
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

    /// The step after a round.
    enum After: Sendable, Hashable {
        /// Another round of the same flight.
        case again
        /// Another flight, because its trigger must not be lost.
        case triggerAgain
        /// Nothing until this instant or a trigger; nil if only a trigger starts something.
        case rest(until: MonotonicInstant?)
    }

    /// The changes to store for a mutation, and the event for the observers.
    struct Settlement: Sendable, Equatable {
        let changes: [MutationChange]
        /// nil if there is no event.
        var event: SyncEvent?
    }

    /// Mutations that are sent together.
    struct Request: Sendable, Hashable {
        let id: Int
        var mutations: [LaneHead]
        var sentAt: MonotonicInstant
        /// The tally of the first mutation's kind when the request was sent.
        var witnesses = FailureWitnesses.Tally()
        /// Whether its answer contained a quota.
        var hasTold = false

        var lanes: [String] { mutations.map(\.entity) }
    }

    let settings: Settings
    var flush = FlushStateMachine()
    var lanes: LanesStateMachine
    /// The pace; its pause is the queue's pause.
    var pace: SendPace
    var witnesses = FailureWitnesses()
    var laneThrottles = LaneThrottles()

    var pauses = StoredPauses()
    var streaks = Streaks()

    /// nil while no flight runs.
    var flight: Flight?
    /// The results of the flight so far, or of the last flight if none runs; nil before the first.
    var progress: Progress?
    /// How the last flight that was not cancelled ended; a failure of the store counts as an outage.
    var lastEnd = FlushReport.End.drained
    /// Whether the last attempt to get the lock was denied. The observers are told only when this becomes true.
    var isLockedOut = false
    /// The id of the last request.
    var lastRequest = 0
    /// Results of mutations that are not yet in the store. They outlast a failure of the store.
    var unsettled: [Settlement] = []
    /// The failures that a flight must still process, in order: see SyncStateMachine+Ends.swift.
    var notes: [Note] = []
    var events: [SyncEvent] = []

    init(_ settings: Settings, lanes: LanesStateMachine, pace: SendPace) {
        (self.settings, self.lanes, self.pace) = (settings, lanes, pace)
    }

    init(_ configuration: SyncQueueConfiguration, _ rules: LanesStateMachine.Rules, isShared: Bool) {
        var generator = SplitMix64.shared
        let lateness = Double.random(in: 0...configuration.pauseJitter, using: &generator)
        self.init(
            Settings(
                maxFailures: configuration.maxFailures, failureCounting: configuration.failureCounting,
                laneRule: configuration.laneRule, maxPause: configuration.maxPause, lateness: lateness,
                checksHealth: configuration.healthCheck != nil, isShared: isShared, rules: rules),
            lanes: LanesStateMachine(pageSize: configuration.pageSize),
            pace: SendPace(
                maxInFlight: configuration.maxInFlight,
                maxRate: configuration.maxRate.map { Double($0.calls) / ($0.period / .seconds(1)) },
                maxPause: configuration.maxPause, lateness: lateness))
    }

    // MARK: State

    /// The latest end of all pauses: for a 429 or a policy, by hand, and for a quota; nil if there is none.
    func pausedUntil(at now: MonotonicInstant) -> MonotonicInstant? {
        [pace.pausedUntil(at: now), pace.silentUntil(at: now), pauses.byHand(at: now)].compactMap(\.self).max()
    }

    /// When the queue continues automatically; nil if it waits for a trigger.
    var goesOnAt: MonotonicInstant? { flush.isStopped ? nil : lastEnd.goesOnAt }

    /// The number of mutations in flight.
    var inFlight: Int { flight?.requests.values.reduce(0) { $0 + $1.mutations.count } ?? 0 }

    /// The events to send, in order, since this was last called.
    mutating func takeEvents() -> [SyncEvent] {
        defer { events = [] }
        return events
    }

    // MARK: Inputs

    /// - Returns: `start` if a flight is to begin.
    mutating func triggered(at now: MonotonicInstant) -> FlushStateMachine.Trigger {
        // A flight that ends paused sets the alarm for the pause's end. If none has done so yet, this flight does.
        var pausedUntil: MonotonicInstant?
        // An unprocessed 429 or rejection, or a pause whose end has moved since, has no alarm either. And only a flight
        // notices that another process has ended a pause by hand.
        if case .paused(let alarm) = lastEnd, notes.isEmpty, pauses.byHand(at: now) == nil,
            let until = self.pausedUntil(at: now), until == alarm
        {
            pausedUntil = until
        }
        let trigger = flush.triggered(pausedUntil: pausedUntil)
        if trigger == .start {
            (flight, progress) = (Flight(isWell: !settings.checksHealth), Progress(since: now))
        }
        return trigger
    }

    /// Called when the flight's task was cancelled: requests in flight may end, and nothing more is sent.
    mutating func cancelled() { flight?.isCancelled = true }

    /// Stops sending for good.
    mutating func stop() { flush.stop() }

    /// Called when the other side reported a quota.
    /// - Parameter request: The request that it answered; nil if unknown.
    /// - Returns: Whether the flight must look again.
    mutating func noted(_ quota: ServerQuota, from request: Int?, at now: MonotonicInstant) -> Bool {
        guard let quota = quota.ofRequests else { return false }
        func answer() -> SendPace.Answer { pace.answer(at: now, inFlight: flight?.width ?? 0) }
        let before = (pace.silentUntil(at: now), answer())
        if let request, quota.remaining != nil { flight?.requests[request]?.hasTold = true }
        pace.note(quota, from: request, of: lastRequest, at: now)
        return (pace.silentUntil(at: now), answer()) != before
    }

    /// Ends the pause, and the waits of failed mutations, by hand. The store no longer has a pause.
    mutating func resumed(keepingGrowth: Bool = false, at now: MonotonicInstant) {
        pace.resumed(keepingRate: keepingGrowth, after: lastRequest, at: now)
        // Otherwise the queue would store the ended pause now, and mistake it for a pause that another queue stores
        // meanwhile.
        pauses.leaveUntold()
        lanes.releaseAll()
        laneThrottles = LaneThrottles()
        if !keepingGrowth { streaks.end() }
    }

    /// Called when another queue has stored or ended a pause.
    mutating func otherPause() { pauses.changedElsewhere() }

    /// Called when dead mutations are pending again, or no longer block their lanes.
    mutating func revived() { lanes.revived() }

    /// Called when a pending mutation was removed by hand.
    mutating func removed(_ head: LaneHead) {
        flight?.removed.insert(head.position)
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
