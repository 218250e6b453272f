public import Resilience

/// Begins a second copy of a slow or failed call, and uses the first result.
///
/// ```swift
/// let pipeline = Pipeline("search", isIdempotent: true) {
///     Timeout(limit: .seconds(5))
///     Hedge(after: .percentile(0.95))
///     Timeout(limit: .seconds(1))         // each copy
/// }
/// let page = try await pipeline.runHedged { try await client.search() }
/// ```
///
/// If a service's calls sometimes take much longer than usual, a hedge shortens the longest waits, at the price of some
/// more load. Use it only for calls that may run twice.
///
/// **Only ``/Resilience/Pipeline/runHedged(options:judging:_:)-(_,_,()->R)``** and the clients for HTTP and gRPC make
/// copies. Copies run concurrently, so the operation is `@Sendable`, runs outside the caller's actor, and its result is
/// `Sendable`. With ``/Resilience/Pipeline/run(options:judging:_:)-(_,_,()->R)``, which takes any operation, and with
/// permits, a hedge makes no copies. It reports that once (``Event/notCopied(_:)``), and counts the calls
/// (``HedgeStatus/ranOnce``).
///
/// Each copy goes through the inner policies: a breaker, a throttle or a bulkhead there sees each of them. The outer
/// policies see one attempt, which ends as the call does. Losing copies are cancelled and waited for: the policies see
/// them as cancelled, count nothing, and get their permits back.
///
/// See <doc:HedgeGuide>.
public final class Hedge: Policy, StatusReporting {
    public let name: String
    /// The observers of this hedge's events, in every pipeline.
    ///
    /// They are made on first use.
    public var observers: PolicyObservers { lazyObservers.made }
    let lazyObservers: LazyObservers

    struct State {
        var terms: HedgeTerms
        /// nil if the delay is not a percentile.
        var latencies: LatencyWindow?
        var firstSteps = FirstSteps()

        init(_ terms: HedgeTerms) {
            self.terms = terms
            if case .percentile(let share, _, _) = terms.settings.delay.kind {
                latencies = LatencyWindow(percentile: share)
            }
        }
    }

    private let state: Locked<State>
    private let ranOnce = UncopiedCalls()
    private let unknownEffects = UncopiedCalls()

    /// Creates a hedge that has measured no latencies yet.
    ///
    /// - Parameters:
    ///   - name: The name in events.
    ///   - delay: How long the hedge waits for a copy before it begins the next copy. By default p95 of the latest
    ///     latencies.
    ///   - maxHedges: The largest number of copies after the first, 0…10. 1 by default.
    ///   - verdicts: The failures of a copy after which the next copy begins at once; neither success nor cancelled.
    ///   - budget: The budget that limits the hedges of many calls together; a ``/Resilience/Retry`` may share it. nil,
    ///     the default, for a budget of its own: ``/Resilience/RetryBudget/ratio(_:reserve:window:timeBase:)`` with 10
    ///     per second plus 10 % of the calls.
    ///   - timeBase: The time base of that budget; it must be the pipeline's.
    ///   - observers: The observers of this hedge's events; nil for none at first.
    public convenience init(
        _ name: String = "hedge", after delay: HedgeDelay = .percentile(), maxHedges: Int = 1,
        on verdicts: VerdictSet = [.transient, .uncertain], budget: RetryBudget? = nil,
        timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        self.init(
            name, settings: Settings(after: delay, maxHedges: maxHedges, on: verdicts), budget: budget,
            timeBase: timeBase, observers: observers)
    }

    /// Creates a hedge that has measured no latencies yet.
    ///
    /// - Parameters:
    ///   - name: The name in events.
    ///   - settings: The settings.
    ///   - budget: The budget that limits the hedges of many calls together; nil for one of its own.
    ///   - timeBase: The time base of that budget; it must be the pipeline's.
    ///   - observers: The observers of this hedge's events; nil for none at first.
    public init(
        _ name: String = "hedge", settings: Settings, budget: RetryBudget? = nil, timeBase: any TimeBase = .system,
        observers: PolicyObservers? = nil
    ) {
        self.name = name
        lazyObservers = LazyObservers(observers)
        state = Locked(
            State(
                HedgeTerms(
                    settings: settings.valid(), budget: budget ?? .ratio(0.1, timeBase: timeBase),
                    ownsBudget: budget == nil)))
    }

    /// The settings now.
    public var settings: Settings { terms.settings }
    var terms: HedgeTerms { state.withLock { $0.terms } }

    /// The budget that limits the hedges of many calls together.
    public var budget: RetryBudget { terms.budget }

