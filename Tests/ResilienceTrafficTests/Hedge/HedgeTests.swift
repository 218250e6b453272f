import Foundation
import Resilience
import ResilienceTraffic
import ResilienceTesting
import TestSupport
import Testing

/// A service whose copies end by script, per attempt: the first, its hedge, and so on.
private final class Service: Sendable {
    enum End: Sendable {
        case answer(after: Duration)
        case fail(after: Duration, Verdict)
    }

    private let clock: ManualClock
    private let ends: [End]
    /// The copies that have begun, and the cancelled ones.
    let begun = Locked<[Int]>([])
    let cancelled = Locked<[Int]>([])
    private let running = Locked(0)

    init(_ clock: ManualClock, _ ends: [End]) { (self.clock, self.ends) = (clock, ends) }

    var stillRunning: Int { running.withLock { $0 } }

    func call(_ attempt: CallAttempt) async throws -> Int {
        let copy = attempt.hedge
        begun.withLock { $0.append(copy) }
        running.withLock { $0 += 1 }
        defer { running.withLock { $0 -= 1 } }
        let end = ends[min(copy, ends.count - 1)]
        do {
            switch end {
            case .answer(let wait):
                try await clock.sleep(for: wait)
            case .fail(let wait, let verdict):
                try await clock.sleep(for: wait)
                throw Judged(verdict: verdict)
            }
        } catch let error as CancellationError {
            cancelled.withLock { $0.append(copy) }
            throw error
        }
        return copy
    }
}

