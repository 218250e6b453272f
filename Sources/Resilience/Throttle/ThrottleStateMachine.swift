/// A limiter, a gate that shuts while the other side asks for silence, and the line of those who wait for either.
///
/// After the gate's time is over, one call goes ahead as a probe; when it is well, all go on: a bucket begins empty, at
/// the rate and not with a burst, and a ramp lets calls through ever faster. Who waits goes first come, first served: a
/// newcomer that costs anything goes behind the line.
struct ThrottleStateMachine: Sendable, Equatable {
    enum Gate: Sendable, Equatable {
        /// → held
        case open
        /// → probing, by the first call at or after `until`
        case held(until: Instant)
        /// → open, or → held; a probe that never reports loses its place when the lease ends
        case probing(leaseEnds: Instant)
    }

    enum Answer: Sendable, Equatable {
        case go
        /// Go, and more may go when it ends.
        case pace
        /// Go, and the gate waits for how it ends.
        case probe
        /// The limiter allows it at this instant, if nobody ahead gives up.
        case notBefore(Instant)
        /// The gate is shut until this instant.
        case held(until: Instant)
        /// The end of a call that is under way decides, or this instant.
        case probing(until: Instant)
        /// More than can ever be had.
        case never

        /// When to ask again; of one that goes, at once.
        var instant: Instant {
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
        let ends: Instant
        /// Calls that may go.
        var credit = 2
    }

    static let probeLease = Duration.seconds(60)

    private(set) var limiter: Limiter
    let ramp: Int64
    private(set) var gate = Gate.open
    private var slowStart: SlowStart?
    /// Counts the gate's shuttings, and the probes that lost their place: what was admitted before the last of these is
    /// news of an earlier state.
    private(set) var epoch: UInt64 = 0
    /// Times shut in a row without a good probe.
    private(set) var holds = 0
    private(set) var line = ThrottleLine()
    /// The latest time it was told. Callers read theirs before they wait for the lock, and may come in another order.
    private(set) var latest = Instant.distantPast

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
    mutating func goAtOnce(cost: Int, at now: Instant) -> Bool {
        let now = max(latest, now)
        guard gate == .open, line.isEmpty, slowStart == nil, cost > 0, limiter.takeAtOnce(cost, at: now.nanoseconds)
        else { return false }
        latest = now
        return true
    }

    /// A call that does not wait asks to go ahead. Takes its share only if it may go.
    mutating func ask(cost: Int = 1, at now: Instant) -> Answer {
        latest = max(latest, now)
        guard limiter.allows(cost) else { return .never }
        if !line.isEmpty { return behindLine(cost: cost) }
        return passGate(cost: cost) ?? take(cost, since: latest)
    }

    /// What is free belongs to those in the line.
    private func behindLine(cost: Int) -> Answer {
        switch gate {
        case .held(let until): return .held(until: until)
        case .probing(let leaseEnds): return .probing(until: leaseEnds)
        case .open:
            return cost <= 0 ? .go : wait(for: cost, behind: line.cost, since: line.head?.member.since ?? latest)
        }
    }

    /// A call gets in line. Asked for only when ``ask(cost:at:)`` said that it may not go yet.
    mutating func join(cost: Int = 1, at now: Instant) -> UInt64 {
        latest = max(latest, now)
        return line.join(ThrottleLine.Member(cost: max(0, cost), since: latest))
    }

    /// A call in the line gives up.
    /// - Returns: false if it is not in it.
    mutating func leave(_ ticket: UInt64) -> Bool { line.leave(ticket) }

    /// Lets the first of the line go if it may: ``Answer/go``, ``Answer/pace`` or ``Answer/probe``; or sends it away with
    /// ``Answer/never``. To be asked until nil whenever time has passed or something has changed.
    mutating func admitNext(at now: Instant) -> (ticket: UInt64, answer: Answer)? {
        guard let (ticket, member) = line.head else { return nil }
        latest = max(latest, now)
        let answer =
            limiter.allows(member.cost) ? passGate(cost: member.cost) ?? take(member.cost, since: member.since) : .never
        switch answer {
        case .go, .pace, .probe, .never:
            _ = line.leave(ticket)
            return (ticket, answer)
        case .notBefore, .held, .probing:
            return nil
        }
    }

    /// The first of the line, and what it is told. After ``admitNext(at:)`` has answered nil.
    var head: (ticket: UInt64, answer: Answer)? {
        guard let (ticket, member) = line.head else { return nil }
        switch gate {
        case .held(let until): return (ticket, .held(until: until))
        case .probing(let leaseEnds): return (ticket, .probing(until: leaseEnds))
        case .open: return (ticket, wait(for: member.cost, behind: 0, since: member.since))
        }
    }

