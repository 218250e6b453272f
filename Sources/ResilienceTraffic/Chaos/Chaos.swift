public import Resilience
import Synchronization

/// Makes calls fail, wait or end early on purpose, to test the policies around it and the code behind them.
///
/// ```swift
/// let chaos = Chaos(
///     "search.chaos",
///     injecting: [
///         .fault(at: 0.1), .delay(.milliseconds(500), at: 0.2),
///     ])
/// let pipeline = Pipeline("search", isIdempotent: true) {
///     Retry()
///     CircuitBreaker("search")
///     Timeout(limit: .seconds(5))
///     chaos                                       // innermost
/// }
/// chaos.turnOn(for: .seconds(900))
/// ```
///
/// It is off until ``turnOn(for:)``, and turns itself off when that time is over. While off, it costs almost nothing.
///
/// Put it innermost. The policies around it classify, count and retry an injected failure like the operation's own.
///
/// See <doc:ChaosGuide>.
public final class Chaos: Policy, StatusReporting {
    public let name: String
    public var timeBase: (any TimeBase)? { base }
    /// The observers of this policy's events, in every pipeline.
    public var observers: PolicyObservers { lazyObservers.made }
    private let lazyObservers: LazyObservers

    /// The longest time for which the policy can be turned on: a day.
    public static var longestTime: Duration { .seconds(86_400) }

    private static let checks = SettingChecks("Chaos")

    private struct Pending {
        let injection: ChaosInjection
        /// The waiter of a call in its delay; nil if the call is in its operation.
        var waiter: PolicyWaiter?
        var delay = Duration.zero
        var due = MonotonicInstant.distantPast
    }

    /// Everything that settings change.
    struct Parts {
        var injections: [ChaosInjection]
        var script: [ChaosInjection?]
        var scope: ChaosScope
    }

    private struct State {
        var machine: ChaosStateMachine
        var parts: Parts
        /// When a configuration turns it off, in seconds since 1970; nil if none turns it on.
        var configuredEnd: Int64?
        /// The same instant on the policy's time base.
        var configuredUntil: MonotonicInstant?
        /// The calls with a pending injection, by ticket.
        var pending: [UInt64: Pending] = [:]

        func injection(_ source: ChaosStateMachine.Source) -> ChaosInjection {
            switch source {
            case .chance(let index): parts.injections[index]
            // Never nil: the machine skips nil steps.
            case .script(let index): parts.script[index]!
            }
        }

        /// Whether a resumed call is still in its delay, because the policy's end has changed.
        /// - Returns: The new wait, and its end.
        mutating func waitsOn(_ ticket: UInt64, at now: MonotonicInstant) -> (PolicyWaiter, MonotonicInstant)? {
            guard let due = pending[ticket]?.due, due > now, let ends = machine.ends, ends > now else { return nil }
            let waiter = PolicyWaiter(turn: due)
            pending[ticket]?.waiter = waiter
            return (waiter, min(due, ends))
        }

        /// The calls that were pending until the machine released them.
        mutating func takeFreed() -> [UInt64: Pending] {
            guard machine.pending.isEmpty, !pending.isEmpty else { return [:] }
            defer { pending = [:] }
            return pending
        }
    }

    let base: any TimeBase
    private let generator: SplitMix64
    /// Whether a call has to ask the machine. Written under the lock only.
    private let asks = Atomic(false)
    private let state: Locked<State>

