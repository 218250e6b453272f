import Resilience
import ResilienceTesting
import Testing

@testable import ResilienceTraffic

@Suite struct FirstStepsTests {
    @Test("a first copy begins on its caller's thread, also after one that was late for once")
    func usual() {
        var steps = FirstSteps()
        for _ in 0..<3 {
            steps.wasLate()
            let next = (0..<FirstSteps.closeCalls).map { _ in steps.mayBeHere() }
            #expect(!next.contains(false))
        }
    }

    @Test("after two that were late close together, the next calls begin elsewhere, and then one tries again")
    func late() {
        var steps = FirstSteps()
        steps.wasLate()
        for _ in 1..<FirstSteps.closeCalls { _ = steps.mayBeHere() }
        for _ in 0..<2 {
            steps.wasLate()
            let next = (0..<FirstSteps.callsElsewhere).map { _ in steps.mayBeHere() }
            #expect(!next.contains(true))
            #expect([steps.mayBeHere()] == [true])
        }
    }

    /// Ready before the calls begin, so that it runs before a copy that another thread begins.
    private enum Step: Equatable {
        case other
        case copy(Int)
    }

    private final class Begun: Sendable {
        private let steps = Locked<[Step]>([])

        func add(_ step: Step) { steps.withLock { $0.append(step) } }
        var all: [Step] { steps.withLock { $0 } }
    }

    private let clock = ManualClock()

    /// Runs a call beside a task that is ready before it.
    /// - Parameter block: How long the first copy keeps its thread before it waits.
    private func steps(_ pipeline: Pipeline, block: Duration = .zero) throws -> (begun: [Step], took: Duration) {
        let begun = Begun()
        let start = clock.now
        try clock.run { [clock] in
            let other = Task { begun.add(.other) }
            try await pipeline.runHedged { attempt in
                begun.add(.copy(attempt.hedge))
                guard attempt.hedge == 0 else { return }
                clock.advance(by: block)
                try await clock.sleep(for: .seconds(9))
            }
            await other.value
        }
        return (begun.all, start.duration(to: clock.now))
    }

    @Test(
        "a first copy that blocks its thread has its hedge in time; if it does so again, the next calls begin elsewhere"
    )
    func blocking() throws {
        let hedge = Hedge(after: .constant(.milliseconds(100)), budget: .tokens(capacity: 1000), timeBase: clock)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) { hedge }
        var (begun, took) = try steps(pipeline)
        #expect(begun == [.copy(0), .other, .copy(1)] && took == .milliseconds(100))
        (begun, took) = try steps(pipeline, block: .milliseconds(150))
        #expect(begun == [.copy(0), .other, .copy(1)] && took == .milliseconds(150))
        (begun, took) = try steps(pipeline)
        #expect(begun.first == .copy(0))
        // Also one that ends without having waited.
        try clock.run { try await pipeline.runHedged { clock.advance(by: .milliseconds(100)) } }
        (begun, took) = try steps(pipeline)
        #expect(begun == [.other, .copy(0), .copy(1)] && took == .milliseconds(100))
        hedge.reset()
        #expect(try steps(pipeline).begun.first == .copy(0))
    }

    @Test("a call from an actor, and one whose hedge begins at once, begin their first copies elsewhere")
    func elsewhere() throws {
        for delay in [Duration.zero, .milliseconds(100)] {
            let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
                Hedge(after: .constant(delay), budget: .tokens(capacity: 1000), timeBase: clock)
            }
            let begun = Begun()
            try clock.run {
                let other = Task { begun.add(.other) }
                try await Caller().run(pipeline, isOnActor: delay > .zero) { begun.add(.copy($0.hedge)) }
                await other.value
            }
            #expect(begun.all.first == .other && begun.all.contains(.copy(0)))
        }
    }

    private actor Caller {
        nonisolated func run(
            _ pipeline: Pipeline, isOnActor: Bool, _ operation: @escaping @Sendable (CallAttempt) async throws -> Void
        ) async throws {
            if isOnActor { try await run(pipeline, operation) } else { try await pipeline.runHedged(operation) }
        }

        private func run(
            _ pipeline: Pipeline, _ operation: @escaping @Sendable (CallAttempt) async throws -> Void
        ) async throws {
            try await pipeline.runHedged(operation)
        }
    }
}
