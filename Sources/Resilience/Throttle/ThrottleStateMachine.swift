/// A limiter, a gate that shuts while the other side asks for fewer calls, and the line of calls that wait for the
/// limiter or the gate.
///
/// When the gate's hold is over, one call goes as a probe. If it succeeds, all others may follow: a bucket begins
/// empty, so that calls go at the rate without a burst, and a ramp lets them go faster and faster. Waiting calls go in
/// order of arrival; a new call that costs anything goes to the end of the line. A call keeps its place in line until
/// it goes, and takes its share at that moment.
struct ThrottleStateMachine: Sendable, Equatable {
    enum Gate: Sendable, Equatable {
        /// → held
        case open
        /// → probing, by the first call at or after `until`
        case held(until: MonotonicInstant)
        /// → open, or → held. A probe that has not ended when the lease ends loses its place.
        case probing(leaseEnds: MonotonicInstant)
    }

    enum Answer: Sendable, Equatable {
        case go
        /// Go; more calls may go when this call ends.
        case pace
        /// Go; its end decides whether the gate opens.
        case probe
        /// The limiter allows the call at this instant, if no call ahead gives up or is late.
        case notBefore(MonotonicInstant)
        /// The gate is shut until this instant.
        case held(until: MonotonicInstant)
        /// Other calls decide when it may go; it asks again at this instant at the latest.
        case probing(until: MonotonicInstant)
        /// Its cost exceeds the limit: it can never go.
        case never

        /// Whether the call goes.
        var lets: Bool {
            switch self {
            case .go, .pace, .probe: true
            case .notBefore, .held, .probing, .never: false
            }
        }

        /// When to ask again; for a call that goes, the distant past.
        var instant: MonotonicInstant {
            switch self {
            case .go, .pace, .probe: .distantPast
            case .notBefore(let instant), .held(until: let instant), .probing(until: let instant): instant
            case .never: .distantFuture
            }
        }
    }

    /// The ramp of a limiter without a rate: each call that ends lets two more go (slow start, RFC 5681), until the
    /// time of the ramp is over.
    private struct SlowStartRamp: Equatable {
        let ends: MonotonicInstant
        /// The number of calls that may go.
        var credit = 2
    }

    /// The early probes of a hold with a named wait.
    ///
    /// The hold may be over sooner than named, or may have been a mistake.
    struct EarlyProbes: Sendable, Equatable {
        /// When the next early probe may go.
        private(set) var next: MonotonicInstant
        /// The time between two early probes, in nanoseconds.
        private var interval: Int64
        private let longest: Int64
        /// The end of the hold during which the probe in flight began; the distant past without such a probe.
        var heldUntil = MonotonicInstant.distantPast

        init(after first: Duration, at now: MonotonicInstant) {
            interval = first.saturatedNanoseconds
            longest = interval.saturatingMultiplied(by: Self.growth)
            next = now + first
        }

        /// The longest interval, as a multiple of the first.
        static let growth: Int64 = 4

        mutating func probeBegins(at now: MonotonicInstant, heldUntil: MonotonicInstant) {
            interval = min(interval.saturatingMultiplied(by: 2), longest)
            next = now + .nanoseconds(interval)
            self.heldUntil = heldUntil
        }

        /// Another 429 has come: no early probe goes before another interval has passed.
        mutating func heldAgain(at now: MonotonicInstant) { next = max(next, now + .nanoseconds(interval)) }
    }

    /// A call in line that did not come at its turn, and the time when this was noticed.
    private struct Absent: Equatable {
        let ticket: UInt64
        let since: MonotonicInstant
    }

    static let probeLease = Duration.seconds(60)
    /// How long the line waits for its head.
    static let absence = Duration.milliseconds(100)