    /// Creates a chaos policy that is off.
    ///
    /// While it is on, the calls in scope get the steps of the script in order. When the script is over, one of
    /// `injections` is chosen at random, by their rates: at most one for each call.
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - injections: The injections, and the share of calls for each. The rates add up to 1 or less.
    ///   - script: The injections of the first calls, regardless of their rates; nil leaves a call alone. Empty by
    ///     default. It restarts each time the policy is turned on. See ``play(_:)``.
    ///   - scope: The calls that may be touched. All by default.
    ///   - limit: The largest number of calls touched each time the policy is turned on; 0 or more. nil, the default,
    ///     for no limit.
    ///   - maxDelayed: The largest number of calls in an injected delay at the same time; 0 or more. Further calls are
    ///     left alone. nil, the default, for no limit.
    ///   - generator: The source of chance; pass a seeded one to repeat a run.
    ///   - timeBase: The time base of delays and of the switch; it must be the pipeline's.
    ///   - observers: The observers of this policy's events; nil for none at first.
    public init(
        _ name: String = "chaos", injecting injections: [ChaosInjection] = [], script: [ChaosInjection?] = [],
        scope: ChaosScope = .all, limit: Int? = nil, maxDelayed: Int? = nil, generator: SplitMix64 = .shared,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        let sum = injections.reduce(0) { $0 + $1.rate }
        // Allows sums slightly above 1, such as 0.1 + 0.2 + 0.7.
        let injections = Self.checks.require(
            sum <= 1 + 1e-9, injections, "rates", "must add up to 1 or less", else: [])
        self.name = name
        lazyObservers = LazyObservers(observers)
        base = timeBase
        self.generator = generator
        let settings = ChaosStateMachine.Settings(
            plans: injections.map(\.plan), script: script.map { $0?.plan },
            limit: limit.map { Self.checks.atLeast(0, $0, "limit") } ?? .max,
            maxDelayed: maxDelayed.map { Self.checks.atLeast(0, $0, "maxDelayed") } ?? .max)
        state = Locked(
            State(
                machine: ChaosStateMachine(settings),
                parts: Parts(injections: injections, script: script, scope: scope)))
    }

    // MARK: The switch

    /// Whether calls are touched now.
    public var isOn: Bool {
        let now = base.now
        return state.withLock { $0.machine.isOn(at: now) }
    }

    /// Turns the policy on for a time, after which it turns itself off.
    ///
    /// If it is already on, only its end changes. Otherwise the script and the limit restart.
    ///
    /// - Parameter duration: How long; cut to ``longestTime``. Zero or less turns the policy off.
    public func turnOn(for duration: Duration) {
        guard duration > .zero else { return turnOff() }
        let length = min(duration, Self.longestTime)
        let now = base.now
        change(at: now) { $0.turnOn(until: now + length, at: now) ? .turnedOn(for: length) : nil }
        // Calls in a delay wait again, until the new end at most.
        resume(state.withLock { $0.pending })
    }

    /// Turns the policy off at once.
    ///
    /// Calls in an injected delay proceed, and no further answer is lost.
    public func turnOff() {
        let now = base.now
        change(at: now) { $0.turnOff(at: now) ? .turnedOff(.turnedOff) : nil }
    }

    /// Begins a script: the next calls in scope get its steps in order, while the policy is on.
    ///
    /// It replaces the earlier script.
    ///
    /// - Parameter script: The injections of the calls, regardless of their rates; nil leaves a call alone.
    public func play(_ script: [ChaosInjection?]) {
        guard SettingChecks.mayChange else { return }
        // The old script is released outside of the lock, since it has user code.
        _ = state.withLock { state in
            state.machine.play(script.map { $0?.plan })
            defer { state.parts.script = script }
            return state.parts.script
        }
    }

    /// Turns the policy on for the rest of its configured time.
    /// - Parameter end: In seconds since 1970.
    func setConfiguredEnd(_ end: Int64, left: Duration) {
        let until = base.now + min(left, Self.longestTime)
        state.withLock { ($0.configuredEnd, $0.configuredUntil) = (end, until) }
        if left > .zero { turnOn(for: left) }
    }

    /// Turns the policy off and resets its counts.
    ///
    /// A configuration turns it on again only with another time.
    public func reset() {
        let now = base.now
        change(at: now) { machine in
            let wasOn = machine.isOn(at: now)
            machine.reset()
            return wasOn ? .turnedOff(.turnedOff) : nil
        }
    }

    /// Changes the machine by hand.
    /// - Parameter body: Returns the event for observers; nil for none.
    private func change(at now: MonotonicInstant, _ body: (inout ChaosStateMachine) -> Event?) {
        let (event, freed) = state.withLock { state in
            let event = body(&state.machine)
            asks.store(state.machine.ends != nil, ordering: .relaxed)
            return (event, state.takeFreed())
        }
        resume(freed)
        if let event { lazyObservers.send(event, from: name, at: now) }
    }

