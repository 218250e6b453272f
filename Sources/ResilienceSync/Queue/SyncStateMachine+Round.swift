#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Resilience

/// The rounds of a flight. A round looks for a pause, sends mutations, and updates the store, until nothing is left or
/// nothing more may be sent.
extension SyncStateMachine {
    /// Returns the flight's next action.
    /// - Parameter oldest: Mutations queued before this are too old to be sent.
    mutating func next(at now: MonotonicInstant, oldest: Date? = nil) -> Action {
        if let action = lookAtEnds(at: now) { return action }
        switch flight?.phase {
        case nil:
            return .wait(until: .distantFuture)
        case .opening:
            return open(at: now) ?? send(at: now, oldest)
        case .sending:
            return pauses.haveChanged ? .readPause : send(at: now, oldest)
        case .ending(let end):
            return unlock(before: .end(latest(end, at: now)))
        case .failing(let error):
            guard inFlight == 0 else { return .wait(until: .distantFuture) }
            events.append(.storeFailed(error: error))
            flight?.draws.append(.failure)
            return ask(.failure)
        case .failed:
            return unlock(before: .fail)
        }
    }

    /// Returns nil if there is no pause.
    private mutating func open(at now: MonotonicInstant) -> Action? {
        let pausedUntil = pace.pausedUntil(at: now)
        // Another queue may have sent the mutations whose results an earlier flight could not store.
        if flight?.hasLock == false, pausedUntil == nil || !unsettled.isEmpty { return .lock }
        // Results are stored before the pause: otherwise, after a crash during the pause, their mutations would be sent
        // again.
        if !unsettled.isEmpty { return apply() }
        if let pausedUntil {
            return pauses.stored == .isThere
                ? end(with: .paused(until: pausedUntil), at: now) : .keepPause(now.duration(to: pausedUntil))
        }
        switch pauses.stored {
        case .unknown:
            return .readPause
        case .isThere, .isStale:
            // The pause is over. If it stayed stored, a clock that is set back could bring it back.
            return .keepPause(nil)
        case .none:
            if let pausedByHand = pauses.byHand(at: now) { return end(with: .paused(until: pausedByHand), at: now) }
            flight?.beginSending()
            lanes.begin()
            return nil
        }
    }

    private mutating func send(at now: MonotonicInstant, _ oldest: Date?) -> Action {
        // The halt may be over before all requests in flight have ended.
        if let until = haltedUntil(at: now), until <= now, flight?.isCancelled == false { flight?.halt = nil }
        let end = end(at: now)
        if end == nil, flight?.isWell == false, lanes.hasHeads, pace.silentUntil(at: now) == nil { return .check }
        let step = end == nil ? plan(at: now, oldest) : nil
        // One transaction stores the results of ended requests, and claims the mutations of new ones.
        if !unsettled.isEmpty || flight?.claiming.isEmpty == false { return apply() }
        if let end {
            if inFlight == 0 { return self.end(with: end, at: now) }
            let until = flight?.isCancelled == true ? nil : pauses.byHand(at: now) ?? haltedUntil(at: now)
            return .wait(until: until ?? .distantFuture)
        }
        switch step {
        case .look(let position): return .look(after: position)
        case .wait(let instant):
            guard inFlight == 0, let silence = pace.silentUntil(at: now) else { return .wait(until: instant) }
            // A silence for a quota is not stored: after a restart the first answers contain the quota again.
            events.append(.paused(for: now.duration(to: silence)))
            return self.end(with: .paused(until: silence), at: now)
        case .stalled(let instant): return self.end(with: .stalled(retryAt: instant), at: now)
        case .done, .send, .park, nil:
            return .countPending
        }
    }

    private mutating func end(with end: FlushReport.End, at now: MonotonicInstant) -> Action {
        flight?.end(with: end)
        return unlock(before: .end(latest(end, at: now)))
    }

    private func unlock(before action: Action) -> Action { flight?.hasLock == true ? .unlock : action }

    /// The present end of the pause: since the flight decided to end the round, the pause may have been prolonged, or
    /// ended by hand.
    private func latest(_ end: FlushReport.End, at now: MonotonicInstant) -> FlushReport.End {
        guard case .paused(let until) = end else { return end }
        return .paused(until: pausedUntil(at: now) ?? min(until, now))
    }

    private func apply() -> Action {
        let claimed = flight?.claiming.flatMap(\.mutations) ?? []
        return .apply(unsettled.flatMap(\.changes), claiming: claimed.map(\.position))
    }

    private func haltedUntil(at now: MonotonicInstant) -> MonotonicInstant? {
        switch flight?.halt {
        case .pause: pace.pausedUntil(at: now) ?? now
        case .outage(let retryAt): retryAt
        case nil: nil
        }
    }

