import Resilience

/// Keeps a retry budget supplied with tokens that the fleet has together.
final class BudgetLink: PermitSupply, FleetLink {
    private struct State {
        /// No question before this.
        var next = MonotonicInstant.distantPast
        var members = Fleet.KnownMembers()
        var isAway = false
        var hasAsked = false
        var wasFull = false
    }

    struct Settings: Sendable {
        let capacity: Int
        let cost: Int
        let throttledCost: Int

        /// The price of the dearest retry.
        var most: Int { max(cost, throttledCost) }
    }

    private let fleet: Fleet
    private let key: String
    private let member: String
    private let settings: Settings
    private let fallback: FleetFallback
    private let budget = WeakReference<RetryBudget>()
    private let state = Locked(State())
    private let loop: FleetLoop

    init(fleet: Fleet, key: String, settings: Settings, fallback: FleetFallback) {
        self.fleet = fleet
        self.key = key
        member = fleet.makeMember()
        self.settings = settings
        self.fallback = fallback
        loop = FleetLoop(on: fleet.timeBase)
        loop.works(for: self)
    }

    func link(_ budget: RetryBudget) {
        self.budget.value = budget
        loop.ring()
    }

    deinit {
        if state.withLock({ $0.hasAsked }) { fleet.leave(.budget, key: key, arguments: arguments()) }
    }

    func isWanted(isUrgent: Bool) { loop.ring(isUrgent: isUrgent) }

    /// - Parameter held: The tokens at hand; nil if this is the last that is heard of them.
    private func arguments(earned: Int = 0, wanted: Int = 0, held: Int? = nil) -> [String] {
        [
            member, "\(settings.capacity)", "\(earned)", "\(wanted)", "\(settings.most)",
            "\((fleet.leaseTime * 100).microseconds)", "\(held ?? -1)",
        ]
    }

    func step() async -> FleetLoop.Next {
        guard let budget = budget.value else { return .never }
        let (now, lease) = (fleet.timeBase.now, fleet.leaseTime)
        let next = state.withLock { $0.next }
        guard next <= now else { return .at(next) }
        guard let report = budget.takeTokenReport() else { return .never }
        // Two retries at hand, or more if more were wanted.
        let enough = min(settings.capacity, settings.most.saturatingMultiplied(by: 2).saturatingAdding(report.missed))
        let wanted = max(0, enough - report.tokens)
        let mustAsk = state.withLock { state in
            defer { state.hasAsked = true }
            return !state.hasAsked || state.isAway
        }
        // Tokens that nobody has missed are no reason to ask.
        guard mustAsk || report.missed > 0 || report.earned > 0 || report.hasSpent else {
            let wasFull = state.withLock { state in
                defer { state.wasFull = false }
                return state.wasFull
            }
            if wasFull { budget.forgetFull() }
            return .whenRung
        }
        do {
            let arguments = arguments(earned: report.earned, wanted: wanted, held: report.tokens)
            let answer = try await fleet.run(.budget, key: key, arguments: arguments) { words in
                words.count == 3 && (0...Int64(wanted)).contains(words[0]) && words[1] >= 0 && words[2] >= 1
                    ? words : nil
            }
            let alive = Int(clamping: answer[2])
            fleet.note(members: alive)
            let wasAway = state.withLock { state in
                state.members.learn(alive, lease: lease, at: fleet.timeBase.now)
                defer { state.isAway = false }
                return state.isAway
            }
            // What this process gave itself meanwhile.
            if wasAway { budget.drop(report.tokens - enough) }
            let isFull = answer[1] >= Int64(settings.capacity)
            budget.grant(Int(answer[0]), areAllFull: isFull)
            state.withLock { $0.wasFull = isFull }
        } catch {
            let members = state.withLock { state in
                state.isAway = true
                return state.members.count
            }
            switch fallback {
            case .localShare: budget.standAlone(share: settings.capacity / fleet.divisor(known: members))
            case .open: budget.standAlone(share: nil)
            case .closed: budget.drop(.max)
            }
        }
        let end = fleet.timeBase.now
        let (wasFull, isAway) = state.withLock { state in
            state.next = end + lease
            return (state.wasFull, state.isAway)
        }
        // While there are as many as there can be, successes need not be told.
        let later = end + lease * (wasFull ? 10 : 1)
        loop.isDeaf(until: later)
        // While the engine is away, the next call asks whether it is back: a budget that nobody uses need not know.
        return isAway ? .whenRung : .at(later)
    }
}