    /// What one of the line is told that asks again: of its own turn only the first can know.
    func answer(to ticket: UInt64) -> Answer {
        if let head, head.ticket == ticket { return head.answer }
        switch gate {
        case .held(let until): return .held(until: until)
        case .open, .probing: return .probing(until: .distantFuture)
        }
    }

    private mutating func take(_ cost: Int, since: Instant) -> Answer {
        if let slowStart, slowStart.ends <= latest { self.slowStart = nil }
        if cost <= 0 { return .go }
        if slowStart?.credit == 0 { return wait(for: cost, behind: 0, since: since) }
        let turn = limiter.take(cost, since: since.nanoseconds, at: latest.nanoseconds)
        guard turn <= latest.nanoseconds else { return .notBefore(Instant(nanoseconds: turn)) }
        slowStart?.credit -= 1
        return slowStart == nil ? .go : .pace
    }

    /// What a call is told that may not go yet.
    private func wait(for cost: Int, behind: Int, since: Instant) -> Answer {
        let turn = Instant(
            nanoseconds: limiter.turn(of: cost, behind: behind, since: since.nanoseconds, at: latest.nanoseconds))
        guard let slowStart, slowStart.credit == 0 else { return .notBefore(turn) }
        return .probing(until: max(slowStart.ends, turn))
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
            epoch &+= 1
        }
        gate = .probing(leaseEnds: latest + Self.probeLease)
        limiter.count(max(0, cost), at: latest.nanoseconds)
        return .probe
    }

    /// Shuts the gate until `until`, or longer if it is shut for longer already.
    mutating func hold(until: Instant) {
        switch gate {
        case .open, .probing:
            gate = .held(until: until)
            epoch &+= 1
            holds = holds.saturatingAdding(1)
        case .held(let present):
            gate = .held(until: max(present, until))
        }
    }

    /// A hold is over before its time.
    mutating func endHold(at now: Instant) {
        latest = max(latest, now)
        if case .held(let until) = gate { gate = .held(until: min(until, latest)) }
    }

    /// The other side asked for fewer calls.
    /// - Parameter admitted: the epoch the call was admitted in.
    /// - Returns: whether the gate is to be held because of it.
    func minds(throttledInEpoch admitted: UInt64, wasProbe: Bool) -> Bool {
        switch gate {
        case .open: admitted == epoch
        case .held: true
        case .probing: wasProbe && admitted == epoch
        }
    }

    /// The probe ended, without being asked for fewer calls. `decided` is false if nobody knows how, as when cancelled.
    mutating func probeEnded(decided: Bool, inEpoch admitted: UInt64, at now: Instant) {
        latest = max(latest, now)
        guard case .probing = gate, admitted == epoch else { return }
        guard decided else {
            gate = .held(until: latest)
            return
        }
        gate = .open
        holds = 0
        let ramps = limiter.recover(at: latest.nanoseconds, rampingOver: ramp)
        slowStart = ramps ? nil : SlowStart(ends: latest + .nanoseconds(ramp))
    }

    /// A call that was let in with ``Answer/pace`` ended, without being asked for fewer calls.
    mutating func paceEnded(decided: Bool, inEpoch admitted: UInt64) {
        guard admitted == epoch, let slowStart else { return }
        self.slowStart?.credit = slowStart.credit.saturatingAdding(decided ? 2 : 1)
    }

    // MARK: From outside

    /// See ``TokenBucket/setRate(_:burst:at:)``. Who waits keeps the place in the line.
    mutating func setRate(_ rate: Rate, burst: Int, at now: Instant) {
        latest = max(latest, now)
        limiter.setRate(rate, burst: burst, at: latest.nanoseconds)
    }

    /// As at first, but for those in the line. What was admitted before is news of an earlier state.
    mutating func reset(at now: Instant) {
        latest = max(latest, now)
        limiter.reset(at: latest.nanoseconds)
        gate = .open
        slowStart = nil
        holds = 0
        epoch &+= 1
    }

    /// Whether forgetting it would lose nothing.
    func isAtRest(at now: Instant) -> Bool {
        let now = max(latest, now)
        return gate == .open && line.isEmpty && slowStart.map { $0.ends <= now } ?? true
            && limiter.isFull(at: now.nanoseconds)
    }

    /// How many calls of cost 1 could go now.
    func available(at now: Instant) -> Int {
        let now = max(latest, now)
        guard line.isEmpty else { return 0 }
        switch gate {
        case .held(let until): return until <= now ? 1 : 0
        case .probing(let leaseEnds): return leaseEnds <= now ? 1 : 0
        case .open:
            let paced = slowStart.flatMap { now < $0.ends ? $0.credit : nil } ?? .max
            return min(paced, limiter.available(at: now.nanoseconds))
        }
    }
}
