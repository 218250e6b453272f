import Resilience

/// Finds the entities of a fetched page that must not be applied, because the model may hold edits that the other side
/// has not seen.
public struct SyncPull: Sendable {
    /// Whether the page was fetched by a bootstrap: it and the pages that follow replace everything that the model
    /// holds, except unsent edits.
    public let isBootstrap: Bool

    private let watch: Watch
    private let hadPending: Bool

    /// Records the queue's changes while the page is fetched and applied.
    private final class Watch: Sendable {
        let queue: SyncQueue
        /// The entities asked about, nil if nobody has asked, and whether any of them was found unsent.
        let answers = Locked<(asked: Set<String>?, foundSome: Bool)>((nil, false))

        init(_ queue: SyncQueue) {
            self.queue = queue
            queue.state.withLock { $0.pulls[ObjectIdentifier(self)] = [] }
        }

        deinit { _ = queue.state.withLock { $0.pulls.removeValue(forKey: ObjectIdentifier(self)) } }

        /// The entities for which mutations were enqueued, or requests ended, meanwhile.
        var touched: Set<String> { queue.state.withLock { $0.pulls[ObjectIdentifier(self)] ?? [] } }
    }

    /// Called before the page is fetched.
    init(_ queue: SyncQueue, isBootstrap: Bool) async throws {
        self.isBootstrap = isBootstrap
        watch = Watch(queue)
        hadPending = try await queue.store.totals().pending > 0
    }

    /// Returns the entities that have pending mutations, or had some since the page was requested.
    ///
    /// Don't apply the page's values for them, and don't remove them if the page lacks them: the page does not contain
    /// the user's edits. The next pass fetches the page again.
    ///
    /// For a page of a bootstrap, also ask about the entities that the model holds.
    ///
    /// - Parameter entities: The ids of the entities to ask about.
    /// - Returns: The entities that have, or had, pending mutations.
    /// - Throws: The store's error.
    public func unsent(among entities: [String]) async throws -> Set<String> {
        note(entities, pending: try await watch.queue.store.pendingEntities(among: entities))
    }

    private func note(_ entities: [String], pending: [String]) -> Set<String> {
        // Read after the store: if the store no longer returns a mutation as pending, the mutation was recorded before.
        let touched = watch.touched
        let found = Set(pending).union(entities.filter(touched.contains))
        watch.answers.withLock { answers in
            answers = ((answers.asked ?? []).union(entities), answers.foundSome || !found.isEmpty)
        }
        return found
    }

    /// Called after the page was applied.
    /// - Returns: Whether all of the page is now in the model, and no edit can have been overwritten.
    func isWhole() async throws -> Bool {
        let (asked, foundSome) = watch.answers.withLock { $0 }
        guard !foundSome else { return false }
        let store = watch.queue.store
        // The store is asked again: another process may have enqueued some mutations.
        if let asked {
            guard try await store.pendingEntities(among: Array(asked)).isEmpty else { return false }
            return watch.touched.isDisjoint(with: asked)
        }
        guard !hadPending, try await store.totals().pending == 0 else { return false }
        return watch.touched.isEmpty
    }
}

#if SQLite
    public import GRDB

    extension SyncPull {
        /// Returns the entities that have pending mutations, or had some since the page was requested, within the
        /// transaction that applies the page.
        ///
        /// So no edit can come in between.
        ///
        /// - Parameters:
        ///   - entities: The ids of the entities to ask about.
        ///   - db: A connection of the database of the queue's ``SQLiteStore``.
        /// - Returns: The entities that have, or had, pending mutations.
        /// - Throws: ``SyncQueueError/unreadable(path:reason:)`` if the queue is in another database, or its store is
        ///   not an ``SQLiteStore``.
        public func unsent(among entities: [String], in db: Database) throws -> Set<String> {
            let store = try watch.queue.store(as: SQLiteStore.self)
            return note(entities, pending: try store.pendingEntities(among: entities, in: db))
        }
    }
#endif
