import Resilience

/// The consequences of a request's end, for its mutations and for all others.
extension SyncStateMachine {
    /// The facts about an error.
    struct Failure: Sendable, Hashable {
        var verdict: Verdict
        var error: String
        /// Whether the other side could not be reached at all.
        var isOffline = false
        /// The wait that the pipeline's rejecting policy names; nil if it names none.
        var rejectedFor: Duration?
        /// The text for observers, which must not contain the error's text; nil if the error's text is our own.
        var description: String?

        var told: String { description ?? error }
    }

    enum Outcome: Sendable, Hashable {
        /// The request failed as a whole.
        case failed(Failure)
        /// The failure of each mutation; nil for a delivered mutation.
        case answered([Failure?])
    }

    struct EndedRequest: Sendable, Hashable {
        let id: Int
        let outcome: Outcome
        let endedAt: MonotonicInstant
    }

    /// A failure to process: of a request as a whole, or of one of its mutations.
    struct Note: Sendable, Hashable {
        let failure: Failure
        let mutations: [LaneHead]
        let sentAt: MonotonicInstant
        let endedAt: MonotonicInstant
        /// The tally of the mutations' kind when they were sent.
        let witnesses: FailureWitnesses.Tally
        /// Whether this is the note with which the pace counts the request's end: a batch has a note for each failed
        /// mutation.
        var endsRequest = true
        /// Whether a later mutation of the same batch got through: then a 429 before that mutation does not begin a
        /// series.
        var isMadeUpFor = false
    }

    /// The purpose of a delay.
    enum Draw: Sendable, Hashable {
        /// - Parameter atLeast: The wait that the other side named.
        case hold(LaneHead, failures: Int, atLeast: Duration)
        /// Holds a lane for the delay after the end of the pause.
        case holdLonger(LaneHead, times: Int)
        /// - Parameters:
        ///   - named: The wait that the server named, although an earlier wait did not help; nil if none.
        ///   - counts: Whether the pause counts in the series of 429s.
        case pause(sentAt: MonotonicInstant, isOurOwn: Bool, named: Duration?, counts: Bool)
        case outage
        /// A failure of the store.
        case failure
    }

    /// Without this, a backoff of zero would make the queue retry endlessly at the same instant.
    static let shortestWait = Duration.milliseconds(1)

    /// Called when a request ended. The end is processed before the flight's next action.
    mutating func requestEnded(_ id: Int, _ outcome: Outcome, at now: MonotonicInstant) {
        flight?.ended.append(EndedRequest(id: id, outcome: outcome, endedAt: now))
    }

    /// Called when a request without a mutation was throttled or rejected, or a health check failed. A flight processes
    /// it.
    mutating func rejected(_ failure: Failure, sentAt: MonotonicInstant, at now: MonotonicInstant) {
        notes.append(
            Note(
                failure: failure, mutations: [], sentAt: sentAt, endedAt: now, witnesses: FailureWitnesses.Tally()))
    }

    /// Called when a request without a mutation was answered, and neither throttled nor rejected.
    mutating func answered() { streaks.answeredWithout() }

    /// - Parameter failure: nil if the other side is healthy.
    mutating func checked(_ failure: Failure?, sentAt: MonotonicInstant, at now: MonotonicInstant) {
        flight?.isWell = failure == nil
        if let failure { rejected(failure, sentAt: sentAt, at: now) } else { answered() }
    }

    /// Processes ends in order, each with all its consequences.
    /// - Returns: The action that the processing needs next; nil if nothing is left to process.
    mutating func lookAtEnds(at now: MonotonicInstant) -> Action? {
        while flight != nil {
            if let draw = flight?.draws.first { return ask(draw) }
            if let untold = pauses.untold { return .keepPause(untold) }
            if !notes.isEmpty {
                note(notes.removeFirst(), at: now)
            } else if let (ended, request) = flight?.takeEnd() {
                if let request { end(request, ended) }
            } else {
                return nil
            }
        }
        return nil
    }

    private mutating func end(_ request: Request, _ ended: EndedRequest) {
        lanes.ended(request.mutations)
        if !request.hasTold, ended.outcome.mayHaveArrived { pace.endedUntold(at: ended.endedAt) }
        func note(_ failure: Failure, _ mutations: [LaneHead]) -> Note {
            Note(
                failure: failure, mutations: mutations, sentAt: request.sentAt, endedAt: ended.endedAt,
                witnesses: request.witnesses)
        }
        switch ended.outcome {
        case .failed(let failure):
            notes = [note(failure, request.mutations)]
        case .answered(let failures):
            let results = zip(request.mutations, failures)
            let delivered = results.filter { $1 == nil }.map(\.0)
            if !delivered.isEmpty {
                pace.acknowledged(sentAt: request.sentAt, at: ended.endedAt)
                streaks.end()
                lanes.delivered()
                for mutation in delivered { laneThrottles.delivered(mutation.entity) }
                if settings.failureCounting != .always { for mutation in delivered { witnesses.delivered(mutation) } }
                unsettled += delivered.map {
                    Settlement(changes: [.acknowledged($0.position)], event: .delivered(id: $0.id))
                }
            }
            let lastDelivered = failures.lastIndex(of: nil) ?? -1
            notes = results.enumerated().compactMap { index, result in
                var note = result.1.map { note($0, [result.0]) }
                note?.isMadeUpFor = index < lastDelivered
                return note
            }
            for index in notes.indices where index > 0 || !delivered.isEmpty { notes[index].endsRequest = false }
        }
        // It was one request, however many of its mutations were throttled.
        if notes.contains(where: \.failure.isThrottled) { progress?.round.throttled += 1 }
    }

