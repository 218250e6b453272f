import Resilience

/// Keeps a bulkhead supplied with its part of a limit that the fleet shares.
final class BulkheadLink: PermitSupply, FleetLink {
    private struct State {
        weak var bulkhead: Bulkhead?
        var machine: PartStateMachine
    }

    private let fleet: Fleet
    private let key: String
    private let member: String
    private let state: Locked<State>
    private let loop: FleetLoop

    init(fleet: Fleet, key: String, limit: Int, fallback: FleetFallback) {
        (self.fleet, self.key, member) = (fleet, key, fleet.makeMember())
        let machine = PartStateMachine(
            limit: limit, lease: fleet.leaseTime, fallback: fallback, at: fleet.timeBase.now)
        state = Locked(State(machine: machine))
        loop = FleetLoop(on: fleet.timeBase)
        loop.works(for: self)
    }

    func link(_ bulkhead: Bulkhead) {
        state.withLock { $0.bulkhead = bulkhead }
        loop.ring()
    }

    deinit {
        let last = state.withLock { $0.machine.last() }
        if last.number > 1 { fleet.leave(.bulkhead, key: key, arguments: last.arguments(member: member)) }
    }

    func isWanted(isUrgent: Bool) { if state.withLock({ $0.machine.miss() }) { loop.ring() } }

    func step() async -> FleetLoop.Next {
        let (bulkhead, due) = state.withLock { ($0.bulkhead, $0.machine.due) }
        guard let bulkhead else { return .never }
        let now = fleet.timeBase.now
        guard due <= now else { return .at(due) }
        let (used, queued) = (bulkhead.inUse, bulkhead.queued)
        let ask = state.withLock { $0.machine.ask(used: used, queued: queued, at: now) }
        let part: Int
        do {
            let members: Int
            (part, members) = try await fleet.run(.bulkhead, key: key, arguments: ask.arguments(member: member)) {
                words -> (Int, Int)? in
                guard words.count == 2, (0...Int64(ask.limit)).contains(words[0]), words[1] >= 1 else { return nil }
                return (Int(words[0]), Int(clamping: words[1]))
            }
            fleet.note(members: members)
            let later = fleet.timeBase.now
            state.withLock { $0.machine.answered(part: part, members: members, to: ask, at: later) }
        } catch {
            let (later, known) = (fleet.timeBase.now, state.withLock { $0.machine.members.count })
            let members = fleet.divisor(known: known)
            part = state.withLock { $0.machine.failed(sharedBy: members, at: later) }
        }
        bulkhead.take(part: part)
        return .now
    }
}
