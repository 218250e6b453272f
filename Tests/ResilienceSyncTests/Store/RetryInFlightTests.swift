import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

/// An old mutation never overwrites a newer one, even if the newer one's arrival is unknown.
@Suite(.timeLimit(.minutes(20))) struct RetryInFlightTests {
    /// With "a1" dead, and "a2" of the same entity behind it.
    private func queueWithOneDead(_ store: any MutationStore, _ fixture: Fixture) async throws -> SyncQueue {
        fixture.server.enqueue(.refused(.gone))
        let queue = fixture.queue(store)
        try await queue.enqueue([Mutation("a1")])
        _ = try await queue.flush()
        try await queue.enqueue([Mutation("a2")])
        return queue
    }

    @Test("a dead mutation is not retried while a later one of its entity is in flight, except on request (P51)")
    func inFlight() async throws {
        for store in try everyStore() {
            let fixture = Fixture()
            let queue = try await queueWithOneDead(store, fixture)
            // The state after its claim.
            let head = try #require(try await store.heads(after: .min, limit: 1).first)
            _ = try await store.apply([], claiming: [head.position])
            #expect(try await queue.retryDead() == 0)
            #expect(try await queue.dead().map(\.isOvertaken) == [true])
            #expect(try await queue.flush().end == .drained)
            #expect(fixture.server.ids == ["a1", "a2"])
            #expect(try await queue.retryDead() == 0)
            #expect(try await queue.retryDead(evenOvertaken: true) == 1)
            #expect(try await queue.flush().end == .drained)
            #expect(fixture.server.ids == ["a1", "a2", "a1"])
            await queue.stop()
        }
    }

    @Test("a mutation whose answer was lost counts as sent: an earlier dead one is not retried (P51)")
    func lostAnswer() async throws {
        for store in try everyStore() {
            let fixture = Fixture()
            let queue = try await queueWithOneDead(store, fixture)
            fixture.server.enqueue(.refused(.unavailable))
            _ = try await queue.flush()
            #expect(fixture.server.ids == ["a1", "a2"])
            #expect(try await queue.retryDead() == 0)
            await queue.stop()
        }
    }
}
