#if SQLite
    public import GRDB

    extension SyncQueue {
        /// Stores mutations in a transaction of the caller's own: together with the change that they tell of, or not at all.
        /// The transaction's commit triggers the queue.
        ///
        /// ```swift
        /// try await database.write { db in
        ///     try note.save(db)
        ///     try queue.enqueue([Mutation(entity: note.id, kind: "note", operation: .update, encoding: note)], in: db)
        /// }
        /// ```
        ///
        /// - Parameter db: of the database that the queue's ``SQLiteStore`` was made in.
        /// - Throws: what ``enqueue(_:)`` throws; ``SyncQueueError/unreadable(path:reason:)`` if the queue is in another
        ///   database, and with a store that is none.
        @discardableResult
        public func enqueue(_ mutations: [Mutation], in db: Database) throws -> Appended {
            guard let store = store as? SQLiteStore else {
                throw SyncQueueError.unreadable(path: "\(type(of: store))", reason: "It is no SQLiteStore.")
            }
            guard !mutations.isEmpty else { return Appended() }
            try Self.check(mutations)
            let appended = try store.append(mutations, under: configuration.appending, at: wallClock(), in: db)
            // The queue may be let go of before the commit.
            db.afterNextTransaction { [weak self] _ in
                self?.editing {}
                self?.tell(appended)
                self?.trigger()
            }
            return appended
        }
    }
#endif
