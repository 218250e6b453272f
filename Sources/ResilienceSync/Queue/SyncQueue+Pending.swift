/// Reads pending mutations: a page of them, or one by its id.
extension SyncQueue {
    /// Returns pending mutations, in the order of their positions.
    ///
    /// - Parameters:
    ///   - position: Only mutations at higher positions are returned; by default all are.
    ///   - limit: The most mutations to return; 100 by default. Large payloads may make a page shorter, but it has at
    ///     least one mutation if there is one.
    /// - Returns: The mutations.
    /// - Throws: The store's error.
    public func pending(after position: Int64 = .min, limit: Int = 100) async throws -> [StoredMutation] {
        try await store.pending(after: position, limit: limit)
    }

    /// Returns the pending or dead mutation with an id.
    ///
    /// - Parameter id: The mutation's id. A mutation that was coalesced into another no longer has its own.
    /// - Returns: The mutation; nil if it is not in the queue, for example because it was delivered. If
    ///   ``StoredMutation/diedAt`` is nil, it is pending.
    /// - Throws: The store's error.
    public func mutation(_ id: String) async throws -> StoredMutation? {
        try await store.mutation(id, cancelling: false)
    }

    /// Removes a pending mutation, even if it is in flight, and triggers the queue.
    ///
    /// A mutation with the same id can be enqueued again at once.
    ///
    /// A request in flight is not cancelled, since other mutations may be in its batch. If the other side still
    /// acknowledges the removed mutation, ``SyncEvent/delivered(id:)`` is sent; a failure changes nothing. Mutations
    /// enqueued meanwhile for its entity are sent after it.
    ///
    /// - Parameter id: The mutation's id.
    /// - Returns: The removed mutation; nil if no mutation with this id is pending. If it is
    ///   ``StoredMutation/isAttempted``, it may have had its effect. Earlier dead mutations of its entity are then
    ///   ``StoredMutation/isOvertaken``.
    /// - Throws: The store's error.
    @discardableResult
    public func cancel(_ id: String) async throws -> StoredMutation? {
        guard let removed = try await store.mutation(id, cancelling: true) else { return nil }
        tell(.cancelled(id: id))
        // With the trigger alone, the next mutation of its lane would wait for the end of the walk.
        change { state, _ in state.machine.removed(LaneHead(removed)) }
        trigger()
        return removed
    }
}
