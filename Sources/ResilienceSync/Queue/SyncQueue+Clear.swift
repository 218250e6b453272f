import Resilience

/// Clearing and stopping: ways to end what is under way.
extension SyncQueue {
    /// Gives up everything that is pending now: cancels what is in flight and waits for its end, removes the rest, ends a pause
    /// and resets the pipeline's circuit breakers. Nothing of it can come back, whatever answer arrives late. No flush begins
    /// meanwhile; one begins afterwards, for what was enqueued since the call, of which nothing is removed.
    ///
    /// If the store fails, call it again: until then the queue sends nothing by itself, but a ``flush()`` that waits for the clear
    /// goes on. If `markFailed` throws, nothing was removed, and the queue goes on.
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
        // After a failure nothing of the old goes out by itself.
        var goesOn = false
        defer {
            change { state, _ in
                state.machine.clearingEnded()
                if !goesOn { disarm(&state) }
            }
            if goesOn { trigger() }
            tellWatchers()
        }
        // Before all else: what is enqueued from now on is not of it.
        let sealed = await Result { try await store.seal() }
        await cancelFlight()
        let last = try sealed.get()
        if let markFailed {
            var position = Int64.min
            while let page = try await uncancelled({ [position] in
                try await self.nextPage(after: position, through: last)
            }) {
                do {
                    try await markFailed(page.map(\.mutation))
                } catch {
                    goesOn = true
                    throw error
                }
                position = page.last?.position ?? .max
            }
        }
        if discardsDead { _ = try await store.discard(nil) }
        let count = try await store.removePending(through: last)
        goesOn = true
        change { state, _ in state.machine.cleared() }
        tell(.cleared(count))
        try await endPause()
        return count
    }

    private func nextPage(after position: Int64, through last: Int64) async throws -> [StoredMutation]? {
        let page = try await store.pending(after: position, limit: configuration.pageSize).filter {
            $0.position <= last
        }
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
        _ = await waitForChange(until: now + grace) { $0.flight != nil }
        await cancelFlight()
        tellWatchers()
    }

    func cancelFlight() async {
        guard let flight = state.withLock({ $0.flight }) else { return }
        flight.cancel()
        _ = await flight.result
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
