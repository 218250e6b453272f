#if PostgreSQL
    import Foundation
    import Resilience
    import ResilienceSync

    /// A worker that is killed: it enqueues and sends, and ends when nothing is pending.
    ///
    /// It tells its parent `stored <id>` once an enqueue has returned, and `send <id> <entity> <key>` for each request; the
    /// parent answers `<key> <status>`.
    struct Life: Sendable {
        /// Mutations enqueued in each life.
        static let count = 60

        let connection: String
        let schema: String
        let number: Int

        func run() async throws {
            let channel = Channel()
            let store = try await PostgreSQLStore(
                try PostgreSQLEngine(connection), schema: schema, sending: .shared, lease: .seconds(1), lanesAtOnce: 4)
            let queue = SyncQueue(
                "trial", store: store, pipeline: Pipeline("trial") {},
                configuration: SyncQueueConfiguration(
                    maxInFlight: 4, maxFailures: 1000, failedBackoff: .constant(.milliseconds(3)))
            ) { mutation in
                try await channel.post(mutation)
            }
            let follower = Task { await queue.followStore() }
            queue.trigger()
            for index in 0..<Self.count {
                let id = number * Self.count + index
                try await queue.enqueue(
                    Mutation(id: "\(id)", entity: "entity-\(id % 13)", kind: "note", payload: Data("\(id)".utf8)))
                channel.say("stored \(id)")
                queue.trigger()
            }
            while try await queue.drain().end != .drained {}
            follower.cancel()
            await queue.stop()
        }
    }

    private struct Status: Error, VerdictConvertible {
        let code: Int

        var verdict: Verdict { code == 429 ? .throttled(retryAfter: .milliseconds(20)) : .transient }
    }

    /// The worker's end of the pipes.
    private final class Channel: Sendable {
        private let waiting = Locked<[String: CheckedContinuation<Int, Never>]>([:])

        init() {
            Thread.detachNewThread { [weak self] in
                while let line = readLine() {
                    let words = line.split(separator: " ")
                    guard words.count == 2, let status = Int(words[1]) else { continue }
                    let continuation = self?.waiting.withLock { $0.removeValue(forKey: String(words[0])) }
                    continuation?.resume(returning: status)
                }
                // The parent is gone.
                exit(3)
            }
        }

        func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

        func post(_ mutation: Mutation) async throws {
            let status = await withCheckedContinuation { continuation in
                waiting.withLock { $0[mutation.idempotencyKey] = continuation }
                say("send \(mutation.id) \(mutation.entity) \(mutation.idempotencyKey)")
            }
            guard status == 201 else { throw Status(code: status) }
        }
    }
#endif
