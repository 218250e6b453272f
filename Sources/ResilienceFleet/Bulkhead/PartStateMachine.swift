import Resilience

/// Decides, for one bulkhead in one process, when to ask the engine for a part of a limit, and how large the part is.
struct PartStateMachine: Sendable, Equatable {
    struct Ask: Sendable, Equatable {
        let limit: Int
        var used = 0
        var need = 0
        var spare = 0
        var held = 0
        /// How long this process may use the part.
        var valid = Duration.zero
        let number: Int
        /// When the question was asked.
        var time = MonotonicInstant.distantPast

        /// The arguments, in the script's order.
        func arguments(member: String) -> [String] {
            [member, "\(limit)", "\(need)", "\(spare)", "\(held)", "\(valid.microseconds)", "\(number)"]
        }
    }

    private let limit: Int
    private let lease: Duration
    private let fallback: FleetFallback
    /// The earliest time of the next question, however many calls are rejected.
    private var next = MonotonicInstant.distantPast
    /// The time of the next question if no call is rejected.
    private var look = MonotonicInstant.distantPast
    private(set) var part = 0
    /// When this process's use of the part ends.
    private(set) var ends = MonotonicInstant.distantPast
    private(set) var members = Fleet.KnownMembers()
    private(set) var questions = 0
    private var missed = 0
    private var usedLast: MonotonicInstant

    /// The machine asks often at first, since the first answer can't show how many other processes there are.
    init(limit: Int, lease: Duration, fallback: FleetFallback, at now: MonotonicInstant) {
        (self.limit, self.lease, self.fallback, usedLast) = (limit, lease, fallback, now)
    }

    /// A call has found no permit.
    /// - Returns: Whether it is the first since the last question.
    mutating func miss() -> Bool {
        missed = min(limit, missed + 1)
        return missed == 1
    }

    /// When to ask.
    var due: MonotonicInstant { missed > 0 ? next : max(next, look) }

    mutating func ask(used: Int, queued: Int, at now: MonotonicInstant) -> Ask {
        if used + queued + missed > 0 { usedLast = now }
        var ask = last()
        (ask.used, ask.need, ask.time) = (used, min(limit, used + queued + missed), now)
        // Asks for one permit more, so that the next call need not wait, and for a quarter more for a burst.
        (ask.spare, ask.held) = (min(limit - ask.need, max(1, used / 4)), min(limit, max(used, part)))
        // An idle process asks rarely.
        ask.valid = lease * (usedLast + lease * 20 < now ? 60 : 10)
        // The engine may receive this question and end the part earlier, even if its answer is lost.
        ends = min(ends, now + (ask.valid - lease))
        (missed, questions) = (0, ask.number)
        return ask
    }

    /// The last question: it gives back all permits, since this process leaves.
    func last() -> Ask { Ask(limit: limit, number: questions + 1) }

    mutating func answered(part: Int, members: Int, to ask: Ask, at now: MonotonicInstant) {
        (self.part, ends, next) = (part, ask.time + (ask.valid - lease), now + lease / 2)
        self.members.learn(members, lease: lease, at: now)
        // Permits that this process gives up become free for others with its next question.
        let isGivingUp = max(part, ask.used) < ask.held
        look = isGivingUp ? next : now + (ask.valid > lease * 10 ? lease * 20 : ask.need > part ? lease : lease * 5 / 2)
    }

    /// The engine has not answered.
    /// - Returns: The permits that this process may use now.
    mutating func failed(sharedBy members: Int, at now: MonotonicInstant) -> Int {
        (next, look) = (now + lease / 2, now + lease * 5)
        guard ends <= now else {
            look = min(ends, look)
            return part
        }
        return switch fallback {
        case .localShare: max(1, limit / members)
        case .open: Int.max / 2
        case .closed: 0
        }
    }
}