    var limiter: Limiter
    let ramp: Int64
    var gate = Gate.open
    private var slowStart: SlowStartRamp?
    /// nil if the last hold has no early probes.
    var early: EarlyProbes?
    private var probeWait = ProbeWait()
    private var probeBegan = MonotonicInstant.distantPast
    /// Counts the holds, the resets, and the probes that lost their place. The result of a call that was admitted in an
    /// earlier generation does not count.
    var generation: UInt64 = 0
    /// The number of holds in a row after a 429, with no successful probe in between.
    var holds = 0
    /// Whether the latest hold is included in `holds`.
    var isHoldCounted = false
    var line = ThrottleLine()
    private var absent: Absent?
    /// The latest time that the machine received. Callers read the clock before they wait for the lock, so their
    /// readings may arrive out of order.
    var latest = MonotonicInstant.distantPast
    /// The limiter for times without a supply; nil if there was no such time yet.
    var standIn: StandIn?

    /// The number of holds in a row before the present one. Several 429s may belong to one hold, so the present hold
    /// does not count.
    var holdsBefore: Int {
        if case .held = gate, isHoldCounted { holds - 1 } else { holds }
    }

    init(_ limiter: Limiter, ramp: Duration = .zero) {
        self.limiter = limiter
        self.ramp = ramp.saturatedNanoseconds
    }

    // MARK: Going in

    /// The fast path: takes the share of a call that may go at once, and returns whether it did. If not, nothing has
    /// changed.
    @inline(__always)
    mutating func goAtOnce(cost: Int, at now: MonotonicInstant) -> Bool {
        let now = max(latest, now)
        guard gate == .open, line.isEmpty, slowStart == nil, cost > 0, limiter.takeAtOnce(cost, at: now.nanoseconds)
        else { return false }
        latest = now
        return true
    }

    /// The receipt with which a call can give its share back. Valid right after it has taken the share.
    var receipt: ShareReceipt { limiter.receipt(at: latest.nanoseconds) }

    /// A call that is not in line asks to go. It takes its share only if it may go.
    mutating func ask(cost: Int = 1, at now: MonotonicInstant) -> Answer {
        latest = max(latest, now)
        guard limiter.allows(cost) else { return .never }
        if line.head != nil { passOver(before: .max) }
        if line.head != nil { return behindLine(cost: cost) }
        return passGate(cost: cost) ?? take(cost)
    }

    /// The answer to a call that is not in line while other calls wait in line: any free share belongs to them.
    private func behindLine(cost: Int) -> Answer {
        shut ?? (cost <= 0 ? .go : wait(for: cost, behind: line.cost))
    }

    /// The answer of a shut gate to a call that is not the next one; nil if the gate is open.
    private var shut: Answer? {
        switch gate {
        case .held(let until): held(until: until)
        case .probing(let leaseEnds): probing(until: leaseEnds)
        case .open: nil
        }
    }

    /// A call joins the line. Called only after ``ask(cost:at:)`` answered that it may not go yet.
    /// - Parameter patientUntil: The end of the call's wait for its turn; the call waits longer only to learn when that
    ///   turn comes.
    mutating func join(
        cost: Int = 1, patientUntil: MonotonicInstant = .distantFuture, at now: MonotonicInstant
    ) -> UInt64 {
        latest = max(latest, now)
        return line.join(cost: max(0, cost), patientUntil: patientUntil)
    }

    /// A call in line gives up.
    /// - Returns: false if it is not in line.
    mutating func leave(_ ticket: UInt64) -> Bool { line.leave(ticket) }

    /// A call in line asks whether it may go.
    ///
    /// If the answer is ``Answer/go``, ``Answer/pace``, ``Answer/probe`` or ``Answer/never``, it has left the line.
    /// Otherwise the call keeps its place, and the answer names the event to wait for.
    mutating func askAgain(_ ticket: UInt64, at now: MonotonicInstant) -> Answer {
        latest = max(latest, now)
        guard let member = line[ticket] else { return .never }
        line.comes(ticket)
        if absent?.ticket == ticket { absent = nil }
        passOver(before: ticket)
        guard line.head?.ticket == ticket else { return notYet(member.cost) }
        let answer = limiter.allows(member.cost) ? passGate(cost: member.cost) ?? take(member.cost) : .never
        switch answer {
        case .go, .pace, .probe, .never:
            _ = line.leave(ticket)
        case .notBefore, .held, .probing:
            break
        }
        return answer
    }

