import Resilience

/// Supplies a throttle with permits from the engine: asks while calls use them.
final class PermitLeaser: PermitSupply, FleetLink {
    private struct State {
        weak var throttle: Throttle?
        var machine: LeaseStateMachine
    }

    private let fleet: Fleet
    private let key: String
    private let member: String
    /// The limits in addition to the throttle's own.
    private let others: [ThrottleLimit]
    private let fallback: FleetFallback
    private let state: Locked<State>
    private let loop: FleetLoop

    init(fleet: Fleet, key: String, others: [ThrottleLimit] = [], fallback: FleetFallback) {
        self.fleet = fleet
        self.key = key
        member = fleet.makeMember()
        self.others = others
        self.fallback = fallback
        state = Locked(State(machine: LeaseStateMachine(lease: fleet.leaseTime)))
        loop = FleetLoop(on: fleet.timeBase)
        loop.works(for: self)
    }

    /// The leaser does not hold the throttle, which holds the leaser.
    func supply(_ throttle: Throttle) { state.withLock { $0.throttle = throttle } }

    func isWanted(isUrgent: Bool) { loop.ring(isUrgent: isUrgent) }

    func step() async -> FleetLoop.Next {
        guard let throttle = state.withLock({ $0.throttle }) else { return .never }
        let report = throttle.takeReport()
        let now = fleet.timeBase.now
        let (step, deafUntil) = state.withLock { ($0.machine.step(report, at: now), $0.machine.deafUntil) }
        // Further calls need not ring until then: there are no permits for any call.
        loop.isDeaf(until: deafUntil)
        switch step {
        case .ask(let ask):
            loop.isDeaf(until: .distantFuture)
            await send(ask, for: throttle)
            return .now
        case .rest(let instant): return .at(instant)
        case .idle: return .whenRung
        }
    }

    private func send(_ ask: LeaseStateMachine.Ask, for throttle: Throttle) async {
        let limits = [throttle.limitToSupply] + others
        do {
            let arguments = ask.arguments(
                member: member, limits: limits, ramp: throttle.settings.ramp, lease: fleet.leaseTime,
                engineLimit: fleet.engineLimit)
            let answer = try await fleet.run(.throttle, key: key, arguments: arguments) { LeaseAnswer($0, to: ask) }
            let now = fleet.timeBase.now
            fleet.note(members: answer.members)
            throttle.take(
                state.withLock { $0.machine.answered(answer, to: ask, at: now) }, patience: fleet.timeToKnow)
        } catch {
            let now = fleet.timeBase.now
            let retryAfter = (error as? any Rejection)?.retryAfter
            let (members, next) = state.withLock { state in
                var random = SplitMix64.shared
                state.machine.failed(ask, retryAfter: retryAfter, at: now, using: &random)
                return (state.machine.members.count, state.machine.next)
            }
            throttle.fall(
                back: fallback, sharing: limits, by: fleet.divisor(known: members), until: next,
                patience: fleet.timeToKnow)
        }
    }
}

extension Throttle {
    fileprivate func fall(
        back fallback: FleetFallback, sharing limits: [ThrottleLimit], by members: Int, until next: MonotonicInstant,
        patience: Duration
    ) {
        switch fallback {
        case .localShare:
            standAlone(ThrottleLimit.keepingAll(of: limits.map { $0.share(of: members) }))
        case .open:
            standAlone(.unlimited)
        case .closed:
            var grant = PermitGrant()
            grant.next = next
            take(grant, patience: patience)
        }
    }
}

extension ThrottleLimit {
    /// The part of the limit for each of several equal members, which together never exceed the limit in the long run.
    func share(of members: Int) -> ThrottleLimit {
        func times(_ count: Int, _ period: Duration) -> Duration {
            .nanoseconds(period.saturatedNanoseconds.saturatingMultiplied(by: Int64(count)))
        }
        switch kind {
        case .unlimited:
            return .unlimited
        case .rate(let rate, let burst):
            return .rate(rate.calls, per: times(members, rate.period), burst: max(1, burst / members))
        case .window(let calls, let period, _):
            let rounds = (members - 1) / calls + 1
            return .slidingWindow(max(1, calls / members), per: times(rounds, period))
        }
    }
}

extension ThrottleLimit {
    /// One limit that keeps within all of these limits; for several limits, a rate whose burst, plus the calls added
    /// during a window, fits into each window.
    static func keepingAll(of limits: [ThrottleLimit]) -> ThrottleLimit {
        guard limits.count > 1 else { return limits.first ?? .unlimited }
        let bursts = limits.compactMap { limit -> Int? in
            switch limit.kind {
            case .unlimited: nil
            case .rate(_, let burst): burst
            case .window(let calls, _, _): max(1, calls / 2)
            }
        }
        let burst = bursts.min() ?? 1
        let rates = limits.compactMap { limit -> (calls: Int, period: Duration)? in
            switch limit.kind {
            case .unlimited: nil
            case .rate(let rate, _): (rate.calls, rate.period)
            case .window(let calls, let period, _): (calls - burst + 1, period)
            }
        }
        guard let slowest = rates.max(by: { $0.period / $0.calls < $1.period / $1.calls }) else { return .unlimited }
        return .rate(slowest.calls, per: slowest.period, burst: burst)
    }
}

extension LeaseStateMachine.Ask {
    /// The largest number of permits in a question. A double holds this number exactly.
    private static let most = 1 << 50

    /// The arguments, in the script's order.
    /// - Parameter limits: One or more.
    func arguments(
        member: String, limits: [ThrottleLimit], ramp: Duration, lease: Duration, engineLimit: Duration
    ) -> [String] {
        var lease = lease
        let words = limits.map { limit in
            var (kind, calls, period, burst) = ("none", 1, Duration.seconds(1), 1)
            switch limit.kind {
            case .unlimited: break
            case .rate(let rate, let most): (kind, calls, period, burst) = ("rate", rate.calls, rate.period, most)
            case .window(let most, let length, .fixed): (kind, calls, period) = ("fixed", most, length)
            case .window(let most, let length, .sliding):
                (kind, calls, period) = ("sliding", most, length)
                // A permit counts until its lease has left the window, so the lease is short; but a permit must not end
                // before it arrives.
                lease = min(lease, max(period / 20, engineLimit))
            }
            return [kind, "\(calls)", "\(max(1, period.microseconds))", "\(burst)"]
        }
        let (held, counts): (Int64, Bool) =
            switch hold {
            case nil: (-1, false)
            case .ended: (-2, false)
            case .until(let instant, let counts): (time.duration(to: max(time, instant)).microseconds, counts)
            }
        let end =
            switch probeEnd {
            case nil: ""
            case .well: "well"
            case .unclear: "unclear"
            }
        return [member] + words[0] + [
            "\(ramp.microseconds)",
            "\(max(1, lease.microseconds))", "\((max(lease * 20, .seconds(10))).microseconds)",
            "\(min(wanted, Self.most))",
            "\(min(returned, Self.most))", "\(returnedMark)", "\(held)", counts ? "1" : "0", end,
            wantsProbe ? "1" : "0", isReset ? "1" : "0",
        ] + words.dropFirst().joined()
    }
}

extension Duration {
    /// The time in microseconds, rounded up; at most 146 years, which a double holds exactly.
    var microseconds: Int64 { (min(self, .nanoseconds(Int64.max / 2)).saturatedNanoseconds + 999) / 1_000 }
}
