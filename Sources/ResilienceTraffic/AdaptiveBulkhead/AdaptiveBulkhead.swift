public import Resilience

/// A `Bulkhead` that finds its own limit on concurrent calls.
///
/// ```swift
/// let bulkhead = AdaptiveBulkhead(
///     "search", limit: .gradient(), queue: 64, maxWait: .seconds(1))
/// ```
///
/// It admits, queues and rejects calls as a `Bulkhead` does. Measuring a call costs two readings of the clock and a
/// lock. See <doc:AdaptiveBulkheadGuide>.
public final class AdaptiveBulkhead: Policy, StatusReporting {
    let bulkhead: Bulkhead
    let adapter: LimitAdapter
    let state: Locked<State>

    struct State {
        var made: Settings
        /// Whether the limit was set by hand.
        var isSetByHand = false
    }

    /// The observers of this bulkhead's events, in every pipeline.
    public var observers: PolicyObservers { bulkhead.observers }
    /// The original settings, or the latest ones applied.
    public var settings: Settings { state.withLock { $0.made } }

    /// Creates a bulkhead with all permits free.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - limit: The rule that finds the limit on concurrent calls. By default it uses latencies.
    ///   - queue: How many calls may wait; 0 or more. While the bulkhead measures the baseline, the limit is lower:
    ///     more calls wait or are rejected.
    ///   - order: Which waiting call is next, and which is rejected when the queue is full.
    ///   - maxWait: The longest wait in the queue; 0 or more. nil, the default, for no limit. With 0, no call waits.
    ///   - predictsWait: Whether to reject a call at once if it would probably wait beyond its deadline or `maxWait`,
    ///     as a `Bulkhead` does.
    ///   - shedding: The rule that rejects waiting calls under overload. nil, the default, lets them wait.
    ///   - timeBase: The time base for waits and latencies; it must be the pipeline's.
    ///   - observers: The observers of this bulkhead's events; nil for none at first.
    public convenience init(
        _ name: String = "bulkhead", limit: AdaptiveLimit = .gradient(), queue: Int = 0,
        order: Bulkhead.Order = .firstInFirstOut, maxWait: Duration? = nil, predictsWait: Bool = true,
        shedding: LoadShedding? = nil, timeBase: any TimeBase = .system, observers: PolicyObservers? = nil
    ) {
        let settings = Settings(
            limit: limit, queue: queue, order: order, maxWait: maxWait, predictsWait: predictsWait, shedding: shedding)
        self.init(name, settings: settings, timeBase: timeBase, observers: observers)
    }

    /// Creates a bulkhead with all permits free.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - settings: The settings.
    ///   - timeBase: The time base for waits and latencies; it must be the pipeline's.
    ///   - observers: The observers of this bulkhead's events; nil for none at first.
    public init(
        _ name: String = "bulkhead", settings: Settings, timeBase: any TimeBase = .system,
        observers: PolicyObservers? = nil
    ) {
        let settings = settings.valid()
        bulkhead = Bulkhead(name, settings: settings.ofBulkhead, timeBase: timeBase, observers: observers)
        adapter = LimitAdapter(settings.limit)
        state = Locked(State(made: settings))
    }

    public var name: String { bulkhead.name }
    public var timeBase: (any TimeBase)? { bulkhead.timeBase }
    public var traits: PolicyTraits { bulkhead.traits }
    public func forecast(_ call: inout PolicyCall) -> PolicyForecast { bulkhead.forecast(&call) }

    // The bulkhead uses the first two words of the slot; the third holds the instant of entry.
    public func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let entry = bulkhead.enter(&call, &slot)
        if case .proceed = entry { slot.third = UInt64(bitPattern: call.now.nanoseconds) }
        return entry
    }

    public func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        if bulkhead.isInside(slot) {
            let began = MonotonicInstant(nanoseconds: Int64(bitPattern: slot.third))
            if adapter.ended(&call, since: began, outcome, inUse: bulkhead.inUse(of: adapter.permits)) {
                let (old, new) = bulkhead.setLimit { adapter.permits }
                if old != new {
                    call.emit(Event.limitAdapted(from: old, to: new), from: name, to: bulkhead.lazyObservers.known)
                }
            }
        }
        return bulkhead.exit(&call, &slot, outcome)
    }

    /// Sets how many calls may run at the same time, as `Bulkhead.setLimit(_:)` does.
    ///
    /// Adaptation continues from there, or from the nearest limit within its bounds.
    ///
    /// - Parameter limit: How many calls may run at the same time; 1 or more.
    public func setLimit(_ limit: Int) {
        guard Bulkhead.Settings(limit: limit).allowed() != nil else { return }
        let now = presentTime
        state.withLock { $0.isSetByHand = true }
        let (old, new) = bulkhead.setLimit {
            adapter.set(to: limit, at: now)
            return adapter.permits
        }
        if old != new { bulkhead.tell(.limitChanged(from: old, to: new)) }
    }

    /// Changes how many calls may wait, as `Bulkhead.setQueue(_:)` does.
    ///
    /// - Parameter queue: How many calls may wait; 0 or more.
    public func setQueue(_ queue: Int) { bulkhead.setQueue(queue) }

    /// The limits, the numbers of calls inside and in the queue, and the learned values.
    public var status: AdaptiveBulkheadStatus {
        AdaptiveBulkheadStatus(bulkhead: bulkhead.status, adaptive: adapter.status)
    }

    public var description: String {
        let range = settings.limit.range
        return "\(bulkhead), adapted within \(range.lowerBound)–\(range.upperBound)"
    }
}

extension AdaptiveBulkhead: HomedPolicy {
    package func settle(in home: PolicyHome) { bulkhead.settle(in: home) }
}

extension AdaptiveBulkhead: DeadlineBound {}