    /// The answer for a call in line that is not the head.
    private func notYet(_ cost: Int) -> Answer {
        shut ?? .probing(until: turn(of: cost, behind: line.cost - cost, at: latest))
    }

    /// When a call in line asks again, unless it is woken earlier. Always later than now.
    func asksAgain(_ ticket: UInt64, told answer: Answer) -> MonotonicInstant {
        guard let head, head.ticket != ticket else { return answer.instant }
        if let absent, absent.ticket == head.ticket { return absent.since + Self.absence }
        // Calls waiting for the gate sleep until they are second in line.
        let turn = gate == .open && answer.instant > latest ? answer.instant : .distantFuture
        return second.map { $0.ticket == ticket ? min($0.until, turn) : turn } ?? turn
    }

    /// The call behind the head, and the latest time at which it checks whether the head has come.
    var second: (ticket: UInt64, until: MonotonicInstant)? {
        guard let head, let (ticket, member) = line.second else { return nil }
        let waited = max(latest, head.answer.instant) + Self.absence
        guard gate == .open, let first = line[head.ticket] else { return (ticket, waited) }
        return (ticket, max(waited, turn(of: member.cost, behind: first.cost, at: latest)))
    }

    /// Passes over each head that could have gone, but did not come within ``absence``.
    private mutating func passOver(before ticket: UInt64) {
        while let head, head.ticket != ticket {
            guard head.answer.instant <= latest else {
                absent = nil
                return
            }
            if absent?.ticket != head.ticket { absent = Absent(ticket: head.ticket, since: latest) }
            guard let absent, absent.since + Self.absence <= latest else { return }
            line.passOver(head.ticket)
        }
    }

    /// The first call in line, and its answer.
    ///
    /// The answer's instant is the latest time at which the call is woken, even if only to ask again.
    var head: (ticket: UInt64, answer: Answer)? {
        guard let (ticket, member) = line.head else { return nil }
        switch gate {
        case .held(let until): return (ticket, heldForNext(until: until))
        case .probing(let leaseEnds): return (ticket, probingForNext(until: leaseEnds))
        case .open:
            let isFree = member.cost <= 0 || !limiter.allows(member.cost)
            return (ticket, isFree ? .go : wait(for: member.cost, behind: 0))
        }
    }

    private mutating func take(_ cost: Int) -> Answer {
        if let slowStart, slowStart.ends <= latest { self.slowStart = nil }
        if cost <= 0 { return .go }
        if slowStart?.credit == 0 { return wait(for: cost, behind: 0) }
        let turn = limiter.take(cost, at: latest.nanoseconds)
        guard turn <= latest.nanoseconds else { return notBefore(MonotonicInstant(nanoseconds: turn)) }
        slowStart?.credit -= 1
        return slowStart == nil ? .go : .pace
    }

    /// The answer for a call that may not go yet.
    private func wait(for cost: Int, behind: Int) -> Answer {
        let turn = turn(of: cost, behind: behind, at: latest)
        return pauseEnds(at: latest).map { .probing(until: max($0, turn)) } ?? notBefore(turn)
    }

    /// The answer for a call whose turn is known, or will be known at this instant at the latest.
    private func notBefore(_ turn: MonotonicInstant) -> Answer {
        limiter.isUnknown(at: latest.nanoseconds) ? .probing(until: turn) : .notBefore(turn)
    }

    private func turn(of cost: Int, behind: Int, at now: MonotonicInstant) -> MonotonicInstant {
        max(now, MonotonicInstant(nanoseconds: limiter.turn(of: cost, behind: behind, at: now.nanoseconds)))
    }

    /// The end of a slow start that has no credit left; nil if there is no slow start, or if it has credit.
    private func pauseEnds(at now: MonotonicInstant) -> MonotonicInstant? {
        slowStart.flatMap { $0.credit == 0 && now < $0.ends ? $0.ends : nil }
    }

    // MARK: The gate

    /// The answer of a gate that is or was held; the supply may have to allow the probe.
    private func held(until: MonotonicInstant) -> Answer {
        guard until <= latest, let leased = limiter.leased, !leased.mayProbe(at: latest.nanoseconds) else {
            return .held(until: until)
        }
        let known = MonotonicInstant(nanoseconds: leased.answerComes(by: latest.nanoseconds))
        return leased.isUnknown(at: latest.nanoseconds) ? .probing(until: known) : .held(until: known)
    }

