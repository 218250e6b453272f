public import Resilience

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The silence that a 429, or a policy of the pipeline, asks for.
extension SyncQueue {
    /// Until when nothing is sent; nil if there is no pause. One from before a restart is known once a flush has begun.
    public var pausedUntil: Instant? {
        let now = now
        return state.withLock { $0.machine.pausedUntil }.flatMap { now < $0 ? $0 : nil }
    }

    /// Ends a pause before its time, and the waiting of what failed: resets the pipeline's circuit breakers, and triggers.
    public func resume() async throws {
        try await endPause()
        trigger()
    }

    func endPause() async throws {
        try await keepPause(until: nil)
        for case .policy(let policy) in pipeline.elements { (policy as? CircuitBreaker)?.reset() }
        let now = now
        state.withLock { state in
            state.machine.endPause()
            state.pace.pauseEnded(at: now)
            state.lanes.releaseAll()
            state.throttles = 0
            state.outages = 0
        }
    }

    /// - Parameter isOurOwn: a policy of the pipeline refused, and the other side was not asked.
    func pause(
        for named: Duration?, sentAt: Instant, isOurOwn: Bool, _ end: inout FlushReport.End?
    ) async throws {
        var before: Instant?
        if case .paused(let until) = end { before = until }
        // Those that were in flight with the first one say the same again.
        let backoff =
            named == nil && before == nil ? delay(counting: \.throttles, by: configuration.throttledBackoff) : .zero
        let named = named.map(capped)
        let now = now
        let until = state.withLock { state in
            if isOurOwn {
                let until = now + (named ?? capped(backoff))
                state.pace.endedOtherwise(sentAt: sentAt, at: now)
                state.pace.paused(until: until)
                return until
            }
            return state.pace.throttled(sentAt: sentAt, retryAfter: named, backoff: capped(backoff), at: now)
        }
        guard until > before ?? .distantPast else { return }
        end = .paused(until: until)
        let length = now.duration(to: until)
        try await keepPause(for: length)
        tell(.paused(for: length))
    }

    func capped(_ pause: Duration) -> Duration { max(min(pause, configuration.maxPause), Self.shortestWait) }

    private static let pauseName = "pausedUntil"

    func keepPause(for length: Duration) async throws {
        try await keepPause(until: wallClock().addingTimeInterval(length / .seconds(1)))
    }

    /// - Parameter date: nil for no pause.
    func keepPause(until date: Date?) async throws {
        try await uncancelled {
            try await self.store.set(Self.pauseName, to: date.map { "\($0.timeIntervalSince1970)" })
        }
        state.withLock { $0.storedPause = date == nil ? .none : .isThere }
    }

    /// Until when nothing is sent, also if that is known from before a restart only.
    func currentPause() async throws -> Instant? {
        if let pausedUntil { return pausedUntil }
        guard state.withLock({ $0.storedPause }) == .unknown, let until = try await pauseLeft() else { return nil }
        // So that its end starts a flush.
        trigger()
        return until
    }

    /// What is left of a pause from before a restart, which the pace is told of here, or of one that its flight did not live to report.
    func pauseLeft() async throws -> Instant? {
        let now = now
        let (stored, pausedUntil) = state.withLock { ($0.storedPause, $0.pace.pausedUntil(at: now)) }
        if let pausedUntil {
            if stored != .isThere { try await keepPause(for: now.duration(to: pausedUntil)) }
            return pausedUntil
        }
        switch stored {
        case .none:
            return nil
        case .isThere:
            // Ours, and over. If it stayed, a clock set back could bring it to life again.
            try await keepPause(until: nil)
            return nil
        case .unknown:
            break
        }
        let text = try await uncancelled { try await self.store.setting(Self.pauseName) }
        state.withLock { $0.storedPause = text == nil ? .none : .isThere }
        guard let text, let date = Double(text).map(Date.init(timeIntervalSince1970:)) else { return nil }
        let left = date.timeIntervalSince(wallClock())
        guard left > 0 else { return nil }
        // A clock set back must not make it longer than any pause may be, not even over further restarts.
        let longest = configuration.maxPause
        let isTooLong = left > longest / .seconds(1)
        if isTooLong { try await keepPause(for: longest) }
        let until = now + (isTooLong ? longest : .seconds(left))
        state.withLock { $0.pace.paused(until: until) }
        return until
    }
}
