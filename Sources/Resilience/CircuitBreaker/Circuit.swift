/// A circuit state machine of any kind, with three additions: generations, so that a call from an earlier state never
/// changes the present state; time that never goes back; and modes.
struct Circuit: Sendable {
    private(set) var machine: any CircuitStateMachine
    /// The number of tallies taken so far; see ``FreePass``.
    private(set) var tallies: UInt32 = 0
    private(set) var mode = CircuitBreaker.Mode.automatic
    /// The mode that the settings give; any other mode was set by hand.
    private(set) var settledMode = CircuitBreaker.Mode.automatic
    /// Whether only a health check may be a probe.
    private let checksHealth: Bool
    /// The mode, if it was set by hand.
    var modeByHand: CircuitBreaker.Mode? { mode == settledMode ? nil : mode }
    /// Counts changes of state, changes of mode, and resets, from 1.
    private(set) var generation: UInt64 = 1
    /// The latest time that the circuit received. Callers read the clock before they wait for the lock, so their
    /// readings may arrive out of order.
    var latest = MonotonicInstant.distantPast
    /// nil until the first change: most circuits of a large registry have never changed.
    private var past: Past?

    /// A reference, which is replaced at each change, since changes are rare.
    private final class Past: Sendable {
        /// When the circuit entered its state, and when it was last closed: see ``CircuitBreakerStatus``.
        let since: MonotonicInstant?
        let lastClosed: MonotonicInstant?
        /// When it was last changed by hand. Automatic changes detected later are never dated before this.
        let lastByHand: MonotonicInstant

        init(since: MonotonicInstant?, lastClosed: MonotonicInstant?, lastByHand: MonotonicInstant) {
            (self.since, self.lastClosed, self.lastByHand) = (since, lastClosed, lastByHand)
        }
    }

    var since: MonotonicInstant? { past?.since }
    private var lastByHand: MonotonicInstant { past?.lastByHand ?? .distantPast }

    init(_ machine: any CircuitStateMachine, checksHealth: Bool = false) {
        self.machine = machine
        self.checksHealth = checksHealth
    }

    struct Transition: Equatable {
        let from: CircuitState
        let to: CircuitState
    }

    enum Admission: Equatable {
        /// `began` is set for a machine that watches calls. `wouldOpen`: the machine would have opened, but the mode is
        /// observing.
        case allow(
            generation: UInt64, ticket: UInt64, began: MonotonicInstant? = nil, wouldOpen: Bool = false, Transition?)
        case reject(retryAfter: Duration?, Transition?)
        /// The call waits until this instant at the latest. It asks again when the lease ends, or when it is woken.
        case wait(until: MonotonicInstant, leaseEnds: MonotonicInstant)
    }

    /// The largest number of calls that wait for probes.
    static let maxWaiting = 10_000

    /// The longest wait of a call, and the number of other waiting calls.
    struct Patience {
        var deadline = MonotonicInstant.distantFuture
        /// Until when the call may wait; nil if it has not waited before.
        var latest: MonotonicInstant?
        /// The number of other waiting calls.
        var waiting = 0
    }

    enum Recording: Equatable {
        /// The call was admitted in an earlier generation, or in a ramp that had just ended: its end changed nothing.
        case late(Transition? = nil)
        /// `failure`: whether a failure was counted.
        case recorded(failure: Bool = false, Transition?)
        /// The machine would have opened, but the mode is observing.
        case wouldOpen
    }

    /// The state that callers find: for them, an isolated circuit is open.
    var state: CircuitState { mode == .isolated ? .open : machine.state }

    /// When the state changes by itself; nil if never. A break also ends in modes that reject no call.
    var changesAt: MonotonicInstant? { mode == .isolated ? nil : machine.changesAt }

    /// Makes the automatic change whose time has come, without a call.
    mutating func timePassed(at now: MonotonicInstant) -> Transition? {
        guard let changesAt, changesAt <= max(latest, now) else { return nil }
        return change(at: now) { machine, now in machine.timePassed(at: now) }.transition
    }

