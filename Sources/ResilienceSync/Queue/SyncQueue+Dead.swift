/// Dead mutations.
extension SyncQueue {
    /// Returns dead mutations, in the order of their positions.
    ///
    /// - Parameters:
    ///   - position: Only mutations at higher positions are returned; by default all are.
    ///   - limit: The most mutations to return; 100 by default. Large payloads may make a page shorter, but it has at
    ///     least one mutation if there is one.
    /// - Returns: The mutations.
    /// - Throws: The store's error.
    public func dead(after position: Int64 = .min, limit: Int = 100) async throws -> [StoredMutation] {
        try await store.dead(after: position, limit: limit)
    }

    /// Makes dead mutations pending again, at their old place, as if they had never failed, and triggers the queue.
    ///
    /// Their idempotency keys stay.
    ///
    /// It changes up to 1 000 mutations per transaction of the store, and sends a ``SyncEvent/revived(_:)`` for each
    /// transaction. Other work continues in between: mutations overtaken meanwhile are skipped, and mutations that die
    /// meanwhile stay dead. After an error, or if the task is cancelled between two transactions, earlier changes stay:
    /// call it again for the rest.
    ///
    /// - Parameters:
    ///   - positions: The ``StoredMutation/position`` of each; nil, the default, for all.
    ///   - evenOvertaken: Whether to revive even mutations that are ``StoredMutation/isOvertaken``: a later mutation
    ///     of the entity was delivered, or may have been, because it is in flight or its answer was lost. By default
    ///     they are skipped.
    /// - Returns: The number revived.
    /// - Throws: The store's error; `CancellationError`.
    @discardableResult
    public func retryDead(_ positions: [Int64]? = nil, evenOvertaken: Bool = false) async throws -> Int {
        try await changeDead(positions, telling: SyncEvent.revived) { page in
            try await store.revive(page, evenOvertaken: evenOvertaken, at: date)
        }
    }

    /// Removes dead mutations.
    ///
    /// A lane that they blocked continues.
    ///
    /// It removes up to 1 000 mutations per transaction of the store, as ``retryDead(_:evenOvertaken:)`` does.
    ///
    /// - Parameter positions: The ``StoredMutation/position`` of each; nil, the default, for all.
    /// - Returns: The number removed.
    /// - Throws: The store's error; `CancellationError`.
    @discardableResult
    public func discardDead(_ positions: [Int64]? = nil) async throws -> Int {
        try await changeDead(positions, telling: SyncEvent.discarded) { try await store.discard($0) }
    }

    private func changeDead(
        _ positions: [Int64]?, telling event: (Int) -> SyncEvent, _ body: ([Int64]) async throws -> Int
    ) async throws -> Int {
        // Even after an error: some mutations may be pending again.
        defer { trigger() }
        // In order, so that no mutation is overtaken by another of its lane that is revived with it.
        let positions = if let positions { Set(positions).sorted() } else { try await store.deadPositions() }
        return try await Self.inPages(positions) { page in
            let count = try await body(page)
            if count > 0 { tell(event(count)) }
            // With the trigger alone, the revived mutations would wait for the end of the walk.
            change { state, _ in state.machine.revived() }
            return count
        }
    }

    /// - Parameter change: Changes mutations in one short transaction, because other users of the store wait meanwhile;
    ///   returns how many it changed.
    /// - Returns: The number changed.
    static func inPages(_ positions: [Int64], _ change: ([Int64]) async throws -> Int) async throws -> Int {
        var rest = positions[...]
        var count = 0
        while true {
            count += try await change(Array(rest.prefix(1_000)))
            rest = rest.dropFirst(1_000)
            if rest.isEmpty { return count }
            try Task.checkCancellation()
        }
    }
}
