public import Resilience

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The pauses for 429s, for policies of the pipeline, and by hand.
extension SyncQueue {
    /// The end of the pause, before which nothing is sent; nil if there is no pause.
    ///
    /// A pause from before a restart is known once a flush has begun. A pause for an exhausted quota (``note(_:)``)
    /// also counts.
    public var pausedUntil: MonotonicInstant? {
        let now = now
        return state.withLock { $0.machine.pausedUntil(at: now) }
    }

    /// Pauses the queue by hand.
    ///
    /// No queue on the store begins a request until ``resume(keepingGrowth:)`` or the end of this time, even after a
    /// restart. Requests in flight continue to their end, and mutations being claimed at this moment are still sent.
    ///
    /// A queue that sends in another process, or from the same `SQLiteStore`, learns of the pause at its next claim;
    /// any other queue learns of it at its next flush.
    ///
    /// - Parameter length: How long; nil, the default, until ``resume(keepingGrowth:)``. If it is zero or less, nothing
    ///   is paused.
    /// - Throws: The store's error.
    public func pause(for length: Duration? = nil) async throws {
        // The text also contains the pause's beginning, which bounds the pause if the clock is set back, and makes the
        // text unique.
        let text = "\(length.map(end) ?? "\(Double.infinity)") \(end(after: .zero))"
        try await keep(Self.handPauseName, text)
        change { state, now in
            state.machine.pauses.byHand = length.map { now + $0 } ?? .distantFuture
            state.knownHandPause = text
        }
        tell(.pausedByHand(for: length))
        // A flight sets the alarm for the end of the pause.
        trigger()
    }

    /// Ends a pause before its time, and the waits of failed mutations: resets the pipeline's circuit breakers, and
    /// triggers the queue.
    ///
    /// One request is sent at once, however slow the present rate, and the rate and all quotas are reset.
    ///
    /// - Parameter keepingGrowth: Whether rate and quotas are kept, and the next pause and the breakers' next break are
    ///   as long as without this call. False by default.
    /// - Throws: The store's error.
    public func resume(keepingGrowth: Bool = false) async throws {
        try await endPause(keepingGrowth: keepingGrowth)
        try await keep(Self.handPauseName, nil)
        change { state, _ in (state.machine.pauses.byHand, state.knownHandPause) = (nil, nil) }
        tell(.resumed)
        trigger()
    }

    func endPause(keepingGrowth: Bool) async throws {
        // A shared store removes only the pause that it read last.
        if store.isShared { try await readPause() }
        try await keepPause(nil)
        for breaker in pipeline.circuitBreakers { breaker.reset(keepingGrowth: keepingGrowth) }
        change { $0.machine.resumed(keepingGrowth: keepingGrowth, at: $1) }
    }

    /// The end of the pause, even if it is from before a restart, or from another queue.
    package func currentPause() async throws -> MonotonicInstant? {
        try await readPause()
        let pausedUntil = pausedUntil
        // So that the end of the pause starts a flush.
        if pausedUntil != nil { trigger() }
        return pausedUntil
    }

    static let pauseName = "pausedUntil"
    static let handPauseName = "pausedByHandUntil"

    func readPause() async throws {
        let writes = state.withLock { $0.pauseWrites }
        let text = try await uncancelled { try await self.store.setting(Self.pauseName) }
        let left = text.map(timeLeft)
        change { state, now in
            guard state.pauseWrites == writes else { return }
            state.machine.pauseRead(left: left, isKnown: text == state.knownPause, at: now)
            state.knownPause = text
        }
        // The pause by hand is read last, since it may have to be read again.
        try await readHandPause()
    }

    /// Reads the pause by hand: another process may have stored or removed one.
    func readHandPause() async throws {
        let writes = state.withLock { $0.pauseWrites }
        let text = try await uncancelled { try await self.store.setting(Self.handPauseName) }
        let left = text.map(timeLeft)
        state.withLock { state in
            guard text != state.knownHandPause else { return }
            // The text may be out of date: a flight reads it again.
            guard state.pauseWrites == writes else { return state.machine.otherPause() }
            state.machine.pauses.byHand = left.map { now + $0 }
            state.knownHandPause = text
        }
    }

    /// - Parameter text: The pause's end in seconds since 1970, infinite if it has none; then its beginning, if it is
    ///   by hand.
    private func timeLeft(until text: String) -> Duration {
        let dates = text.split(separator: " ").map { Date(timeIntervalSince1970: Double($0) ?? -.infinity) }
        guard let end = dates.first else { return .zero }
        return min(end.time(since: date), end.time(since: dates.count > 1 ? dates[1] : .distantPast))
    }

    private func end(after length: Duration) -> String { "\(date.later(by: length).timeIntervalSince1970)" }

    /// - Parameter length: The length of the pause; nil for no pause.
    func keepPause(_ length: Duration?) async throws {
        let text = length.map(end)
        try await keep(Self.pauseName, text)
        change { state, _ in
            state.knownPause = text
            state.machine.pauseKept(length != nil)
        }
    }

    private func keep(_ name: String, _ text: String?) async throws {
        // Counted before and after: a value read in between may be the old one.
        state.withLock { $0.pauseWrites += 1 }
        defer { state.withLock { $0.pauseWrites += 1 } }
        try await uncancelled { try await self.store.set(name, to: text) }
    }

    /// Follows other users of the store: flushes whenever another user may have added mutations, and obeys at once
    /// pauses that another queue stores or ends.
    ///
    /// Returns when its task is cancelled or the queue is stopped, or at once if the store can't report changes.
    ///
    /// `SyncService` does this while it runs.
    public func followStore() async {
        guard let changes = store.changes() else { return }
        state.withLock { $0.isFollowing = true }
        defer { state.withLock { $0.isFollowing = false } }
        for await _ in changes {
            let now = now
            let (isStopped, begins) = state.withLock { state in
                (state.machine.flush.isStopped, state.flight == nil && state.machine.pausedUntil(at: now) == nil)
            }
            if isStopped || Task.isCancelled { return }
            // A new flight reads the pause itself. If this read fails, the triggered flight reports the error.
            if !begins { try? await readPause() }
            trigger()
        }
    }
}