    mutating func admit(
        at now: MonotonicInstant, _ patience: Patience = Patience(), using generator: SplitMix64 = .shared,
        asCheck: Bool = false
    ) -> Admission {
        switch mode {
        case .isolated: return .reject(retryAfter: nil, nil)
        case .disabled: return .allow(generation: generation, ticket: 0, nil)
        case .observing where !machine.needs.contains(.calls): return .allow(generation: generation, ticket: 0, nil)
        case .observing:
            latest = max(latest, now)
            let wouldOpen = machine.observe(beginAt: latest)
            return .allow(generation: generation, ticket: 0, began: latest, wouldOpen: wouldOpen, nil)
        case .automatic: break
        }
        // As on the path without the lock, a circuit that needs no admissions does not get the time.
        let needs = machine.needs
        if !needs.contains(.admissions) { return .allow(generation: generation, ticket: 0, nil) }
        // As on that path, a call that begins in the stretch is counted as a batched call.
        if needs.contains(.calls), tallyStretch?.contains(now) == true {
            machine.tallied(began: 1, succeeded: 0, at: latest)
            return .allow(generation: generation, ticket: 0, began: now, nil)
        }
        if checksHealth, !asCheck, machine.wantsProbe(at: max(latest, now)) {
            latest = max(latest, now)
            return .reject(retryAfter: machine.probesDecide(at: latest).map { latest.duration(to: $0) }, nil)
        }
        let (admission, transition) = change(at: now) { machine, now in machine.admit(at: now, using: generator) }
        return switch admission {
        case .allow(let ticket):
            .allow(
                generation: generation, ticket: ticket, began: needs.contains(.calls) ? latest : nil, transition)
        case .reject(let retryAfter): .reject(retryAfter: retryAfter, transition)
        case .wait(let limit, let leaseEnds): wait(upTo: limit, leaseEnds: leaseEnds, patience, at: now)
        }
    }

    /// Lets the call wait, or rejects it and tells it when to come back.
    private func wait(
        upTo limit: Duration, leaseEnds: MonotonicInstant, _ patience: Patience, at now: MonotonicInstant
    ) -> Admission {
        let latest = patience.latest ?? min(now + limit, patience.deadline)
        guard now < latest, patience.waiting < Self.maxWaiting else {
            let decided = machine.probesDecide(at: now) ?? now + ProbeWait.longest
            return .reject(retryAfter: now.duration(to: min(leaseEnds, decided)), nil)
        }
        return .wait(until: latest, leaseEnds: leaseEnds)
    }

    /// - Parameter evidence: The evidence about the endpoint, in place of the verdict's evidence; set only for a health
    ///   check.
    mutating func record(
        _ verdict: Verdict, generation admitted: UInt64, ticket: UInt64, began: MonotonicInstant? = nil,
        evidence: TripEvidence? = nil, at now: MonotonicInstant, using generator: SplitMix64 = .shared
    ) -> Recording {
        guard admitted == generation else { return .late() }
        guard mode != .disabled else { return .recorded(nil) }
        // A ramp that is over ends now, not with the next call. So it makes no difference whether the breaker is
        // watched.
        if let transition = timePassed(at: now) { return .late(transition) }
        let needs = machine.needs
        // A rejection or a cancellation says nothing about the endpoint; it matters only to a machine that gave a
        // ticket or watches calls.
        if verdict.saysNothing, ticket == 0, !needs.contains(.calls) { return .recorded(nil) }
        if verdict.kind == .success, needs.isDisjoint(with: [.admissions, .successes]) { return .recorded(nil) }
        // This success could have been counted without the lock. As on that path, it does not advance the time.
        if verdict.kind == .success, ticket == 0, mode == .automatic, needs == .successes, now < tallyEnds {
            machine.succeeded(1, at: latest)
            return .recorded(nil)
        }
        if verdict.kind == .success, ticket == 0, needs.contains(.calls), let began, let tallyStretch,
            tallyStretch.contains(began), tallyStretch.contains(now)
        {
            machine.tallied(began: 0, succeeded: 1, at: latest)
            return .recorded(nil)
        }
        if mode == .observing {
            latest = max(latest, now)
            let end = CallEnd(verdict, at: latest, began: began, evidence: evidence)
            return machine.observe(end) ? .wouldOpen : .recorded(nil)
        }
        let (failure, transition) = change(at: now) { machine, now in
            let end = CallEnd(verdict, at: now, began: began, evidence: evidence)
            return machine.record(end, ticket: ticket, using: generator)
        }
        return .recorded(failure: failure, transition)
    }

