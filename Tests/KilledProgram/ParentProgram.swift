import Foundation
import Resilience
package import ResilienceSync

private struct Status: Error, VerdictConvertible {
    let code: Int

    var verdict: Verdict { code == 429 ? .throttled(retryAfter: .milliseconds(20)) : .transient }
}

/// The killed program's end of the pipes.
package final class ParentProgram: Sendable {
    private let waiting = Locked<[String: CheckedContinuation<Int, Never>]>([:])

    package init() {
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

    package func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    /// Returns when the parent has confirmed the mutation; a poison pill crashes the program.
    package func post(_ mutation: Mutation) async throws {
        precondition(mutation.kind != PoisonPill.kind, "the pill crashes this program")
        let status = await withCheckedContinuation { continuation in
            waiting.withLock { $0[mutation.idempotencyKey] = continuation }
            say("send \(mutation.id) \(mutation.entity) \(mutation.idempotencyKey)")
        }
        guard status == 201 else { throw Status(code: status) }
    }
}

extension ParentProgram {
    /// A queue that sends its mutations to the parent.
    package func queue(_ name: String, on store: some MutationStore) -> SyncQueue {
        SyncQueue(
            name, store: store, pipeline: Pipeline(name) {},
            configuration: SyncQueueConfiguration(
                maxInFlight: 4, maxFailures: 1000, failedBackoff: .constant(.milliseconds(3)))
        ) { mutation in
            try await self.post(mutation)
        }
    }

    /// Enqueues, sends at the same time, and returns when nothing is pending.
    /// - Parameter number: The number of this round of programs; nil enqueues nothing.
    package func drain(
        _ queue: SyncQueue, enqueuing count: Int, inRound number: Int?, entity: (_ id: Int) -> String
    ) async throws {
        queue.trigger()
        if let number {
            for index in 0..<count {
                // Numbers grow within a program, and from one round of programs to the next.
                let id = number * count + index
                try await queue.enqueue(
                    Mutation(id: "\(id)", entity: entity(id), kind: "note", payload: Data("\(id)".utf8)))
                say("stored \(id)")
                queue.trigger()
            }
        }
        while try await queue.drain().end != .drained {}
    }
}
