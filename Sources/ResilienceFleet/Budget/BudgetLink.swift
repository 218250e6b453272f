import Resilience

/// Keeps a retry budget supplied with tokens that the fleet shares.
final class BudgetLink: PermitSupply, FleetLink {
    private struct State {
        weak var budget: RetryBudget?
        var machine: TokenStateMachine
    }

    private let fleet: Fleet
    private let key: String
    private let member: String
    private let settings: TokenStateMachine.Settings
    private let fallback: FleetFallback
    private let state: Locked<State>
    private let loop: FleetLoop

    init(fleet: Fleet, key: String, settings: TokenStateMachine.Settings, fallback: FleetFallback) {
        (self.fleet, self.key, member) = (fleet, key, fleet.makeMember())
        (self.settings, self.fallback) = (settings, fallback)
        state = Locked(State(machine: TokenStateMachine(settings, lease: fleet.leaseTime)))
        loop = FleetLoop(on: fleet.timeBase)
        loop.works(for: self)
    }

    func link(_ budget: RetryBudget) {
        state.withLock { $0.budget = budget }
        loop.ring()
    }

    deinit {
        let hasAsked = state.withLock { $0.machine.hasAsked }
        if hasAsked { fleet.leave(.budget, key: key, arguments: arguments(TokenStateMachine.Ask())) }
    }

    func isWanted(isUrgent: Bool) { loop.ring(isUrgent: isUrgent) }

    private func arguments(_ ask: TokenStateMachine.Ask) -> [String] {
        [
            member, "\(settings.capacity)", "\(ask.earned)", "\(ask.wanted)", "\(settings.most)",
            "\((fleet.leaseTime * 100).microseconds)", "\(ask.held)",
        ]
    }

    func step() async -> FleetLoop.Next {
        let (link, next) = state.withLock { ($0.budget, $0.machine.next) }
        guard let budget = link else { return .never }
        guard next <= fleet.timeBase.now else { return .at(next) }
        guard let report = budget.changeLeased({ $0.takeReport() }) else { return .never }
        guard let ask = state.withLock({ $0.machine.ask(report) }) else {
            budget.changeLeased { $0.forgetFull() }
            return .whenRung
        }
        await send(ask, for: budget)
        let (deafUntil, isAway) = state.withLock { ($0.machine.deafUntil, $0.machine.isAway) }
        loop.isDeaf(until: deafUntil)
        // While the engine is unavailable, the next call asks whether it is back. An unused budget need not ask.
        return isAway ? .whenRung : .at(deafUntil)
    }

    private func send(_ ask: TokenStateMachine.Ask, for budget: RetryBudget) async {
        do {
            let (granted, level, members) = try await fleet.run(.budget, key: key, arguments: arguments(ask)) {
                words -> (Int, Int, Int)? in
                guard words.count == 3, (0...Int64(ask.wanted)).contains(words[0]), words[1] >= 0, words[2] >= 1 else {
                    return nil
                }
                return (Int(words[0]), Int(clamping: words[1]), Int(clamping: words[2]))
            }
            fleet.note(members: members)
            let now = fleet.timeBase.now
            let (dropped, areAllFull) = state.withLock {
                $0.machine.answered(level: level, members: members, to: ask, at: now)
            }
            budget.changeLeased { tokens in
                tokens.drop(dropped)
                tokens.grant(granted, areAllFull: areAllFull)
            }
        } catch {
            let now = fleet.timeBase.now
            let members = state.withLock { state in
                state.machine.failed(at: now)
                return state.machine.members.count
            }
            budget.changeLeased { tokens in
                switch fallback {
                case .localShare: tokens.standAlone(share: settings.capacity / fleet.divisor(known: members))
                case .open: tokens.standAlone(share: nil)
                case .closed: tokens.drop(.max)
                }
            }
        }
    }
}
