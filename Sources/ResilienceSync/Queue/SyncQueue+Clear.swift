import Resilience

/// Clearing and stopping.
extension SyncQueue {
    /// Removes all pending mutations.
    ///
    /// It cancels requests in flight and waits for their end, removes all pending mutations, ends a pause and resets
    /// the pipeline's circuit breakers. None of these mutations is sent again, even if an answer arrives late. A dead
    /// mutation becomes ``StoredMutation/isOvertaken`` if a removed mutation behind it in its lane may have been sent.
    /// No flush begins meanwhile. A flush begins afterwards, for the mutations that were enqueued since the call; none
    /// of these is removed.
    ///
    /// It removes up to 1 000 mutations per transaction of the store, and sends a ``SyncEvent/cleared(_:)`` for each
    /// transaction. Cancelling the caller does not end the clear. If the store fails, call it again: until then the
    /// queue sends nothing automatically, but a ``flush()`` that waits for the clear continues. If `markFailed` throws,
    /// nothing was removed, and the queue continues.
    ///
    /// - Parameters:
    ///   - discardsDead: Whether to remove dead mutations as well, as after a sign-out; false by default.
    ///   - markFailed: Receives the pending mutations, a page at a time, before they are removed; for an app that
    ///     shows their entities as failed. It must not wait for a flush. nil by default.
    /// - Returns: The number of pending mutations removed.
    /// - Throws: The error of the store or of `markFailed`.
    @discardableResult
    public func clear(
        discardsDead: Bool = false, markFailed: ((_ page: [Mutation]) async throws -> Void)? = nil
    ) async throws -> Int {
        change { state, _ in state.machine.clearingBegan() }
        // After a failure the pending mutations are not sent automatically.
        var goesOn = false
        defer {
            change { state, _ in
                state.machine.clearingEnded()
                if !goesOn { disarm(&state) }
            }
            if goesOn { trigger() }
            tellWatchers()
        }
        // First, so that mutations enqueued from now on are not cleared.
        let sealed = await Result { try await store.seal() }
        await cancelFlight()
        let last = try sealed.get()
        let pending = try await store.pendingPositions().filter { $0 <= last }
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
        let count = try await uncancelled { [self] in
            if discardsDead {
                _ = try await Self.inPages(try await store.deadPositions()) { try await store.discard($0) }
            }
            return try await Self.inPages(pending) { page in
                let count = try await store.removePending(page)
                if count > 0 { tell(.cleared(count)) }
                return count
            }
        }
        goesOn = true
        change { state, _ in state.machine.cleared() }
        if count == 0 { tell(.cleared(0)) }
        try await endPause(keepingGrowth: false)
        return count
    }

    private func nextPage(after position: Int64, through last: Int64) async throws -> [StoredMutation]? {
        let page = try await store.pending(after: position, limit: configuration.pageSize).filter {
            $0.position <= last
        }
        return page.isEmpty ? nil : page
    }

    /// Stops the queue for good: it sends nothing more.
    ///
    /// Requests in flight may end within the grace period, and are then cancelled. Pending mutations stay for the next
    /// start.
    ///
    /// - Parameter grace: How long requests in flight may take; zero by default. Cancelling the caller ends the
    ///   period early.
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

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
