import Resilience

/// Decides, for one limit in one process, when to ask the engine for permits, for how many, and which to give back.
///
/// It asks for as many permits as calls use during one lease, when half of them are left. Unused permits are given back
/// when their lease ends. Without calls, it does not ask.
struct LeaseStateMachine: Sendable, Equatable {
    struct Ask: Sendable, Equatable {
        var wanted = 0
        var returned = 0
        var returnedMark: Int64 = 0
        var hold: PermitReport.Hold?
        var probeEnd: PermitReport.ProbeEnd?
        var wantsProbe = false
        /// Whether to reset all use.
        var isReset = false
        /// When the question was asked.
        var time: MonotonicInstant
    }

    enum Step: Sendable, Equatable {
        case ask(Ask)
        /// Report again at this instant, or when there is news.
        case rest(until: MonotonicInstant)
        /// Report again when there is news.
        case idle
    }

    let lease: Duration
    /// The shortest time between two questions for more permits.
    private let shortest: Duration
    /// The time of a lease in nanoseconds.
    private let length: Double
    /// The mean cost of calls per nanosecond, over about the time of a lease.
    private var use = 0.0
    private var learned: MonotonicInstant?
    /// Until this instant one permit is kept, for infrequent calls that can't wait; each call postpones it. A permit
    /// that ends earlier is requested again.
    private var keptUntil = MonotonicInstant.distantPast
    /// The earliest time of the next question for more permits.
    private(set) var next = MonotonicInstant.distantPast
    /// When to renew a probe's right, or to check a gate.
    private var look = MonotonicInstant.distantPast
    /// The end of the hold, if the gate is shut here.
    private var heldUntil: MonotonicInstant?
    private var epoch: Int64 = 0
    /// Whether lots belong to windows: lots of different windows can't be combined.
    private var isWindowed = false
    /// News that the engine has not yet received.
    private(set) var untold: Ask?
    /// The number of failures in a row; 0 if the engine answers.
    private(set) var failures = 0
    private(set) var members = Fleet.KnownMembers()

    init(lease: Duration) {
        self.lease = lease
        shortest = lease / 5
        length = lease.inSeconds * 1e9
    }

    var isAway: Bool { failures > 0 }

    /// Until this instant, the leaser ignores that permits run out.
    var deafUntil: MonotonicInstant { heldUntil == nil ? next : max(next, look) }

    mutating func step(_ report: PermitReport, at now: MonotonicInstant) -> Step {
        learn(report, at: now)
        heldUntil = report.heldUntil
        var ask = untold ?? Ask(time: now)
        ask.time = now
        if report.unused > 0 {
            if ask.returnedMark != report.unusedMark { ask.returned = 0 }
            (ask.returned, ask.returnedMark) = (ask.returned.saturatingAdding(report.unused), report.unusedMark)
        }
        if let hold = report.hold { (ask.hold, ask.probeEnd) = (hold, nil) }
        if let end = report.probeEnd { ask.probeEnd = end }
        ask.wantsProbe = report.wantsProbe
        ask.isReset = ask.isReset || report.isReset
        untold = ask

        if isAway {
            guard next <= now else { return .rest(until: next) }
            // The engine was unavailable, so it may not know the hold. A hold that is over need not hold the other
            // processes.
            if let until = report.heldUntil, until > now {
                ask.hold = .until(until, counts: true)
            } else if ask.hold != .ended {
                ask.hold = nil
            }
            return send(ask)
        }
        if ask.hold != nil || ask.probeEnd != nil || ask.wantsProbe || ask.isReset { return send(ask) }
        if report.isProbing || report.heldUntil != nil {
            let isWatched = report.isProbing || report.waiting > 0 || report.missed > 0
            if isWatched && look <= now || ask.returned > 0 && report.left == 0 { return send(ask) }
            guard isWatched else { return .idle }
            return .rest(until: look)
        }

        let perLease = use * length
        let used = Int(Int64(saturating: perLease.rounded(.up)))
        let isUsed = report.taken > 0 || report.missed > 0
        if report.missed > 0 || report.taken > 0 && now < keptUntil { keptUntil = now + lease * 20 }
        let isShort = report.waiting > report.left || isUsed && perLease >= 1 && report.left <= used / 2
        if isShort || report.left == 0 && now < keptUntil {
            guard next <= now else { return .rest(until: next) }
            let atHand = isWindowed && report.waiting > report.left ? 0 : report.left
            ask.wanted = isShort ? max(1, max(report.waiting, used) - atHand) : 1
            return send(ask)
        }
        if report.left > 0 { return .rest(until: MonotonicInstant(nanoseconds: report.lotEnds)) }
        return ask.returned > 0 ? send(ask) : .idle
    }