    private mutating func note(_ note: Note, at now: MonotonicInstant) {
        let before = unsettled.count
        decide(note, at: now)
        let settled = unsettled[before...].flatMap(\.changes).map(\.position)
        let changes = note.mutations.map(\.position).filter { !settled.contains($0) }.map(MutationChange.answered)
        if !changes.isEmpty { unsettled.append(Settlement(changes: changes)) }
    }

    // MARK: Decisions

    private mutating func decide(_ note: Note, at now: MonotonicInstant) {
        let failure = note.failure
        // A 429 counts even if the flight was cancelled.
        if failure.isThrottled {
            streaks.isThrottledWithout = note.mutations.isEmpty
            // A batch may be throttled because of any of its lanes.
            let lane = note.mutations.count == 1 ? note.mutations.first : nil
            let times = lane.flatMap { laneThrottles.throttled($0.entity) }
            pause(
                for: failure.verdict.retryAfter, sentAt: note.sentAt, isOurOwn: false, counts: !note.isMadeUpFor,
                at: now)
            if let lane, failure.isFinal {
                park(lane, failure.error, told: failure.told)
            } else if let lane, let times {
                flight?.draws.append(.holdLonger(lane, times: times))
            }
            return
        }
        if !note.mutations.isEmpty {
            pace.endedOtherwise(sentAt: note.sentAt, endsRequest: note.endsRequest, at: note.endedAt)
        }
        if flight?.isCancelled == true { return }
        // A check that fails in any other way means that the other side can't be used.
        if failure.isOffline || note.mutations.isEmpty && failure.verdict.kind != .rejected {
            events.append(.offline(error: failure.told))
            if flight?.halt == nil { flight?.draws.append(.outage) }
            return
        }
        // The other side could be reached.
        if !failure.verdict.saysNothing { streaks.outages = 0 }
        switch failure.verdict.kind {
        case .rejected:
            for mutation in note.mutations { lanes.rejected(mutation) }
            pause(for: failure.rejectedFor, sentAt: note.sentAt, isOurOwn: true, at: now)
        case .cancelled:
            // Cancelled from outside: not the mutation's fault.
            for mutation in note.mutations { hold(mutation) }
        case .permanent, .transient, .uncertain, .success, .throttled:
            if note.mutations.count == 1, failure.isFinal {
                return park(note.mutations[0], failure.error, told: failure.told)
            }
            for mutation in note.mutations { failed(mutation, failure, note.witnesses) }
        }
    }

    private mutating func failed(_ mutation: LaneHead, _ failure: Failure, _ sent: FailureWitnesses.Tally) {
        if isRemoved(mutation) { return }
        let named = failure.verdict.retryAfter.map { min(late($0), settings.maxPause) }
        if settings.failureCounting == .always || witnesses.failed(mutation, sent: sent) {
            return countFailure(of: mutation, failure, holdingFor: named)
        }
        progress?.round.failed += 1
        events.append(.failed(id: mutation.id, failures: mutation.failures, error: failure.told))
        hold(mutation, atLeast: named)
    }

    private mutating func countFailure(of mutation: LaneHead, _ failure: Failure, holdingFor named: Duration?) {
        let failed = MutationChange.failed(mutation.position, error: failure.error)
        // A store may contain any number of failures, even the largest.
        let failures = mutation.failures.saturatingAdding(1)
        if failures >= settings.maxFailures {
            return park(mutation, failure.error, told: failure.told, after: [failed])
        }
        unsettled.append(
            Settlement(changes: [failed], event: .failed(id: mutation.id, failures: failures, error: failure.told)))
        hold(mutation, atLeast: named)
    }

    mutating func park(
        _ mutation: LaneHead, _ error: String, told: String? = nil, after changes: [MutationChange] = []
    ) {
        witnesses.forget(mutation.position)
        if isRemoved(mutation) { return }
        let parked = MutationChange.died(mutation.position, error: error, rest: settings.laneRule)
        unsettled.append(Settlement(changes: changes + [parked], event: .died(id: mutation.id, error: told ?? error)))
    }

    private func isRemoved(_ mutation: LaneHead) -> Bool { flight?.removed.contains(mutation.position) == true }

