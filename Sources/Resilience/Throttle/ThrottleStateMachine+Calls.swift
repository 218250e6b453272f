/// The path of one call: in, through the line if it has to wait, and out.
extension ThrottleStateMachine {
    enum Admission: Sendable, Equatable {
        case enter(ThrottleSlot)
        /// The call is in line. It asks again at `until`, or when it is woken. `turn`: the expected time at which it
        /// can go.
        case wait(ThrottleSlot, turn: MonotonicInstant?, until: MonotonicInstant)
        case reject(retryAfter: Duration?)
    }

    /// A new call asks to enter, or a call whose slot says that it is in line asks again.
    mutating func admit(
        _ slot: ThrottleSlot, cost: Int, deadline: MonotonicInstant, _ settings: Throttle.Settings,
        at now: MonotonicInstant
    ) -> Admission {
        let isInLine = slot.stage == .waiting
        if isInLine { line.wake(slot.ticket) }
        let answer = isInLine ? askAgain(slot.ticket, at: now) : ask(cost: cost, at: now)
        if answer.lets { return .enter(ThrottleSlot(answer, of: self)) }
        // A call waits to learn when it may go, even if it would not wait for its turn, or if the line is full.
        let hasRoom = isInLine || line.count < settings.queue
        let isUnknown = isUnknown(at: now)
        let waitsToKnow = isUnknown && line.count < limiter.most
        let patientUntil =
            isInLine ? line[slot.ticket]?.patientUntil ?? slot.latest : hasRoom ? now + settings.maxWait : now
        let latest =
            isInLine ? slot.latest : isUnknown ? max(patientUntil, now + limiter.timeToKnow) : patientUntil
        let last = isUnknown ? latest : min(patientUntil, latest)
        guard comesInTime(answer, at: now, last, deadline), hasRoom || waitsToKnow else {
            if isInLine { _ = leave(slot.ticket) }
            limiter.changeLeased { $0.missed(cost) }
            return .reject(retryAfter: now.wait(until: max(now, comesAgain(answer, cost: cost))))
        }
        let ticket = isInLine ? slot.ticket : join(cost: cost, patientUntil: patientUntil, at: now)
        let until = min(asksAgain(ticket, told: answer), latest, deadline)
        line.sleep(ticket, until: until)
        let turn: MonotonicInstant? = if case .probing = answer { nil } else { max(now, answer.instant) }
        return .wait(ThrottleSlot(waiting: ticket, until: latest), turn: turn, until: until)
    }

    private func isUnknown(at now: MonotonicInstant) -> Bool { limiter.isUnknown(at: max(latest, now).nanoseconds) }

    /// Whether the call's turn can come in time, so that waiting makes sense.
    private func comesInTime(
        _ answer: Answer, at now: MonotonicInstant, _ latest: MonotonicInstant, _ deadline: MonotonicInstant
    ) -> Bool {
        guard now < latest, now < deadline else { return false }
        return switch answer {
        case .notBefore(let instant), .held(until: let instant): instant <= latest && instant < deadline
        case .probing: true
        case .go, .pace, .probe, .never: false
        }
    }

    /// The first and the second call in line, if they would sleep too long: they must ask again. Called after every
    /// change.
    mutating func wakes() -> (UInt64?, UInt64?) {
        // Usually the line is empty. Check that first: asking what the head waits for copies the machine.
        guard line.head != nil, let head else { return (nil, nil) }
        let first = wakes(head.ticket, at: head.answer.instant)
        return (first, second.flatMap { wakes($0.ticket, at: $0.until) })
    }

    private mutating func wakes(_ ticket: UInt64, at instant: MonotonicInstant) -> UInt64? {
        guard let member = line[ticket], let until = member.sleepsUntil,
            until > instant || until > member.patientUntil && !isUnknown(at: latest)
        else { return nil }
        line.wake(ticket)
        return ticket
    }

    /// A call comes out, or leaves the line.
    /// - Returns: The instant until which its 429 holds all calls; nil if it holds none.
    mutating func end(
        _ slot: ThrottleSlot, cost: Int, _ verdict: Verdict, _ settings: Throttle.Settings,
        at now: MonotonicInstant,
        using generator: SplitMix64 = .shared
    ) -> MonotonicInstant? {
        if slot.stage == .waiting {
            // A call that can't wait leaves at once.
            if leave(slot.ticket) { limiter.changeLeased { $0.missed(cost) } }
            return nil
        }
        if slot.stage == .probe, !verdict.saysNothing { noteTime(ofProbeIn: slot.generation, endedAt: now) }
        if verdict.kind == .throttled, settings.holdOnThrottled {
            let backoff = settings.holdBackoff
            guard minds(throttledInGeneration: slot.generation, wasProbe: slot.stage == .probe) else { return nil }
            var generator = generator
            let delay = verdict.namedWait ?? backoff.delay(beforeRetry: holdsBefore, using: &generator)
            let until = now + min(max(delay, .zero), settings.maxHold)
            hold(until: until, probingAfter: verdict.namedWait == nil ? .zero : settings.earlyProbe, at: now)
            return until
        }
        switch slot.stage {
        case .probe: probeEnded(decided: !verdict.saysNothing, inGeneration: slot.generation, at: now)
        case .pace: paceEnded(decided: !verdict.saysNothing, inGeneration: slot.generation)
        case .outside, .waiting, .admitted: break
        }
        if verdict.kind == .rejected, slot.stage != .probe, cost > 0 {
            giveBack(cost, slot.receipt, inGeneration: slot.generation, at: now)
        }
        return nil
    }
}
