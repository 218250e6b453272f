#if SQLite
    import Foundation
    import Resilience
    import ResilienceSync
    import ResilienceTesting
    import Testing

    /// The queue's example of README.md, as it stands there.
    @Suite struct ReadmeSyncExample {
        private struct Client: Sendable {
            let posts = ScriptedOperation<String, Void>(fallback: .success(()))

            func post(_ payload: Data, idempotencyKey: String) async throws { try await posts(idempotencyKey) }
        }

        @Test("the README's durable queue delivers what is enqueued, with its key")
        func queue() async throws {
            let path = FileManager.default.temporaryDirectory.appending(path: "readme-\(UUID().uuidString).sqlite").path
            defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
            let (pipeline, client, data) = (
                Pipeline { CircuitBreaker(circuit: BackoffGate()) }, Client(), Data("{}".utf8)
            )

            let queue = SyncQueue("events", store: try SQLiteStore(path: path), pipeline: pipeline) { mutation in
                try await client.post(mutation.payload, idempotencyKey: mutation.idempotencyKey)
            }
            let mutation = Mutation(entity: "evt-1", kind: "create", payload: data)
            try await queue.enqueue(mutation)
            queue.trigger()
            #expect(try await queue.drain().end == .drained)
            #expect(client.posts.inputs == [mutation.idempotencyKey])
        }
    }
#endif
