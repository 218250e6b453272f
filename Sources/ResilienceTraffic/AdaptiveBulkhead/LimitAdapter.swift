import Resilience

/// The limit of an ``AdaptiveBulkhead``, learned from the calls that leave it.
///
/// Its lock is taken inside the lock of the bulkhead's state, or alone.
final class LimitAdapter: Sendable {
    let settings: AdaptiveLimit
    private let machine: Locked<AdaptiveLimitStateMachine>

    init(_ settings: AdaptiveLimit) {
        self.settings = settings
        machine = Locked(AdaptiveLimitStateMachine(settings))
    }

    /// The last learned limit on concurrent calls.
    var permits: Int { machine.withLock { $0.permits } }

    /// A call leaves.
    /// - Parameter inUse: How many permits are in use, including its own.
    /// - Returns: Whether the limit has changed.
    func ended(_ call: inout PolicyCall, since began: MonotonicInstant, _ outcome: PolicyOutcome, inUse: Int) -> Bool {
        let end = end(&call, outcome)
        let now = call.now.nanoseconds
        return machine.withLock { $0.ended(end, began: began.nanoseconds, at: now, inUse: inUse) }
    }

    private func end(_ call: inout PolicyCall, _ outcome: PolicyOutcome) -> AdaptiveLimitStateMachine.End {
        let verdict = outcome.verdict
        if settings.verdicts.contains(verdict) { return .overload }
        switch verdict.kind {
        case .success: return .success
        case .rejected: return .other
        case .cancelled: return call.isOver ? .cut : .other
        case .transient, .throttled, .permanent, .uncertain:
            // Looks for the error of an inner timeout, perhaps within a retry's error.
            var error = outcome.error as? any PolicyError
            while let other = error, !(other is any TimeLimitError) { error = other.underlying as? any PolicyError }
            if let error { return error.reachedService == false ? .other : .cut }
            return call.isOver ? .cut : .other
        }
    }

    func set(to limit: Int, at now: MonotonicInstant) { machine.withLock { $0.set(to: limit, at: now.nanoseconds) } }

    var status: AdaptiveLimitStatus {
        machine.withLock { machine in
            AdaptiveLimitStatus(
                range: settings.range, latency: machine.latency.map { .nanoseconds(Int64($0)) },
                baseline: machine.baseline.map { .nanoseconds(Int64($0)) }, isSearching: machine.isSearching)
        }
    }
}
