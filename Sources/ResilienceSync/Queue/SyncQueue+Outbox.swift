#if SQLite
    public import GRDB
    import Resilience

    extension SyncQueue {
        /// Stores mutations in the caller's transaction: together with the change that they describe, or not at all.
        ///
        /// The commit triggers the queue. Mutations that a savepoint rolls back are neither reported nor sent. Outside
        /// of a transaction the call itself commits.
        ///
        /// ```swift
        /// try await database.write { db in
        ///     try note.save(db)
        ///     let mutation = try Mutation(
        ///         entity: note.id, kind: "note", operation: .update, encoding: note)
        ///     try queue.enqueue([mutation], in: db)
        /// }
        /// ```
        ///
        /// - Parameters:
        ///   - mutations: The mutations to store.
        ///   - db: A connection of the database of the queue's ``SQLiteStore``.
        /// - Returns: The result of each mutation.
        /// - Throws: As ``enqueue(_:)-([Mutation])``; ``SyncQueueError/unreadable(path:reason:)`` if the queue is in
        ///   another database, or its store is not an ``SQLiteStore``.
        @discardableResult
        public func enqueue(_ mutations: [Mutation], in db: Database) throws -> AppendResult {
            let store = try store(as: SQLiteStore.self)
            guard !mutations.isEmpty else { return AppendResult() }
            try prepare(mutations)
            let commit = Commit(queue: self)
            db.add(transactionObserver: commit, extent: .nextTransaction)
            defer { commit.endAppending() }
            let appended = try store.append(mutations, under: configuration.appending, at: date, in: db)
            commit.appended = appended
            return appended
        }
    }

    /// Reports appended mutations to the queue once they are committed: GRDB's change callbacks come before that.
    private final class Commit: TransactionObserver {
        /// The queue may be released before the commit.
        private weak var queue: SyncQueue?
        var appended: AppendResult?
        private var isAppending = true
        private var hasChanged = false
        private var isCommitted = false

        init(queue: SyncQueue) { self.queue = queue }

        /// Later appends have their own observers.
        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
            isAppending
        }

        func databaseDidChange(with event: DatabaseEvent) { hasChanged = true }

        func databaseDidCommit(_ db: Database) {
            isCommitted = true
            tell()
        }

        func databaseDidRollback(_ db: Database) {}

        /// Without a transaction, the commit comes before this call.
        func endAppending() {
            isAppending = false
            tell()
        }

        private func tell() {
            guard isCommitted, hasChanged, let appended else { return }
            queue?.tell(appended)
            queue?.trigger()
        }
    }
#endif
