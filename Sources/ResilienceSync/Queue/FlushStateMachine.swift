import Resilience

/// One flush at a time, no trigger lost, and nobody sends during a pause.
struct FlushStateMachine: Sendable, Equatable {
    enum Phase: Sendable, Equatable {
        /// → flushing
        case idle
        /// → idle, or once more if triggered meanwhile
        case flushing(triggeredMeanwhile: Bool)
    }

    private(set) var phase = Phase.idle
    /// Nothing is sent before this instant.
    private(set) var pausedUntil: Instant?

    enum Trigger: Equatable {
        case start
        /// A flush is under way and will look again before it ends.
        case join
        case paused(until: Instant)
    }

    mutating func triggered(at now: Instant) -> Trigger {
        switch phase {
        case .flushing:
            phase = .flushing(triggeredMeanwhile: true)
            return .join
        case .idle:
            if let pausedUntil, now < pausedUntil { return .paused(until: pausedUntil) }
            pausedUntil = nil
            phase = .flushing(triggeredMeanwhile: false)
            return .start
        }
    }

    enum After: Equatable {
        case again
        case rest
    }

    /// A pass over the queue ended.
    /// - Parameter pausedUntil: until when the other side, or a breaker of ours, wants silence.
    mutating func passEnded(pausedUntil: Instant?) -> After {
        self.pausedUntil = pausedUntil
        if pausedUntil == nil, phase == .flushing(triggeredMeanwhile: true) {
            phase = .flushing(triggeredMeanwhile: false)
            return .again
        }
        phase = .idle
        return .rest
    }

    /// The flush was cancelled.
    /// - Returns: whether it was triggered meanwhile, so that another must start.
    mutating func flushCancelled() -> Bool {
        defer { phase = .idle }
        return phase == .flushing(triggeredMeanwhile: true)
    }

    /// A pause is over before its time.
    mutating func endPause() { pausedUntil = nil }
}