    /// The answer to the next call, which may be an early probe.
    private func heldForNext(until: MonotonicInstant) -> Answer {
        guard let early, latest < until, early.next < until else { return held(until: until) }
        return .held(until: early.next)
    }

    /// The instant until which all calls get the same answer, unless something else happens; nil if the gate is not
    /// held, or if the supply also decides.
    var holdStands: MonotonicInstant? {
        guard case .held(let until) = gate, line.isEmpty, limiter.leased == nil else { return nil }
        return early.map { min(until, $0.next) } ?? until
    }

    /// The answer of a gate with a probe in flight. If it is an early probe, all other calls are held as before.
    private func probing(until leaseEnds: MonotonicInstant) -> Answer {
        early.flatMap { latest < $0.heldUntil ? .held(until: $0.heldUntil) : nil } ?? .probing(until: leaseEnds)
    }

    private func probingForNext(until leaseEnds: MonotonicInstant) -> Answer {
        guard let early, latest < early.heldUntil else { return .probing(until: leaseEnds) }
        return .held(until: min(early.heldUntil, max(early.next, leaseEnds)))
    }

    /// The answer of a shut gate; nil if it is open. The first call after the hold is the probe. If the other side has
    /// named the wait, occasional calls during the hold are early probes.
    private mutating func passGate(cost: Int) -> Answer? {
        switch gate {
        case .open:
            return nil
        case .held(let until):
            if let answer = passHold(until: until) { return answer }
        case .probing(let leaseEnds):
            guard leaseEnds <= latest else { return probingForNext(until: leaseEnds) }
            // The result of a probe that has lost its place must not count for the next probe.
            generation &+= 1
            if let early, latest < early.heldUntil {
                gate = .held(until: early.heldUntil)
                if let answer = passHold(until: early.heldUntil) { return answer }
            }
        }
        gate = .probing(leaseEnds: latest + Self.probeLease)
        probeBegan = latest
        limiter.count(max(0, cost), at: latest.nanoseconds)
        return .probe
    }

    /// - Returns: nil if the call is a probe.
    private mutating func passHold(until: MonotonicInstant) -> Answer? {
        guard until <= latest else {
            guard let early, early.next <= latest else { return heldForNext(until: until) }
            self.early?.probeBegins(at: latest, heldUntil: until)
            return nil
        }
        early?.heldUntil = .distantPast
        guard !limiter.mayProbe(at: latest.nanoseconds) else { return nil }
        limiter.changeLeased { [latest] in $0.wantsProbe(at: latest.nanoseconds) }
        return held(until: until)
    }

    /// Shuts the gate until an instant, unless it is already shut for longer.
    /// - Parameter counts: Whether the hold is for a 429. A hold for a quota, or by hand, must not make the next hold
    ///   longer.
    mutating func hold(until: MonotonicInstant, counts: Bool = true) {
        switch gate {
        case .open, .probing:
            // An early probe does not end its hold.
            gate = .held(until: max(until, early?.heldUntil ?? until))
            early?.heldUntil = .distantPast
            generation &+= 1
            isHoldCounted = false
        case .held(let present):
            gate = .held(until: max(present, until))
        }
        limiter.changeLeased { $0.held(.until(until, counts: counts)) }
        standIn?.hasEndedHold = false
        if !counts { early = nil }
        guard counts, !isHoldCounted else { return }
        isHoldCounted = true
        holds = holds.saturatingAdding(1)
    }

