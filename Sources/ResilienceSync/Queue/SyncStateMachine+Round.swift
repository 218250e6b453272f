#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Resilience

/// The rounds of a flight. A round looks for a pause, sends what may be sent, and tells the store what is known, until
/// nothing is left or nothing more may be sent.
extension SyncStateMachine {
    /// Returns what the flight is to do now.
    /// - Parameter oldest: Mutations queued before this are too old to be sent.
    mutating func next(at now: MonotonicInstant, oldest: Date? = nil) -> Action {
        if let action = lookAtEnds(at: now) { return action }
        switch phase {
        case .idle:
            return .wait(until: .distantFuture)
        case .opening:
            return open(at: now) ?? send(at: now, oldest)
        case .sending:
            return hasOtherPause ? .readPause : send(at: now, oldest)
        case .ending(let end):
            return hasLock ? .unlock : .end(latest(end, at: now))
        case .failing(let error):
            guard requests.isEmpty else { return .wait(until: .distantFuture) }
            events.append(.storeFailed(error: error))
            return draw(.failure)
        case .failed:
            return hasLock ? .unlock : .fail
        }
    }

    /// Returns nil if there is no pause.
    private mutating func open(at now: MonotonicInstant) -> Action? {
        let pausedUntil = pace.pausedUntil(at: now)
        // Another queue may have sent the mutations whose results an earlier flight could not store.
        if !hasLock, pausedUntil == nil || !unsettled.isEmpty { return .lock }
        // Without this, a crash during the pause would send them again.
        if !unsettled.isEmpty { return apply() }
        if let pausedUntil {
            return storedPause == .isThere
                ? end(with: .paused(until: pausedUntil), at: now) : .keepPause(now.duration(to: pausedUntil))
        }
        switch storedPause {
        case .unknown:
            return .readPause
        case .isThere, .isStale:
            // The pause is over. If it stayed stored, a clock that is set back could bring it back.
            return .keepPause(nil)
        case .none:
            if let pausedByHand = pausedByHand(at: now) { return end(with: .paused(until: pausedByHand), at: now) }
            phase = .sending
            lanes.begin()
            return nil
        }
    }

    private mutating func send(at now: MonotonicInstant, _ oldest: Date?) -> Action {
        // It may be over before everything that was in flight has ended.
        if let until = haltedUntil(at: now), until <= now, !isCancelled { halt = nil }
        let end = end(at: now)
        if end == nil, !isWell, lanes.hasHeads, pace.silentUntil(at: now) == nil { return .check }
        let step = end == nil ? plan(at: now, oldest) : nil
        // In one transaction: what has ended, and what is to be sent.
        if !(unsettled.isEmpty && claiming.isEmpty) { return apply() }
        if let end {
            if requests.isEmpty { return self.end(with: end, at: now) }
            return .wait(
                until: isCancelled ? .distantFuture : pausedByHand(at: now) ?? haltedUntil(at: now) ?? .distantFuture)
        }
        switch step {
        case .look(let position): return .look(after: position)
        case .wait(let instant):
            guard requests.isEmpty, let silence = pace.silentUntil(at: now) else { return .wait(until: instant) }
            // It is not stored: after a restart the first answers say so again.
            events.append(.paused(for: now.duration(to: silence)))
            return self.end(with: .paused(until: silence), at: now)
        case .stalled(let instant): return self.end(with: .stalled(retryAt: instant), at: now)
        case .done, .send, .park, nil:
            return .countPending
        }
    }

    private mutating func end(with end: FlushReport.End, at now: MonotonicInstant) -> Action {
        phase = .ending(end)
        return hasLock ? .unlock : .end(latest(end, at: now))
    }

    /// The pause may have been prolonged, or ended by hand, since the round was to end with it.
    private func latest(_ end: FlushReport.End, at now: MonotonicInstant) -> FlushReport.End {
        guard case .paused(let until) = end else { return end }
        return .paused(until: pausedUntil(at: now) ?? min(until, now))
    }

    private mutating func apply() -> Action {
        settling = unsettled.count
        return .apply(unsettled.flatMap(\.changes), claiming: claiming.flatMap(\.mutations).map(\.position))
    }

    private func haltedUntil(at now: MonotonicInstant) -> MonotonicInstant? {
        switch halt {
        case .pause: pace.pausedUntil(at: now) ?? now
        case .outage(let retryAt): retryAt
        case nil: nil
        }
    }

    /// Why nothing more is sent in this round.
    private func end(at now: MonotonicInstant) -> FlushReport.End? {
        if flush.isStopped { return .cancelled }
        if let pausedByHand = pausedByHand(at: now) { return .paused(until: pausedByHand) }
        switch halt {
        case .pause:
            // A pause holds even if the flight was cancelled.
            if case .paused(let until) = pace.phase { return .paused(until: until) }
        case .outage(let retryAt):
            return .offline(retryAt: retryAt)
        case nil:
            break
        }
        return isCancelled ? .cancelled : nil
    }

