import Resilience

/// What a page that was fetched is to be applied to: a model that may hold edits which the other side has not seen yet.
public struct SyncPull: Sendable {
    /// Whether the page is the first of everything, rather than of what is new: it and those that follow it take the place of all
    /// that the model holds, but for what is unsent.
    public let isBootstrap: Bool

    private let watch: Watch
    private let hadPending: Bool

    /// What happens to the queue while the page is fetched and applied.
    private final class Watch: Sendable {
        let queue: SyncQueue
        /// Entities asked about, if any were, and whether one was found unsent.
        let answers = Locked<(asked: Set<String>?, foundSome: Bool)>((nil, false))

        init(_ queue: SyncQueue) {
            self.queue = queue
            queue.state.withLock { $0.pulls[ObjectIdentifier(self)] = [] }
        }

        deinit { _ = queue.state.withLock { $0.pulls.removeValue(forKey: ObjectIdentifier(self)) } }

        /// Entities that were enqueued to, or whose mutations were sent, meanwhile.
        var touched: Set<String> { queue.state.withLock { $0.pulls[ObjectIdentifier(self)] ?? [] } }
    }

    /// Before the page is fetched.
    init(_ queue: SyncQueue, isBootstrap: Bool) async throws {
        self.isBootstrap = isBootstrap
        watch = Watch(queue)
        hadPending = try await queue.store.totals().pending > 0
    }

    /// Which of these entities have pending mutations, or had some since the page was asked for. What the page says of them is
    /// not to be applied, and what it lacks of them not removed: it does not know what the user did. The pass fetches it again.
    ///
    /// For a page that takes the place of all, ask about what the model holds, too.
    public func unsent(among entities: [String]) async throws -> Set<String> {
        note(entities, pending: try await watch.queue.store.pendingEntities(among: entities))
    }

    private func note(_ entities: [String], pending: [String]) -> Set<String> {
        // After the store was asked: what is no longer pending by then was touched before.
        let touched = watch.touched
        let found = Set(pending).union(entities.filter(touched.contains))
        watch.answers.withLock { answers in
            answers = ((answers.asked ?? []).union(entities), answers.foundSome || !found.isEmpty)
        }
        return found
    }

    /// Once it was applied.
    /// - Returns: whether all of the page is in the model now, and no edit can have been overwritten.
    func isWhole() async throws -> Bool {
        let (asked, foundSome) = watch.answers.withLock { $0 }
        guard !foundSome else { return false }
        let store = watch.queue.store
        // Those of another process, too.
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
        /// The same within a transaction of the caller's own, in which the page is applied: no edit can come in between.
        /// - Parameter db: of the database that the queue's ``SQLiteStore`` was made in.
        /// - Throws: ``SyncQueueError/unreadable(path:reason:)`` if the queue is in another database, and with a store that is
        ///   none.
        public func unsent(among entities: [String], in db: Database) throws -> Set<String> {
            guard let store = watch.queue.store as? SQLiteStore else {
                throw SyncQueueError.unreadable(path: "\(type(of: watch.queue.store))", reason: "It is no SQLiteStore.")
            }
            return note(entities, pending: try store.pendingEntities(among: entities, in: db))
        }
    }
#endif
