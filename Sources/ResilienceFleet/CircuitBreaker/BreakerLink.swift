import Resilience

/// Reports a breaker's counts to the fleet, and the fleet's orders to the breaker.
///
/// A breaker with failures, or under an order, asks every two and a half leases; a used breaker asks every ten leases,
/// an idle one never.
final class BreakerLink: FleetLink {
    private struct State {
        weak var breaker: CircuitBreaker?
        /// The earliest time of the next question, however many failures ring the loop.
        var next = MonotonicInstant.distantPast
    }

    private let fleet: Fleet
    private let key: String
    private let member: String
    private let rule: FleetTripRule
    private let state = Locked(State())
    private let loop: FleetLoop

    init(fleet: Fleet, key: String, rule: FleetTripRule) {
        self.fleet = fleet
        self.key = key
        member = fleet.makeMember()
        self.rule = rule
        loop = FleetLoop(on: fleet.timeBase)
        loop.works(for: self)
    }

    /// The breaker's first call rings the loop.
    func link(_ breaker: CircuitBreaker) { state.withLock { $0.breaker = breaker } }

    func ring() { loop.ring() }

    func step() async -> FleetLoop.Next {
        let (link, next) = state.withLock { ($0.breaker, $0.next) }
        guard let breaker = link else { return .never }
        let lease = fleet.leaseTime
        guard next <= fleet.timeBase.now else { return .at(next) }
        guard let report = breaker.tellMachine(FleetCircuit.self, { $0.takeReport(at: $1) }) else { return .never }
        guard report.isBusy || report.isUsed else {
            return report.isHeard ? .whenRung : .at(fleet.timeBase.now + lease * 10)
        }
        do {
            let answer = try await fleet.run(
                .breaker, key: key, arguments: report.arguments(of: member, in: fleet, rule: rule)
            ) { BreakerAnswer($0) }
            fleet.note(members: answer.members)
            _ = breaker.tellMachine(FleetCircuit.self) { $0.obey(answer, to: report, lease: lease, at: $1) }
        } catch {
            _ = breaker.tellMachine(FleetCircuit.self) { circuit, _ in circuit.engineIsAway() }
        }
        let now = fleet.timeBase.now
        state.withLock { $0.next = now + lease / 2 }
        return .at(now + (report.isBusy ? lease * 5 / 2 : lease * 10))
    }
}

extension FleetCircuit.Report {
    /// The arguments, in the script's order.
    func arguments(of member: String, in fleet: Fleet, rule: FleetTripRule) -> [String] {
        [
            member, "\(calls)", "\(failures)", "\(rule.window.microseconds)", "\(rule.ratio)",
            "\(rule.minimumCalls)",
            "\(rule.share)", "\(max(.zero, openFor).microseconds)", "\(fleet.leaseTime.microseconds)",
            wantsProbe ? "1" : "0",
            result?.rawValue ?? "", "\(epoch)", isOpen ? "1" : "0",
            "\(fleet.expectedMembers)",
        ]
    }
}
