#if SQLite
    import Foundation
    import Resilience
    import ResilienceSync

    /// One life of the program that is killed: it enqueues, flushes at the same time, and ends when nothing is pending.
    ///
    /// It tells its parent `stored <id>` once an enqueue has returned, and `send <id> <entity> <key>` for each request; the
    /// parent answers `<key> <status>`.
    struct Life: Sendable {
        /// Mutations enqueued in each life.
        static let count = 30

        let database: String
        let number: Int

        func run() async throws {
            let connection = Connection()
            let pipeline = Pipeline("crash") {}
            let queue = SyncQueue(
                "crash", store: try SQLiteStore(path: database), pipeline: pipeline,
                configuration: SyncQueueConfiguration(
                    maxInFlight: 4, maxFailures: 1000, failedBackoff: .constant(.milliseconds(3)))
            ) { mutation in
                try await connection.post(mutation)
            }
            queue.trigger()
            for index in 0..<Self.count {
                // Numbers grow from one mutation of a program to its next, and from one round of programs to the next.
                let id = number * Self.count + index
                try await queue.enqueue(
                    Mutation(id: "\(id)", entity: "lane-\(id % 7)", kind: "note", payload: Data("\(id)".utf8)))
                connection.say("stored \(id)")
                queue.trigger()
            }
            while try await queue.drain().end != .drained {}
        }
    }

    private struct Status: Error, VerdictConvertible {
        let code: Int

        var verdict: Verdict { code == 429 ? .throttled(retryAfter: .milliseconds(20)) : .transient }
    }

    /// The program's end of the pipes.
    private final class Connection: Sendable {
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