    /// Shuts the gate because of a 429, and lets calls probe early if the other side has named the wait.
    /// - Parameter probe: The time after which the first call probes; 0 for no early probe.
    mutating func hold(until: MonotonicInstant, probingAfter probe: Duration, at now: MonotonicInstant) {
        let isNamed = probe > .zero && limiter.leased == nil
        var heldUntil = early?.heldUntil ?? .distantPast
        if case .held(let until) = gate { heldUntil = until }
        let wasHeld = max(latest, now) < heldUntil
        // The other side's answer to an early probe replaces its earlier answer.
        if isNamed { early?.heldUntil = .distantPast }
        hold(until: until)
        probeWait.breakLasts(now.duration(to: until))
        if early != nil, wasHeld || isNamed {
            early?.heldAgain(at: now)
        } else if !wasHeld {
            early = isNamed ? EarlyProbes(after: probe, at: now) : nil
        }
    }

    /// Ends a hold early.
    /// - Returns: false if no hold was keeping calls out.
    @discardableResult
    mutating func endHold(at now: MonotonicInstant) -> Bool {
        latest = max(latest, now)
        switch gate {
        case .open:
            return false
        case .held(let until):
            gate = .held(until: min(until, latest))
            tellHoldHasEnded()
            return latest < until
        case .probing:
            // An early probe continues as if the hold were over.
            guard let early, latest < early.heldUntil else { return false }
            self.early?.heldUntil = .distantPast
            return true
        }
    }

    private mutating func tellHoldHasEnded() {
        if limiter.changeLeased({ $0.held(.ended) }) == nil { standIn?.hasEndedHold = true }
    }

    /// Notes the duration of a probe, which predicts the duration of the next one.
    mutating func noteTime(ofProbeIn admitted: UInt64, endedAt now: MonotonicInstant) {
        guard case .probing = gate, admitted == generation else { return }
        probeWait.probeTook(probeBegan.duration(to: max(latest, now)))
    }

    /// The other side asked for fewer calls.
    /// - Parameter admitted: The generation in which the call was admitted.
    /// - Returns: Whether this 429 must shut the gate, or keep it shut.
    func minds(throttledInGeneration admitted: UInt64, wasProbe: Bool) -> Bool {
        switch gate {
        case .open: admitted == generation
        case .held: true
        case .probing: wasProbe && admitted == generation
        }
    }

    /// The probe ended without a new hold. `decided` is false if its end is inconclusive, for example after a
    /// cancellation.
    mutating func probeEnded(decided: Bool, inGeneration admitted: UInt64, at now: MonotonicInstant) {
        latest = max(latest, now)
        guard case .probing = gate, admitted == generation else { return }
        limiter.changeLeased { $0.probeEnded(decided ? .well : .unclear) }
        guard decided else {
            gate = .held(until: max(latest, early?.heldUntil ?? latest))
            return
        }
        gate = .open
        early = nil
        holds = 0
        let ramps = limiter.recover(at: latest.nanoseconds, rampingOver: ramp)
        slowStart = ramps ? nil : SlowStartRamp(ends: latest + .nanoseconds(ramp))
    }

    /// Gives back the share of a call that an inner policy rejected: it never reached the other side.
    mutating func giveBack(
        _ cost: Int, _ receipt: ShareReceipt, inGeneration admitted: UInt64, at now: MonotonicInstant
    ) {
        latest = max(latest, now)
        guard admitted == generation else { return }
        limiter.giveBack(cost, receipt, at: latest.nanoseconds)
    }

    /// A call that was admitted with ``Answer/pace`` ended without a new hold.
    mutating func paceEnded(decided: Bool, inGeneration admitted: UInt64) {
        guard admitted == generation, let slowStart else { return }
        self.slowStart?.credit = slowStart.credit.saturatingAdding(decided ? 2 : 1)
    }

    // MARK: From outside

    /// See ``TokenBucket/setRate(_:burst:at:)``. Waiting calls keep their places in line.
    mutating func setRate(_ rate: ThrottleRate, burst: Int, at now: MonotonicInstant) {
        latest = max(latest, now)
        // A stand-in gets its part of the new rate later, when the supply has learned of the change.
        guard standIn == nil || limiter.leased != nil else { return }
        limiter.setRate(rate, burst: burst, at: latest.nanoseconds)
    }

    /// Removes all state except the line and the rate. The results of calls that were admitted before do not count.
    mutating func reset(at now: MonotonicInstant) {
        latest = max(latest, now)
        limiter.reset(at: latest.nanoseconds)
        if gate != .open { tellHoldHasEnded() }
        gate = .open
        early = nil
        slowStart = nil
        holds = 0
        generation &+= 1
    }

