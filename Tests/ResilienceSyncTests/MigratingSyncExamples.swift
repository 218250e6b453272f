import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

/// The queue's code of Docs/Migrating.md, unchanged.
@Suite struct MigratingSyncExamples {
    private struct Row {
        let id = "row-7"
        let entity = "note-7"
        let kind = "rename"
        let payload = Data("{}".utf8)
        let key = "key-7"
        let attempts = 2
    }

    private struct Client: Sendable {
        let posts = ScriptedOperation<String, Void>(fallback: .success(()))

        func post(_ payload: Data, key: String) async throws { try await posts(key) }
    }

    @Test("the page's queue imports an older queue's rows once, with their keys and failures, and sends them")
    func rows() async throws {
        let (client, store, rows) = (Client(), MemoryStore(), [Row()])
        let queue = SyncQueue(
            "events", store: store, pipeline: .sync("events")
        ) { mutation in
            try await client.post(mutation.payload, key: mutation.idempotencyKey)
        }
        let old = rows.map { row in
            Mutation(
                id: row.id, entity: row.entity, kind: row.kind,
                payload: row.payload, idempotencyKey: row.key,
                earlierFailures: row.attempts)
        }
        try await queue.enqueue(old)
        #expect(try await queue.pending().map(\.failures) == [2])
        #expect(try await queue.enqueue(old).duplicates == ["row-7"])
        queue.trigger()
        #expect(try await queue.drain().end == .drained)
        #expect(client.posts.inputs == ["key-7"])
    }
}
