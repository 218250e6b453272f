public import Resilience

/// Rejects a share of the calls to an overloaded service: the fewer calls the service accepts, the fewer it gets.
///
/// ```swift
/// let throttle = AdaptiveThrottle("search")
/// let page = try await throttle.run { try await client.search() }
/// ```
///
/// An overloaded service spends time on calls that it does not accept. So this policy rejects some of them locally, and
/// admits about `multiplier` times as many as the service accepts. It needs no configured limit: it follows the
/// service's capacity, up and down.
///
/// See <doc:AdaptiveThrottleGuide>.
public final class AdaptiveThrottle: Policy, StatusReporting {
    public let name: String
    public var timeBase: (any TimeBase)? { base }
    /// The observers of this throttle's events, in every pipeline.
    public var observers: PolicyObservers { lazyObservers.made }
    private let lazyObservers: LazyObservers

    let base: any TimeBase
    private let generator: SplitMix64
    private let machine: Locked<AdaptiveThrottleStateMachine>
    private let pass = CalmPass()

    /// Creates an adaptive throttle that has seen no call.
    ///
    /// If the service accepted `accepted` of the `calls` in the window, the share `max(0, (calls − multiplier ×
    /// accepted) ÷ (calls + 1))` of the next calls is rejected at random. Calls rejected here count among `calls` by
    /// the share of failures that are ``/Resilience/Verdict/throttled``: if that is a third, each counts as a third of
    /// a call. Calls that were admitted and then cancelled, or rejected by an inner policy, count only in the divisor.
    /// Source: Google's *Site Reliability Engineering*, "Handling Overload".
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - multiplier: The number of calls admitted per call that the service accepts, 1.1…100. 2 by default: calls are
    ///     rejected once the service does not accept half of them. A lower multiplier rejects sooner, and detects a
    ///     recovery later; 1 would never detect it.
    ///   - window: The time over which calls are counted; above 0. 2 minutes by default. It advances by a tenth at a
    ///     time.
    ///   - minimumCalls: How many calls the window must have before a call can be rejected; 1 or more. 10 by default.
    ///   - maxRejection: The largest share of calls that is rejected, 0…1. 0.9 by default: the remaining calls detect a
    ///     recovery.
    ///   - failing: The verdicts of calls that the service did not accept; neither success nor cancelled. Calls with
    ///     other verdicts count as accepted. Calls that were cancelled, or rejected by an inner policy, count as
    ///     neither.
    ///   - generator: The source of chance; pass a seeded one to repeat a run.
    ///   - timeBase: The time base of the window; it must be the pipeline's.
    ///   - observers: The observers of this throttle's events; nil for none at first.
    public convenience init(
        _ name: String = "adaptiveThrottle", multiplier: Double = 2, over window: Duration = .seconds(120),
        minimumCalls: Int = 10, maxRejection: Double = 0.9,
        failing: VerdictSet = [.throttled, .transient, .uncertain], generator: SplitMix64 = .shared,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        let settings = Settings(
            multiplier: multiplier, over: window, minimumCalls: minimumCalls, maxRejection: maxRejection,
            failing: failing)
        self.init(name, settings: settings, generator: generator, timeBase: timeBase, observers: observers)
    }

    /// Creates an adaptive throttle that has seen no call.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - settings: The settings.
    ///   - generator: The source of chance; pass a seeded one to repeat a run.
    ///   - timeBase: The time base of the window; it must be the pipeline's.
    ///   - observers: The observers of this throttle's events; nil for none at first.
    public init(
        _ name: String = "adaptiveThrottle", settings: Settings, generator: SplitMix64 = .shared,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        self.name = name
        lazyObservers = LazyObservers(observers)
        base = timeBase
        self.generator = generator
        machine = Locked(AdaptiveThrottleStateMachine(settings.valid()))
        ask { _ in }
    }

    /// Asks or changes the machine, after it has received all counted successes.
    func ask<R: Sendable>(_ body: (inout AdaptiveThrottleStateMachine) -> R) -> R {
        machine.withLock { machine in
            machine.succeeded(pass.takeTally())
            defer { pass.update(machine) }
            return body(&machine)
        }
    }

    public func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        pass.admits(&call) ? .proceed : enterAsking(&call)
    }

    @inline(never) private func enterAsking(_ call: inout PolicyCall) -> PolicyEntry {
        let now = call.now
        let (answer, share) = ask { machine in
            var generator = generator
            let answer = machine.admits(at: now, using: &generator)
            let tells = !answer.isAdmitted || answer.1 != nil
            return (answer, tells ? machine.rejection(at: now) : 0)
        }
        if let change = answer.1 { tell(change, share, &call) }
        guard !answer.isAdmitted else { return .proceed }
        call.emit(Event.rejected(share), from: name, to: lazyObservers.known)
        return .reject(AdaptiveThrottleExceeded(policy: name, rejection: share))
    }

    public func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        if outcome.verdict.kind != .success || !pass.succeeded(&call) { ended(outcome.verdict, &call) }
        return .pass
    }

    @inline(never) private func ended(_ verdict: Verdict, _ call: inout PolicyCall) {
        let now = call.now
        let (change, share) = ask { machine -> (AdaptiveThrottleStateMachine.Change?, Double) in
            let change = machine.ended(verdict, at: now)
            return (change, change == nil ? 0 : machine.rejection(at: now))
        }
        if let change { tell(change, share, &call) }
    }

    @inline(never) private func tell(
        _ change: AdaptiveThrottleStateMachine.Change, _ share: Double, _ call: inout PolicyCall
    ) {
        let event: Event =
            switch change {
            case .began: .began(share)
            case .ended: .ended
            }
        call.emit(event, from: name, to: lazyObservers.known)
    }

    /// The counts, and the present share of rejected calls.
    public var status: AdaptiveThrottleStatus {
        let now = base.now
        return ask { machine in
            let counts = machine.counts(at: now)
            return AdaptiveThrottleStatus(
                calls: counts.calls, accepted: counts.calls - counts.failures, rejection: machine.rejection(at: now))
        }
    }

    public func forecast(_ call: inout PolicyCall) -> PolicyForecast {
        let now = call.now
        let rejection = ask { $0.rejection(at: now) }
        return rejection > 0
            ? rejection < 1 ? .mayProceed(chance: 1 - rejection) : .rejects(retryAfter: nil) : .proceeds
    }

    /// Whether no call is in the window: evicting it would lose nothing.
    public var isAtRest: Bool {
        let now = base.now
        return ask { $0.counts(at: now).calls == 0 }
    }

    /// The settings now.
    public var settings: Settings { machine.withLock { $0.settings } }

    public var description: String {
        let settings = settings
        return "\(name): admits \(settings.multiplier) × the calls accepted in the last \(settings.window.text)"
    }
}

extension AdaptiveThrottle: DeadlineBound {}