    /// Takes the mutations to send and those that become dead.
    /// - Returns: What else there is to do.
    private mutating func plan(at now: MonotonicInstant, _ oldest: Date?) -> LanesStateMachine.Step {
        var rules = settings.rules
        rules.oldest = oldest
        if flush.takeTrigger() { lanes.lookAgain() }
        while true {
            let inFlight = requests.count + claiming.count
            let answer = pace.answer(at: now, inFlight: inFlight)
            switch lanes.next(at: now, pace: answer, rules: rules) {
            case .send(let heads):
                lastRequest += 1
                claiming.append(Request(id: lastRequest, mutations: heads, sentAt: now))
                pace.sent(at: now, beside: inFlight)
            case .park(let head, let reason):
                park(head, reason.rawValue)
            case let step:
                return step
            }
        }
    }

    // MARK: Answers

    mutating func locked(_ lock: SendingLock, at now: MonotonicInstant) {
        guard lock != .denied else {
            if !isLockedOut { events.append(.lockedOut) }
            isLockedOut = true
            phase = .ending(.lockedOut(retryAt: now + Self.lockRetry))
            return
        }
        (hasLock, isLockedOut) = (true, false)
        // Another queue may have been told to pause, even one that has made a request without the lock.
        storedPause = .unknown
        guard lock == .taken else { return }
        // Another queue may have sent them since, and then its results count. Acknowledged mutations stay acknowledged, and
        // this process has not ended with the others.
        unsettled = unsettled.map { settlement in
            let isDone = settlement.changes.allSatisfy { if case .acknowledged = $0 { true } else { false } }
            return isDone ? settlement : Settlement(changes: settlement.changes.map { .answered($0.position) })
        }
    }

    /// Trying to take the lock costs almost nothing.
    private static let lockRetry = Duration.seconds(1)

    mutating func unlocked() { hasLock = false }

    /// - Parameters:
    ///   - left: How long the stored pause lasts, zero if it is over; nil if there is none.
    ///   - isKnown: Whether it is the pause that was stored or read last, whose end is known more exactly.
    mutating func pauseRead(left: Duration?, isKnown: Bool = false, at now: MonotonicInstant) {
        hasOtherPause = false
        defer { if phase == .sending, pace.pausedUntil(at: now) != nil { halt = .pause } }
        // The stored pause is to be replaced.
        if storedPause == .isStale { return }
        guard let left else {
            // Another queue has ended the pause by hand.
            if storedPause == .isThere, pace.pausedUntil(at: now) != nil { pace.resumed(keepingRate: true, at: now) }
            storedPause = .none
            return
        }
        if isKnown {
            storedPause = .isThere
            return
        }
        // A clock that was set back must not prolong it beyond the longest pause, not even over further restarts.
        storedPause = left > settings.maxPause ? .isStale : .isThere
        // A pause that is over counts, too: how the other side is now is unknown, so what follows begins with one
        // request.
        pace.paused(until: now + min(max(left, .zero), settings.maxPause))
    }

    /// - Parameter isThere: False if the stored pause was removed.
    mutating func pauseKept(_ isThere: Bool) {
        storedPause = isThere ? .isThere : .none
        guard isThere, let length = pauseToTell else { return }
        events.append(.paused(for: length))
        pauseToTell = nil
    }

    /// - Parameters:
    ///   - urgent: The first heads of urgent lanes.
    ///   - dueIn: How long the next mutation that waits for its date still waits; nil if there is none.
    mutating func found(
        _ page: [LaneHead], urgent: [LaneHead] = [], dueIn: Duration? = nil, at now: MonotonicInstant = .distantPast
    ) {
        // A mutation that has failed goes alone, even if its failures do not count.
        func known(_ heads: [LaneHead]) -> [LaneHead] {
            heads.map { $0.withFailures(atLeast: witnesses.failures(of: $0.position)) }
        }
        lanes.found(known(page), urgent: known(urgent), nextDue: dueIn.map { Self.due(in: $0, at: now) })
    }

    /// One that is due and no head has been left for the next look by the store, because others are, or it is locked.
    private static func due(in wait: Duration, at now: MonotonicInstant) -> MonotonicInstant {
        now + (wait > .zero ? max(wait, shortestWait) : lockRetry)
    }

    /// Called when the store has applied all that was unsettled.
    /// - Parameter claimed: The claimed mutations, as they are now, without those that are gone.
    /// - Returns: The requests to send.
    mutating func applied(_ claimed: [LaneHead], at now: MonotonicInstant) -> [Request] {
        let settled = unsettled.prefix(settling)
        unsettled.removeFirst(settled.count)
        for settlement in settled {
            guard let event = settlement.event else { continue }
            count(event, settlement.changes)
            events.append(event)
        }
        let found = Dictionary(claimed.map { ($0.position, $0) }) { first, _ in first }
        defer { claiming = [] }
        return claiming.compactMap { send($0, of: found, at: now) }
    }

