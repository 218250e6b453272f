/// A machine with permits from a supply.
///
/// The supply also reports how the calls of other processes have changed the gate.
extension ThrottleStateMachine {
    /// The limiter for times without a supply. It keeps its state for the next time; otherwise each such time would
    /// begin with a full burst.
    struct StandIn: Sendable, Equatable {
        let limit: ThrottleLimit
        /// An array of one element, because few throttles have a stand-in. Empty while the limiter is in use.
        var limiter: [Limiter]
        /// Whether a hold was ended by hand while the stand-in was in use.
        var hasEndedHold = false
    }

    /// Returns the news since the last report, and begins a new report.
    mutating func takeReport(at now: MonotonicInstant) -> PermitReport {
        latest = max(latest, now)
        var report = limiter.changeLeased { [latest] in $0.takeReport(at: latest.nanoseconds) } ?? PermitReport()
        if standIn?.hasEndedHold == true {
            standIn?.hasEndedHold = false
            report.hold = report.hold ?? .ended
        }
        report.waiting = line.cost
        switch gate {
        case .open: break
        case .held(let until): report.heldUntil = until
        case .probing: report.isProbing = true
        }
        return report
    }

    /// Receives permits from the supply, or the news that it has none now.
    mutating func take(_ grant: PermitGrant, asLeased make: @autoclosure () -> LeasedPermits, at now: MonotonicInstant)
    {
        latest = max(latest, now)
        if limiter.leased == nil {
            standIn?.limiter = [limiter]
            limiter = Limiter(make())
            early = nil
        }
        // If the gate has changed here since the last report, that change is newer than the supply's news.
        let isNewer = limiter.leased?.hasGateNews != true
        if isNewer, let gate = grant.gate { set(gate, holds: grant.holds) }
        limiter.changeLeased { [latest] permits in
            permits.grant(grant, at: latest.nanoseconds)
            if gate != .open, isNewer, permits.available(at: latest.nanoseconds) > 0 { permits.giveBackAll() }
        }
    }

    private mutating func set(_ told: PermitGrant.Gate, holds: Int) {
        switch told {
        case .open:
            if gate != .open {
                gate = .open
                generation &+= 1
            }
        case .held(let until):
            if case .held = gate {} else { generation &+= 1 }
            gate = .held(until: until)
        case .probing:
            if case .probing = gate { break }
            if gate == .open { generation &+= 1 }
            gate = .held(until: latest)
        }
        self.holds = holds
        isHoldCounted = holds > 0
    }

    /// Makes the machine count by itself, with this limit, because the supply is not available.
    mutating func standAlone(_ limit: ThrottleLimit, at now: MonotonicInstant) {
        latest = max(latest, now)
        guard limiter.leased != nil || standIn?.limit != limit else { return }
        var own = limiter.leased == nil ? limiter : standIn?.limiter.first ?? Limiter(limit)
        if let before = standIn?.limit, before != limit {
            if case .rate(let rate, let burst) = limit.kind, case .rate = before.kind {
                own.setRate(rate, burst: burst, at: latest.nanoseconds)
            } else {
                own = Limiter(limit)
            }
        }
        standIn = StandIn(limit: limit, limiter: [], hasEndedHold: standIn?.hasEndedHold ?? false)
        limiter = own
    }
}
