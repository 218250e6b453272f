#if Demo
    import Foundation
    import ResilienceSync

    /// The queue's file: one at `--database`, or a temporary one that is kept only if mutations are left in it.
    struct QueueFile: Sendable {
        let path: String
        let isTemporary: Bool

        init(_ path: String?) {
            isTemporary = path == nil
            self.path =
                path
                ?? FileManager.default.temporaryDirectory.appendingPathComponent(
                    "retry-storm-\(UUID().uuidString).sqlite"
                )
                .path
        }

        /// Returns the mutations to drain: those that are pending or dead in the file. If there are none, those from
        /// `source`, which are stored first.
        /// - Throws: `SyncQueueError`; what `source` throws, before anything is stored.
        func backlog(
            in store: SQLiteStore, _ source: () throws -> [Mutation]
        ) async throws -> (mutations: [Mutation], isResumed: Bool) {
            // Without this, dead mutations could not be tried again, because their ids are taken.
            _ = try await store.reviveAll(at: Date())
            var pending: [Mutation] = []
            var position = Int64.min
            while true {
                let page = try await store.pending(after: position, limit: 1000)
                guard let last = page.last else { break }
                position = last.position
                pending += page.map(\.mutation)
            }
            guard pending.isEmpty else { return (pending, true) }
            let fresh = try source()
            _ = try await store.append(fresh, under: AppendRules(), at: Date())
            return (fresh, false)
        }

        /// Removes a temporary file.
        func discard() {
            guard isTemporary else { return }
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        }
    }
#endif
