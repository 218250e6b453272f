import Resilience

/// Clearing and stopping: ways to end what is under way.
extension SyncQueue {
    /// Gives up everything that is pending: cancels what is in flight and waits for its end, removes the rest, ends a pause
    /// and resets the pipeline's circuit breakers. Nothing of it can come back, whatever answer arrives late. No flush begins
    /// meanwhile; one begins afterwards, for what was enqueued since.
    ///
    /// - Parameters:
    ///   - discardsDead: whether what was set aside goes too, as it should when a user signs out.
    ///   - markFailed: told of the pending mutations, a page at a time, before they are removed; for an app that shows
    ///     their entities as failed. It must not wait for a flush.
    /// - Returns: how many pending ones were removed.
    @discardableResult
    public func clear(
        discardsDead: Bool = false, markFailed: ((_ page: [Mutation]) async throws -> Void)? = nil
    ) async throws -> Int {
        change { state, _ in state.machine.clearingBegan() }
        defer {
            change { state, _ in state.machine.clearingEnded() }
            trigger()
            tellWatchers()
        }
        await cancelFlight()
        if let markFailed {
            var position = Int64.min
            while let page = try await nextPage(after: position) {
                try await markFailed(page.map(\.mutation))
                position = page.last?.position ?? .max
            }
        }
        let count = try await store.removePending()
        if discardsDead { _ = try await store.discard(nil) }
        change { state, _ in state.machine.cleared() }
        tell(.cleared(count))
        try await endPause()
        return count
    }

    func nextPage(after position: Int64) async throws -> [StoredMutation]? {
        let page = try await store.pending(after: position, limit: configuration.pageSize)
        return page.isEmpty ? nil : page
    }

    /// Sends nothing more, for good. What is in flight may end within the grace period, and is cancelled then; what is
    /// pending stays for the next start.
    /// - Parameter grace: cancelling the caller ends it early.
    public func stop(within grace: Duration = .zero) async {
        let waker = change { state, _ in
            state.machine.stop()
            disarm(&state)
            return state.waker.take()
        }
        waker?.resume()
        if grace > .zero { _ = await waitForChange(until: now + grace) { $0.flight != nil } }
        await cancelFlight()
        tellWatchers()
    }

    func cancelFlight() async {
        guard let flight = state.withLock({ $0.flight }) else { return }
        flight.cancel()
        _ = await flight.result
    }
}
