#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Resilience

/// The rounds of a flight: a pause is looked for, what may be sent is sent, and the store is told what is known, until nothing
/// is left or nothing more may be sent.
extension SyncStateMachine {
    /// What the flight is to do now.
    /// - Parameter oldest: what was queued before this is too old to be sent.
    mutating func next(at now: MonotonicInstant, oldest: Date? = nil) -> Action {
        if let action = lookAtEnds(at: now) { return action }
        switch phase {
        case .idle:
            return .wait(until: .distantFuture)
        case .opening:
            return open(at: now) ?? send(at: now, oldest)
        case .sending:
            return send(at: now, oldest)
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

    /// nil: there is no pause.
    private mutating func open(at now: MonotonicInstant) -> Action? {
        let pausedUntil = pace.pausedUntil(at: now)
        // Others may have sent what a flight before this one could not tell the store.
        if !hasLock, pausedUntil == nil || !unsettled.isEmpty { return .lock }
        // A crash in the pause would send it again.
        if !unsettled.isEmpty { return apply() }
        if let pausedUntil {
            return storedPause == .isThere
                ? end(with: .paused(until: pausedUntil)) : .keepPause(now.duration(to: pausedUntil))
        }
        switch storedPause {
        case .unknown:
            return .readPause
        case .isThere, .isStale:
            // It is over. If it stayed, a clock set back could bring it to life again.
            return .keepPause(nil)
        case .none:
            phase = .sending
            lanes.begin()
            return nil
        }
    }

    private mutating func send(at now: MonotonicInstant, _ oldest: Date?) -> Action {
        // A pause may be over before all that was in flight is.
        if halt == .pause, !isCancelled, pace.pausedUntil(at: now) == nil { halt = nil }
        let end = end
        if end == nil, !isWell, lanes.hasHeads { return .check }
        let step = end == nil ? plan(at: now, oldest) : nil
        // In one transaction: what has ended, and what is going to be sent.
        if !(unsettled.isEmpty && claiming.isEmpty) { return apply() }
        if let end { return requests.isEmpty ? self.end(with: end) : .wait(until: .distantFuture) }
        switch step {
        case .look(let position): return .look(after: position)
        case .wait(let instant): return .wait(until: instant)
        case .stalled(let instant): return self.end(with: .stalled(retryAt: instant))
        case .done, .send, .park, nil: return settings.laneRule == .block ? .countPending : self.end(with: .drained)
        }
    }

    private mutating func end(with end: FlushReport.End) -> Action {
        phase = .ending(end)
        return hasLock ? .unlock : .end(end)
    }

    /// A pause may have been prolonged, or ended by hand, since it was decided to end with it.
    private func latest(_ end: FlushReport.End, at now: MonotonicInstant) -> FlushReport.End {
        guard case .paused(let until) = end else { return end }
        return .paused(until: pace.pausedUntil(at: now) ?? min(until, now))
    }

    private mutating func apply() -> Action {
        settling = unsettled.count
        return .apply(unsettled.flatMap(\.changes), claiming: claiming.flatMap(\.mutations).map(\.position))
    }

    /// Why nothing more is sent in this round.
    private var end: FlushReport.End? {
        if flush.isStopped { return .cancelled }
        switch halt {
        case .pause:
            // A pause is one for all, whoever was cancelled.
            if case .paused(let until) = pace.phase { return .paused(until: until) }
        case .outage(let retryAt):
            return .offline(retryAt: retryAt)
        case nil:
            break
        }
        return isCancelled ? .cancelled : nil
    }

    /// Takes what is to be sent and what is to be parked.
    /// - Returns: what else there is to do.
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
        // Another may have been told to pause, also one that has asked something without the lock.
        storedPause = .unknown
        guard lock == .taken else { return }
        // Another may have sent them since, and what became of them then counts. What was acknowledged stays so.
        unsettled.removeAll { settlement in
            !settlement.changes.allSatisfy { if case .acknowledged = $0 { true } else { false } }
        }
    }

    /// To ask for the lock costs next to nothing.
    private static let lockRetry = Duration.seconds(1)

    mutating func unlocked() { hasLock = false }

    /// - Parameters:
    ///   - left: how long the stored pause lasts, zero if it is over; nil if there is none.
    ///   - isKnown: whether it is the one that was kept or read last: when that ends is known better.
    mutating func pauseRead(left: Duration?, isKnown: Bool = false, at now: MonotonicInstant) {
        // What it holds is to be replaced.
        if storedPause == .isStale { return }
        guard let left else {
            // Another queue has ended it by hand.
            if storedPause == .isThere, pace.pausedUntil(at: now) != nil { pace.resumed(keepingRate: true, at: now) }
            storedPause = .none
            return
        }
        if isKnown {
            storedPause = .isThere
            return
        }
        // A clock set back must not make it longer than any pause may be, not even over further restarts.
        storedPause = left > settings.maxPause ? .isStale : .isThere
        // One that is over, too: nobody knows how the other side is, and what follows begins with one request.
        pace.paused(until: now + min(max(left, .zero), settings.maxPause))
    }

    /// - Parameter isThere: false if it was removed.
    mutating func pauseKept(_ isThere: Bool) {
        storedPause = isThere ? .isThere : .none
        guard isThere, let length = pauseToTell else { return }
        events.append(.paused(for: length))
        pauseToTell = nil
    }

    mutating func found(_ page: [LaneHead]) {
        // What has failed goes alone, also if that was nobody's fault.
        lanes.found(page.map { $0.withFailures(atLeast: witnesses.failures(of: $0.position)) })
    }

    /// The store was told all that was unsettled.
    /// - Parameter claimed: what was claimed, as it is now, without what is gone.
    /// - Returns: what is to be sent.
    mutating func applied(_ claimed: [LaneHead], at now: MonotonicInstant) -> [Request] {
        let settled = unsettled.prefix(settling)
        unsettled.removeFirst(settled.count)
        for settlement in settled {
            count(settlement)
            events.append(settlement.event)
        }
        let found = Dictionary(claimed.map { ($0.position, $0) }) { first, _ in first }
        defer { claiming = [] }
        return claiming.compactMap { send($0, of: found, at: now) }
    }

    /// nil if nothing is left of the request: acknowledged, coalesced with a later one, dropped to make room, or cleared.
    private mutating func send(_ request: Request, of found: [Int64: LaneHead], at now: MonotonicInstant) -> Request? {
        let asked = request.mutations
        var request = request
        // Of a batch, none that was coalesced into another kind meanwhile: its handler is another.
        // And no more than goes in one, if what was coalesced has made them larger.
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
        events += request.mutations.map { .attempted(id: $0.id) }
        return request
    }

    private mutating func cameToNothing(_ request: Request, at now: MonotonicInstant) {
        pace.endedOtherwise(sentAt: request.sentAt, at: now)
        lanes.cameToNothing(request.mutations)
    }

    /// What is pending although nothing is left to send waits behind what blocks its lane.
    mutating func counted(pending: Int, heads: Int) {
        phase = .ending(pending > 0 && heads == 0 ? .blocked : .drained)
    }

    /// What the last action asked of the store has failed.
    mutating func storeFailed(_ error: String, at now: MonotonicInstant) {
        for request in claiming { cameToNothing(request, at: now) }
        (claiming, pauseToTell) = ([], nil)
        if case .failing = phase { return }
        phase = .failing(error: error)
    }

    mutating func beginRound() {
        before += counts
        counts = FlushReport.Counts()
        (phase, halt) = (.opening, nil)
    }

    /// - Returns: what the round has done.
    mutating func roundEnded(_ end: FlushReport.End) -> (counts: FlushReport.Counts, after: After) {
        let counts = counts
        if end == .cancelled { return (counts, flightEnded()) }
        var isPaused = false
        if case .paused = end { isPaused = true }
        guard flush.roundEnded(isPaused: isPaused) == .rest else {
            beginRound()
            return (counts, .again)
        }
        (phase, lastEnd) = (.idle, end)
        if end == .drained { events.append(.drained) }
        return (counts, .rest(until: end.goesOnAt))
    }

    mutating func flightFailed() -> After { flightEnded() }

    /// Cancelled or failed: what others expect of it, and what the queue would have done by itself, is still to be done.
    private mutating func flightEnded() -> After {
        phase = .idle
        return flush.flushCancelled() ? .triggerAgain : .rest(until: lastEnd.goesOnAt)
    }

    private mutating func count(_ settlement: Settlement) {
        switch settlement.event {
        case .delivered: counts.delivered += 1
        case .failed: counts.failed += 1
        case .died:
            counts.died += 1
            for case .failed in settlement.changes { counts.failed += 1 }
        default: break
        }
    }
}

extension LaneHead {
    fileprivate func withFailures(atLeast least: Int) -> LaneHead {
        guard failures < least else { return self }
        return LaneHead(
            position: position, id: id, entity: entity, kind: kind, queuedAt: queuedAt, failures: least, bytes: bytes)
    }
}