@Suite(.timeLimit(.minutes(20))) struct HedgeTests {
    let clock = ManualClock()
    let recorder = EventRecorder()
    let bulkhead: Bulkhead
    let breaker: CircuitBreaker

    init() {
        bulkhead = Bulkhead(limit: 8, timeBase: clock)
        breaker = CircuitBreaker(tripping: .consecutiveFailures(5), timeBase: clock)
    }

    private func hedge(
        _ delay: HedgeDelay = .constant(.milliseconds(100)), maxHedges: Int = 1,
        on verdicts: VerdictSet = [.transient, .uncertain], budget: RetryBudget? = nil
    ) -> Hedge {
        Hedge(after: delay, maxHedges: maxHedges, on: verdicts, budget: budget, timeBase: clock)
    }

    private func pipeline(_ hedge: Hedge) -> Pipeline {
        Pipeline("search", timeBase: clock, isIdempotent: true, observers: PolicyObservers(recorder)) {
            hedge
            breaker
            bulkhead
        }
    }

    private func service(_ ends: Service.End...) -> Service { Service(clock, ends) }

    private var events: [Hedge.Event] { recorder.events() }

    /// Runs one call, and returns its length. Nothing of the call may be left.
    @discardableResult
    private func run(
        _ pipeline: Pipeline, _ service: Service, options: RunOptions = RunOptions(isIdempotent: true)
    ) throws -> (result: Int, took: Duration) {
        let start = clock.now
        defer {
            #expect(service.stillRunning == 0 && bulkhead.inUse == 0 && clock.sleepers.isEmpty)
        }
        let result = try clock.run { try await pipeline.runHedged(options: options) { try await service.call($0) } }
        return (result, start.duration(to: clock.now))
    }

    // MARK: Delays

    @Test("a fast call has no hedge")
    func fast() throws {
        let service = service(.answer(after: .milliseconds(99)))
        let (result, took) = try run(pipeline(hedge()), service)
        #expect(result == 0 && took == .milliseconds(99))
        #expect(service.begun.withLock { $0 } == [0] && events.isEmpty)
    }

    @Test("after the delay a hedge begins and wins; the first copy is cancelled and not counted (P28)")
    func hedgeWins() throws {
        let service = service(.answer(after: .seconds(9)), .answer(after: .milliseconds(30)))
        let (result, took) = try run(pipeline(hedge()), service)
        #expect(result == 1 && took == .milliseconds(130))
        #expect(service.cancelled.withLock { $0 } == [0])
        #expect(events == [.hedged(1, after: .milliseconds(100)), .won(1, after: .milliseconds(130))])
        #expect(breaker.status.failureCount == 0)
    }

    @Test("if the first copy still comes first, the hedge is cancelled and not counted (P28)")
    func firstWins() throws {
        let service = service(.answer(after: .milliseconds(120)), .answer(after: .seconds(9)))
        let (result, took) = try run(pipeline(hedge()), service)
        #expect(result == 0 && took == .milliseconds(120))
        #expect(service.cancelled.withLock { $0 } == [1])
        #expect(events == [.hedged(1, after: .milliseconds(100))])
    }

    @Test("several hedges begin in order, and each copy knows its number")
    func several() throws {
        let service = service(
            .answer(after: .seconds(9)), .answer(after: .seconds(9)), .answer(after: .milliseconds(10)))
        let (result, took) = try run(pipeline(hedge(maxHedges: 3)), service)
        #expect(result == 2 && took == .milliseconds(210))
        #expect(service.begun.withLock { $0 } == [0, 1, 2])
        #expect(Set(service.cancelled.withLock { $0 }) == [0, 1])
    }

    // MARK: Failures

    @Test("a hedge begins at once when the first copy fails; if the hedge succeeds, the call succeeds (P27)")
    func afterFailure() throws {
        let service = service(.fail(after: .milliseconds(10), .transient), .answer(after: .milliseconds(20)))
        let (result, took) = try run(pipeline(hedge(.never)), service)
        #expect(result == 1 && took == .milliseconds(30))
        #expect(events == [.hedged(1, after: .milliseconds(10)), .won(1, after: .milliseconds(30))])
    }

    @Test("if all copies fail, the last failure is thrown, and an inner breaker has counted each failure")
    func allFail() throws {
        let service = service(.fail(after: .milliseconds(10), .transient), .fail(after: .milliseconds(10), .uncertain))
        #expect(throws: Judged(verdict: .uncertain)) { try run(pipeline(hedge()), service) }
        #expect(breaker.status.failureCount == 2)
    }

    @Test("a hedge that a policy rejects stops further hedges, and does not hide the first copy's end")
    func rejectedHedge() throws {
        let room = Bulkhead(limit: 1, timeBase: clock)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            hedge(maxHedges: 3)
            room
        }
        let answering = service(.answer(after: .milliseconds(900)))
        #expect(try run(pipeline, answering).took == .milliseconds(900))
        let failing = service(.fail(after: .milliseconds(900), .transient))
        #expect(throws: Judged(verdict: .transient)) { try run(pipeline, failing) }
        #expect(answering.begun.withLock { $0 } == [0] && failing.begun.withLock { $0 } == [0])
    }

    @Test("a rejected first copy ends the call: a hedge would also be rejected")
    func rejected() throws {
        breaker.setMode(.isolated)
        let service = service(.answer(after: .zero))
        #expect(throws: CircuitOpen.self) { try run(pipeline(hedge()), service) }
        #expect(events.isEmpty)
    }

    @Test("results are judged once per copy; a failure is returned only if no copy succeeds")
    func judged() throws {
        let judgements = Locked<[Int]>([])
        func call(_ good: @escaping @Sendable (Int) -> Bool) throws -> Int {
            let pipeline = pipeline(hedge(maxHedges: 2))
            return try clock.run {
                try await pipeline.runHedged(judging: { result in
                    judgements.withLock { $0.append(result) }
                    return good(result) ? .success : .transient
                }) { $0.hedge }
            }
        }
        #expect(try call { $0 == 1 } == 1)
        #expect(judgements.withLock { $0 } == [0, 1])
        #expect(try call { _ in false } == 2)
    }

    // MARK: Limits

    @Test("neither a non-idempotent call nor an operation of `run` gets a hedge")
    func notTwice() async throws {
        let service = service(.fail(after: .seconds(1), .transient))
        let pipeline = pipeline(hedge())
        #expect(throws: Judged.self) { try run(pipeline, service, options: RunOptions(isIdempotent: false)) }
        #expect(throws: Judged.self) { try clock.run { try await pipeline.run { try await service.call($0) } } }
        #expect(service.begun.withLock { $0 } == [0, 0] && events == [.notCopied(.runOnce)])
        #expect(try await Pipeline {}.runHedged { 7 } == 7)
    }

    @Test("a hedge whose calls can't have copies reports that once, and counts all these calls (P65)")
    func uncopied() async throws {
        let hedge = hedge()
        let unheard = Pipeline("unheard", timeBase: clock) { hedge }
        try await unheard.run {}
        #expect(hedge.status.ranOnce == 1, "nobody hears of it, so it is not yet told")
        let pipeline = pipeline(hedge)
        try await pipeline.run {}
        _ = try await pipeline.run(judging: { _ in .success }) { 7 }
        try await pipeline.acquire().complete(.success)
        try await pipeline.open { _ in
        } holding: { _, _ in
        }
        try await hedge.run {}
        #expect(events == [.notCopied(.runOnce)])
        #expect(hedge.status.ranOnce == 6 && hedge.status.unknownEffects == 0)
        // A caller who declares `isIdempotent` gets no report.
        try await pipeline.run(options: RunOptions(isIdempotent: false)) {}
        try await pipeline.runHedged(options: RunOptions(isIdempotent: false)) {}
        try await pipeline.runHedged(options: RunOptions(isIdempotent: true)) {}
        #expect(hedge.status.ranOnce == 6 && hedge.status.unknownEffects == 0)
        let unsaid = Pipeline(timeBase: clock, observers: PolicyObservers(recorder)) { hedge }
        for _ in 0..<3 { try await unsaid.runHedged {} }
        #expect(events == [.notCopied(.runOnce), .notCopied(.unknownEffects)])
        #expect(hedge.status.ranOnce == 6 && hedge.status.unknownEffects == 3)
        #expect(events.map(\.severity) == [.notice, .notice] && "\(events[1])".contains("isIdempotent: true"))
        hedge.reset()
        #expect(hedge.status.ranOnce == 0 && hedge.status.unknownEffects == 0)
        try await pipeline.run {}
        #expect(events.last == .notCopied(.runOnce) && events.count == 3)
    }

    @Test("each call counts once, however many attempts it has; a hedge without allowed copies reports nothing (P65)")
    func uncopiedAttempts() throws {
        let (hedge, none) = (hedge(), hedge(maxHedges: 0))
        for hedge in [hedge, none] {
            let pipeline = Pipeline(timeBase: clock, observers: PolicyObservers(recorder)) {
                Retry(maxRetries: 2, backoff: .none)
                hedge
            }
            #expect(throws: Judged.self) {
                try clock.run { try await pipeline.run { throw Judged(verdict: .transient) } }
            }
            try clock.run { try await pipeline.runHedged {} }
        }
        #expect(hedge.status.ranOnce == 1 && hedge.status.unknownEffects == 1)
        #expect(none.status.ranOnce == 0 && none.status.unknownEffects == 0)
        #expect(events == [.notCopied(.runOnce), .notCopied(.unknownEffects)])
    }

    @Test("an exhausted budget stops the hedge, but never the first copy (P27)")
    func budget() throws {
        let hedge = hedge(budget: .tokens(capacity: 14))
        let slow = service(.answer(after: .seconds(1)), .answer(after: .seconds(9)))
        #expect(hedge.status.hedgesLeft == 1)
        try run(pipeline(hedge), slow)
        #expect(try run(pipeline(hedge), slow).result == 0)
        #expect(events == [.hedged(1, after: .milliseconds(100)), .budgetExhausted])
    }

    @Test("the default budget is 10 % of the calls plus ten hedges per second; a winning hedge costs one hedge")
    func ownBudget() throws {
        let hedge = hedge(.constant(.milliseconds(10)))
        let slow = service(.answer(after: .milliseconds(11)))
        // A hundred for the window's ten seconds, and ten per hundred calls in it.
        for _ in 0..<500 { try run(pipeline(hedge), slow) }
        let count = recorder.count { (event: Hedge.Event) in if case .hedged = event { true } else { false } }
        #expect((145...151).contains(count), "\(count)")
    }

    @Test("a hedge that never left a bulkhead's queue refunds its cost to the budget")
    func queuedIsPaidBack() throws {
        let room = Bulkhead(limit: 1, queue: 5, timeBase: clock)
        let hedge = hedge(budget: .tokens(capacity: 14))
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            hedge
            room
        }
        for _ in 0..<3 { try run(pipeline, service(.answer(after: .milliseconds(150)))) }
        #expect(hedge.status.hedgesLeft == 1 && room.inUse == 0 && room.queued == 0)
    }

    @Test("a breaker around a queue and a timeout ignores a queued copy whose turn came only when another copy won")
    func decidedInTheQueue() throws {
        let room = Bulkhead(limit: 1, queue: 9, timeBase: clock)
        let strict = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            hedge()
            strict
            room
            Timeout(limit: .seconds(9))
        }
        for _ in 0..<3 { try run(pipeline, service(.answer(after: .milliseconds(150)))) }
        #expect(strict.state == .closed && strict.status.failureCount == 0 && room.inUse == 0 && room.queued == 0)
    }

    @Test("a failure that is injected instead of the operation costs the budget as much as a real failure")
    func injected() throws {
        let chaos = Chaos(injecting: [.fault()], timeBase: clock)
        chaos.turnOn(for: .seconds(3_600))
        for isInjected in [false, true] {
            let hedge = hedge(budget: .tokens(capacity: 28))
            let pipeline = Pipeline(timeBase: clock, isIdempotent: true, observers: PolicyObservers(recorder)) {
                hedge
                if isInjected { chaos }
            }
            let before = events.count
            for _ in 0..<10 { _ = try? run(pipeline, service(.fail(after: .zero, .transient))) }
            #expect(events.dropFirst(before).count { $0 != .budgetExhausted } == 2 && hedge.status.hedgesLeft == 0)
        }
    }

    @Test("a rejected hedge refunds its cost to the budget")
    func rejectedIsPaidBack() throws {
        let room = Bulkhead(limit: 1, timeBase: clock)
        let hedge = hedge(budget: .tokens(capacity: 14))
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            hedge
            room
        }
        try run(pipeline, service(.answer(after: .seconds(1))))
        #expect(hedge.status.hedgesLeft == 1)
    }

    @Test(
        "a budget shared with a retry counts each call once, even with a timeout directly around the hedge (P61)",
        arguments: [false, true])
    func sharedBudget(inTimeout: Bool) throws {
        let budget = RetryBudget.ratio(1, reserve: 0, timeBase: clock)
        let hedge = hedge(budget: budget)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            Retry(budget: budget)
            if inTimeout { Timeout(limit: .seconds(60)) }
            hedge
        }
        for _ in 0..<10 { try run(pipeline, service(.answer(after: .zero))) }
        #expect(hedge.status.hedgesLeft == 10)
        let alone = Pipeline(timeBase: clock, isIdempotent: true) { hedge }
        for _ in 0..<10 { try run(alone, service(.answer(after: .zero))) }
        #expect(hedge.status.hedgesLeft == 20)
        // A call whose hedge was faster also counts.
        try run(alone, service(.answer(after: .seconds(1)), .answer(after: .zero)))
        #expect(hedge.status.hedgesLeft == 20)
    }

    @Test(
        "a winning hedge's cost is refunded once, with an outer retry, an inner retry, or no retry (P61)",
        arguments: 0...2)
    func refund(retries: Int) throws {
        let budget = RetryBudget.tokens(capacity: 100)
        let hedge = hedge(budget: budget)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            if retries == 1 { Retry(budget: budget) }
            hedge
            if retries == 2 { Retry(budget: budget) }
        }
        // The first copies succeed, and refund one token each.
        for _ in 0..<3 { try run(pipeline, service(.answer(after: .seconds(1)), .answer(after: .seconds(9)))) }
        #expect(budget.retriesLeft == (100 - 3 * 13) / 14)
        for _ in 0..<20 {
            #expect(try run(pipeline, service(.answer(after: .seconds(1)), .answer(after: .zero))).result == 1)
        }
        #expect(budget.retriesLeft == (100 - 3 * 13) / 14)
        for _ in 0..<10 { try run(pipeline, service(.answer(after: .zero))) }
        #expect(budget.retriesLeft == (100 - 3 * 13 + 10) / 14)
    }

    @Test("the cost of a retried attempt is refunded when the attempt's first copy succeeds (P61)")
    func refundOfRetry() throws {
        let budget = RetryBudget.tokens(capacity: 100)
        let pipeline = Pipeline(timeBase: clock) {
            Retry(on: .transient, budget: budget)
            Hedge(after: .never, on: .throttled, budget: budget, timeBase: clock)
        }
        let copies = Locked(0)
        try clock.run {
            try await pipeline.runHedged {
                let copy = copies.withLock { copies in
                    copies += 1
                    return copies
                }
                if copy == 1 { throw Judged(verdict: .transient) }
            }
        }
        #expect(copies.withLock { $0 } == 2 && budget.retriesLeft == 100 / 14)
    }

    @Test("a budget that an inner retry also shares counts each call once (P61)")
    func sharedInside() throws {
        let budget = RetryBudget.ratio(1, reserve: 0, timeBase: clock)
        let hedge = hedge(budget: budget)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            Retry(budget: budget)
            hedge
            Retry(budget: budget)
        }
        for _ in 0..<10 { try run(pipeline, service(.answer(after: .zero))) }
        #expect(hedge.status.hedgesLeft == 10)
    }

    @Test(
        "a shared budget of failures counts a first copy's failure, even if a hedge hides it from the retry",
        arguments: [true, false])
    func sharedBudgetOfFailures(hasRetry: Bool) throws {
        let budget = RetryBudget.throttling(maxTokens: 10, ratio: 0.001)
        let hedge = hedge(.never, budget: budget)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            if hasRetry { Retry(budget: budget) }
            hedge
        }
        var copies = 0
        for _ in 0..<10 {
            let service = service(.fail(after: .zero, .transient), .answer(after: .zero))
            _ = try? run(pipeline, service)
            copies += service.begun.withLock { $0.count }
        }
        // Half of the tokens may be spent. A failure counts before the check whether a hedge may begin.
        #expect(copies == 10 + 5 && budget.retriesLeft == 0)
    }

    @Test("no hedge begins at or after the deadline, and the deadline ends all copies")
    func deadline() throws {
        let service = service(.answer(after: .seconds(9)))
        let pipeline = pipeline(hedge(.constant(.seconds(2)), maxHedges: 9))
        let options = RunOptions(deadline: clock.now + .seconds(4))
        #expect(throws: TimedOut.self) { try run(pipeline, service, options: options) }
        #expect(service.begun.withLock { $0 } == [0, 1] && Set(service.cancelled.withLock { $0 }) == [0, 1])
        let limited = Pipeline(timeBase: clock, isIdempotent: true) {
            Timeout(limit: .seconds(3))
            pipeline
        }
        #expect(throws: TimedOut.self) { try run(limited, service) }
    }

    @Test("a cancelled caller gets no further copies; all running ones are cancelled and awaited (P28)")
    func callerCancelled() throws {
        let service = service(.answer(after: .seconds(9)))
        let pipeline = pipeline(hedge(maxHedges: 9))
        let start = clock.now
        #expect(throws: CancellationError.self) {
            try clock.run {
                let call = Task { try await pipeline.runHedged { try await service.call($0) } }
                try await clock.sleep(for: .milliseconds(250))
                call.cancel()
                _ = try await call.value
            }
        }
        #expect(start.duration(to: clock.now) == .milliseconds(250))
        #expect(service.begun.withLock { $0 } == [0, 1, 2] && service.stillRunning == 0)
        #expect(bulkhead.inUse == 0 && breaker.status.failureCount == 0)
        #expect(recorder.events(of: Pipeline.Event.self).last?.kind == "cancelled")
    }

    @Test("a caller that is cancelled before the call runs nothing")
    func cancelledBefore() async {
        let service = service(.answer(after: .zero))
        let pipeline = pipeline(hedge())
        let call = Task {
            cancelCurrentTask()
            return try await pipeline.runHedged { try await service.call($0) }
        }
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(service.begun.withLock { $0 }.isEmpty)
    }

    @Test("a copy that ignores its cancellation is awaited, and its result is dropped (P28)")
    func stubborn() throws {
        let pipeline = pipeline(hedge())
        let start = clock.now
        let result = try clock.run {
            try await pipeline.runHedged { attempt in
                if attempt.hedge == 0 { await clock.stubbornSleep(for: .seconds(3)) }
                return attempt.hedge
            }
        }
        #expect(result == 1 && start.duration(to: clock.now) == .seconds(3))
    }

    // MARK: Percentiles

    @Test("the delay is a percentile of the latencies of the latest successes, once enough are known")
    func percentile() throws {
        let hedge = hedge(.percentile(0.9, minimumSamples: 20))
        let pipeline = pipeline(hedge)
        for number in 1...20 {
            #expect(hedge.status.delay == nil && hedge.status.samples == number - 1)
            try run(pipeline, service(.answer(after: .milliseconds(number))))
        }
        let delay = try #require(hedge.status.delay)
        #expect(delay > .milliseconds(18) && delay < .milliseconds(20))
        let slow = service(.answer(after: .seconds(9)), .answer(after: .zero))
        #expect(try run(pipeline, slow).took == delay)
        #expect(Hedge(after: .percentile(atLeast: .seconds(1), minimumSamples: 1)).status.delay == nil)
    }

    @Test(
        "failures, cancelled callers and hedges do not change the percentile; a losing first copy counts with its real time"
    )
    func whatCounts() throws {
        let hedge = hedge(.percentile(0.5, minimumSamples: 10))
        let pipeline = pipeline(hedge)
        for _ in 0..<10 { try run(pipeline, service(.answer(after: .milliseconds(100)))) }
        let before = try #require(hedge.status.delay)
        for _ in 0..<50 {
            #expect(throws: Judged.self) { try run(pipeline, service(.fail(after: .zero, .permanent))) }
            #expect(throws: CancellationError.self) {
                try clock.run {
                    let service = service(.answer(after: .seconds(1)))
                    let call = Task { try await pipeline.runHedged { try await service.call($0) } }
                    try await clock.sleep(for: .milliseconds(1))
                    call.cancel()
                    _ = try await call.value
                }
            }
        }
        // A write may take much longer than a read, and has no hedges.
        let write = RunOptions(isIdempotent: false)
        for _ in 0..<50 { try run(pipeline, service(.answer(after: .seconds(5))), options: write) }
        #expect(hedge.status.samples == 10 && hedge.status.delay == before)
        // Each hedge wins at once. If it counted, or the first copy did not, half of the calls would soon have a hedge.
        for _ in 0..<200 { try run(pipeline, service(.answer(after: .seconds(9)), .answer(after: .milliseconds(1)))) }
        // Losing copies are at most three quarters of the samples.
        #expect(hedge.status.samples == 40)
        #expect(try #require(hedge.status.delay) >= before)
    }

    @Test("a hedge with a spent budget is not at rest, so that no registry evicts it")
    func atRest() throws {
        let hedge = hedge(.constant(.zero))
        #expect(hedge.isAtRest)
        try run(pipeline(hedge), service(.answer(after: .seconds(1))))
        #expect(!hedge.isAtRest)
        clock.advance(by: .seconds(11))
        #expect(hedge.isAtRest)
        let shared = self.hedge(.constant(.zero), budget: .tokens())
        try run(pipeline(shared), service(.answer(after: .seconds(1))))
        #expect(shared.isAtRest)
    }

    @Test("a hedge does not adopt a budget with another time base")
    func otherTimeBase() {
        let hedge = hedge(budget: .tokens())
        #expect(!hedge.canBeReconfigured(like: Hedge()) && hedge.reconfigured(like: Hedge()) == nil)
        #expect(hedge.timeBase == nil && hedge.canBeReconfigured(like: self.hedge(budget: .tokens())))
        #expect(self.hedge().canBeReconfigured(like: Hedge()))
    }

    @Test("another percentile applies at once, and a constant delay drops the latencies")
    func reconfigured() throws {
        let hedge = hedge(.percentile(0.5, minimumSamples: 10))
        for number in 1...100 { try run(pipeline(hedge), service(.answer(after: .milliseconds(number)))) }
        let same = hedge.reconfigured(like: self.hedge(.percentile(0.99, minimumSamples: 10), maxHedges: 4))
        #expect(same === hedge && hedge.status.samples == 100)
        #expect(hedge.status.delay.map { $0 > .milliseconds(98) && $0 < .milliseconds(107) } == true)
        #expect("\(hedge)".contains("up to 4, after p99 of at least 10 calls"))
        _ = hedge.reconfigured(like: self.hedge())
        #expect(hedge.status.delay == .milliseconds(100) && hedge.status.samples == 0)
    }

    @Test("new settings keep the rest of the hedge's own budget; a given budget replaces it")
    func reconfiguredBudget() throws {
        let hedge = hedge()
        try run(pipeline(hedge), service(.answer(after: .seconds(1)), .answer(after: .zero)))
        let left = hedge.status.hedgesLeft
        #expect(left < self.hedge().status.hedgesLeft)
        _ = hedge.reconfigured(like: self.hedge(maxHedges: 2))
        #expect(hedge.status.hedgesLeft == left)
        _ = hedge.reconfigured(like: self.hedge(budget: .tokens(capacity: 14)))
        #expect(hedge.status.hedgesLeft == 1)
        _ = hedge.reconfigured(like: self.hedge(budget: .tokens(capacity: 28)))
        #expect(hedge.status.hedgesLeft == 2)
    }

    // MARK: With other policies

    @Test("an outer retry repeats the whole race, and each copy knows its attempt")
    func retry() throws {
        let attempts = Locked<[CallAttempt]>([])
        let hedge = hedge(.constant(.zero))
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            Retry(maxRetries: 1, backoff: .none)
            hedge
        }
        #expect(throws: Outage.self) {
            try clock.run {
                try await pipeline.runHedged { attempt -> Int in
                    attempts.withLock { $0.append(attempt) }
                    throw Outage()
                }
            }
        }
        let seen = attempts.withLock { $0 }.map { [$0.number, $0.hedge] }
        #expect(seen == [[1, 0], [1, 1], [2, 0], [2, 1]])
    }

    @Test(
        "copies that end at the caller's deadline are counted by no policy, wherever the client timeout is",
        arguments: 0..<3)
    func callersDeadlineOfClients(place: Int) throws {
        let clock = clock
        let breakers = (0..<2).map { _ in CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock) }
        let timeouts = (0..<3).map { $0 == place ? [ClientTimeout(limit: .seconds(60))] : [] }
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            for timeout in timeouts[0] { timeout }
            breakers[0]
            Hedge(after: .constant(.seconds(2)), timeBase: clock)
            for timeout in timeouts[1] { timeout }
            breakers[1]
            for timeout in timeouts[2] { timeout }
        }
        let options = RunOptions(deadline: clock.now + .seconds(5))
        let error = #expect(throws: TimedOut.self) {
            try clock.run {
                try await pipeline.runHedged(options: options) { attempt in
                    _ = await PolicyWaiter().wait(until: attempt.deadline, on: clock)
                    throw Judged(verdict: .uncertain)
                }
            }
        }
        #expect(error?.policy == "deadline" && breakers.allSatisfy { $0.state == .closed })
    }

    @Test(
        "a call whose copies all stopped at inner policies has made no attempt, and at its deadline counts as rejected")
    func nothingRan() throws {
        let room = Bulkhead(limit: 1, queue: 9, timeBase: clock)
        let permit = try room.tryAcquire()
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true, observers: PolicyObservers(recorder)) {
            hedge()
            room
        }
        let service = service(.answer(after: .zero))
        let options = RunOptions(deadline: clock.now + .seconds(1))
        let error = #expect(throws: (any Error).self) {
            try clock.run { try await pipeline.runHedged(options: options) { try await service.call($0) } }
        }
        #expect(error.map { CallFailure($0).reachedService } == false, "\(error as Any)")
        let calls: [Pipeline.Event] = recorder.events()
        #expect(calls.map(\.kind) == ["rejected"], "\(calls)")
        if case .rejected(_, let attempts, _) = calls[0] { #expect(attempts == 0) }
        permit.complete(.success)
        recorder.reset()
        breaker.setMode(.isolated)
        #expect(throws: CircuitOpen.self) { try run(self.pipeline(hedge()), service) }
        #expect(recorder.events(of: Pipeline.Event.self).map(\.kind) == ["rejected"])
    }

    @Test("a call reports the waits of the deciding copy, not the sum over all copies")
    func waits() throws {
        let throttle = Throttle(limit: .perSecond(1, burst: 1), maxWait: .seconds(60), timeBase: clock)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true, observers: PolicyObservers(recorder)) {
            hedge(.constant(.zero), maxHedges: 2)
            throttle
        }
        let service = service(.answer(after: .seconds(9)), .answer(after: .milliseconds(100)))
        #expect(try run(pipeline, service).result == 1)
        guard case .succeeded(_, let attempts, let waits) = recorder.events(of: Pipeline.Event.self).last else {
            Issue.record("\(recorder.events)")
            return
        }
        #expect(attempts == 1 && waits == [PolicyWait(policy: "throttle", duration: .seconds(1))])
    }

    @MainActor
    @Test("every copy runs outside the caller's actor, and so does the operation of a pipeline without a hedge")
    func isolation() async throws {
        for pipeline in [Pipeline { Hedge(after: .constant(.zero)) }, Pipeline {}] {
            let isOnMain = try await pipeline.runHedged { isOnMainThread() }
            #expect(!isOnMain)
        }
    }

    @Test("the call is reported once, in addition to the events of each copy's policies")
    func told() throws {
        try run(pipeline(hedge()), service(.answer(after: .seconds(9)), .answer(after: .zero)))
        let calls: [Pipeline.Event] = recorder.events()
        #expect(calls.map(\.kind) == ["attemptSucceeded", "succeeded"])
        #expect(recorder.events.allSatisfy { $0.pipeline == "search" })
    }

    @Test("a result that means failure has its details, alone or in a tuple (P76)")
    func failureDetail() throws {
        for copies in 0...1 {
            recorder.reset()
            let pipeline = pipeline(hedge(maxHedges: copies))
            _ = try clock.run { try await pipeline.runHedged(judging: { _ in .transient }) { Answer() } }
            #expect(recorder.events.last?.failure?.status == 503)
            recorder.reset()
            _ = try clock.run { try await pipeline.runHedged(judging: { _ in .transient }) { (1, Answer()) } }
            #expect(recorder.events.last?.failure?.status == 503)
        }
    }

    @Test("every copy has the caller's task-local values")
    func taskLocals() throws {
        let seen = Locked<[String]>([])
        let pipeline = pipeline(hedge(maxHedges: 2))
        try clock.run {
            try await Tag.$name.withValue("mine") {
                try await pipeline.runHedged { attempt in
                    seen.withLock { $0.append(Tag.name) }
                    if attempt.hedge < 2 { try await clock.sleep(for: .seconds(9)) }
                    seen.withLock { $0.append(Tag.name) }
                }
            }
        }
        #expect(seen.withLock { $0 } == Array(repeating: "mine", count: 4))
    }

    @Test("policies in a wrong order cause warnings")
    func warnings() {
        let hedge = hedge(maxHedges: 2)
        let around = Pipeline(timeBase: clock, isIdempotent: true) {
            hedge
            Retry(maxRetries: 3)
        }
        #expect(around.warnings.count == 1 && around.warnings[0].description.contains("12"))
        let inside = Pipeline(timeBase: clock, isIdempotent: true) {
            bulkhead
            Throttle(limit: .perSecond(1), timeBase: clock)
            hedge
        }
        #expect(inside.warnings.count == 2 || inside.warnings.count == 3, "\(inside.warnings)")
        #expect(
            Pipeline(timeBase: clock, isIdempotent: true) {
                Timeout(limit: .seconds(1))
                Retry()
                hedge
                breaker
                bulkhead
                Timeout(limit: .seconds(1))
            }.warnings.isEmpty)
    }

    @Test("invalid settings are reported, with their ranges")
    func invalid() {
        let error = #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked {
                Hedge(
                    after: .percentile(1, atLeast: .seconds(-1), minimumSamples: 0), maxHedges: 11, on: [.success])
            }
        }
        #expect(
            error?.problems.map(\.parameter) == ["percentile", "atLeast", "minimumSamples", "maxHedges", "verdicts"])
        #expect(throws: InvalidSettings.self) { try PolicySettings.checked { HedgeDelay.constant(.seconds(-1)) } }
    }

    @Test(
        "many concurrent calls in any order leave no permit in use and no copy running (P28)", arguments: UInt64(1)...20
    )
    func manyAtOnce(seed: UInt64) throws {
        let hedge = hedge(.constant(.milliseconds(5)), maxHedges: 2, budget: .ratio(1000, timeBase: clock))
        let room = Bulkhead(limit: 9, timeBase: clock)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            hedge
            room
        }
        let service = service(
            .answer(after: .milliseconds(7)), .fail(after: .milliseconds(2), .transient),
            .answer(after: .milliseconds(1)))
        try clock.run(seed: seed) {
            await withDiscardingTaskGroup { group in
                for number in 0..<20 {
                    group.addTask {
                        let call = Task { try? await pipeline.runHedged { try await service.call($0) } }
                        if number % 3 == 0 {
                            try? await clock.sleep(for: .milliseconds(number / 2))
                            call.cancel()
                        }
                        _ = await call.value
                    }
                }
            }
        }
        #expect(service.stillRunning == 0 && room.inUse == 0 && room.queued == 0 && clock.sleepers.isEmpty)
    }
}

private struct Answer: FailureDescribing {
    var failureDetail: FailureDetail { FailureDetail("Answer", status: 503) }
}

private enum Tag {
    @TaskLocal static var name = ""
}

extension ManualClock {
    /// Sleeps despite cancellation.
    fileprivate func stubbornSleep(for time: Duration) async {
        await withCheckedContinuation { continuation in
            _ = schedule(at: now + time) { continuation.resume() }
        }
    }
}

/// Whether this runs on the process's main thread.
private func isOnMainThread() -> Bool { Thread.isMainThread }
