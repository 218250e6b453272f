/// A limiter, a gate that shuts while the other side asks for silence, and the line of those who wait for either.
///
/// After the gate's time is over, one call goes ahead as a probe; when it is well, all go on: a bucket begins empty, at
/// the rate and not with a burst, and a ramp lets calls through ever faster. Who waits goes first come, first served: a
/// newcomer that costs anything goes behind the line. A call keeps its place there until it goes, and takes its share at
/// that moment.
struct ThrottleStateMachine: Sendable, Equatable {
    enum Gate: Sendable, Equatable {
        /// → held
        case open
        /// → probing, by the first call at or after `until`
        case held(until: MonotonicInstant)
        /// → open, or → held; a probe that never reports loses its place when the lease ends
        case probing(leaseEnds: MonotonicInstant)
    }

    enum Answer: Sendable, Equatable {
        case go
        /// Go, and more may go when it ends.
        case pace
        /// Go, and the gate waits for how it ends.
        case probe
        /// The limiter allows it at this instant, if nobody ahead gives up or is late.
        case notBefore(MonotonicInstant)
        /// The gate is shut until this instant.
        case held(until: MonotonicInstant)
        /// What others do decides, at this instant at the latest.
        case probing(until: MonotonicInstant)
        /// More than can ever be had.
        case never

        /// Whether the call goes.
        var lets: Bool {
            switch self {
            case .go, .pace, .probe: true
            case .notBefore, .held, .probing, .never: false
            }
        }

        /// When to ask again; of one that goes, at once.
        var instant: MonotonicInstant {
            switch self {
            case .go, .pace, .probe: .distantPast
            case .notBefore(let instant), .held(until: let instant), .probing(until: let instant): instant
            case .never: .distantFuture
            }
        }
    }

    /// The ramp of what has no rate to take a share of: each call that ends lets two more go (slow start, RFC 5681),
    /// until the ramp's time is over.
    private struct SlowStart: Equatable {
        let ends: MonotonicInstant
        /// Calls that may go.
        var credit = 2
    }

    /// One of the line whose turn has come, and since when it is known that it does not come.
    private struct Absent: Equatable {
        let ticket: UInt64
        let since: MonotonicInstant
    }

    static let probeLease = Duration.seconds(60)
    /// How long the head of the line is waited for.
    static let absence = Duration.milliseconds(100)

    private(set) var limiter: Limiter
    let ramp: Int64
    private(set) var gate = Gate.open
    private var slowStart: SlowStart?
    /// Counts the gate's shuttings, and the probes that lost their place: what was admitted before the last of these is
    /// news of an earlier state.
    private(set) var generation: UInt64 = 0
    /// Times shut in a row without a good probe.
    private(set) var holds = 0
    var line = ThrottleLine()
    private var absent: Absent?
    /// The latest time it was told. Callers read theirs before they wait for the lock, and may come in another order.
    private(set) var latest = MonotonicInstant.distantPast

    /// Holds in a row before the one that a 429 of this moment belongs to: many of them are one hold.
    var holdsBefore: Int {
        if case .held = gate { holds - 1 } else { holds }
    }

    init(_ limiter: Limiter, ramp: Duration = .zero) {
        self.limiter = limiter
        self.ramp = ramp.saturatedNanoseconds
    }

    // MARK: Going in

    /// The usual way in: whether a call may go without more ado, and has taken its share. If not, nothing has changed.
    @inline(__always)
    mutating func goAtOnce(cost: Int, at now: MonotonicInstant) -> Bool {
        let now = max(latest, now)
        guard gate == .open, line.isEmpty, slowStart == nil, cost > 0, limiter.takeAtOnce(cost, at: now.nanoseconds)
        else { return false }
        latest = now
        return true
    }

    /// Right after a call has taken its share: what it needs to give it back.
    var receipt: ShareReceipt { limiter.receipt(at: latest.nanoseconds) }

    /// A call that does not wait asks to go ahead. Takes its share only if it may go.
    mutating func ask(cost: Int = 1, at now: MonotonicInstant) -> Answer {
        latest = max(latest, now)
        guard limiter.allows(cost) else { return .never }
        passOver(before: .max)
        if line.head != nil { return behindLine(cost: cost) }
        return passGate(cost: cost) ?? take(cost)
    }

    /// What is free belongs to those in the line.
    private func behindLine(cost: Int) -> Answer {
        switch gate {
        case .held(let until): return .held(until: until)
        case .probing(let leaseEnds): return .probing(until: leaseEnds)
        case .open: return cost <= 0 ? .go : wait(for: cost, behind: line.cost)
        }
    }