    /// Whether evicting the throttle would lose nothing.
    func isAtRest(at now: MonotonicInstant) -> Bool { gate == .open && isEmpty(at: max(latest, now)) }

    /// Whether evicting the throttle would lose nothing but a hold that has been over for this long.
    func isAtRest(at now: MonotonicInstant, forgettingHoldsOverFor time: Duration) -> Bool {
        let now = max(latest, now)
        return heldUntil.map { $0 + time <= now } ?? true && isEmpty(at: now)
    }

    private func isEmpty(at now: MonotonicInstant) -> Bool {
        line.isEmpty && slowStart.map { $0.ends <= now } ?? true && limiter.isFull(at: now.nanoseconds)
    }

    /// When a rejected call should come again: the expected turn of a similar call. If that depends on other calls,
    /// their expected end counts, not the latest time at which they lose their place.
    func comesAgain(_ answer: Answer, cost: Int) -> MonotonicInstant {
        switch answer {
        case .go, .pace, .probe, .notBefore, .never: answer.instant
        case .held(let until): min(until, nextProbe(at: latest) ?? until)
        case .probing(let until):
            switch gate {
            case .open where pauseEnds(at: latest) != nil:
                min(until, max(turn(of: cost, behind: line.cost, at: latest), latest + probeWait.expected))
            case .open, .held: until
            case .probing(let leaseEnds): min(until, probeEnds(leaseEnds, at: latest))
            }
        }
    }

    /// When the next call may be an early probe; nil if none may.
    private func nextProbe(at now: MonotonicInstant) -> MonotonicInstant? {
        switch gate {
        case .open: nil
        case .held: early?.next
        case .probing(let leaseEnds):
            early.flatMap { now < $0.heldUntil ? max($0.next, probeAnswers(leaseEnds, at: now)) : nil }
        }
    }

    /// When the probe in flight, or the hold that an early probe left in place, has probably ended.
    func probeEnds(_ leaseEnds: MonotonicInstant, at now: MonotonicInstant) -> MonotonicInstant {
        if let early, now < early.heldUntil { return early.heldUntil }
        return probeAnswers(leaseEnds, at: now)
    }

    private func probeAnswers(_ leaseEnds: MonotonicInstant, at now: MonotonicInstant) -> MonotonicInstant {
        now < leaseEnds ? probeWait.end(ofProbeBegunAt: probeBegan, leaseEnds: leaseEnds, at: now) : leaseEnds
    }

    /// The expected time until a new call of cost 1 could go, if no call in line gives up.
    func timeUntilNext(at now: MonotonicInstant) -> Duration {
        let now = max(latest, now)
        // The supply has not reported that it has no permits.
        if gate == .open, line.isEmpty, limiter.isUnknown(at: now.nanoseconds) { return .zero }
        let turn =
            switch gate {
            case .held(let until): min(until, nextProbe(at: now) ?? until)
            case .probing(let leaseEnds):
                min(probeEnds(leaseEnds, at: now), nextProbe(at: now) ?? .distantFuture)
            case .open:
                max(
                    self.turn(of: 1, behind: line.cost, at: now),
                    pauseEnds(at: now).map { min($0, now + probeWait.expected) } ?? now)
            }
        return max(.zero, now.duration(to: turn))
    }

    /// The number of calls of cost 1 that could go now.
    func available(at now: MonotonicInstant) -> Int {
        let now = max(latest, now)
        guard line.head == nil else { return 0 }
        switch gate {
        case .held(let until) where now < until: return early.map { $0.next <= now } ?? false ? 1 : 0
        case .held: return limiter.mayProbe(at: now.nanoseconds) ? 1 : 0
        case .probing(let leaseEnds): return leaseEnds <= now && nextProbe(at: now) ?? now <= now ? 1 : 0
        case .open:
            let paced = slowStart.flatMap { now < $0.ends ? $0.credit : nil } ?? .max
            return min(paced, limiter.available(at: now.nanoseconds))
        }
    }
}
