import Resilience

/// Decides when to flush: one flush at a time, without losing a trigger, and never during a pause or a clearing, or
/// after a stop.
struct FlushStateMachine: Sendable, Hashable {
    enum Phase: Sendable, Hashable {
        /// → flushing
        case idle
        /// → idle, or another round if triggered meanwhile. `joined`: another caller joined in this round or an earlier
        /// one, and awaits this flush.
        case flushing(triggeredMeanwhile: Bool, joined: Bool)
    }

    private(set) var phase = Phase.idle
    /// The number of clearings in progress. No flush begins during one; its end is a trigger.
    private(set) var clearings = 0
    /// Whether the queue was stopped, for good.
    private(set) var isStopped = false

    enum Trigger: Equatable {
        case start
        /// A flush is in progress and will look again before it ends.
        case join
        case paused(until: MonotonicInstant)
        /// The queue is being cleared.
        case clearing
        case stopped
    }

    /// - Parameter pausedUntil: The end of the pause; nil if there is no pause.
    mutating func triggered(pausedUntil: MonotonicInstant?) -> Trigger {
        if isStopped { return .stopped }
        switch phase {
        case .flushing:
            phase = .flushing(triggeredMeanwhile: true, joined: true)
            return .join
        case .idle:
            if clearings > 0 { return .clearing }
            if let pausedUntil { return .paused(until: pausedUntil) }
            phase = .flushing(triggeredMeanwhile: false, joined: false)
            return .start
        }
    }

    /// Whether a trigger has come since the round began, or since this was last asked. If so, the round looks again
    /// itself.
    mutating func takeTrigger() -> Bool {
        guard case .flushing(triggeredMeanwhile: true, let joined) = phase else { return false }
        phase = .flushing(triggeredMeanwhile: false, joined: joined)
        return true
    }

    enum After: Equatable {
        case again
        case rest
    }

    /// Called when a round ended.
    /// - Parameter isPaused: Whether a 429 or a breaker of the pipeline pauses the queue: then triggers do not count.
    mutating func roundEnded(isPaused: Bool) -> After {
        if !isPaused, takeTrigger() { return .again }
        phase = .idle
        return .rest
    }

    /// Called when the flush was cancelled, or failed.
    /// - Returns: Whether other callers had joined it, so that another flush must start.
    mutating func flushCancelled() -> Bool {
        defer { phase = .idle }
        if case .flushing(_, joined: true) = phase { return true }
        return false
    }

    mutating func clearingBegan() { clearings += 1 }

    mutating func clearingEnded() { clearings -= 1 }

    mutating func stop() { isStopped = true }
}