    private mutating func send(_ ask: Ask) -> Step {
        untold = nil
        return .ask(ask)
    }

    private mutating func learn(_ report: PermitReport, at now: MonotonicInstant) {
        let cost = Double(report.taken.saturatingAdding(report.missed))
        // An exponential mean, by backward Euler steps.
        let time = (learned ?? now).duration(to: now).inSeconds * 1e9
        use = (use * length + cost) / (length + time)
        learned = now
    }

    /// The engine has answered.
    mutating func answered(_ answer: LeaseAnswer, to ask: Ask, at now: MonotonicInstant) -> PermitGrant {
        failures = 0
        members.learn(answer.members, lease: lease, at: now)
        var grant = PermitGrant()
        (grant.count, grant.mark) = (answer.granted, answer.mark)
        // To be safe, a window's lot is timed from the moment of the question. A rate's lot ends only so that other
        // processes get its unused permits; it is timed from now, since a lot that has ended on arrival would admit no
        // call.
        isWindowed = answer.mark != 0
        let begins = isWindowed ? ask.time : now
        // A window's permits end for good.
        let last = isWindowed ? begins + answer.valid : .distantFuture
        grant.ends = begins + min(answer.valid, lease)
        grant.low = Int(Int64(saturating: use * length / 2))
        (grant.free, grant.freeUntil) = (answer.free, now + lease * 10)
        grant.holds = answer.holds
        // Keeps a permit for infrequent calls.
        if use * length < 2, now < keptUntil { (grant.ends, grant.low) = (min(keptUntil, last), 1) }
        next = .distantPast
        look = now + lease * 5
        defer { epoch = answer.epoch }
        switch answer.gate {
        case .open:
            grant.gate = .open
            if answer.epoch < epoch, let heldUntil, heldUntil > now {
                // The engine has lost the hold.
                grant.gate = nil
                var lost = untold ?? Ask(time: now)
                lost.hold = .until(heldUntil, counts: true)
                untold = lost
            }
            if answer.granted < ask.wanted {
                // Other processes may give permits back before the named wait is over.
                next = now + min(max(answer.wait, shortest), lease * 10)
                grant.next = now + max(answer.wait, shortest)
                // A call that costs more than a lot waits for several lots.
                grant.ends = max(grant.ends, min(next + lease * 2, last))
            }
        case .held:
            grant.gate = .held(until: now + answer.wait)
            look = now + min(max(answer.wait, shortest), lease * 10)
        case .probing:
            grant.gate = .probing
            grant.mayProbeUntil = ask.time + lease * 5
        }
        return grant
    }

    /// The engine has not answered.
    /// - Parameter retryAfter: When it may be asked again, if known.
    mutating func failed(
        _ ask: Ask, retryAfter: Duration?, at now: MonotonicInstant, using random: inout some RandomNumberGenerator
    ) {
        failures = failures.saturatingAdding(1)
        // Permits that may already have been given back are not given back twice; the gate's events are reported again.
        var lost = untold ?? Ask(time: now)
        lost.isReset = lost.isReset || ask.isReset
        if lost.hold == nil {
            lost.hold = ask.hold
            lost.probeEnd = lost.probeEnd ?? ask.probeEnd
        }
        untold = lost
        let wait = retryAfter ?? min(lease * (1 << min(failures, 5)), .seconds(1))
        next = now + max(shortest, wait) * Double.random(in: 1...1.25, using: &random)
    }
}

/// The answer of a throttle's script.
struct LeaseAnswer: Sendable, Equatable {
    enum Gate: Int64 { case open, held, probing }

    var granted: Int
    var wait: Duration
    var members: Int
    var mark: Int64
    var valid: Duration
    var gate: Gate
    var holds: Int
    var epoch: Int64
    /// The permits that are left in the engine.
    var free: Int

    /// - Returns: nil if the answer is invalid.
    init?(_ words: [Int64], to ask: LeaseStateMachine.Ask) {
        guard words.count == 9, (0...Int64(max(0, ask.wanted))).contains(words[0]), words[1] >= 0, words[2] >= 1,
            words[4] >= 0, let gate = Gate(rawValue: words[5]), words[6] >= 0, words[7] >= 0, words[8] >= 0
        else { return nil }
        (granted, members, mark, holds) = (Int(words[0]), Int(clamping: words[2]), words[3], Int(clamping: words[6]))
        wait = .microseconds(words[1])
        (valid, epoch, free) = (.microseconds(words[4]), words[7], Int(clamping: words[8]))
        self.gate = gate
    }
}

extension Duration {
    fileprivate var inSeconds: Double { self / .seconds(1) }
}
