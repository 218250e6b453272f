import Resilience

/// One flush at a time, no trigger lost, and nobody sends during a pause or while the queue is being cleared.
struct FlushStateMachine: Sendable, Equatable {
    enum Phase: Sendable, Equatable {
        /// → flushing
        case idle
        /// → idle, or once more if triggered meanwhile. Joined: somebody besides who began it counts on it, since this
        /// round or an earlier one.
        case flushing(triggeredMeanwhile: Bool, joined: Bool)
    }

    private(set) var phase = Phase.idle
    /// Nothing is sent before this instant.
    private(set) var pausedUntil: Instant?
    /// Clearings under way. No flush begins during one; its end is a trigger.
    private(set) var clearings = 0

    enum Trigger: Equatable {
        case start
        /// A flush is under way and will look again before it ends.
        case join
        case paused(until: Instant)
        /// The queue is being cleared.
        case clearing
    }

    mutating func triggered(at now: Instant) -> Trigger {
        switch phase {
        case .flushing:
            phase = .flushing(triggeredMeanwhile: true, joined: true)
            return .join
        case .idle:
            if clearings > 0 { return .clearing }
            if let pausedUntil, now < pausedUntil { return .paused(until: pausedUntil) }
            pausedUntil = nil
            phase = .flushing(triggeredMeanwhile: false, joined: false)
            return .start
        }
    }

    /// Whether a trigger has come since the round began, or since this was last asked; the round looks again itself then.
    mutating func takeTrigger() -> Bool {
        guard case .flushing(triggeredMeanwhile: true, let joined) = phase else { return false }
        phase = .flushing(triggeredMeanwhile: false, joined: joined)
        return true
    }

    enum After: Equatable {
        case again
        case rest
    }

    /// A round ended.
    /// - Parameter pausedUntil: until when the other side, or a breaker of ours, wants silence.
    mutating func roundEnded(pausedUntil: Instant?) -> After {
        self.pausedUntil = pausedUntil
        if pausedUntil == nil, case .flushing(triggeredMeanwhile: true, let joined) = phase {
            phase = .flushing(triggeredMeanwhile: false, joined: joined)
            return .again
        }
        phase = .idle
        return .rest
    }

    /// The flush was cancelled.
    /// - Returns: whether others had joined it, so that another must start.
    mutating func flushCancelled() -> Bool {
        defer { phase = .idle }
        if case .flushing(_, joined: true) = phase { return true }
        return false
    }

    /// A pause is over before its time.
    mutating func endPause() { pausedUntil = nil }

    mutating func clearingBegan() { clearings += 1 }

    mutating func clearingEnded() { clearings -= 1 }
}
