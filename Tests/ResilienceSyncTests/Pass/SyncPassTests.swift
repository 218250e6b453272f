import Foundation
import Resilience
import ResilienceTesting
import Testing

@testable import ResilienceSync

@Suite(.timeLimit(.minutes(20))) final class SyncPassTests: Sendable {
    let fixture = Fixture()
    let store = MemoryStore()
    /// The requests to the other side, in order, including the sent mutations.
    private let asked = Locked<[String]>([])
    private let answers = Locked<[String: any Error]>([:])

    /// Applies each page to the model.
    private let applying = Box<@Sendable (SyncPull) async throws -> Void>()
    private let pages = Locked<[SyncPage<String>]>([])
    private let resetting = Box<Task<Void, any Error>>()

    private func make(_ hooked: HookedStore? = nil, checks: Bool = true) -> (SyncQueue, SyncPass) {
        let queue = SyncQueue(
            store: hooked ?? HookedStore(inner: store, locks: store) { _ in },
            pipeline: Pipeline(timeBase: fixture.clock) { fixture.breaker },
            configuration: SyncQueueConfiguration(maxInFlight: 1, isOffline: Fixture.isOffline)
        ) { [self, server = fixture.server] mutation in
            try ask("send")
            try await server(mutation)
        }
        let check = { @Sendable [self] in try ask("check") }
        let pass = SyncPass(queue, check: checks ? check : nil) { [self] in
            try ask("bootstrap")
            return nextPage(or: 100)
        } increment: { [self] cursor in
            try ask("since \(cursor)")
            return nextPage(or: cursor + 1)
        } apply: { [applying] _, pull in
            try await applying.value?(pull)
        }
        return (queue, pass)
    }

    private func nextPage(or cursor: Int64) -> SyncPage<String> {
        pages.withLock { $0.isEmpty ? SyncPage("", cursor: cursor) : $0.removeFirst() }
    }

    private func ask(_ question: String) throws {
        asked.withLock { $0.append(question) }
        if let error = answers.withLock({ $0[question] }) { throw error }
    }

    private var questions: [String] { asked.withLock { $0 } }

    private func answer(_ question: String, _ error: (any Error)?) { answers.withLock { $0[question] = error } }

    @Test("a pass checks health, flushes, then pulls everything; later passes pull changes, even after restarts (B10)")
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

    @Test("while the queue is paused the pass sends no request (B3, B10)")
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

    @Test("with a pause from before a restart the pass sends no request, and the queue continues when the pause ends")
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

    @Test("while the queue is paused, a pass without a check also ends as paused (B3)")
    func pausedWithoutCheck() async throws {
        let (queue, pass) = make(checks: false)
        fixture.server.enqueue(.refused(.throttled(retryAfter: .seconds(30))))
        try await queue.enqueue(Mutation("a1"))
        try await queue.flush()
        #expect(try await pass.run().end == .paused(until: fixture.clock.now + .seconds(30)))
        #expect(questions == ["send"])
    }

    @Test("a pass that was reset while it applied a page stores no cursor: everything is fetched again")
    func resetStoresNone() async throws {
        let sets = Locked(0)
        let (_, pass) = make(
            HookedStore(inner: store) { if $0 == .before("set") { sets.withLock { $0 += 1 } } })
        applying.value = { _ in try await pass.reset() }
        #expect(try await pass.run().end == .pulled(cursor: 0))
        // The reset stores the cursor, and the pass stores it again, in case a later cursor was set.
        #expect(sets.withLock { $0 } == 2)
        applying.value = nil
        #expect(try await pass.run().bootstrapped)
        #expect(try await pass.cursor() == 100)
    }

    @Test("a reset while a pass stores its cursor takes effect")
    func resetWhileItStores() async throws {
        let box = Box<SyncPass>()
        let hooked = HookedStore(inner: store, at: .before("set")) { try await box.value?.reset() }
        let (_, pass) = make(hooked)
        box.value = pass
        #expect(try await pass.run().end == .pulled(cursor: 0))
        #expect(try await pass.cursor() == 0)
        box.value = nil
    }

    @Test("a reset that is stored, but not yet finished, takes effect when a running pass ends")
    func resetStored() async throws {
        let resets = ScriptedOperation<Void, Void>(fallback: .success(()))
        let hooked = HookedStore(inner: store, at: .after("set")) { try await resets() }
        let (_, pass) = make(hooked)
        resets.hold()
        applying.value = { [resetting] _ in
            resetting.value = Task { try await pass.reset() }
            await resets.waitForCalls(1)
        }
        #expect(try await pass.run().end == .pulled(cursor: 0))
        resets.release()
        try await resetting.value?.value
        #expect(try await pass.cursor() == 0)
        applying.value = nil
    }

    @Test(
        "a pass does not pull over mutations that could not be sent: throttled or offline (B10)",
        arguments: [Refusal.throttled, .unreachable])
    func notFlushed(refusal: Refusal) async throws {
        let (queue, pass) = make()
        fixture.server.enqueue(.refused(refusal))
        try await queue.enqueue(Mutation("a1"))
        let report = try await pass.run()
        #expect(report.end == .notFlushed && report.flush?.delivered == 0)
        #expect(questions == ["check", "send"])
    }

    @Test("while a mutation keeps failing, it holds back its own lane and the cursor (P48)")
    func stalled() async throws {
        let (queue, pass) = make()
        _ = try await pass.run()
        fixture.server.enqueue(.refused(.unavailable))
        try await queue.enqueue([Mutation("a1"), Mutation("b1")])
        let kept = Box<Set<String>>()
        applying.value = { kept.value = try await $0.unsent(among: ["a", "b", "c"]) }
        #expect(try await pass.run().end == .pulledInPart(cursor: 100))
        #expect(kept.value == ["a"])
        // This page does not contain the unsent entity.
        applying.value = { kept.value = try await $0.unsent(among: ["b", "c"]) }
        #expect(try await pass.run().end == .pulled(cursor: 101))
        #expect(kept.value == [])
        fixture.clock.advance(by: .seconds(1))
        applying.value = { kept.value = try await $0.unsent(among: ["a"]) }
        #expect(try await pass.run().end == .pulled(cursor: 102))
        #expect(questions.filter { $0.hasPrefix("since") } == ["since 100", "since 100", "since 101"])
    }

    @Test("if a pending mutation vanishes while a page is applied, although we did not send it, the cursor stays (P48)")
    func goneMeanwhile() async throws {
        let (queue, pass) = make()
        fixture.server.enqueue(.refused(.unavailable))
        try await queue.enqueue(Mutation("a1"))
        applying.value = { [store] _ in _ = try await store.removePending() }
        #expect(try await pass.run().end == .pulledInPart(cursor: 0))
        applying.value = nil
        #expect(try await pass.run().end == .pulled(cursor: 100))
    }

    @Test("a mutation that one question found unsent keeps the cursor back, whatever later questions find (P48)")
    func askedTwice() async throws {
        let (queue, pass) = make()
        fixture.server.enqueue(.refused(.unavailable))
        try await queue.enqueue(Mutation("a1"))
        applying.value = { [store] (pull) async throws in
            #expect(try await pull.unsent(among: ["a"]) == ["a"])
            #expect(try await pull.unsent(among: ["b"]) == [])
            _ = try await store.removePending()
        }
        #expect(try await pass.run().end == .pulledInPart(cursor: 0))
    }

    @Test("if `apply` did not ask for unsent entities and there are some, the page is fetched again (P48)")
    func notAsked() async throws {
        let (queue, pass) = make()
        fixture.server.enqueue(.refused(.unavailable))
        try await queue.enqueue(Mutation("a1"))
        #expect(try await pass.run().end == .pulledInPart(cursor: 0))
        #expect(try await pass.cursor() == 0)
        fixture.clock.advance(by: .seconds(1))
        let report = try await pass.run()
        #expect(report.end == .pulled(cursor: 100) && report.bootstrapped)
    }

    @Test(
        "an edit while a page is fetched or applied causes the page to be fetched again (P48)",
        arguments: [true, false])
    func editedMeanwhile(asked: Bool) async throws {
        let (queue, pass) = make()
        applying.value = { pull in
            if asked { _ = try await pull.unsent(among: ["a"]) }
            try await queue.enqueue(Mutation("a1"))
            // The edit is delivered before the page asks what is unsent.
            _ = try await queue.flush()
        }
        #expect(try await pass.run().end == .pulledInPart(cursor: 0))
        applying.value = nil
        #expect(try await pass.run().end == .pulled(cursor: 100))
    }

    @Test("a page is fetched again if another process enqueues or revives a mutation while it is applied (P48)")
    func editedElsewhere() async throws {
        let (queue, pass) = make()
        applying.value = { [store] _ in try await store.append([Mutation("a1")]) }
        #expect(try await pass.run().end == .pulledInPart(cursor: 0))
        fixture.server.enqueue(.refused(.gone))
        applying.value = { _ in
            try await queue.retryDead()
            _ = try await queue.flush()
        }
        #expect(try await pass.run().end == .pulledInPart(cursor: 0))
        applying.value = nil
        #expect(try await pass.run().end == .pulled(cursor: 100))
    }

    @Test("an entity is unsent if its mutation was pending when the page was requested, even if sent since (P48)")
    func sentMeanwhile() async throws {
        let (queue, pass) = make()
        fixture.server.enqueue(.refused(.unavailable))
        try await queue.enqueue(Mutation("a1"))
        let unsent = Box<Set<String>>()
        applying.value = { [clock = fixture.clock] pull in
            clock.advance(by: .seconds(1))
            _ = try await queue.flush()
            unsent.value = try await pull.unsent(among: ["a", "b"])
        }
        #expect(try await pass.run().end == .pulledInPart(cursor: 0))
        #expect(unsent.value == ["a"])
        #expect(try await pass.run().end == .pulled(cursor: 100))
    }

    @Test(
        "an edit made after `unsent` was asked holds the cursor back only if the page contains the edit's entity (P48)",
        arguments: ["a", "z"])
    func editedAfterTheQuestion(entity: String) async throws {
        let (queue, pass) = make()
        applying.value = { pull in
            _ = try await pull.unsent(among: ["a", "b"])
            try await queue.enqueue(Mutation("\(entity)1"))
        }
        #expect(try await pass.run().end == (entity == "a" ? .pulledInPart(cursor: 0) : .pulled(cursor: 100)))
    }

    @Test("the pass notices a mutation that another process enqueues after the question (P48)")
    func editedElsewhereAfterTheQuestion() async throws {
        let (_, pass) = make()
        applying.value = { [store] pull in
            _ = try await pull.unsent(among: ["a"])
            try await store.append([Mutation("a1")])
        }
        #expect(try await pass.run().end == .pulledInPart(cursor: 0))
    }

    @Test("a page leaves nothing behind in the queue")
    func pullEnds() async throws {
        let (queue, pass) = make()
        _ = try await pass.run()
        #expect(queue.state.withLock { $0.pulls.isEmpty })
    }

    @Test("a reset that is running when a pass begins takes effect")
    func resetBefore() async throws {
        let resets = ScriptedOperation<Void, Void>(fallback: .success(()))
        let hooked = HookedStore(inner: store, at: .before("set"), number: 2) { try await resets() }
        let queue = SyncQueue(store: hooked, pipeline: Pipeline(timeBase: fixture.clock) {}) { _ in }
        let pass = SyncPass(queue) {
            SyncPage("", cursor: 100)
        } increment: { [resetting] cursor in
            resets.release()
            _ = await resetting.value?.result
            return SyncPage("", cursor: cursor + 1)
        } apply: { _, _ in
        }
        _ = try await pass.run()
        resets.hold()
        resetting.value = Task { try await pass.reset() }
        await resets.waitForCalls(1)
        #expect(try await pass.run().end == .pulled(cursor: 0))
        #expect(try await pass.cursor() == 0)
    }

    @Test("if a mutation and a second pass come after the flush's last look, the mutation is sent (B12)")
    func askedForAtTheLastLook() async throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let (second, box) = (Box<Task<SyncPass.Report, any Error>>(), Box<SyncPass>())
        let queues = Box<SyncQueue>()
        let hooked = HookedStore(inner: store) { step in
            guard step == .after("heads", rows: 0), second.value == nil, let pass = box.value else { return }
            try await queues.value?.enqueue(Mutation("a1"))
            second.value = Task.immediate { try await pass.run() }
        }
        let queue = SyncQueue(store: hooked, pipeline: Pipeline(timeBase: fixture.clock) {}) { [self] _ in
            try ask("send")
        }
        queues.value = queue
        let pass = SyncPass(queue) {
            SyncPage("", cursor: 100)
        } increment: {
            SyncPage("", cursor: $0)
        } apply: { _, _ in
        }
        box.value = pass
        _ = try await pass.run()
        _ = try await second.value?.value
        #expect(questions == ["send"])
        box.value = nil
    }

    @Test("a stopped queue sends no more requests, not even for the next page")
    func stopped() async throws {
        let (queue, pass) = make()
        pages.withLock { $0 = [SyncPage("", cursor: 10, hasMore: true)] }
        applying.value = { _ in await queue.stop() }
        await #expect(throws: SyncQueueError.stopped) { try await pass.run() }
        #expect(questions == ["check", "bootstrap"])
        await #expect(throws: SyncQueueError.stopped) { try await pass.run() }
        #expect(questions.count == 2)
    }

    @Test("a queue that is paused between two pages does not request the second (B3)")
    func pausedBetweenPages() async throws {
        let (queue, pass) = make()
        pages.withLock { $0 = [SyncPage("", cursor: 10, hasMore: true)] }
        fixture.server.enqueue(.refused(.throttled(retryAfter: .seconds(30))))
        applying.value = { _ in
            try await queue.enqueue(Mutation("z1"))
            try await queue.flush()
        }
        #expect(try await pass.run().end == .paused(until: fixture.clock.now + .seconds(30)))
        #expect(questions == ["check", "bootstrap", "send"])
    }

    @Test("a successful pass ends a series of 429s")
    func throttledInTurns() async throws {
        let (queue, pass) = make()
        for _ in 0..<3 {
            answer("check", Refusal.throttled)
            let start = fixture.clock.now
            #expect(try await pass.run().end == .paused(until: start + .seconds(1)))
            #expect(queue.pausedUntil == start + .seconds(1))
            fixture.clock.advance(by: .seconds(3600))
            answer("check", nil)
            _ = try await pass.run()
        }
    }

    @Test("each page is one request, and is kept once it was applied")
    func paged() async throws {
        let (_, pass) = make()
        pages.withLock {
            $0 = [SyncPage("", cursor: 10, hasMore: true), SyncPage("", cursor: 20, hasMore: true)]
        }
        answer("since 20", Refusal.gone)
        let bootstraps = Locked<[Bool]>([])
        applying.value = { pull in bootstraps.withLock { $0.append(pull.isBootstrap) } }
        await #expect(throws: Refusal.self) { try await pass.run() }
        #expect(bootstraps.withLock { $0 } == [true, false])
        #expect(try await pass.cursor() == 20)
        answer("since 20", nil)
        let report = try await pass.run()
        #expect(report.end == .pulled(cursor: 21) && !report.bootstrapped)
        #expect(questions == ["check", "bootstrap", "since 10", "since 20", "check", "since 20"])
    }

    @Test("a bootstrap may come in two pages")
    func pagedBootstrap() async throws {
        let (_, pass) = make()
        pages.withLock { $0 = [SyncPage("", cursor: 10, hasMore: true)] }
        let report = try await pass.run()
        #expect(report.end == .pulled(cursor: 11) && report.bootstrapped)
    }

    @Test("after an incomplete page the cursor stays before it, and later pages are still applied")
    func pagedInPart() async throws {
        let (queue, pass) = make()
        pages.withLock {
            $0 = [
                SyncPage("", cursor: 10, hasMore: true), SyncPage("", cursor: 20, hasMore: true),
                SyncPage("", cursor: 30),
            ]
        }
        let applied = Locked(0)
        applying.value = { pull in
            let count = applied.withLock { count in
                count += 1
                return count
            }
            if count == 2 { try await queue.enqueue(Mutation("a1")) }
            // The third page is applied completely.
            if count == 3 { _ = try await pull.unsent(among: ["z"]) }
        }
        #expect(try await pass.run().end == .pulledInPart(cursor: 10))
        #expect(applied.withLock { $0 } == 3)
        #expect(try await pass.cursor() == 10)
    }

    @Test("a page that does not move the cursor is the last of its pass")
    func noProgress() async throws {
        let (_, pass) = make()
        pages.withLock { $0 = [SyncPage("", cursor: 10, hasMore: true), SyncPage("", cursor: 10, hasMore: true)] }
        #expect(try await pass.run().end == .pulled(cursor: 10))
        #expect(questions == ["check", "bootstrap", "since 10"])
    }

    @Test("with a tripped breaker the pass sends no request, and ends paused for the breaker's time (B3)")
    func tripped() async throws {
        let (queue, pass) = make()
        try await queue.enqueue(Mutation("a1"))
        for _ in 0..<3 { try? await queue.pipeline.run { throw Refusal.throttled(retryAfter: .seconds(30)) } }
        #expect(fixture.breaker.status.isTripped)
        #expect(try await pass.run().end == .paused(until: fixture.clock.now + .seconds(30)))
        #expect(questions == [])
    }

    @Test("three 429s to a pass's health checks trip the breaker (B3)")
    func counted() async throws {
        let (_, pass) = make()
        answer("check", Refusal.throttled(retryAfter: .seconds(1)))
        for _ in 1...3 {
            #expect(!fixture.breaker.status.isTripped)
            _ = try await pass.run()
            fixture.clock.advance(by: .seconds(5))
        }
        #expect(questions == ["check", "check", "check"])
        #expect(fixture.breaker.status.isTripped)
    }

    @Test(
        "a 429 to any request of a pass pauses the queue and ends the pass (B3)",
        arguments: ["check", "bootstrap", "since 100"])
    func throttled(question: String) async throws {
        let (queue, pass) = make()
        if question == "since 100" { _ = try await pass.run() }
        answer(question, Refusal.throttled(retryAfter: .seconds(30)))
        let until = fixture.clock.now + .seconds(30)
        #expect(try await pass.run().end == .paused(until: until))
        #expect(queue.pausedUntil == until && questions.last == question)
        #expect(try await queue.flush().end == .paused(until: until))
        answer(question, nil)
        fixture.clock.advance(by: .seconds(30))
        guard case .pulled = try await pass.run().end else {
            Issue.record("The pause is over.")
            return
        }
    }

    @Test(
        "a failed bootstrap or increment leaves the cursor, so that the next pass repeats it", arguments: [true, false])
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

    @Test(
        "the next pass continues from a cursor that was set by hand, even if there was none before",
        arguments: [true, false])
    func setCursor(atFirst: Bool) async throws {
        let (_, pass) = make(checks: false)
        if !atFirst { _ = try await pass.run() }
        try await pass.setCursor(40)
        #expect(try await pass.cursor() == 40)
        let report = try await pass.run()
        #expect(report.end == .pulled(cursor: 41) && !report.bootstrapped)
        #expect(questions.last == "since 40")
    }

    @Test("a cursor that is set during a pass takes effect: the pass ends, and the next continues from it")
    func setMeanwhile() async throws {
        let (_, pass) = make(checks: false)
        applying.value = { _ in try await pass.setCursor(40) }
        #expect(try await pass.run().end == .pulled(cursor: 40))
        #expect(try await pass.cursor() == 40)
        applying.value = nil
        #expect(try await pass.run().end == .pulled(cursor: 41))
        #expect(questions == ["bootstrap", "since 40"])
    }

    @Test("of two cursors that are set at the same time, the later one is stored, even if the store gets it first")
    func setTwice() async throws {
        let box = Box<SyncPass>()
        let hooked = HookedStore(inner: store, at: .before("set")) { try await box.value?.setCursor(2) }
        let (_, pass) = make(hooked)
        box.value = pass
        try await pass.setCursor(1)
        #expect(try await pass.cursor() == 2)
        box.value = nil
    }

    /// Two passes that were requested at once; the first sends "a1".
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    private func twoAtOnce() async throws -> (
        first: Task<SyncPass.Report, any Error>, second: Task<SyncPass.Report, any Error>
    ) {
        let (queue, pass) = make()
        fixture.server.hold()
        try await queue.enqueue(Mutation("a1"))
        let tasks = (first: Task.immediate { try await pass.run() }, second: Task.immediate { try await pass.run() })
        await fixture.server.waitForCalls(1)
        return tasks
    }

    @Test("a pass requested during another joins it")
    func joined() async throws {
        // Only on these systems a test can know that a task has asked.
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let (first, second) = try await twoAtOnce()
        fixture.server.release()
        #expect(try await first.value.end == .pulled(cursor: 100))
        #expect(try await second.value.end == .pulled(cursor: 100))
        #expect(questions == ["check", "send", "bootstrap"])
    }

    @Test("a failed pass fails for callers who joined before it pulled; later callers get another pass")
    func joinedOneThatFails() async throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let (queue, pass) = make()
        fixture.server.hold()
        try await queue.enqueue(Mutation("a1"))
        answer("bootstrap", Refusal.unavailable)
        let first = Task.immediate { try await pass.run() }
        await fixture.server.waitForCalls(1)
        let second = Task.immediate { try await pass.run() }
        fixture.server.release()
        await #expect(throws: Refusal.self) { try await first.value }
        await #expect(throws: Refusal.self) { try await second.value }
        #expect(questions == ["check", "send", "bootstrap"])

        let third = Box<Task<SyncPass.Report, any Error>>()
        answer("bootstrap", nil)
        applying.value = { _ in
            guard third.value == nil else { return }
            third.value = Task.immediate { try await pass.run() }
            throw Refusal.gone
        }
        await #expect(throws: Refusal.self) { try await pass.run() }
        #expect(try await third.value?.value.end == .pulled(cursor: 100))
        applying.value = nil
    }

    @Test("a cancelled pass reports the cancellation, pulls nothing, and loses nothing")
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
        #expect(try await queue.status.pending == 0)
    }

    @Test("if one of two callers is cancelled, the other gets its own pass after the first is over")
    func oneOfTwoCancelled() async throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let (first, second) = try await twoAtOnce()
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        fixture.server.release()
        #expect(try await second.value.end == .pulled(cursor: 100))
        #expect(questions == ["check", "send", "check", "send", "bootstrap"])
    }

    @Test("a pass requested while another pulls runs after it: the running pass may have missed a change (B12)")
    func askedForWhilePulling() async throws {
        let (queue, pass) = make()
        let second = Box<Task<SyncPass.Report, any Error>>()
        applying.value = { [applying] _ in
            applying.value = nil
            try await queue.enqueue(Mutation("a1"))
            guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
            second.value = Task.immediate { try await pass.run() }
        }
        #expect(try await pass.run().end == .pulledInPart(cursor: 0))
        guard let second = second.value else { return }
        let report = try await second.value
        #expect(report.end == .pulled(cursor: 100) && report.flush?.delivered == 1)
        #expect(questions == ["check", "bootstrap", "check", "send", "bootstrap"])
    }

    @Test("a caller who joined a pass and is cancelled ends only its own waiting (P49)")
    func joinerCancelled() async throws {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let (first, second) = try await twoAtOnce()
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        fixture.server.release()
        #expect(try await first.value.end == .pulled(cursor: 100))
        #expect(questions == ["check", "send", "bootstrap"])
    }
}