    /// Returns nil if nothing is left of the request: its mutations were acknowledged, coalesced with a later one,
    /// dropped to make room, or cleared.
    private mutating func send(_ request: Request, of found: [Int64: LaneHead], at now: MonotonicInstant) -> Request? {
        let asked = request.mutations
        var request = request
        // A mutation of a batch that was coalesced into another kind meanwhile is left out, because its handler is
        // another. So is what exceeds the limit, if coalescing has made mutations larger.
        let limit = settings.rules.batchLimit(for: asked[0].kind) ?? .single
        request.mutations = limit.filled(
            with: asked.compactMap { found[$0.position] }
                .filter { asked.count == 1 || $0.kind == asked[0].kind })
        guard !request.mutations.isEmpty else {
            cameToNothing(Request(id: request.id, mutations: asked, sentAt: request.sentAt), at: now)
            return nil
        }
        if request.mutations.count < asked.count {
            let claimed = Set(request.mutations.map(\.position))
            lanes.cameToNothing(asked.filter { !claimed.contains($0.position) })
        }
        request.sentAt = now
        request.witnesses = witnesses.tally(of: request.mutations[0].kind)
        requests[request.id] = request
        counts.requests += 1
        // This claim is counted already.
        events += request.mutations.map {
            $0.claims > LaneHead.suspectClaims ? .suspected(id: $0.id, claims: $0.claims - 1) : .attempted(id: $0.id)
        }
        return request
    }

    private mutating func cameToNothing(_ request: Request, at now: MonotonicInstant) {
        pace.endedOtherwise(sentAt: request.sentAt, at: now)
        lanes.cameToNothing(request.mutations)
    }

    /// Called with the counts: if mutations are pending and there is no head, they wait for their date, or behind what blocks
    /// their lanes.
    /// - Parameters:
    ///   - others: Whether there are heads that other queues have.
    ///   - dueIn: As for ``found(_:urgent:dueIn:at:)``.
    mutating func counted(
        pending: Int, heads: Int, others: Bool = false, dueIn: Duration? = nil, at now: MonotonicInstant = .distantPast
    ) {
        if others { return phase = .ending(.lockedOut(retryAt: now + Self.lockRetry)) }
        // It has become one since the last look; in a shared store it is this queue's now.
        if heads > 0, settings.isShared || lanes.nextDue != nil { return lanes.revived() }
        if pending > 0, heads == 0, let dueIn { return phase = .ending(.waiting(until: Self.due(in: dueIn, at: now))) }
        phase = .ending(pending > 0 && heads == 0 ? .blocked : .drained)
    }

    /// Called when the store failed in the last action.
    mutating func storeFailed(_ error: String, at now: MonotonicInstant) {
        for request in claiming {
            cameToNothing(request, at: now)
            // It may be claimed all the same.
            unsettled.append(Settlement(changes: request.mutations.map { .answered($0.position) }))
        }
        (claiming, pauseToTell) = ([], nil)
        if case .failing = phase { return }
        phase = .failing(error: error)
    }

    mutating func beginRound() {
        before += counts
        counts = FlushReport.Counts()
        (phase, halt, removed) = (.opening, nil, [])
    }

    /// - Returns: What the round has done, how it has ended by now, and what comes after it.
    mutating func roundEnded(
        _ end: FlushReport.End, at now: MonotonicInstant
    ) -> (counts: FlushReport.Counts, end: FlushReport.End, after: After) {
        let (counts, end) = (counts, latest(end, at: now))
        if end == .cancelled { return (counts, end, flightEnded()) }
        var isPaused = false
        // One by hand may have been ended since it was read.
        if case .paused = end { isPaused = pausedByHand(at: now) == nil }
        guard flush.roundEnded(isPaused: isPaused) == .rest else {
            beginRound()
            return (counts, end, .again)
        }
        (phase, lastEnd) = (.idle, end)
        if end == .drained { events.append(.drained) }
        return (counts, end, .rest(until: end.goesOnAt))
    }

    mutating func flightFailed() -> After { flightEnded() }

    /// The flight was cancelled or failed. What other callers expect of it, and what the queue would have done by
    /// itself, is still to be done.
    private mutating func flightEnded() -> After {
        phase = .idle
        return flush.flushCancelled() ? .triggerAgain : .rest(until: lastEnd.goesOnAt)
    }

    private mutating func count(_ event: SyncEvent, _ changes: [MutationChange]) {
        switch event {
        case .delivered: counts.delivered += 1
        case .failed: counts.failed += 1
        case .died:
            counts.died += 1
            for case .failed in changes { counts.failed += 1 }
        case .enqueued, .coalesced, .dropped, .attempted, .suspected, .paused, .pausedByHand, .resumed, .offline,
            .lockedOut, .drained, .cancelled, .cleared, .revived, .discarded, .storeFailed, .duplicate:
            break
        }
    }
}

extension LaneHead {
    fileprivate func withFailures(atLeast least: Int) -> LaneHead {
        guard failures < least else { return self }
        return LaneHead(
            position: position, id: id, entity: entity, kind: kind, queuedAt: queuedAt, failures: least, bytes: bytes,
            claims: claims)
    }
}
