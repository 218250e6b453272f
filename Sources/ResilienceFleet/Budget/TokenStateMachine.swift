import Resilience

/// Decides, for one retry budget in one process, when to ask the engine for tokens, and for how many.
struct TokenStateMachine: Sendable, Equatable {
    struct Settings: Sendable, Equatable {
        let capacity: Int
        let cost: Int
        let throttledCost: Int

        /// The price of the most expensive retry.
        var most: Int { max(cost, throttledCost) }
    }

    struct Ask: Sendable, Equatable {
        var (earned, wanted) = (0, 0)
        /// The number of held tokens; below 0 in the last report of a process that leaves.
        var held = -1
        /// How many held tokens are enough for this process.
        var enough = 0
    }

    let settings: Settings
    let lease: Duration
    /// The earliest time of the next question.
    private(set) var next = MonotonicInstant.distantPast
    private(set) var members = Fleet.KnownMembers()
    private(set) var hasAsked = false
    private(set) var isAway = false
    private var wasFull = false

    init(_ settings: Settings, lease: Duration) { (self.settings, self.lease) = (settings, lease) }

    /// Before this only an unpaid retry is a reason to ask: while the shared tokens are at the capacity, successes need
    /// not be reported.
    var deafUntil: MonotonicInstant { wasFull ? next + lease * 9 : next }

    /// - Returns: The question; nil for none. Then successes must count again.
    mutating func ask(_ report: TokenReport) -> Ask? {
        // Tokens that were not missed are no reason to ask.
        guard !hasAsked || isAway || report.missed > 0 || report.earned > 0 || report.hasSpent else { return nil }
        hasAsked = true
        // Enough for two retries, or more if more were wanted.
        let enough = min(settings.capacity, settings.most.saturatingMultiplied(by: 2).saturatingAdding(report.missed))
        return Ask(
            earned: report.earned, wanted: max(0, enough - report.tokens), held: report.tokens, enough: enough)
    }

    /// - Parameter level: The number of tokens that no process holds.
    /// - Returns: The number of held tokens to give up, because this process created them itself, and whether the
    ///   shared tokens are at the capacity.
    mutating func answered(
        level: Int, members: Int, to ask: Ask, at now: MonotonicInstant
    ) -> (dropped: Int, areAllFull: Bool) {
        self.members.learn(members, lease: lease, at: now)
        defer { isAway = false }
        (wasFull, next) = (level >= settings.capacity, now + lease)
        return (isAway ? max(0, ask.held - ask.enough) : 0, wasFull)
    }

    mutating func failed(at now: MonotonicInstant) { (isAway, wasFull, next) = (true, false, now + lease) }
}
