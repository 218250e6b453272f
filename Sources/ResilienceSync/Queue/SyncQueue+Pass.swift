import Resilience

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One pass over what is pending, and what the end of each send means.
extension SyncQueue {
    func pass() async throws -> FlushReport {
        var report = FlushReport()
        if let until = try await storedPause() {
            report.end = .paused(until: until)
            return report
        }
        var position = Int64.min
        var heldBack: Set<String> = []
        paging: while true {
            let page = try await uncancelled { [position] in
                try await self.store.pending(after: position, limit: self.configuration.pageSize)
            }
            guard !page.isEmpty else { break }
            for stored in page {
                position = stored.position
                if heldBack.contains(stored.mutation.entity) { continue }
                if Task.isCancelled {
                    report.end = .cancelled
                    return report
                }
                switch try await attempt(stored, &report) {
                case .next: continue
                case .holdBack: heldBack.insert(stored.mutation.entity)
                case .end(let end):
                    report.end = end
                    return report
                }
                // Everything fails, and no breaker has said so: enough for this time.
                if heldBack.count >= configuration.pageSize { break paging }
            }
        }
        report.end = heldBack.isEmpty ? .drained : .stalled(retryAt: now + stallDelay())
        return report
    }

    private enum Sequel {
        case next
        case holdBack
        case end(FlushReport.End)
    }

    private func attempt(_ stored: StoredMutation, _ report: inout FlushReport) async throws -> Sequel {
        do {
            try await pipeline.run { try await send(stored.mutation) }
        } catch {
            return try await failed(stored, error, &report)
        }
        try await uncancelled { try await self.store.remove(at: stored.position) }
        report.delivered += 1
        state.withLock { state in
            state.throttles = 0
            state.stalls = 0
        }
        tell(.delivered(id: stored.mutation.id))
        return .next
    }

    private func failed(
        _ stored: StoredMutation, _ error: any Error, _ report: inout FlushReport
    ) async throws -> Sequel {
        if Task.isCancelled { return .end(.cancelled) }
        report.lastError = error
        if configuration.isOffline(error) {
            tell(.offline(error: "\(error)"))
            return .end(.offline(retryAt: now + stallDelay()))
        }
        switch pipeline.verdict(for: error) {
        case .throttled(let named):
            return .end(try await pause(for: named ?? throttleDelay()))
        case .rejected:
            return .end(try await pause(for: (error as? any Rejection)?.retryAfter ?? throttleDelay()))
        case .cancelled:
            // By somebody else, and not the mutation's fault: the flush itself goes on.
            return .holdBack
        case .permanent:
            return try await setAside(stored, error, &report)
        case .transient, .uncertain, .success:
            report.failed += 1
            // A store may hold any number.
            let failures = stored.failures.saturatingAdding(1)
            if failures >= configuration.maxFailures { return try await setAside(stored, error, &report) }
            try await uncancelled { try await self.store.countFailure(at: stored.position, error: "\(error)") }
            tell(.failed(id: stored.mutation.id, failures: failures, error: "\(error)"))
            return .holdBack
        }
    }

    private func setAside(
        _ stored: StoredMutation, _ error: any Error, _ report: inout FlushReport
    ) async throws -> Sequel {
        try await uncancelled { try await self.store.park(at: stored.position, error: "\(error)") }
        report.died += 1
        tell(.died(id: stored.mutation.id, error: "\(error)"))
        return .next
    }

    /// Without it, a backoff of zero would have the queue try again and again at the same instant.
    private static let shortestWait = Duration.milliseconds(1)

    private func throttleDelay() -> Duration { delay(counting: \.throttles, by: configuration.throttledBackoff) }

    func stallDelay() -> Duration { delay(counting: \.stalls, by: configuration.stalledBackoff) }

    /// The wait after one more of what is counted there.
    private func delay(counting count: any WritableKeyPath<State, Int> & Sendable, by backoff: Backoff) -> Duration {
        let before = state.withLock { state in
            defer { state[keyPath: count] = min(state[keyPath: count] + 1, 1_000_000) }
            return state[keyPath: count]
        }
        var generator = SplitMix64.shared
        return max(backoff.delay(beforeRetry: before, using: &generator), Self.shortestWait)
    }

    // MARK: Pausing

    private func pause(for asked: Duration) async throws -> FlushReport.End {
        let length = max(min(asked, configuration.maxPause), Self.shortestWait)
        let until = now + length
        let date = wallClock().addingTimeInterval(length / .seconds(1))
        try await keepPause(until: date)
        tell(.paused(for: length))
        return .paused(until: until)
    }

    func keepPause(until date: Date?) async throws {
        try await uncancelled { try await self.store.setPause(until: date) }
    }

    /// What is left of a pause from before a restart.
    private func storedPause() async throws -> Instant? {
        guard !state.withLock({ $0.knowsStoredPause }) else { return nil }
        let date = try await uncancelled { try await self.store.pause() }
        state.withLock { $0.knowsStoredPause = true }
        guard let date else { return nil }
        let left = date.timeIntervalSince(wallClock())
        guard left > 0 else { return nil }
        // A clock set back must not make it longer than any pause may be, not even over further restarts.
        let longest = configuration.maxPause
        guard left > longest / .seconds(1) else { return now + .seconds(left) }
        try await keepPause(until: wallClock().addingTimeInterval(longest / .seconds(1)))
        return now + longest
    }
}