    /// The time base of the budget; nil if it does not measure time.
    public var timeBase: (any TimeBase)? { budget.timeBase }

    public var traits: PolicyTraits { PolicyTraits(maxCopies: settings.maxHedges + 1) }

    /// A call begins.
    /// - Parameter mayWait: Whether it may have a hedge after the delay.
    /// - Returns: The settings; the delay in nanoseconds, nil if only a failure begins a hedge; and whether the first
    ///   copy may begin on the caller's thread.
    func begin(mayWait: Bool) -> (HedgeTerms, delay: Int64?, isHere: Bool) {
        state.withLock { state in
            guard mayWait, let delay = state.delay else { return (state.terms, nil, true) }
            return (state.terms, delay, delay > 0 && state.firstSteps.mayBeHere())
        }
    }

    /// The first copy of a call kept its caller's thread beyond the delay.
    func firstStepWasLate() { state.withLock { $0.firstSteps.wasLate() } }

    /// Notes how long the first copy of a call took, or, if it lost, how long it had run by then.
    func note(_ latency: Duration, isLost: Bool) {
        let latency = latency.saturatedNanoseconds
        state.withLock { $0.latencies?.add(latency, isLost: isLost) }
    }

    /// Admits every call.
    ///
    /// A call that reaches this method can have no copies, and is counted.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - slot: Not used.
    /// - Returns: Always `.proceed`.
    public func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        if call.attempt <= call.options.firstAttempt { noteUncopied(because: .runOnce, &call) }
        return .proceed
    }

    /// A call without copies, or with fewer than possible, begins. The first such call with an observer is reported.
    @inline(__always)
    func noteUncopied(because reason: NoCopy, _ call: inout PolicyCall) {
        guard call.repetition != .never else { return }
        func hears() -> Bool { (call.isObserved() || lazyObservers.want(.error)) && settings.maxHedges > 0 }
        let isNews =
            switch reason {
            case .runOnce: ranOnce.note(hears)
            case .unknownEffects: unknownEffects.note(hears)
            }
        if isNews { call.emit(Event.notCopied(reason), from: name, to: lazyObservers.known) }
    }

    func change(to terms: HedgeTerms) { state.withLock { $0.change(to: terms) } }

    /// Resets all latencies, and the counts of calls without copies.
    ///
    /// The budget stays, since it may be shared.
    public func reset() {
        state.withLock { $0 = State($0.terms) }
        ranOnce.reset()
        unknownEffects.reset()
    }

    /// Whether there are no latencies, and nothing of the hedge's own budget is used up.
    public var isAtRest: Bool {
        let (isEmpty, terms) = state.withLock { (($0.latencies?.count ?? 0) == 0, $0.terms) }
        return isEmpty && (!terms.ownsBudget || terms.budget.isAtRest)
    }

    /// The present delay before a hedge begins, and the rest of the budget.
    public var status: HedgeStatus {
        let (delay, samples, maxHedges) = state.withLock {
            ($0.delay, $0.latencies?.count ?? 0, $0.terms.settings.maxHedges)
        }
        return HedgeStatus(
            delay: delay.map { .nanoseconds($0) }, samples: samples, hedgesLeft: budget.retriesLeft,
            ranOnce: maxHedges > 0 ? ranOnce.count : 0, unknownEffects: maxHedges > 0 ? unknownEffects.count : 0)
    }

    public var description: String {
        let settings = settings
        return "\(name): up to \(settings.maxHedges), after \(settings.delay); at once on \(settings.verdicts)"
    }
}

extension Hedge.State {
    /// In nanoseconds; nil if only a failure begins a hedge.
    fileprivate var delay: Int64? {
        switch terms.settings.delay.kind {
        case .never: return nil
        case .constant(let delay): return delay
        case .percentile(_, let least, let minimumSamples):
            guard let latencies, latencies.count >= minimumSamples else { return nil }
            return latencies.delay.map { max($0, least) }
        }
    }

    /// Applies other settings. The latencies stay, and so does the hedge's own budget if none is given: with a new
    /// budget, each change of settings would allow as many hedges as at the start.
    fileprivate mutating func change(to terms: HedgeTerms) {
        let budget = self.terms.ownsBudget && terms.ownsBudget ? self.terms.budget : terms.budget
        self.terms = HedgeTerms(settings: terms.settings, budget: budget, ownsBudget: terms.ownsBudget)
        if case .percentile(let share, _, _) = terms.settings.delay.kind {
            latencies = latencies?.with(percentile: share) ?? LatencyWindow(percentile: share)
        } else {
            latencies = nil
        }
    }
}