    private mutating func hold(_ mutation: LaneHead, atLeast named: Duration? = nil) {
        let failures = max(mutation.failures, witnesses.failures(of: mutation.position) - 1)
        flight?.draws.append(.hold(mutation, failures: failures, atLeast: named ?? .zero))
    }

    // MARK: Pauses

    /// - Parameters:
    ///   - isOurOwn: Whether a policy of the pipeline rejected the request, so that it was not sent.
    ///   - counts: Whether the pause counts in the series of 429s.
    private mutating func pause(
        for named: Duration?, sentAt: MonotonicInstant, isOurOwn: Bool, counts: Bool = true, at now: MonotonicInstant
    ) {
        // A server's wait of zero does not count. A policy's wait of zero does: its break is over.
        let named = named.flatMap { $0 > .zero || isOurOwn ? $0 : nil }
        if flight?.halt == .pause {
            // Requests that were in flight with the first throttled one get the same answer, so this 429 does not count
            // again.
            beSilent(for: named, backoff: nil, sentAt: sentAt, isOurOwn: isOurOwn, at: now)
        } else if let named, isOurOwn || streaks.throttles == 0 {
            if !isOurOwn, counts { streaks.throttles = 1 }
            beSilent(for: named, backoff: nil, sentAt: sentAt, isOurOwn: isOurOwn, at: now)
        } else {
            // If a server sends a 429 again after its named wait, that wait was too short.
            flight?.draws.append(.pause(sentAt: sentAt, isOurOwn: isOurOwn, named: named, counts: counts))
        }
    }

    /// - Parameters:
    ///   - named: The shortest silence.
    ///   - backoff: The longest silence, if no wait was named or the named wait did not help; the pace may choose a
    ///     shorter one.
    private mutating func beSilent(
        for named: Duration?, backoff: Duration?, sentAt: MonotonicInstant, isOurOwn: Bool, at now: MonotonicInstant
    ) {
        let named = named.map { min(isOurOwn ? $0 : late($0), settings.maxPause) }
        let backoff = backoff.map { min($0, settings.maxPause) }
        let before = pace.pausedUntil(at: now)
        var until = now + max(named ?? .zero, backoff ?? .zero, Self.shortestWait)
        if isOurOwn {
            pace.paused(until: until)
        } else {
            until = pace.throttled(sentAt: sentAt, retryAfter: named, backoff: backoff, at: now)
        }
        flight?.halt = .pause
        if until > before ?? .distantPast { pauses.paused(for: now.duration(to: until)) }
    }

    /// Prolongs a named wait, and never shortens it.
    private func late(_ wait: Duration) -> Duration {
        let wait = wait.saturatedNanoseconds
        return .nanoseconds(wait.saturatingAdding(Int64(saturating: Double(wait) * settings.lateness)))
    }

    // MARK: Delays

    func ask(_ draw: Draw) -> Action {
        switch draw {
        case .hold(_, let times, _), .holdLonger(_, let times): .draw(.failed, retry: times)
        case .pause: .draw(.throttled, retry: streaks.throttles)
        case .outage, .failure: .draw(.failed, retry: streaks.outages)
        }
    }

    /// Receives the delay that ``Action/draw(_:retry:)`` asked for.
    mutating func drawn(_ delay: Duration, at now: MonotonicInstant) {
        let wait = max(delay, Self.shortestWait)
        let until = now + wait
        switch flight?.takeDraw() {
        case .hold(let head, _, let named):
            if !isRemoved(head) { lanes.hold(head, until: max(until, now + named)) }
        case .holdLonger(let head, _):
            lanes.hold(head, until: (pace.pausedUntil(at: now) ?? now) + wait)
        case .pause(let sentAt, let isOurOwn, let named, let counts):
            if counts { streaks.throttles += 1 }
            beSilent(for: named, backoff: delay, sentAt: sentAt, isOurOwn: isOurOwn, at: now)
        case .outage:
            streaks.outages += 1
            flight?.halt = .outage(retryAt: until)
        case .failure:
            streaks.outages += 1
            lastEnd = .offline(retryAt: until)
            flight?.fail()
        case nil:
            break
        }
    }
}

extension SyncStateMachine.Failure {
    /// Whether the other side throttled the request, or a policy of the pipeline rejected it.
    var isRefusal: Bool { isThrottled || verdict.kind == .rejected }

    fileprivate var isThrottled: Bool { verdict.kind == .throttled }

    /// Whether the mutation would fail again: the other side's own answer takes precedence.
    fileprivate var isFinal: Bool { verdict.shouldRetry.map { !$0 } ?? (verdict.kind == .permanent) }
}

extension SyncStateMachine.Outcome {
    /// Whether the other side may have counted the request.
    fileprivate var mayHaveArrived: Bool {
        if case .failed(let failure) = self { !failure.isOffline && failure.verdict.kind != .rejected } else { true }
    }
}
