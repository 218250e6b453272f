import Dispatch
import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceTraffic

/// Calls whose first copy keeps its caller's thread when a hedge is due.
@Suite(.timeLimit(.minutes(5))) struct BlockedHedgeTests {
    private let clock = ManualClock()
    private let recorder = EventRecorder()

    private func hedge(maxHedges: Int = 1, budget: RetryBudget = .tokens(capacity: 1000)) -> Hedge {
        Hedge(after: .constant(.milliseconds(100)), maxHedges: maxHedges, budget: budget, timeBase: clock)
    }

    private func pipeline(_ hedge: Hedge) -> Pipeline {
        Pipeline("search", timeBase: clock, isIdempotent: true, observers: PolicyObservers(recorder)) { hedge }
    }

    private var events: [Hedge.Event] { recorder.events() }

    private enum Tag {
        @TaskLocal static var name = "none"
    }

    /// Blocks a thread until it is released, and says that it does.
    private final class Gate: Sendable {
        private let semaphore = DispatchSemaphore(value: 0)
        private let blocked = PolicyWaiter()

        func block() {
            blocked.resume()
            semaphore.wait()
        }

        func blockUntilCancelled() async throws {
            await withTaskCancellationHandler {
                block()
            } onCancel: {
                release()
            }
            try Task.checkCancellation()
        }

        func release() { semaphore.signal() }
        func isBlocked(on clock: ManualClock) async { _ = await blocked.wait(until: .distantFuture, on: clock) }
    }

    // MARK: Threads that are really blocked

    @Test("an operation that blocks its thread until it is cancelled is cancelled when its hedge wins")
    func blocksUntilCancelled() async throws {
        let (gate, pipeline) = (Gate(), pipeline(hedge()))
        async let result = pipeline.runHedged { attempt in
            if attempt.hedge == 0 { try await gate.blockUntilCancelled() }
            return attempt.hedge
        }
        await gate.isBlocked(on: clock)
        clock.advance(by: .milliseconds(100))
        #expect(try await result == 1)
        #expect(events == [.hedged(1, after: .milliseconds(100)), .won(1, after: .milliseconds(100))])
        #expect(clock.sleepers.isEmpty)
    }

    @Test("one that blocks its thread and then fails leaves the call to its hedge")
    func blocksThenFails() async throws {
        let (gate, pipeline) = (Gate(), pipeline(hedge()))
        async let result = pipeline.runHedged { attempt in
            guard attempt.hedge == 0 else {
                // The first copy fails while this one runs.
                gate.release()
                try await clock.sleep(for: .seconds(1))
                return attempt.hedge
            }
            gate.block()
            throw Judged(verdict: .transient)
        }
        await gate.isBlocked(on: clock)
        clock.advance(by: .milliseconds(100))
        try await clock.waitForSleeper(dueIn: .seconds(1))
        clock.advance(by: .seconds(1))
        #expect(try await result == 1)
        #expect(clock.sleepers.isEmpty)
    }

    @Test("a caller that is cancelled while the first copy blocks cancels all copies, and the hedges that begin later")
    func callerCancelled() async throws {
        for hasHedge in [false, true] {
            let (gate, pipeline) = (Gate(), pipeline(hedge(maxHedges: 2)))
            let call = Task {
                try await pipeline.runHedged { attempt in
                    if attempt.hedge > 0 { try await clock.sleep(for: .seconds(9)) }
                    try await gate.blockUntilCancelled()
                }
            }
            await gate.isBlocked(on: clock)
            if hasHedge {
                clock.advance(by: .milliseconds(100))
                try await clock.waitForSleeper(dueIn: .seconds(9))
            }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            clock.advance(by: .seconds(1))
            #expect(clock.sleepers.isEmpty)
            #expect(events.count == (hasHedge ? 1 : 0))
        }
    }

    @Test("an alarm that comes after the caller was cancelled begins no hedge")
    func lateAlarm() async throws {
        let (gate, pipeline) = (Gate(), pipeline(hedge()))
        let call = Task { try await pipeline.runHedged { _ in gate.block() } }
        await gate.isBlocked(on: clock)
        call.cancel()
        clock.advance(by: .milliseconds(100))
        gate.release()
        // It succeeded all the same.
        try await call.value
        #expect(events.isEmpty && clock.sleepers.isEmpty)
    }

    @Test("a timeout around the hedge ends the call while the first copy blocks")
    func deadline() async throws {
        let (gate, hedge) = (Gate(), hedge())
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true, observers: PolicyObservers(recorder)) {
            Timeout(limit: .milliseconds(150))
            hedge
        }
        let call = Task {
            try await pipeline.runHedged { attempt in
                if attempt.hedge > 0 { try await clock.sleep(for: .seconds(9)) }
                try await gate.blockUntilCancelled()
            }
        }
        await gate.isBlocked(on: clock)
        clock.advance(by: .milliseconds(100))
        try await clock.waitForSleeper(dueIn: .seconds(9))
        clock.advance(by: .milliseconds(50))
        await #expect(throws: TimedOut.self) { try await call.value }
        #expect(events == [.hedged(1, after: .milliseconds(100))] && clock.sleepers.isEmpty)
    }

    // MARK: Virtual time

    /// Runs a call whose first copy keeps its thread for a time, and then waits for another.
    @discardableResult
    private func run(
        _ pipeline: Pipeline, block: Duration, then wait: Duration, options: RunOptions = RunOptions()
    ) throws -> (copy: Int, took: Duration) {
        let start = clock.now
        let copy = try clock.run { [clock] in
            try await pipeline.runHedged(options: options) { attempt in
                if attempt.hedge == 0 { clock.advance(by: block) }
                try await clock.sleep(for: attempt.hedge == 0 ? wait : .milliseconds(250))
                return attempt.hedge
            }
        }
        #expect(clock.sleepers.isEmpty)
        return (copy, start.duration(to: clock.now))
    }

    @Test(
        "the hedge is due when the first copy suspends, ends, or a moment before or after", arguments: [99, 100, 101])
    func races(milliseconds: Int) throws {
        let block = Duration.milliseconds(milliseconds)
        var (copy, took) = try run(pipeline(hedge()), block: block, then: .seconds(1))
        #expect(copy == 1 && took == .milliseconds(max(100, milliseconds) + 250))
        (copy, took) = try run(pipeline(hedge()), block: block, then: .milliseconds(100))
        #expect(copy == 0 && took == block + .milliseconds(100))
        recorder.reset()
        let pipeline = pipeline(hedge())
        let result = try clock.run { [clock] in
            try await pipeline.runHedged { attempt in
                clock.advance(by: block)
                return attempt.hedge
            }
        }
        #expect(result == 0 && clock.sleepers.isEmpty && events.isEmpty, "it had ended before a hedge could begin")
    }

    @Test("several hedges begin while the first copy still has the call's lead")
    func several() throws {
        let (copy, took) = try run(pipeline(hedge(maxHedges: 3)), block: .milliseconds(150), then: .seconds(9))
        #expect(copy == 1 && took == .milliseconds(400))
        let begun = events.filter { if case .hedged = $0 { true } else { false } }
        #expect(
            begun == [
                .hedged(1, after: .milliseconds(150)), .hedged(2, after: .milliseconds(250)),
                .hedged(3, after: .milliseconds(350)),
            ])
    }

    @Test("an exhausted budget stops these hedges, too")
    func budget() throws {
        let budget = RetryBudget.tokens(capacity: 14)
        let hedge = hedge(maxHedges: 2, budget: budget)
        let (copy, _) = try run(pipeline(hedge), block: .milliseconds(150), then: .seconds(1))
        #expect(copy == 1 && hedge.status.hedgesLeft == 1)
        #expect(
            events == [
                .hedged(1, after: .milliseconds(150)), .budgetExhausted, .won(1, after: .milliseconds(400)),
            ])
        recorder.reset()
        let empty = self.hedge(budget: .tokens(capacity: 13))
        #expect(try run(pipeline(empty), block: .milliseconds(150), then: .seconds(1)).copy == 0)
        #expect(events == [.budgetExhausted])
    }

    @Test("no alarm is set where no hedge may begin after the delay")
    func noAlarm() throws {
        let hedge = hedge()
        let never = Hedge(after: .never, timeBase: clock)
        let none = self.hedge(maxHedges: 0)
        let soon = RunOptions(deadline: clock.now + .milliseconds(100))
        for (hedge, options) in [
            (hedge, RunOptions(isIdempotent: false)), (never, RunOptions()), (none, RunOptions()), (hedge, soon),
        ] {
            let pipeline = Pipeline(timeBase: clock, isIdempotent: true) { hedge }
            try clock.run { [clock] in
                try await pipeline.runHedged(options: options) {
                    #expect(clock.sleepers.allSatisfy { $0 == options.deadline })
                }
            }
        }
        try clock.run { [clock] in
            try await self.pipeline(hedge).runHedged { #expect(clock.sleepers == [clock.now + .milliseconds(100)]) }
        }
        #expect(clock.sleepers.isEmpty)
    }

    @Test("a hedge has the caller's task-local values, or at least this package's if the first copy blocks")
    func taskLocals() throws {
        let chaosTag = "canary"
        let deadline = CallDeadline(after: .seconds(60), on: clock)
        for block in [Duration.zero, .milliseconds(150)] {
            let pipeline = pipeline(hedge())
            let seen = Locked<[String]>([])
            try clock.run { [clock] in
                // The clock is moved where other values hold.
                try await Tag.$name.withValue("caller") {
                    try await deadline.run {
                        try await CallOrigin(priority: .low, attempt: 2).run {
                            try await Chaos.tagged(chaosTag) {
                                try await pipeline.runHedged { attempt in
                                    if attempt.hedge == 0 {
                                        Tag.$name.withValue("stranger") { clock.advance(by: block) }
                                        return try await clock.sleep(for: .seconds(9))
                                    }
                                    seen.withLock { $0.append(Tag.name) }
                                    #expect(CallDeadline.current?.instant == deadline.instant)
                                    #expect(CallOrigin.current?.attempt == 2 && CallOrigin.current?.priority == .low)
                                    #expect(Chaos.currentTag == chaosTag)
                                }
                            }
                        }
                    }
                }
            }
            #expect(seen.withLock { $0 } == [block == .zero ? "caller" : "none"])
        }
    }

    @Test("a caretaker has its caller's priority, and raises none")
    func priority() async throws {
        let (gate, pipeline) = (Gate(), pipeline(hedge()))
        let call = Task(priority: .low) {
            try await pipeline.runHedged { attempt in
                if attempt.hedge == 0 { try await gate.blockUntilCancelled() }
                return Task.basePriority
            }
        }
        await gate.isBlocked(on: clock)
        clock.advance(by: .milliseconds(100))
        #expect(try await call.value == .low)
    }

    @Test(
        "whatever comes first, with steps in any order, the call ends once and leaves nothing",
        arguments: UInt64(0)..<60)
    func anyOrder(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let hedge = hedge(maxHedges: 2)
        let pipeline = pipeline(hedge)
        for _ in 0..<20 {
            let times = (0..<3).map { _ in Duration.milliseconds(Int.random(in: 0...300, using: &random)) }
            let block = Duration.milliseconds(Int.random(in: 0...220, using: &random))
            let cancelAfter = Duration.milliseconds(Int.random(in: 1...600, using: &random))
            let running = Running()
            try clock.run(seed: seed) { [clock] in
                let call = Task {
                    try await pipeline.runHedged { attempt in
                        running.change(by: 1)
                        defer { running.change(by: -1) }
                        if attempt.hedge == 0 { clock.advance(by: block) }
                        try await clock.sleep(for: times[attempt.hedge])
                    }
                }
                let canceller = Task {
                    try await clock.sleep(for: cancelAfter)
                    call.cancel()
                }
                switch await call.result {
                case .success: break
                case .failure(let error): #expect(error is CancellationError)
                }
                canceller.cancel()
                #expect(running.count == 0)
            }
            #expect(clock.sleepers.isEmpty)
        }
    }
}

private final class Running: Sendable {
    private let state = Locked(0)

    func change(by change: Int) { state.withLock { $0 += change } }
    var count: Int { state.withLock { $0 } }
}
