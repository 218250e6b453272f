import Resilience

/// Decides when to ask the engine for tokens, and for how many: one retry budget in one process.
struct TokenStateMachine: Sendable, Equatable {
    struct Settings: Sendable, Equatable {
        let capacity: Int
        let cost: Int
        let throttledCost: Int

        /// The price of the dearest retry.
        var most: Int { max(cost, throttledCost) }
    }

    struct Ask: Sendable, Equatable {
        var (earned, wanted) = (0, 0)
        /// The tokens at hand; below 0 in the last report.
        var held = -1
        /// The number of tokens at hand that is just enough.
        var enough = 0
    }

    let settings: Settings
    let lease: Duration
    /// No question before this.
    private(set) var next = MonotonicInstant.distantPast
    private(set) var members = Fleet.KnownMembers()
    private(set) var hasAsked = false
    private(set) var isAway = false
    private var wasFull = false

    init(_ settings: Settings, lease: Duration) { (self.settings, self.lease) = (settings, lease) }

    /// Before this only an unpaid retry is a reason to ask: while the number of tokens is the largest, successes need
    /// not be reported.
    var deafUntil: MonotonicInstant { wasFull ? next + lease * 9 : next }

    /// - Returns: nil if there is nothing to ask. From then on successes must be reported.
    mutating func ask(_ report: TokenReport) -> Ask? {
        // Tokens that were not missed are no reason to ask.
        guard !hasAsked || isAway || report.missed > 0 || report.earned > 0 || report.hasSpent else { return nil }
        hasAsked = true
        // Two retries at hand, or more if more were wanted.
        let enough = min(settings.capacity, settings.most.saturatingMultiplied(by: 2).saturatingAdding(report.missed))
        return Ask(
            earned: report.earned, wanted: max(0, enough - report.tokens), held: report.tokens, enough: enough)
    }

    /// - Parameter level: The tokens that no process has.
    /// - Returns: How many of the tokens at hand are given up, because this process gave them to itself, and whether
    ///   the number is the largest.
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