    private func resume(_ freed: [UInt64: Pending]) {
        for pending in freed.values { pending.waiter?.resume() }
    }

    // MARK: Calls

    public func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        if slot.first != 0 { return goOn(&call, &slot) }
        return asks.load(ordering: .relaxed) ? choose(&call, &slot) : .proceed
    }

    public func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        slot.first == 0 ? .pass : leave(&call, &slot, outcome)
    }

    @inline(never) private func choose(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let scope = state.withLock { $0.parts.scope }
        guard scope.contains(call) else { return .proceed }
        let (now, mayWait) = (call.now, call.mayWait)
        let (answer, injection, waiter, end, limit, freed) = state.withLock { state in
            var generator = generator
            let answer = state.machine.choose(at: now, mayWait: mayWait, using: &generator)
            var chosen: ChaosInjection?
            var waiter: PolicyWaiter?
            var end = MonotonicInstant.distantFuture
            switch answer {
            case .none, .leftOut: break
            case .timeIsOver: asks.store(false, ordering: .relaxed)
            case .now(let source): chosen = state.injection(source)
            case .after(let delay, let source, let ticket):
                let injection = state.injection(source)
                let due = now + .nanoseconds(delay)
                waiter = PolicyWaiter(turn: due)
                state.pending[ticket] = Pending(
                    injection: injection, waiter: waiter, delay: .nanoseconds(delay), due: due)
                // When the policy's time ends, so does the delay.
                end = state.machine.ends.map { min(due, $0) } ?? due
                chosen = injection
            case .onReturn(let source, let ticket):
                let injection = state.injection(source)
                state.pending[ticket] = Pending(injection: injection, waiter: nil)
                chosen = injection
            }
            let wasLast = chosen != nil && state.machine.isExhausted
            return (answer, chosen, waiter, end, wasLast ? state.machine.touched : nil, state.takeFreed())
        }
        resume(freed)
        defer { if let limit { call.emit(Event.limitReached(limit), from: name, to: lazyObservers.known) } }
        switch answer {
        case .none: return .proceed
        case .leftOut:
            call.emit(Event.leftOut, from: name, to: lazyObservers.known)
            return .proceed
        case .timeIsOver:
            call.emit(Event.turnedOff(.timeIsOver), from: name, to: lazyObservers.known)
            return .proceed
        case .now:
            // Never nil, here and below: an answer that touches the call has an injection.
            return act(injection!, &call)
        case .after(let nanoseconds, _, let ticket):
            slot.first = ticket
            // An effect after the delay is reported later.
            if injection!.kind == .delay { tell(injection!, after: .nanoseconds(nanoseconds), &call) }
            return .park(waiter!, until: min(end, call.deadline))
        case .onReturn(_, let ticket):
            slot.first = ticket
            return .proceed
        }
    }

    /// A call has waited.
    @inline(never) private func goOn(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let (now, ticket) = (call.now, slot.first)
        let isOver = call.isOver
        if !isOver, let (waiter, end) = state.withLock({ $0.waitsOn(ticket, at: now) }) {
            return .park(waiter, until: min(end, call.deadline))
        }
        slot = PolicySlot()
        let pending: Pending? = state.withLock { state in
            let pending = state.pending.removeValue(forKey: ticket)
            let isDue = isOver || pending.map { now >= $0.due } ?? false
            return state.machine.woke(ticket, isDue: isDue, at: now) ? pending : nil
        }
        guard let pending else { return .proceed }
        let injection = pending.injection
        if injection.kind == .delay {
            // The delay stands for a slow operation: a call whose time runs out in it fails, and is not rejected.
            return isOver ? .fail(injection.failure(of: name)) : .proceed
        }
        tell(injection, after: pending.delay, &call)
        return effect(injection)
    }

    private func act(_ injection: ChaosInjection, _ call: inout PolicyCall) -> PolicyEntry {
        injection.behavior?.body()
        tell(injection, after: .zero, &call)
        return effect(injection)
    }

    /// The effect on a call once its delay is over.
    private func effect(_ injection: ChaosInjection) -> PolicyEntry {
        switch injection.kind {
        case .fault: .fail(injection.failure(of: name))
        case .cancellation: .cancel
        case .delay, .behavior, .lostAnswer: .proceed
        }
    }

    private func tell(_ injection: ChaosInjection, after delay: Duration, _ call: inout PolicyCall) {
        guard call.isObserved(by: lazyObservers.known) else { return }
        let event: Event? =
            switch injection.kind {
            case .fault: .failed(verdict(of: injection, call), after: delay)
            case .delay: .delayed(delay)
            case .behavior: .behaved(injection.behavior?.name ?? "behavior")
            case .cancellation: .cancelled(after: delay)
            // Reported when the answer is lost.
            case .lostAnswer: nil
            }
        if let event { call.emit(event, from: name, to: lazyObservers.known) }
    }

    private func verdict(of injection: ChaosInjection, _ call: borrowing PolicyCall) -> Verdict {
        injection.error.map { call.core.classifier.verdict(for: $0) } ?? injection.verdict
    }

    @inline(never) private func leave(
        _ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome
    ) -> PolicyExit {
        let (now, ticket, mayRepeat) = (call.now, slot.first, call.mayRepeat)
        slot = PolicySlot()
        let injection: ChaosInjection? = state.withLock { state in
            let pending = state.pending.removeValue(forKey: ticket)
            // A caller that reports a permit's end already has the answer, so the answer can't be lost.
            let mayBeLost = outcome.verdict.kind == .success && mayRepeat
            let isLost = state.machine.left(ticket, succeeded: mayBeLost, at: now)
            return isLost ? pending?.injection : nil
        }
        guard let injection else { return .pass }
        let verdict = verdict(of: injection, call)
        call.emit(Event.lostAnswer(verdict), from: name, to: lazyObservers.known)
        return .replace(injection.failure(of: name), as: verdict)
    }

    // MARK: Description

    public var traits: PolicyTraits { PolicyTraits(injectsFaults: true) }

    /// The state now.
    public var status: ChaosStatus {
        let now = base.now
        return state.withLock { $0.machine.status(at: now) }
    }

    /// Whether no injection is pending, and the policy is off, as a new policy of the same configuration would be.
    public var isAtRest: Bool {
        let now = base.now
        return state.withLock { state in
            !state.machine.isOn(at: now) && state.machine.pending.isEmpty
                && state.configuredUntil.map { $0 <= now } ?? true
        }
    }

    /// The settings that another policy takes over.
    struct Terms {
        let machine: ChaosStateMachine.Settings
        let parts: Parts
        let configuredEnd: Int64?
        let configuredUntil: MonotonicInstant?
    }

    var terms: Terms {
        state.withLock { state in
            Terms(
                machine: state.machine.settings, parts: state.parts, configuredEnd: state.configuredEnd,
                configuredUntil: state.configuredUntil)
        }
    }

    /// Applies the settings of another policy. A configuration with the same time leaves the switch alone: a policy
    /// turned off by hand stays off.
    func take(over other: Terms) {
        // The old parts are released outside of the lock, since they have user code.
        let (_, isOtherTime) = state.withLock { state in
            state.machine.change(to: other.machine)
            let old = (state.parts, state.configuredEnd != other.configuredEnd)
            state.parts = other.parts
            state.configuredEnd = other.configuredEnd
            state.configuredUntil = other.configuredUntil
            return old
        }
        guard isOtherTime else { return }
        turnOn(for: other.configuredUntil.map { base.now.duration(to: $0) } ?? .zero)
    }

    /// The settings, but not ``isOn``.
    public var description: String {
        let parts = state.withLock { $0.parts }
        let all = parts.injections.map(\.description) + (parts.script.isEmpty ? [] : ["a script"])
        return "\(name): \(all.isEmpty ? "nothing" : all.joined(separator: "; "))"
    }
}

extension Chaos: HomedPolicy {
    package func settle(in home: PolicyHome) { lazyObservers.settle(in: home) }
}
