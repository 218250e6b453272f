import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

// The code of Docs/TestingCodeThatUsesPolicies.md about a queue, unchanged.

struct TooManyRequests: Error, VerdictConvertible {
    let retryAfter: Duration
    var verdict: Verdict { .throttled(retryAfter: retryAfter) }
}

@Suite(.timeLimit(.minutes(20))) struct NotesOutboxTests {
    let clock = ManualClock()
    let send = ScriptedOperation<Mutation, Void>(fallback: .success(()))
    let rename = Mutation(entity: "note-7", kind: "rename", payload: Data())

    func queue(_ store: some MutationStore = MemoryStore()) -> SyncQueue {
        let pipeline = Pipeline("api", timeBase: clock) { Timeout(limit: .seconds(30)) }
        return SyncQueue("outbox", store: store, pipeline: pipeline) { [send] in try await send($0) }
    }

    @Test("if a server asks for a minute, the change is sent again after the minute, under the same key")
    func throttled() throws {
        send.enqueue(.failure(TooManyRequests(retryAfter: .seconds(60))))
        let start = clock.now
        let queue = queue()
        let report = try clock.run { [rename] in
            try await queue.enqueue(rename)
            return try await queue.drain()
        }
        #expect(report.delivered == 1 && report.throttled == 1)
        #expect(send.inputs.map(\.idempotencyKey) == [rename.idempotencyKey, rename.idempotencyKey])
        #expect(start.duration(to: clock.now) == .seconds(60))
    }

    @Test("while the queue is paused no trigger sends anything")
    func paused() throws {
        send.enqueue(.failure(TooManyRequests(retryAfter: .seconds(60))))
        let queue = queue()
        try clock.run { [clock, rename, send] in
            try await queue.enqueue(rename)
            queue.trigger()
            await clock.runUntilIdle()
            #expect(queue.pausedUntil == clock.now + .seconds(60))
            clock.advance(by: .seconds(59))
            queue.trigger()
            await clock.runUntilIdle()
            #expect(send.callCount == 1)
        }
    }

    #if SQLite
        @Test("mutations in the file are sent when the pause is over")
        func file() async throws {
            let folder = try TemporaryFolder()
            let path = folder.path("outbox.sqlite")
            send.enqueue(.failure(TooManyRequests(retryAfter: .seconds(60))))
            let queue = queue(try SQLiteStore(path: path))
            try await queue.enqueue(rename)
            let drain = Task { try await queue.drain() }
            try await clock.waitForSleeper(dueIn: .seconds(60))
            clock.advance(by: .seconds(60))
            #expect(try await drain.value.delivered == 1)
            #expect(send.callCount == 2)
        }
    #endif
}
