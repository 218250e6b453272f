public import Resilience

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The silence that a 429, or a policy of the pipeline, asks for.
extension SyncQueue {
    /// Until when nothing is sent; nil if there is no pause. One from before a restart is known once a flush has begun.
    public var pausedUntil: MonotonicInstant? {
        let now = now
        return state.withLock { $0.machine.pausedUntil(at: now) }
    }

    /// Ends a pause before its time, and the waiting of what failed: resets the pipeline's circuit breakers, and triggers. One
    /// request is sent at once, however slow the rate that was found, and the rate is forgotten.
    /// - Parameter keepingGrowth: whether a next pause, and a next break of the breakers, is as long as if this had not been,
    ///   and the rate is kept.
    public func resume(keepingGrowth: Bool = false) async throws {
        try await endPause(keepingGrowth: keepingGrowth)
        trigger()
    }

    func endPause(keepingGrowth: Bool = false) async throws {
        try await keepPause(nil)
        for case .policy(let policy) in pipeline.elements {
            (policy as? CircuitBreaker)?.reset(keepingGrowth: keepingGrowth)
        }
        change { $0.machine.resumed(keepingGrowth: keepingGrowth, at: $1) }
    }

    /// Until when nothing is sent, also if that is known from before a restart only, or another queue was told.
    func currentPause() async throws -> MonotonicInstant? {
        try await readPause()
        let pausedUntil = pausedUntil
        // So that its end starts a flush.
        if pausedUntil != nil { trigger() }
        return pausedUntil
    }

    private static let pauseName = "pausedUntil"

    func readPause() async throws {
        let writes = state.withLock { $0.pauseWrites }
        let text = try await uncancelled { try await self.store.setting(Self.pauseName) }
        let left = text.map { text -> Duration in
            let date = Double(text).map { Date(timeIntervalSince1970: $0) }
            let seconds = date?.timeIntervalSince(wallClock()) ?? 0
            // A store may hold any date, and a duration can't be any number of seconds.
            return seconds > 0 ? .seconds(min(seconds, 1e12)) : .zero
        }
        change { state, now in
            guard state.pauseWrites == writes else { return }
            state.machine.pauseRead(left: left, isKnown: text == state.knownPause, at: now)
            state.knownPause = text
        }
    }

    /// - Parameter length: nil for no pause.
    func keepPause(_ length: Duration?) async throws {
        let text = length.map { "\(wallClock().addingTimeInterval($0 / .seconds(1)).timeIntervalSince1970)" }
        state.withLock { $0.pauseWrites += 1 }
        defer { state.withLock { $0.pauseWrites += 1 } }
        try await uncancelled { try await self.store.set(Self.pauseName, to: text) }
        change { state, _ in
            state.knownPause = text
            state.machine.pauseKept(length != nil)
        }
    }
}