    /// Why nothing more is sent in this round.
    private func end(at now: MonotonicInstant) -> FlushReport.End? {
        if flush.isStopped { return .cancelled }
        if let pausedByHand = pauses.byHand(at: now) { return .paused(until: pausedByHand) }
        switch flight?.halt {
        case .pause:
            // A pause holds even if the flight was cancelled.
            if case .paused(let until) = pace.phase { return .paused(until: until) }
        case .outage(let retryAt):
            return .offline(retryAt: retryAt)
        case nil:
            break
        }
        return flight?.isCancelled == true ? .cancelled : nil
    }

    /// Takes the mutations to send, and those that become dead.
    /// - Returns: The remaining step.
    private mutating func plan(at now: MonotonicInstant, _ oldest: Date?) -> LanesStateMachine.Step {
        var rules = settings.rules
        rules.oldest = oldest
        if flush.takeTrigger() { lanes.lookAgain() }
        while true {
            let inFlight = flight?.width ?? 0
            let answer = pace.answer(at: now, inFlight: inFlight)
            switch lanes.next(at: now, pace: answer, rules: rules) {
            case .send(let heads):
                lastRequest += 1
                flight?.claiming.append(Request(id: lastRequest, mutations: heads, sentAt: now))
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
            flight?.end(with: .lockedOut(retryAt: now + Self.lockRetry))
            return
        }
        flight?.hasLock = true
        isLockedOut = false
        pauses.locked()
        guard lock == .taken else { return }
        // Another queue may have sent these mutations since: then that queue's results count. Acknowledgements stay;
        // the other results become answers, since this process did not end during those attempts.
        unsettled = unsettled.map { settlement in
            let isDone = settlement.changes.allSatisfy { if case .acknowledged = $0 { true } else { false } }
            return isDone ? settlement : Settlement(changes: settlement.changes.map { .answered($0.position) })
        }
    }

    /// Trying to take the lock costs almost nothing.
    private static let lockRetry = Duration.seconds(1)

    mutating func unlocked() { flight?.hasLock = false }

    /// - Parameters:
    ///   - left: How long the stored pause lasts, zero if it is over; nil if there is none.
    ///   - isKnown: Whether it is the pause last stored or read, whose end is known more exactly.
    mutating func pauseRead(left: Duration?, isKnown: Bool = false, at now: MonotonicInstant) {
        switch pauses.read(left: left, isKnown: isKnown, longest: settings.maxPause) {
        case .ended: if pace.pausedUntil(at: now) != nil { pace.resumed(keepingRate: true, at: now) }
        // A pause that is over also counts: the other side's state is unknown, so sending begins with one request.
        case .paused(let length): pace.paused(until: now + length)
        case nil: break
        }
        if flight?.phase == .sending, pace.pausedUntil(at: now) != nil { flight?.halt = .pause }
    }

    /// - Parameter isThere: False if the stored pause was removed.
    mutating func pauseKept(_ isThere: Bool) {
        if let length = pauses.kept(isThere) { events.append(.paused(for: length)) }
    }

    /// - Parameters:
    ///   - urgent: The first heads of urgent lanes.
    ///   - dueIn: The remaining wait of the next mutation that waits for its date; nil if there is none.
    mutating func found(
        _ page: [LaneHead], urgent: [LaneHead] = [], dueIn: Duration? = nil, at now: MonotonicInstant = .distantPast
    ) {
        // A mutation that has failed goes alone, even if its failures do not count.
        func known(_ heads: [LaneHead]) -> [LaneHead] {
            heads.map { head in
                var head = head
                head.failures = max(head.failures, witnesses.failures(of: head.position))
                return head
            }
        }
        lanes.found(known(page), urgent: known(urgent), nextDue: dueIn.map { Self.due(in: $0, at: now) })
    }

    /// A due mutation that is not a head was left for the next look, because too many are due, or because it is locked.
    private static func due(in wait: Duration, at now: MonotonicInstant) -> MonotonicInstant {
        now + (wait > .zero ? max(wait, shortestWait) : lockRetry)
    }

    /// Called when the store has applied everything that was unsettled.
    /// - Parameter claimed: The claimed mutations, as they are now, without those that no longer exist.
    /// - Returns: The requests to send.
    mutating func applied(_ claimed: [LaneHead], at now: MonotonicInstant) -> [Request] {
        for settlement in unsettled {
            guard let event = settlement.event else { continue }
            count(event, settlement.changes)
            events.append(event)
        }
        unsettled = []
        let found = Dictionary(claimed.map { ($0.position, $0) }) { first, _ in first }
        let requests = flight?.takeClaims() ?? []
        return requests.compactMap { send($0, of: found, at: now) }
    }

    /// Returns nil if nothing is left of the request: its mutations were acknowledged, coalesced with a later one,
    /// dropped to make room, or cleared.
    private mutating func send(_ request: Request, of found: [Int64: LaneHead], at now: MonotonicInstant) -> Request? {
        let asked = request.mutations
        var request = request
        // A mutation of a batch that was meanwhile coalesced into another kind is left out, because another handler
        // sends it. So are mutations beyond the limit, if coalescing has made them larger.
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
        flight?.requests[request.id] = request
        progress?.round.requests += 1
        // This claim has already been counted.
        events += request.mutations.map {
            $0.claims > LaneHead.suspectClaims ? .suspected(id: $0.id, claims: $0.claims - 1) : .attempted(id: $0.id)
        }
        return request
    }

    private mutating func cameToNothing(_ request: Request, at now: MonotonicInstant) {
        pace.endedOtherwise(sentAt: request.sentAt, at: now)
        lanes.cameToNothing(request.mutations)
    }

    /// The rest in the store when a round finds nothing to send.
    struct Rest: Sendable {
        var pending = 0
        var heads = 0
        /// Whether there are heads of other queues.
        var othersHaveHeads = false
        /// As for ``found(_:urgent:dueIn:at:)``.
        var dueIn: Duration?
    }

    /// Decides the end of the round: if mutations are pending without a head, they wait for their date, or their lanes
    /// are blocked.
    mutating func counted(_ rest: Rest, at now: MonotonicInstant) {
        if rest.othersHaveHeads {
            flight?.end(with: .lockedOut(retryAt: now + Self.lockRetry))
        } else if rest.heads > 0, settings.isShared || lanes.nextDue != nil {
            // A mutation became a head after the last look; in a shared store it is now this queue's.
            lanes.revived()
        } else if rest.pending == 0 || rest.heads > 0 {
            flight?.end(with: .drained)
        } else {
            flight?.end(with: rest.dueIn.map { .waiting(until: Self.due(in: $0, at: now)) } ?? .blocked)
        }
    }

    /// Called when the store failed in the last action.
    mutating func storeFailed(_ error: String, at now: MonotonicInstant) {
        for request in flight?.takeClaims() ?? [] {
            cameToNothing(request, at: now)
            // The store may have claimed the mutations despite the failure.
            unsettled.append(Settlement(changes: request.mutations.map { .answered($0.position) }))
        }
        pauses.leaveUntold()
        flight?.storeFailed(error)
    }

    struct RoundEnd: Sendable {
        /// The results of the round.
        let counts: FlushReport.Counts
        /// The round's end, as it is now.
        let end: FlushReport.End
        let after: After
    }

    mutating func roundEnded(_ end: FlushReport.End, at now: MonotonicInstant) -> RoundEnd {
        let (counts, end) = (progress?.round ?? FlushReport.Counts(), latest(end, at: now))
        return RoundEnd(counts: counts, end: end, after: after(end, at: now))
    }

    private mutating func after(_ end: FlushReport.End, at now: MonotonicInstant) -> After {
        if end == .cancelled { return flightEnded() }
        var isPaused = false
        // A pause by hand may have been ended since it was read.
        if case .paused = end { isPaused = pauses.byHand(at: now) == nil }
        guard flush.roundEnded(isPaused: isPaused) == .rest else {
            flight?.beginRound()
            progress?.beginRound()
            return .again
        }
        (flight, lastEnd) = (nil, end)
        if end == .drained { events.append(.drained) }
        return .rest(until: end.goesOnAt)
    }

    mutating func flightFailed() -> After { flightEnded() }

    /// Called when the flight was cancelled or failed. Other callers' triggers, and the queue's own next steps, remain.
    private mutating func flightEnded() -> After {
        flight = nil
        return flush.flushCancelled() ? .triggerAgain : .rest(until: lastEnd.goesOnAt)
    }

    private mutating func count(_ event: SyncEvent, _ changes: [MutationChange]) {
        switch event {
        case .delivered: progress?.round.delivered += 1
        case .failed: progress?.round.failed += 1
        case .died:
            progress?.round.died += 1
            for case .failed in changes { progress?.round.failed += 1 }
        case .enqueued, .coalesced, .dropped, .attempted, .suspected, .paused, .pausedByHand, .resumed, .offline,
            .lockedOut, .drained, .cancelled, .cleared, .revived, .discarded, .storeFailed, .duplicate:
            break
        }
    }
}
