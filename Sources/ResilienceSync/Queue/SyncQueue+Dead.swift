/// What was set aside.
extension SyncQueue {
    public func pendingCount() async throws -> Int { try await store.totals().pending }
    public func deadCount() async throws -> Int { try await store.totals().dead }

    /// What was set aside, oldest first.
    public func dead(after position: Int64 = .min, limit: Int = 100) async throws -> [StoredMutation] {
        try await store.dead(after: position, limit: limit)
    }

    /// Makes what was set aside pending again, at its old place, as if it had never failed, and triggers. Its idempotency key
    /// stays.
    /// - Parameters:
    ///   - positions: ``StoredMutation/position``; nil for all.
    ///   - evenOvertaken: whether those, too, whose entity has been changed on the other side since, by a later mutation that was
    ///     delivered, or may have been by one that is in flight or whose answer was lost: see ``StoredMutation/isOvertaken``. They
    ///     are passed over otherwise.
    /// - Returns: how many.
    @discardableResult
    public func retryDead(_ positions: [Int64]? = nil, evenOvertaken: Bool = false) async throws -> Int {
        let count = try await store.revive(positions, evenOvertaken: evenOvertaken, at: wallClock())
        if count > 0 { tell(.revived(count)) }
        trigger()
        return count
    }

    /// Removes what was set aside; a lane that it blocked goes on.
    /// - Parameter positions: ``StoredMutation/position``; nil for all.
    /// - Returns: how many.
    @discardableResult
    public func discardDead(_ positions: [Int64]? = nil) async throws -> Int {
        let count = try await store.discard(positions)
        if count > 0 { tell(.discarded(count)) }
        trigger()
        return count
    }
}