    /// Takes the calls counted without the lock since the last input.
    mutating func take(_ tally: CircuitTally) {
        tallies &+= 1
        guard let began = tally.began else { return succeeded(tally.succeeded) }
        if began + tally.succeeded > 0 { machine.tallied(began: began, succeeded: tally.succeeded, at: latest) }
    }

    /// Takes the successes since the last input: see ``FreePass``.
    mutating func succeeded(_ count: Int) {
        guard count > 0, mode == .automatic else { return }
        machine.succeeded(count, at: latest)
    }

    mutating func reset(keepingGrowth: Bool, at now: MonotonicInstant) -> Transition? {
        _ = timePassed(at: now)
        return change(at: now, beginsAnew: true) { machine, _ in machine.reset(keepingGrowth: keepingGrowth) }
            .transition
    }

    /// Passes news that comes from no call to the machine, if it is of the given type.
    /// - Returns: nil if the machine is of another type.
    mutating func tell<Machine: CircuitStateMachine, R>(
        at now: MonotonicInstant, _ body: (inout Machine, MonotonicInstant) -> R
    ) -> (result: R?, transition: Transition?) {
        guard machine is Machine else { return (nil, nil) }
        return change(at: now) { machine, now in
            guard var told = machine as? Machine else { return nil }
            defer { machine = told }
            return body(&told, now)
        }
    }

    /// Opens the circuit by hand; with nil, for as long as if it had opened by itself.
    /// - Returns: false if it can't be opened by hand, or the mode is not automatic.
    mutating func trip(
        for length: Duration?, at now: MonotonicInstant, using generator: SplitMix64 = .shared
    ) -> (isDone: Bool, Transition?) {
        guard mode == .automatic else { return (false, nil) }
        _ = timePassed(at: now)
        let (isDone, transition) = change(at: now, beginsAnew: true) { machine, now in
            machine.trip(for: length, at: now, using: generator)
        }
        return (isDone, transition)
    }

    /// Sets the mode of the settings, if it differs from the mode of the earlier settings. So a mode that was set by
    /// hand survives changes of other settings.
    /// - Returns: Whether the mode has changed.
    mutating func settle(_ mode: CircuitBreaker.Mode, at now: MonotonicInstant) -> Bool {
        guard mode != settledMode else { return false }
        settledMode = mode
        let before = self.mode
        _ = set(mode, at: now)
        return mode != before
    }

    /// Ends a break by hand.
    /// - Returns: false if the circuit kept no calls out, if its breaks can't be ended by hand, or if the mode is not
    ///   automatic.
    mutating func endBreak(at now: MonotonicInstant) -> (isDone: Bool, Transition?) {
        guard mode == .automatic else { return (false, nil) }
        _ = timePassed(at: now)
        // Tried on a copy first: if no break can be ended, the calls in flight still count.
        var asked = machine
        guard asked.endBreak(at: max(latest, now)) else { return (false, nil) }
        let (isDone, transition) = change(at: now, beginsAnew: true) { machine, now in machine.endBreak(at: now) }
        return (isDone, transition)
    }

    /// Sets the mode by hand. Calls that were admitted before no longer count.
    mutating func set(_ mode: CircuitBreaker.Mode, at now: MonotonicInstant) -> Transition? {
        guard mode != self.mode else { return nil }
        _ = timePassed(at: now)
        let before = state
        let machineChange = change(at: now, beginsAnew: true) { machine, _ in
            // A machine that only observes is never open.
            if mode == .observing, machine.state != .closed { machine.reset(keepingGrowth: true) }
            machine.forgetCalls()
        }.transition
        self.mode = mode
        note(before, changedAt: latest)
        return machineChange
    }

    /// Replaces the machine by another one, which continues from this one's state.
    /// - Returns: false if the other machine can't continue; then nothing has changed.
    mutating func replace(with machine: any CircuitStateMachine, at now: MonotonicInstant) -> Bool {
        _ = timePassed(at: now)
        latest = max(latest, now)
        guard var next = self.machine.replacement(machine, at: latest) else { return false }
        let knowsCalls = next.takeCalls(from: self.machine)
        if !knowsCalls { next.forgetCalls() }
        _ = change(at: now, beginsAnew: !knowsCalls) { machine, _ in machine = next }
        return true
    }

    /// Whether ``replace(with:at:)`` would succeed.
    func canBeReplaced(with machine: any CircuitStateMachine, at now: MonotonicInstant) -> Bool {
        self.machine.replacement(machine, at: max(latest, now)) != nil
    }

