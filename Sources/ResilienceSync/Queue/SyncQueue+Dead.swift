/// Dead mutations.
extension SyncQueue {
    /// Returns dead mutations, in the order of their positions.
    ///
    /// - Parameters:
    ///   - position: Only mutations at higher positions are returned; by default all are.
    ///   - limit: The most mutations to return; 100 by default. Large payloads may make a page shorter, but it has at
    ///     least one mutation if there is one.
    /// - Returns: The mutations.
    /// - Throws: What the store throws.
    public func dead(after position: Int64 = .min, limit: Int = 100) async throws -> [StoredMutation] {
        try await store.dead(after: position, limit: limit)
    }

    /// Makes dead mutations pending again, at their old place, as if they had never failed, and triggers the queue.
    /// Their idempotency keys stay.
    ///
    /// - Parameters:
    ///   - positions: The ``StoredMutation/position`` of each; nil, the default, for all.
    ///   - evenOvertaken: Whether to revive also those that are ``StoredMutation/isOvertaken``: a later mutation of the
    ///     entity was delivered, or may have been, because it is in flight or its answer was lost. By default they are
    ///     passed over.
    /// - Returns: The number revived.
    /// - Throws: What the store throws.
    @discardableResult
    public func retryDead(_ positions: [Int64]? = nil, evenOvertaken: Bool = false) async throws -> Int {
        let count = try await store.revive(positions, evenOvertaken: evenOvertaken, at: date)
        if count > 0 { tell(.revived(count)) }
        // Before the trigger, which alone would have them wait for the end of the walk.
        change { state, _ in state.machine.revived() }
        trigger()
        return count
    }

    /// Removes dead mutations. A lane that they blocked continues.
    ///
    /// - Parameter positions: The ``StoredMutation/position`` of each; nil, the default, for all.
    /// - Returns: The number removed.
    /// - Throws: What the store throws.
    @discardableResult
    public func discardDead(_ positions: [Int64]? = nil) async throws -> Int {
        let count = try await store.discard(positions)
        if count > 0 { tell(.discarded(count)) }
        change { state, _ in state.machine.revived() }
        trigger()
        return count
    }
}
