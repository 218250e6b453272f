import Resilience

/// Decides which calls get which injection: by a script first, then by chance.
struct ChaosStateMachine: Sendable, Hashable {
    /// The part of an injection that the machine needs.
    struct Plan: Sendable, Hashable {
        var kind: ChaosInjection.Kind
        /// The share of all calls, 0…1.
        var rate: Double
        /// How long the call waits first, in nanoseconds.
        var delay: ClosedRange<Int64> = 0...0
    }

    struct Settings: Sendable, Hashable {
        /// The injections to choose from at random. The rates add up to 1 or less.
        var plans: [Plan]
        /// The injections of the first calls, in order; nil leaves a call alone.
        var script: [Plan?] = []
        /// The largest number of calls touched each time the policy is turned on.
        var limit = Int.max
        /// The largest number of calls in an injected delay at the same time.
        var maxDelayed = Int.max
    }

    /// The place of an injection in the settings.
    enum Source: Sendable, Hashable {
        /// The plan at an index.
        case chance(Int)
        /// The script's step at an index.
        case script(Int)
    }

    enum Answer: Sendable, Hashable {
        /// The call is left alone.
        case none
        /// The call is left alone: the time is over, and the policy has just turned itself off.
        case timeIsOver
        /// The call is touched at once.
        case now(Source)
        /// The call waits for this many nanoseconds, then asks ``ChaosStateMachine/woke(_:at:)``.
        case after(Int64, Source, ticket: UInt64)
        /// The call is touched when its operation ends: ``ChaosStateMachine/left(_:succeeded:at:)``.
        case onReturn(Source, ticket: UInt64)
        /// The call is left alone, because enough other calls are in a delay.
        case leftOut(Source)
    }

    /// The stage of a call that will be touched later.
    enum Stage: Sendable, Hashable {
        case delayed(ChaosInjection.Kind)
        case running
    }

    struct Counts: Sendable, Hashable {
        var faults = 0
        var lostAnswers = 0
        var delays = 0
        var behaviors = 0
        var cancellations = 0
        var leftOut = 0
    }

    private(set) var settings: Settings
    /// When the policy turns itself off; nil while it is off.
    private(set) var ends: MonotonicInstant?
    /// The script's next step.
    private(set) var position = 0
    /// The number of calls touched since the policy was turned on.
    private(set) var touched = 0
    private(set) var counts = Counts()
    private(set) var pending: [UInt64: Stage] = [:]
    private(set) var delayed = 0
    private var lastTicket: UInt64 = 0

    init(_ settings: Settings) { self.settings = settings }

    func isOn(at now: MonotonicInstant) -> Bool { ends.map { now < $0 } ?? false }

    /// The number of steps left in the script.
    var scriptLeft: Int { settings.script.count - position }

    /// Whether no further call is touched until the policy is turned on again.
    var isExhausted: Bool { touched >= settings.limit }

    /// Turns the policy on, with the script's first step. If it is on, only its end changes.
    /// - Returns: Whether it was off.
    mutating func turnOn(until end: MonotonicInstant, at now: MonotonicInstant) -> Bool {
        let wasOff = !isOn(at: now)
        if wasOff {
            letGo()
            position = 0
            touched = 0
        }
        ends = end
        return wasOff
    }

    /// Turns the policy off. Pending injections are dropped.
    /// - Returns: Whether it was on.
    mutating func turnOff(at now: MonotonicInstant) -> Bool {
        let wasOn = isOn(at: now)
        ends = nil
        letGo()
        return wasOn
    }

    private mutating func letGo() {
        pending = [:]
        delayed = 0
    }

    /// A call in scope begins.
    /// - Parameter mayWait: Whether the call can wait. If not, delays are left out.
    mutating func choose(
        at now: MonotonicInstant, mayWait: Bool, using generator: inout some RandomNumberGenerator
    ) -> Answer {
        guard let ends else { return .none }
        guard now < ends else {
            _ = turnOff(at: now)
            return .timeIsOver
        }
        guard !isExhausted, let (plan, source) = next(using: &generator) else { return .none }
        let delay = mayWait ? plan.delay.random(using: &generator) : 0
        if delay > 0 {
            guard delayed < settings.maxDelayed else {
                counts.leftOut += 1
                return .leftOut(source)
            }
        } else if plan.kind == .delay {
            return .none
        }
        touched += 1
        if delay > 0 {
            if plan.kind == .delay { count(.delay) }
            delayed += 1
            return .after(delay, source, ticket: ticket(.delayed(plan.kind)))
        }
        count(plan.kind)
        return plan.kind == .lostAnswer ? .onReturn(source, ticket: ticket(.running)) : .now(source)
    }

    private mutating func next(using generator: inout some RandomNumberGenerator) -> (Plan, Source)? {
        if position < settings.script.count {
            let step = position
            position += 1
            return settings.script[step].map { ($0, .script(step)) }
        }
        guard settings.plans.contains(where: { $0.rate > 0 }) else { return nil }
        var rest = Double.random(in: 0..<1, using: &generator)
        for (index, plan) in settings.plans.enumerated() {
            if rest < plan.rate { return (plan, .chance(index)) }
            rest -= plan.rate
        }
        return nil
    }

    private mutating func ticket(_ stage: Stage) -> UInt64 {
        lastTicket += 1
        pending[lastTicket] = stage
        return lastTicket
    }

    /// Counts an injection, except a lost answer: that is counted later, when the answer is lost.
    private mutating func count(_ kind: ChaosInjection.Kind) {
        switch kind {
        case .fault: counts.faults += 1
        case .lostAnswer: break
        case .delay: counts.delays += 1
        case .behavior: counts.behaviors += 1
        case .cancellation: counts.cancellations += 1
        }
    }

    /// A call has waited.
    /// - Parameter isDue: Whether the delay is over, or the call's own time has run out.
    /// - Returns: Whether the effect after the delay still applies: not if the policy was off in between.
    mutating func woke(_ ticket: UInt64, isDue: Bool = true, at now: MonotonicInstant) -> Bool {
        guard case .delayed(let kind) = pending.removeValue(forKey: ticket) else { return false }
        delayed -= 1
        guard isDue, isOn(at: now) else { return false }
        if kind != .delay { count(kind) }
        return true
    }

    /// The operation of a call that was to be touched later has ended.
    /// - Returns: Whether its answer is lost.
    mutating func left(_ ticket: UInt64, succeeded: Bool, at now: MonotonicInstant) -> Bool {
        switch pending.removeValue(forKey: ticket) {
        case .delayed:
            delayed -= 1
            return false
        case .running:
            guard succeeded, isOn(at: now) else { return false }
            counts.lostAnswers += 1
            return true
        case nil: return false
        }
    }

    /// Applies other settings. The script restarts only if it has changed.
    mutating func change(to settings: Settings) {
        if settings.script != self.settings.script { position = 0 }
        self.settings = settings
    }

    /// Begins a script: from now on the next calls get its steps.
    mutating func play(_ script: [Plan?]) {
        settings.script = script
        position = 0
    }

    /// Resets to the original state, which is off.
    mutating func reset() {
        ends = nil
        letGo()
        (position, touched, counts) = (0, 0, Counts())
    }
}

extension ClosedRange<Int64> {
    /// Draws a number only if the bounds differ.
    fileprivate func random(using generator: inout some RandomNumberGenerator) -> Int64 {
        lowerBound == upperBound ? lowerBound : .random(in: self, using: &generator)
    }
}