    /// - Returns: false if the memory is invalid; then nothing has changed.
    mutating func restore(
        _ memory: CircuitMemory, _ mode: CircuitBreaker.Mode, age: Duration, at now: MonotonicInstant
    ) -> Bool {
        var memory = memory
        if let longest = machine.longestBreak { memory.remaining = min(memory.remaining, longest) }
        var restored = machine
        guard restored.restore(memory, takenAt: max(latest, now) + (.zero - age)) else { return false }
        restored.forgetCalls()
        _ = change(at: now, beginsAnew: true) { machine, _ in machine = restored }
        // A snapshot contains only a mode that was set by hand.
        self.mode = mode == .automatic ? settledMode : mode
        past = Past(since: nil, lastClosed: nil, lastByHand: lastByHand)
        return true
    }

    func memory(at now: MonotonicInstant) -> CircuitMemory? { machine.memory(at: max(latest, now)) }

    func status(at now: MonotonicInstant) -> CircuitBreakerStatus {
        let now = max(latest, now)
        if let changesAt, changesAt <= now {
            var then = self
            // nil if the machine does not change at its announced time.
            if then.timePassed(at: now) != nil { return then.status(at: now) }
        }
        var status = machine.status(at: now)
        switch mode {
        case .automatic:
            if checksHealth, machine.wantsProbe(at: now) { status.isAllowed = false }
        case .isolated: status = CircuitBreakerStatus(state: .open, failureCount: status.failureCount)
        case .disabled, .observing: status.isAllowed = true
        }
        (status.mode, status.since, status.lastClosed) = (mode, since, past?.lastClosed)
        return status
    }

    /// Whether evicting the circuit would lose nothing but counted successes.
    func isAtRest(at now: MonotonicInstant) -> Bool { modeByHand == nil && machine.isAtRest(at: max(latest, now)) }

    /// The inputs that the circuit needs.
    var needs: CircuitNeeds {
        switch mode {
        case .isolated, .observing: .all
        case .disabled: []
        case .automatic: machine.needs
        }
    }

    /// Successes before this instant may be batched. They count as of the latest time.
    var tallyEnds: MonotonicInstant {
        let end = machine.tallyEnds(after: latest)
        return end > latest ? end : .distantPast
    }

    /// Calls that begin and succeed within this stretch of time may be batched. They count as of the latest time. nil
    /// if no call may be batched.
    var tallyStretch: Range<MonotonicInstant>? { mode == .automatic ? machine.tallyStretch(at: latest) : nil }

    /// Changes the machine. If its state changes, or if `beginsAnew`, a new generation begins: calls admitted before no
    /// longer count.
    private mutating func change<R>(
        at now: MonotonicInstant, beginsAnew: Bool = false,
        _ body: (inout any CircuitStateMachine, MonotonicInstant) -> R
    ) -> (result: R, transition: Transition?) {
        let (before, seen) = (machine.state, state)
        let changesAt = before == .closed ? nil : machine.changesAt
        latest = max(latest, now)
        if beginsAnew { past = Past(since: since, lastClosed: past?.lastClosed, lastByHand: latest) }
        let result = body(&machine, latest)
        let after = machine.state
        if beginsAnew || after != before { generation &+= 1 }
        // The end of a break has its own time, even if it is detected later.
        note(seen, changedAt: changesAt.map { min(max($0, lastByHand), latest) } ?? latest)
        return (result, after == before ? nil : Transition(from: before, to: after))
    }

    private mutating func note(_ before: CircuitState, changedAt time: MonotonicInstant) {
        let after = state
        guard after != before else { return }
        let lastClosed = after == .closed ? nil : before == .closed ? time : past?.lastClosed
        past = Past(since: time, lastClosed: lastClosed, lastByHand: lastByHand)
    }
}

extension CircuitStateMachine {
    /// Another machine that continues from this machine's state; nil if it can't continue.
    fileprivate func replacement(
        _ other: any CircuitStateMachine, at now: MonotonicInstant
    ) -> (any CircuitStateMachine)? {
        if self is any SharedCircuit || other is any SharedCircuit { return nil }
        var other = other
        guard let memory = memory(at: now), other.restore(memory, takenAt: now) else { return nil }
        return other
    }
}
