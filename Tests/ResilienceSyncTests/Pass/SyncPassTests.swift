import Foundation
import Resilience
import ResilienceSync
import ResilienceTesting
import Testing

@Suite(.timeLimit(.minutes(5))) final class SyncPassTests: Sendable {
    let fixture = Fixture()
    let store = MemoryStore()
    /// What the other side was asked, in order, the mutations' sending among it.
    private let asked = Locked<[String]>([])
    private let answers = Locked<[String: any Error]>([:])

    private func make() -> (SyncQueue, SyncPass) {
        let queue = SyncQueue(
            store: store, pipeline: Pipeline(timeBase: fixture.clock) {},
            configuration: SyncQueueConfiguration(maxInFlight: 1, isOffline: Fixture.isOffline)
        ) { [self, server = fixture.server] mutation in
            try ask("send")
            try await server(mutation)
        }
        let pass = SyncPass(queue) { [self] in
            try ask("check")
        } bootstrap: { [self] in
            try ask("bootstrap")
            return 100
        } increment: { [self] cursor in
            try ask("since \(cursor)")
            return cursor + 1
        }
        return (queue, pass)
    }

    private func ask(_ question: String) throws {
        asked.withLock { $0.append(question) }
        if let error = answers.withLock({ $0[question] }) { throw error }
    }

    private var questions: [String] { asked.withLock { $0 } }

    private func answer(_ question: String, _ error: (any Error)?) { answers.withLock { $0[question] = error } }

    @Test("health first, then the flush, then everything; from then on what is new, over restarts too (B10)")
    func order() async throws {
        let (queue, pass) = make()
        try await queue.enqueue([Mutation("a1"), Mutation("b1")])
        let first = try await pass.run()
        #expect(first.end == .pulled(cursor: 100) && first.bootstrapped && first.flush?.delivered == 2)
        #expect(questions == ["check", "send", "send", "bootstrap"])
        let second = try await pass.run()
        #expect(second.end == .pulled(cursor: 101) && !second.bootstrapped)
        _ = try await make().1.run()
        #expect(questions.dropFirst(4) == ["check", "since 100", "check", "since 101"])
        #expect(try await pass.cursor() == 102)
    }

    @Test("a failed health check ends the pass before any mutation is sent (B10)")
    func unwell() async throws {
        let (queue, pass) = make()
        try await queue.enqueue(Mutation("a1"))
        answer("check", Refusal.unavailable)
        await #expect(throws: Refusal.self) { try await pass.run() }
        #expect(questions == ["check"])
        answer("check", nil)
        #expect(try await pass.run().end == .pulled(cursor: 100))
    }

    @Test("while the queue is paused the pass asks nothing at all (B3, B10)")
    func paused() async throws {
        let (queue, pass) = make()
        fixture.server.enqueue(.refused(.throttled(retryAfter: .seconds(30))))
        try await queue.enqueue(Mutation("a1"))
        #expect(try await pass.run().end == .notFlushed)
        let until = fixture.clock.now + .seconds(30)
        #expect(try await pass.run().end == .paused(until: until))
        #expect(questions == ["check", "send"])
        #expect(try await pass.cursor() == 0)
    }

    @Test("a pause from before a restart: the pass asks nothing, and the queue goes on when it ends")
    func pausedBeforeTheRestart() async throws {
        store.setPause(until: Date().addingTimeInterval(1_000))
        let (_, pass) = make()
        guard case .paused = try await pass.run().end else {
            Issue.record("It is paused.")
            return
        }
        #expect(questions == [])
        await fixture.clock.waitForSleepers(1)
    }

    @Test("a reset during a pass holds: its end does not bring a cursor back")
    func resetMeanwhile() async throws {
        let box = Box<SyncPass>()
        let pass = SyncPass(make().0) {
        } bootstrap: {
            try await box.value?.reset()
            return 100
        } increment: {
            $0
        }
        box.value = pass
        #expect(try await pass.run().end == .pulled(cursor: 0))
        #expect(try await pass.cursor() == 0)
        box.value = nil
        #expect(try await pass.run().bootstrapped)
        #expect(try await pass.cursor() == 100)
    }

    @Test(
        "nothing is pulled over what could not be sent: throttled or offline",
        arguments: [Refusal.throttled, .unreachable])
    func notFlushed(refusal: Refusal) async throws {
        let (queue, pass) = make()
        fixture.server.enqueue(.refused(refusal))
        try await queue.enqueue(Mutation("a1"))
        let report = try await pass.run()
        #expect(report.end == .notFlushed && report.flush?.delivered == 0)
        #expect(questions == ["check", "send"])
    }

    @Test("one mutation that keeps failing does not keep what is new away")
    func stalled() async throws {
        let (queue, pass) = make()
        fixture.server.enqueue(.refused(.unavailable))
        try await queue.enqueue(Mutation("a1"))
        #expect(try await pass.run().end == .pulled(cursor: 100))
    }

    @Test(
        "a bootstrap or an increment that fails leaves the cursor, so that it is done again", arguments: [true, false])
    func pullFails(atFirst: Bool) async throws {
        let (_, pass) = make()
        if !atFirst { _ = try await pass.run() }
        let question = atFirst ? "bootstrap" : "since 100"
        answer(question, Refusal.unavailable)
        await #expect(throws: Refusal.self) { try await pass.run() }
        #expect(try await pass.cursor() == (atFirst ? 0 : 100))
        answer(question, nil)
        _ = try await pass.run()
        #expect(questions.suffix(1) == [question])
    }

    @Test("after a reset everything is fetched again")
    func reset() async throws {
        let (_, pass) = make()
        _ = try await pass.run()
        try await pass.reset()
        #expect(try await pass.run().bootstrapped)
    }

    @Test("a pass asked for during another is that one")
    func joined() async throws {
        // Only there is a task known to have asked.
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let (queue, pass) = make()
        fixture.server.hold()
        try await queue.enqueue(Mutation("a1"))
        let first = Task.immediate { try await pass.run() }
        let second = Task.immediate { try await pass.run() }
        await fixture.server.waitForCalls(1)
        fixture.server.release()
        #expect(try await first.value.end == .pulled(cursor: 100))
        #expect(try await second.value.end == .pulled(cursor: 100))
        #expect(questions == ["check", "send", "bootstrap"])
    }

    @Test("a cancelled pass says so, pulls nothing, and loses nothing")
    func cancelled() async throws {
        let (queue, pass) = make()
        fixture.server.hold()
        try await queue.enqueue(Mutation("a1"))
        let run = Task { try await pass.run() }
        await fixture.server.waitForCalls(1)
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
        #expect(questions == ["check", "send"])
        fixture.server.release()
        #expect(try await pass.run().end == .pulled(cursor: 100))
        #expect(try await queue.pendingCount() == 0)
    }

    @Test("one of two callers cancelled: the other has a pass made of its own, after the first is over")
    func oneOfTwoCancelled() async throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let (queue, pass) = make()
        fixture.server.hold()
        try await queue.enqueue(Mutation("a1"))
        let first = Task.immediate { try await pass.run() }
        let second = Task.immediate { try await pass.run() }
        await fixture.server.waitForCalls(1)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        fixture.server.release()
        #expect(try await second.value.end == .pulled(cursor: 100))
        #expect(questions == ["check", "send", "check", "send", "bootstrap"])
    }
}
