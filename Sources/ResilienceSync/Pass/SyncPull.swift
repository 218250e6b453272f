import Resilience

/// What a page that was fetched is to be applied to: a model that may hold edits which the other side has not seen yet.
public struct SyncPull: Sendable {
    /// Whether the page is of everything, rather than of what is new: what it does not hold is gone, but for what is unsent.
    public let isBootstrap: Bool

    private let queue: SyncQueue
    private let editsBefore: Int
    private let hadPending: Bool
    private let answers = Answers()

    private final class Answers: Sendable {
        let state = Locked((wasAsked: false, foundSome: false))

        func note(_ entities: [String]) {
            state.withLock { state in
                state.wasAsked = true
                state.foundSome = state.foundSome || !entities.isEmpty
            }
        }
    }

    /// Before the page is fetched.
    init(_ queue: SyncQueue, isBootstrap: Bool) async throws {
        self.queue = queue
        self.isBootstrap = isBootstrap
        editsBefore = queue.state.withLock { $0.edits.ended }
        hadPending = try await queue.store.totals().pending > 0
    }

    /// Which of these entities have mutations that are not acknowledged yet. What was fetched of them is not to be applied: it
    /// lacks what the user did. The pass fetches it again.
    public func unsent(among entities: [String]) async throws -> Set<String> {
        note(try await queue.store.pendingEntities(among: entities))
    }

    private func note(_ entities: [String]) -> Set<String> {
        answers.note(entities)
        return Set(entities)
    }

    /// Once it was applied.
    /// - Returns: whether all of the page is in the model now, and no edit can have been overwritten.
    func isWhole() async throws -> Bool {
        let answers = answers.state.withLock { $0 }
        // Of an edit that was under way meanwhile nobody knows which came first.
        guard !answers.foundSome, queue.state.withLock({ $0.edits.begun }) == editsBefore else { return false }
        if answers.wasAsked { return true }
        // Those of another process, too.
        return hadPending ? false : try await queue.store.totals().pending == 0
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
            guard let store = queue.store as? SQLiteStore else {
                throw SyncQueueError.unreadable(path: "\(type(of: queue.store))", reason: "It is no SQLiteStore.")
            }
            return note(try store.pendingEntities(among: entities, in: db))
        }
    }
#endif