    /// A call gets in line. Asked for only when ``ask(cost:at:)`` said that it may not go yet.
    mutating func join(cost: Int = 1, at now: MonotonicInstant) -> UInt64 {
        latest = max(latest, now)
        return line.join(cost: max(0, cost))
    }

    /// A call in the line gives up.
    /// - Returns: false if it is not in it.
    mutating func leave(_ ticket: UInt64) -> Bool { line.leave(ticket) }

    /// A call in the line is here, and asks whether it may go: ``Answer/go``, ``Answer/pace`` or ``Answer/probe``; or is
    /// sent away with ``Answer/never``. It has left the line then; else it keeps its place, and is told what to wait for.
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

    /// What one of the line is told that is not its head.
    private func notYet(_ cost: Int) -> Answer {
        switch gate {
        case .held(let until): .held(until: until)
        case .probing(let leaseEnds): .probing(until: leaseEnds)
        case .open: .probing(until: turn(of: cost, behind: line.cost - cost, at: latest))
        }
    }

    /// When one of the line that was told to wait is to ask again, if it is not woken before. Always later than now.
    func asksAgain(_ ticket: UInt64, told answer: Answer) -> MonotonicInstant {
        guard let head, head.ticket != ticket else { return answer.instant }
        if let absent, absent.ticket == head.ticket { return absent.since + Self.absence }
        // Of those that wait for the gate none comes before it is the second, which is woken.
        let turn = gate == .open && answer.instant > latest ? answer.instant : .distantFuture
        return second.map { $0.ticket == ticket ? min($0.until, turn) : turn } ?? turn
    }

    /// The one behind the head, and when it comes at the latest, to see whether the head has.
    var second: (ticket: UInt64, until: MonotonicInstant)? {
        guard let head, let (ticket, member) = line.second else { return nil }
        let waited = max(latest, head.answer.instant) + Self.absence
        guard gate == .open, let first = line[head.ticket] else { return (ticket, waited) }
        return (ticket, max(waited, turn(of: member.cost, behind: first.cost, at: latest)))
    }

    /// Whoever is the head and could go, and does not come though it has been waited for, is passed over.
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

