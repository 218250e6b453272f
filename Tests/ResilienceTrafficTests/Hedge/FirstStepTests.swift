import Dispatch
import Resilience
import ResilienceTesting
import Testing

@testable import ResilienceTraffic

/// Hedged calls whose first copy begins on its caller's thread, and may block it.
@Suite(.timeLimit(.minutes(5))) struct FirstStepTests {
    private let clock = ManualClock()

    private func hedge(after delay: Duration = .milliseconds(100), maxHedges: Int = 1) -> Hedge {
        Hedge(after: .constant(delay), maxHedges: maxHedges, budget: .tokens(capacity: 1000), timeBase: clock)
    }

    private func pipeline(_ hedge: Hedge, within limit: Duration = .seconds(60)) -> Pipeline {
        Pipeline(timeBase: clock, isIdempotent: true) {
            Timeout(limit: limit)
            hedge
        }
    }

    /// Ready before the calls begin, so that it runs before a copy that begins on another thread.
    private enum Step: Equatable {
        case other
        case copy(Int)
    }

    /// Runs a call beside a task that is ready before it.
    /// - Parameter block: How long the first copy blocks its thread before it waits.
    private func run(_ pipeline: Pipeline, block: Duration = .zero) throws -> (begun: [Step], took: Duration) {
        let begun = Kept([Step]())
        let start = clock.now
        try clock.run { [clock] in
            async let other: Void = begun.change { $0.append(.other) }
            try await pipeline.runHedged { attempt in
                begun.change { $0.append(.copy(attempt.hedge)) }
                guard attempt.hedge == 0 else { return }
                clock.advance(by: block)
                try await clock.sleep(for: .seconds(9))
            }
            await other
        }
        #expect(clock.sleepers.isEmpty)
        return (begun.value, start.duration(to: clock.now))
    }

    @Test("a hedge waits for a first copy that blocks its thread; after two such copies, calls begin on other threads")
    func blocking() throws {
        let hedge = hedge()
        let pipeline = pipeline(hedge)
        var (begun, took) = try run(pipeline, block: .milliseconds(99))
        #expect(begun == [.copy(0), .other, .copy(1)] && took == .milliseconds(100))
        (begun, took) = try run(pipeline, block: .milliseconds(150))
        #expect(begun == [.copy(0), .other, .copy(1)] && took == .milliseconds(150))
        #expect(try run(pipeline).begun.first == .copy(0))
        // A copy that ends without waiting also counts as late.
        try clock.run { [clock] in try await pipeline.runHedged { clock.advance(by: .milliseconds(100)) } }
        (begun, took) = try run(pipeline)
        #expect(begun == [.other, .copy(0), .copy(1)] && took == .milliseconds(100))
        hedge.reset()
        #expect(try run(pipeline).begun.first == .copy(0))
    }

    @Test("two late calls within 100 move the next 10 000 to other threads; a single one, or two further apart, do not")
    func rule() {
        var steps = FirstSteps()
        func begin(_ count: Int) -> Set<Bool> { Set((0..<count).map { _ in steps.mayBeHere() }) }
        for _ in 0..<3 {
            steps.wasLate()
            #expect(begin(100) == [true])
        }
        for _ in 0..<3 {
            steps.wasLate()
            #expect(begin(99) == [true])
            steps.wasLate()
            #expect(begin(10_000) == [false])
            #expect(begin(100) == [true])
        }
    }

    @Test("the first copy begins on another thread if an actor calls, or if the hedge begins at once")
    func elsewhere() throws {
        #expect(try run(pipeline(hedge(after: .zero))).begun == [.other, .copy(0), .copy(1)])
        let begun = Kept([Step]())
        try clock.run {
            async let other: Void = begun.change { $0.append(.other) }
            try await Caller().run(pipeline(hedge())) { begun.change { $0.append(.copy(0)) } }
            await other
        }
        #expect(begun.value == [.other, .copy(0)])
    }

    private actor Caller {
        func run(_ pipeline: Pipeline, _ operation: @escaping @Sendable () -> Void) async throws {
            try await pipeline.runHedged { operation() }
        }
    }

    /// Blocks a thread until the task is cancelled, and reports the cancellation.
    private final class Gate: Sendable {
        private let semaphore = DispatchSemaphore(value: 0)
        private let blocked = PolicyWaiter()

        func blockUntilCancelled() async throws {
            await withTaskCancellationHandler {
                blocked.resume()
                semaphore.wait()
            } onCancel: {
                semaphore.signal()
            }
            try Task.checkCancellation()
        }

        func isBlocked(on clock: ManualClock) async { _ = await blocked.wait(until: .distantFuture, on: clock) }
    }

    @Test("a caller that is cancelled or out of time cancels a first copy that blocks its thread")
    func cancelled() async throws {
        for isTimeout in [false, true] {
            let (gate, clock) = (Gate(), clock)
            let pipeline = pipeline(hedge(), within: .milliseconds(150))
            let call = Task { try await pipeline.runHedged { try await gate.blockUntilCancelled() } }
            await gate.isBlocked(on: clock)
            if isTimeout { clock.advance(by: .milliseconds(150)) } else { call.cancel() }
            switch await call.result {
            case .success: Issue.record("it blocks until it is cancelled")
            case .failure(let error): #expect(isTimeout ? error is TimedOut : error is CancellationError)
            }
            #expect(clock.sleepers.isEmpty)
        }
    }

    @Test("a losing first copy is cancelled at once, even if a losing hedge takes long to end")
    func lost() throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            hedge(after: .milliseconds(1), maxHedges: 2)
            breaker
        }
        let winner = try clock.run { [clock] in
            try await pipeline.runHedged { attempt in
                switch attempt.hedge {
                case 0:
                    try? await clock.sleep(for: .seconds(5))
                    throw Failed()
                case 1: try await clock.sleep(for: .seconds(1))
                default:
                    await withCheckedContinuation { continuation in
                        _ = clock.schedule(at: clock.now + .seconds(30)) { continuation.resume() }
                    }
                }
                return attempt.hedge
            }
        }
        #expect(winner == 1 && !breaker.status.isTripped)
    }

    private struct Failed: Error, VerdictConvertible {
        var verdict: Verdict { .transient }
    }

    @Test("in any order of events, the call ends once and leaves nothing behind", arguments: UInt64(0)..<60)
    func anyOrder(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let pipeline = pipeline(hedge(maxHedges: 2))
        for _ in 0..<20 {
            let times = (0..<3).map { _ in Duration.milliseconds(Int.random(in: 0...300, using: &random)) }
            let block = Duration.milliseconds(Int.random(in: 0...220, using: &random))
            let cancelAfter = Duration.milliseconds(Int.random(in: 1...600, using: &random))
            let running = Kept(0)
            try clock.run(seed: seed) { [clock] in
                let call = Task {
                    try await pipeline.runHedged { attempt in
                        running.change { $0 += 1 }
                        defer { running.change { $0 -= 1 } }
                        if attempt.hedge == 0 { clock.advance(by: block) }
                        try await clock.sleep(for: times[attempt.hedge])
                    }
                }
                let canceller = Task {
                    try await clock.sleep(for: cancelAfter)
                    call.cancel()
                }
                if case .failure(let error) = await call.result { #expect(error is CancellationError) }
                canceller.cancel()
                #expect(running.value == 0)
            }
            #expect(clock.sleepers.isEmpty)
        }
    }
}

private final class Kept<Value: Sendable>: Sendable {
    private let locked: Locked<Value>
    init(_ value: Value) { locked = Locked(value) }

    var value: Value { locked.withLock { $0 } }
    func change(_ change: (inout Value) -> Void) { locked.withLock { change(&$0) } }
}
