import Resilience
import ResilienceTesting
import Testing

@testable import ResilienceTraffic

@Suite struct FirstStepsTests {
    private actor Caller {}

    @Test("a first copy begins on its caller's thread, but on no actor, and not if a hedge begins at once")
    func usual() {
        let steps = FirstSteps()
        #expect([steps.mayBeHere(in: nil, before: nil), steps.mayBeHere(in: nil, before: 5)] == [true, true])
        #expect([steps.mayBeHere(in: Caller(), before: 5), steps.mayBeHere(in: nil, before: 0)] == [false, false])
        steps.took(.nanoseconds(4), of: 5)
        steps.took(.seconds(9), of: nil)
        #expect([steps.mayBeHere(in: nil, before: 5)] == [true])
    }

    @Test("after a first step as long as the delay, the next calls begin elsewhere, and then one tries again")
    func late() {
        let steps = FirstSteps()
        steps.took(.nanoseconds(5), of: 5)
        #expect([steps.mayBeHere(in: nil, before: nil)] == [true], "no hedge waits for it")
        let next = (0..<FirstSteps.callsElsewhere).map { _ in steps.mayBeHere(in: nil, before: 5) }
        #expect(!next.contains(true))
        #expect([steps.mayBeHere(in: nil, before: 5)] == [true])
        steps.took(.nanoseconds(5), of: 5)
        steps.reset()
        #expect([steps.mayBeHere(in: nil, before: 5)] == [true])
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

    @Test("a first copy that blocks its thread has its hedge when it waits; the next call's begins on another thread")
    func blocking() throws {
        let hedge = Hedge(
            after: .constant(.milliseconds(100)), budget: .tokens(capacity: 1000), timeBase: clock)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) { hedge }
        var (begun, took) = try steps(pipeline)
        #expect(begun == [.copy(0), .other, .copy(1)] && took == .milliseconds(100))
        (begun, took) = try steps(pipeline, block: .milliseconds(150))
        #expect(begun.first == .copy(0) && begun.contains(.copy(1)) && took == .milliseconds(150))
        (begun, took) = try steps(pipeline)
        #expect(begun == [.other, .copy(0), .copy(1)] && took == .milliseconds(100))
        hedge.reset()
        (begun, took) = try steps(pipeline)
        #expect(begun.first == .copy(0))
        // Also of one that ends without having waited.
        try clock.run { try await pipeline.runHedged { clock.advance(by: .milliseconds(100)) } }
        #expect(try steps(pipeline).begun.first == .other)
    }
}
