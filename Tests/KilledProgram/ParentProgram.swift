import Foundation
import Resilience
package import ResilienceSync

private struct Status: Error, VerdictConvertible {
    let code: Int

    var verdict: Verdict { code == 429 ? .throttled(retryAfter: .milliseconds(20)) : .transient }
}

/// Such a program's end of the pipes.
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

    /// Returns when the parent has answered that it has the mutation; a poison pill ends the program.
    package func post(_ mutation: Mutation) async throws {
        // Traps: it has no bytes.
        if mutation.kind == PoisonPill.kind { _ = UInt(mutation.payload.count) - 1 }
        let status = await withCheckedContinuation { continuation in
            waiting.withLock { $0[mutation.idempotencyKey] = continuation }
            say("send \(mutation.id) \(mutation.entity) \(mutation.idempotencyKey)")
        }
        guard status == 201 else { throw Status(code: status) }
    }
}
