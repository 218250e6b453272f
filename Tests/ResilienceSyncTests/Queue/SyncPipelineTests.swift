import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

@Suite struct SyncPipelineTests {
    private struct Down: Error, VerdictConvertible { var verdict: Verdict { .transient } }

    @Test("a queue's pipeline has its policies in the documented order, and no warnings")
    func order() {
        let pipeline = Pipeline.sync("outbox")
        #expect(pipeline.elements.map(\.name) == ["outbox", "request"])
        #expect(pipeline.warnings == [])
        #expect(pipeline.policies(of: Timeout.self).map(\.limit) == [.seconds(30)])
    }

    @Test("five failures in a row open the circuit, for five seconds and then longer, up to five minutes")
    func circuit() throws {
        let clock = ManualClock()
        let pipeline = Pipeline.sync(timeBase: clock)
        func fails() { #expect(throws: Down.self) { try clock.run { try await pipeline.run { throw Down() } } } }
        for _ in 0..<5 { fails() }
        for wait in [5, 10, 20, 40, 80, 160, 300, 300] {
            let error = #expect(throws: CircuitOpen.self) { try clock.run { try await pipeline.run {} } }
            #expect(error?.retryAfter == .seconds(wait))
            clock.advance(by: .seconds(wait))
            fails()
        }
    }

    @Test("a request that hangs counts as a failure of the server")
    func hanging() throws {
        let clock = ManualClock()
        let pipeline = Pipeline.sync(limit: .seconds(7), timeBase: clock)
        #expect(throws: TimedOut.self) {
            try clock.run { try await pipeline.run { try await clock.sleep(for: .seconds(3600)) } }
        }
        #expect(pipeline.circuitBreakers.map(\.status.failureCount) == [1])
    }

    @Test("a queue drains through the pipeline")
    func drains() throws {
        let clock = ManualClock()
        let sent = ScriptedOperation<String, Void>([.failure(Down())], fallback: .success(()))
        let queue = SyncQueue("outbox", store: MemoryStore(), pipeline: .sync("outbox", timeBase: clock)) {
            try await sent($0.entity)
        }
        let report = try clock.run {
            for entity in ["a", "b", "c"] {
                try await queue.enqueue(Mutation(entity: entity, kind: "create", payload: Data()))
            }
            return try await queue.drain()
        }
        #expect(report.end == .drained)
        #expect(sent.callCount == 4)
    }
}
