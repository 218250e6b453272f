import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// How policies and pipelines behave as entries of a registry.
@Suite(.timeLimit(.minutes(20))) struct RegistryEntryTests {
    let clock = ManualClock()

    /// A custom policy with state that is not a registry entry.
    private final class Counting: Policy {
        let isReset = Box(false)
        var isAtRest: Bool { false }
        func reset() { isReset.value = true }
    }

    private struct Entry: RegistryEntry {
        var isAtRest: Bool { false }
        static func isUniquelyHeld(_ entry: inout Entry) -> Bool { true }
        func reset() {}
        func canBeReconfigured(like other: Entry) -> Bool { true }
        func reconfigured(like other: Entry) -> Entry? { self }
    }

    private final class Keeping: AroundPolicy, RegistryEntry {
        let count: Box<Int>
        init(_ count: Int) { self.count = Box(count) }
        func around(
            _ call: inout PolicyCall, isolation: isolated (any Actor)?,
            _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
        ) async throws -> Verdict { try await inside(call.deadline) }
        var isAtRest: Bool { count.value == 0 }
        func canBeEvicted(unusedFor time: Duration) -> Bool { time >= .seconds(10) }
        func reset() { count.value = 0 }
        func canBeReconfigured(like other: Keeping) -> Bool { true }
        func reconfigured(like other: Keeping) -> Self? {
            count.value = other.count.value
            return self
        }
    }

    /// Its state can't be stored, and it can't take over another circuit's memory.
    private struct Forgetful: CircuitStateMachine {
        var state: CircuitState { .closed }
        var description: String { "forgetful" }
        func admit(at now: MonotonicInstant, using generator: SplitMix64) -> CircuitAdmission { .allow(ticket: 0) }
        func record(_ end: CallEnd, ticket: UInt64, using generator: SplitMix64) -> Bool { false }
        func reset(keepingGrowth: Bool) {}
        func status(at now: MonotonicInstant) -> CircuitBreakerStatus {
            CircuitBreakerStatus(state: .closed, failureCount: 0)
        }
    }

    @Test("by default an entry that is not at rest is not evicted")
    func defaults() {
        #expect(!Entry().canBeEvicted(unusedFor: .seconds(3600)))
        let pipeline = Pipeline(timeBase: clock) {
            Counting()
            CircuitBreaker(timeBase: clock)
        }
        #expect(!pipeline.canBeEvicted(unusedFor: .seconds(3600)))
    }

    @Test("a breaker that closed recently is not evicted yet")
    func closedLately() throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(2), timeBase: clock)
        breaker.trip(for: .seconds(5))
        #expect(!breaker.canBeEvicted(unusedFor: .zero))
        clock.advance(by: .seconds(5))
        try breaker.tryAcquire().complete(.success)
        try breaker.tryAcquire().complete(.transient)
        #expect(!breaker.canBeEvicted(unusedFor: .seconds(600)))
        clock.advance(by: .seconds(600))
        #expect(breaker.canBeEvicted(unusedFor: .seconds(600)))
    }

    @Test("a breaker can take its own settings, whatever its circuit")
    func itself() {
        let breaker = CircuitBreaker(circuit: Forgetful(), timeBase: clock)
        #expect(breaker.canBeReconfigured(like: breaker) && breaker.reconfigured(like: breaker) === breaker)
        #expect(!breaker.canBeReconfigured(like: CircuitBreaker(circuit: Forgetful(), timeBase: clock)))
    }

    @Test("a pipeline can't take the settings of a pipeline with other, fewer or more policies")
    func otherPolicies() {
        func pipeline(@PipelineBuilder _ elements: () -> [Pipeline.Element]) -> Pipeline {
            Pipeline(timeBase: clock, elements)
        }
        let breaker = pipeline { CircuitBreaker(timeBase: clock) }
        let others = [
            pipeline {},
            pipeline { Bulkhead(limit: 1, timeBase: clock) },
            pipeline { Timeout(limit: .seconds(1)) },
            pipeline {
                CircuitBreaker(timeBase: clock)
                Retry()
            },
        ]
        for other in others {
            #expect(!breaker.canBeReconfigured(like: other) && !other.canBeReconfigured(like: breaker))
            #expect(breaker.reconfigured(like: other) == nil)
        }
    }

    @Test("settings that would replace a breaker inside another policy are rejected, and an open circuit stays open")
    func breakerReplaced() {
        func pipeline() -> Pipeline {
            Pipeline(timeBase: clock) { AroundBreaker(breaker: CircuitBreaker(timeBase: clock)) }
        }
        let (first, second) = (pipeline(), pipeline())
        let pipelines = PipelineRegistry<String> { _ in first }
        pipelines["/a"].circuitBreakers[0].trip()
        #expect(pipelines.reconfigure { _ in second } == ["/a"])
        #expect(pipelines["/a"].circuitBreakers[0].state == .open)
        #expect(pipelines.reconfigure { _ in first } == [])
        #expect(first.adapted(to: second).dropped == ["AroundBreaker"])
        #expect(first.adapted(to: first).dropped == [])
    }

    @Test("a custom policy is reset with its pipeline, even if it is not a registry entry")
    func ownReset() {
        let own = Counting()
        Pipeline(timeBase: clock) { own }.reset()
        #expect(own.isReset.value)
    }

    @Test("another pipeline's settings go to the policy with the same name, on the same time base")
    func adaptedByName() {
        func pipeline(_ names: [String], on timeBase: ManualClock) -> Pipeline {
            Pipeline(timeBase: timeBase) { for name in names { Bulkhead(name, limit: 1, timeBase: timeBase) } }
        }
        let old = pipeline(["a", "b"], on: clock)
        func kept(_ other: Pipeline) -> [Bool] {
            let (adapted, _) = old.adapted(to: other)
            return adapted.policies(of: Bulkhead.self).map { one in
                old.policies(of: Bulkhead.self).contains { $0 === one && $0.name == one.name }
            }
        }
        #expect(kept(pipeline(["b", "c", "a"], on: clock)) == [true, false, true])
        #expect(kept(pipeline(["b", "a"], on: ManualClock())) == [false, false])
    }

    @Test("an around policy with state decides about eviction, and is reconfigured and reset, like any other policy")
    func around() {
        let keeping = Keeping(1)
        var pipeline = Pipeline(timeBase: clock) { keeping }
        #expect(!pipeline.isAtRest && !pipeline.canBeEvicted(unusedFor: .seconds(9)))
        #expect(pipeline.canBeEvicted(unusedFor: .seconds(10)))
        pipeline = pipeline.reconfigured(like: Pipeline(timeBase: clock) { Keeping(2) })!
        #expect(pipeline.policies(of: Keeping.self).map { $0 === keeping } == [true] && keeping.count.value == 2)
        #expect(pipeline.adapted(to: Pipeline(timeBase: clock) {}).dropped == ["Keeping"])
        pipeline.reset()
        #expect(pipeline.isAtRest)
    }

    @Test("by default a slow reader of a registry's changes gets the newest thousand")
    func keptByDefault() async {
        let registry = PolicyRegistry<Int, CircuitBreaker> { [clock] _ in
            CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        }
        let stream = registry.transitions()
        for key in 0...1_000 { registry[key].trip(for: .seconds(5)) }
        for await change in stream { return #expect(change.key == 1) }
    }

    @Test(
        "a slow reader of a registry's changes gets the newest: as many as requested, but at least one",
        arguments: [2, 1, 0])
    func kept(limit: Int) async {
        let registry = PolicyRegistry<String, CircuitBreaker> { [clock] _ in
            CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        }
        let stream = registry.transitions(bufferingNewest: limit)
        for key in ["a", "b", "c"] { registry[key].trip(for: .seconds(5)) }
        var keys: [String] = []
        for await change in stream {
            keys.append(change.key)
            if change.key == "c" { break }
        }
        #expect(keys == Array(["a", "b", "c"].suffix(max(1, limit))))
    }
}