    /// The first of the line, and what it waits for: when it is to be woken at the latest, be it only to ask again.
    var head: (ticket: UInt64, answer: Answer)? {
        guard let (ticket, member) = line.head else { return nil }
        switch gate {
        case .held(let until): return (ticket, .held(until: until))
        case .probing(let leaseEnds): return (ticket, .probing(until: leaseEnds))
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
        guard turn <= latest.nanoseconds else { return .notBefore(MonotonicInstant(nanoseconds: turn)) }
        slowStart?.credit -= 1
        return slowStart == nil ? .go : .pace
    }

    /// What a call is told that may not go yet.
    private func wait(for cost: Int, behind: Int) -> Answer {
        let turn = turn(of: cost, behind: behind, at: latest)
        return pauseEnds(at: latest).map { .probing(until: max($0, turn)) } ?? .notBefore(turn)
    }

    private func turn(of cost: Int, behind: Int, at now: MonotonicInstant) -> MonotonicInstant {
        max(now, MonotonicInstant(nanoseconds: limiter.turn(of: cost, behind: behind, at: now.nanoseconds)))
    }

    /// The end of a slow start that has no credit left; nil if there is no such.
    private func pauseEnds(at now: MonotonicInstant) -> MonotonicInstant? {
        slowStart.flatMap { $0.credit == 0 && now < $0.ends ? $0.ends : nil }
    }

    // MARK: The gate

    /// What a shut gate answers; nil if it is open. The first after its time is the probe.
    private mutating func passGate(cost: Int) -> Answer? {
        switch gate {
        case .open:
            return nil
        case .held(let until):
            guard until <= latest else { return .held(until: until) }
        case .probing(let leaseEnds):
            guard leaseEnds <= latest else { return .probing(until: leaseEnds) }
            // Whatever becomes of the probe that has lost its place, it decides nothing for the next.
            generation &+= 1
        }
        gate = .probing(leaseEnds: latest + Self.probeLease)
        limiter.count(max(0, cost), at: latest.nanoseconds)
        return .probe
    }

    /// Shuts the gate until `until`, or longer if it is shut for longer already.
    mutating func hold(until: MonotonicInstant) {
        switch gate {
        case .open, .probing:
            gate = .held(until: until)
            generation &+= 1
            holds = holds.saturatingAdding(1)
        case .held(let present):
            gate = .held(until: max(present, until))
        }
    }

    /// A hold is over before its time.
    mutating func endHold(at now: MonotonicInstant) {
        latest = max(latest, now)
        if case .held(let until) = gate { gate = .held(until: min(until, latest)) }
    }

    /// The other side asked for fewer calls.
    /// - Parameter admitted: the generation the call was admitted in.
    /// - Returns: whether the gate is to be held because of it.
    func minds(throttledInGeneration admitted: UInt64, wasProbe: Bool) -> Bool {
        switch gate {
        case .open: admitted == generation
        case .held: true
        case .probing: wasProbe && admitted == generation
        }
    }

    /// The probe ended, without being asked for fewer calls. `decided` is false if nobody knows how, as when cancelled.
    mutating func probeEnded(decided: Bool, inGeneration admitted: UInt64, at now: MonotonicInstant) {
        latest = max(latest, now)
        guard case .probing = gate, admitted == generation else { return }
        guard decided else {
            gate = .held(until: latest)
            return
        }
        gate = .open
        holds = 0
        let ramps = limiter.recover(at: latest.nanoseconds, rampingOver: ramp)
        slowStart = ramps ? nil : SlowStart(ends: latest + .nanoseconds(ramp))
    }

    /// Gives back the share of a call that a policy further in refused: it never left.
    mutating func giveBack(
        _ cost: Int, _ receipt: ShareReceipt, inGeneration admitted: UInt64, at now: MonotonicInstant
    ) {
        latest = max(latest, now)
        guard admitted == generation else { return }
        limiter.giveBack(cost, receipt, at: latest.nanoseconds)
    }

    /// A call that was let in with ``Answer/pace`` ended, without being asked for fewer calls.
    mutating func paceEnded(decided: Bool, inGeneration admitted: UInt64) {
        guard admitted == generation, let slowStart else { return }
        self.slowStart?.credit = slowStart.credit.saturatingAdding(decided ? 2 : 1)
    }

    // MARK: From outside

    /// See ``TokenBucket/setRate(_:burst:at:)``. Who waits keeps the place in the line.
    mutating func setRate(_ rate: ThrottleRate, burst: Int, at now: MonotonicInstant) {
        latest = max(latest, now)
        limiter.setRate(rate, burst: burst, at: latest.nanoseconds)
    }

    /// As at first, but for those in the line. What was admitted before is news of an earlier state.
    mutating func reset(at now: MonotonicInstant) {
        latest = max(latest, now)
        limiter.reset(at: latest.nanoseconds)
        gate = .open
        slowStart = nil
        holds = 0
        generation &+= 1
    }

    /// Whether forgetting it would lose nothing.
    func isAtRest(at now: MonotonicInstant) -> Bool { gate == .open && isEmpty(at: max(latest, now)) }

    /// Whether forgetting it would lose nothing but a hold that was over this long ago.
    func isAtRest(at now: MonotonicInstant, forgettingHoldsOverFor time: Duration) -> Bool {
        let now = max(latest, now)
        return heldUntil.map { $0 + time <= now } ?? true && isEmpty(at: now)
    }

    private func isEmpty(at now: MonotonicInstant) -> Bool {
        line.isEmpty && slowStart.map { $0.ends <= now } ?? true && limiter.isFull(at: now.nanoseconds)
    }

    /// How long until a call of cost 1 that came now could go, if nobody in line gives up; while a probe is out, at the
    /// latest.
    func timeUntilNext(at now: MonotonicInstant) -> Duration {
        let now = max(latest, now)
        let turn =
            switch gate {
            case .held(let until): until
            case .probing(let leaseEnds): leaseEnds
            case .open: max(self.turn(of: 1, behind: line.cost, at: now), pauseEnds(at: now) ?? now)
            }
        return max(.zero, now.duration(to: turn))
    }

    /// How many calls of cost 1 could go now.
    func available(at now: MonotonicInstant) -> Int {
        let now = max(latest, now)
        guard line.head == nil else { return 0 }
        switch gate {
        case .held(let until): return until <= now ? 1 : 0
        case .probing(let leaseEnds): return leaseEnds <= now ? 1 : 0
        case .open:
            let paced = slowStart.flatMap { now < $0.ends ? $0.credit : nil } ?? .max
            return min(paced, limiter.available(at: now.nanoseconds))
        }
    }
}
