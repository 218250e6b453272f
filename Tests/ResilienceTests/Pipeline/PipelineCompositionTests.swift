import Resilience
import ResilienceTesting
import TestSupport
import Testing

@Suite struct PipelineCompositionTests {
    let journal = Journal()

    @Test("an around policy directly inside another is not skipped")
    func aroundInAround() async throws {
        let journal = Journal()
        let pipeline = Pipeline {
            PlainAround(name: "outer", journal: journal)
            PlainAround(name: "inner", journal: journal)
        }
        try await pipeline.run { journal.note("operation") }
        #expect(journal.lines == ["outer in", "inner in", "operation", "inner out", "outer out"])
    }

    @Test("a pipeline without policies runs the operation and passes its result or error on")
    func empty() async throws {
        let pipeline = Pipeline {}
        #expect(try await pipeline.run { 7 } == 7)
        await #expect(throws: Outage()) { try await pipeline.run { throw Outage() } }
    }

    @Test("any number of policies keep their order", arguments: [1, 7, 8, 9, 16, 17, 40])
    func length(count: Int) async throws {
        let pipeline = Pipeline { for index in 0..<count { ScriptedPolicy("\(index)", journal) } }
        #expect(try await pipeline.run { 7 } == 7)
        let inward = (0..<count).map { "\($0) in" }
        let outward = (0..<count).reversed().map { "\($0) out success round 1" }
        #expect(journal.lines == inward + outward)
    }

    @Test("the outermost of many policies can ask for another round", arguments: [8, 9, 17])
    func roundOfMany(count: Int) async throws {
        let pipeline = Pipeline(timeBase: RushingClock()) {
            Retry(maxRetries: 1)
            for index in 1..<count { ScriptedPolicy("\(index)", journal) }
        }
        let operation = ScriptedOperation<Void, Int>([.failure(Outage()), .success(7)])
        #expect(try await pipeline.run { try await operation() } == 7)
        #expect(journal.lines.count == 4 * (count - 1))
    }

    @Test("a rejection is a rejection for every outer policy, however long the list", arguments: [1, 7, 8, 20])
    func rejectionAcrossCuts(between: Int) async {
        let pipeline = Pipeline {
            ScriptedPolicy("outermost", journal)
            for index in 0..<between { ScriptedPolicy("\(index)") }
            ScriptedPolicy("innermost", in: [.reject(Outage())])
        }
        await #expect(throws: Outage()) { try await pipeline.run {} }
        #expect(journal.lines == ["outermost in", "outermost out rejected round 1"])
    }

    @Test("a replaced error keeps its verdict for every outer policy, however long the list", arguments: [1, 7, 20])
    func replacementAcrossCuts(between: Int) async {
        let pipeline = Pipeline {
            ScriptedPolicy("outermost", journal)
            for index in 0..<between { ScriptedPolicy("\(index)") }
            ScriptedPolicy("innermost", out: [.replace(Outage(number: 2), .permanent)])
        }
        await #expect(throws: Outage(number: 2)) { try await pipeline.run { throw Outage() } }
        #expect(journal.lines == ["outermost in", "outermost out permanent round 1"])
    }

    @Test("a pipeline inside another pipeline adds its policies at its own place")
    func nested() async throws {
        let inner = Pipeline("inner") {
            ScriptedPolicy("b", journal); ScriptedPolicy("c", journal)
        }
        let outer = Pipeline("outer") {
            ScriptedPolicy("a", journal)
            inner
            ScriptedPolicy("d", journal)
        }
        try await outer.run {}
        #expect(journal.lines.prefix(4) == ["a in", "b in", "c in", "d in"])
        #expect(outer.elements.map(\.name) == ["a", "b", "c", "d"])
    }

    @PipelineBuilder private func common() -> [Pipeline.Element] {
        Retry("again")
        Throttle("pace", limit: .perSecond(10))
    }

    @Test("the builder accepts a function's elements, and single elements of another pipeline")
    func elements() {
        let outer = Pipeline("outer") {
            common()
            Timeout("attempt", limit: .seconds(1))
        }
        let without = Pipeline("without") { for element in outer.elements where element.name != "again" { element } }
        #expect(outer.elements.map(\.name) == ["again", "pace", "attempt"])
        #expect(without.elements.map(\.name) == ["pace", "attempt"])
    }

    @Test("a pipeline lists its policies of one type, in order, including policies that run the inside in a task")
    func policiesOfAType() {
        let (first, second) = (Throttle("first", limit: .perSecond(1)), Throttle("second", limit: .perSecond(2)))
        let pipeline = Pipeline {
            first
            Timeout("total", limit: .seconds(9))
            second
        }
        #expect(
            pipeline.policies(of: Throttle.self).map(ObjectIdentifier.init)
                == [first, second].map(ObjectIdentifier.init))
        #expect(pipeline.policies(of: Timeout.self).map(\.name) == ["total"])
        #expect(pipeline.policies(of: Bulkhead.self).isEmpty)
        #expect(pipeline.policies(of: (any StatusReporting).self).map(\.name) == ["first", "second"])
    }

    @Test("the builder accepts if, if-else and for", arguments: [true, false])
    func builder(wanted: Bool) {
        let pipeline = Pipeline {
            if wanted { Retry("optional") }
            if wanted { Retry("either") } else { Timeout("or", limit: .seconds(1)) }
            for index in 0..<2 { Bulkhead("\(index)", limit: 1) }
        }
        #expect(pipeline.elements.map(\.name) == (wanted ? ["optional", "either", "0", "1"] : ["or", "0", "1"]))
    }

    @Test("a pipeline describes its policies, their order and their settings")
    func description() {
        let pipeline = Pipeline {
            Timeout("total", limit: .seconds(30))
            Bulkhead("room", limit: 3, queue: 9)
            Throttle("pace", limit: .perSecond(10, burst: 20))
        }
        #expect(
            pipeline.elements.map(\.description) == [
                "total: 30 s", "room: 3 at a time, 9 queued",
                "pace: 10 per 1 s, burst 20, rejects at once",
            ])
    }

    @Test("a pipeline uses the time base of its policies, or the system's")
    func timeBase() {
        let clock = ManualClock()
        #expect(
            Pipeline {
                Retry(); Bulkhead(limit: 1, timeBase: clock)
            }.timeBase === clock)
        #expect(Pipeline { Retry() }.timeBase === SystemTimeBase.shared)
        #expect(Pipeline(timeBase: clock) { Retry() }.timeBase === clock)
    }

    @Test("policies with two time bases trap, with a message that names both")
    func mixedTimeBases() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Pipeline("mixed") {
                Bulkhead("first", limit: 1); Bulkhead("second", limit: 1, timeBase: ManualClock())
            }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("mixed") && message.contains("first") && message.contains("second"))
    }

    @Test("a policy with another time base than the pipeline's own traps, with a message that names both")
    func foreignTimeBase() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Pipeline("manual", timeBase: ManualClock()) { Throttle("paced", limit: .perSecond(1)) }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("manual") && message.contains("paced"))
    }

    @Test("a policy that would wait for its own call's permit traps if a pipeline contains it twice, even by nesting")
    func twice() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let bulkhead = Bulkhead("shared", limit: 1)
            let inner = Pipeline("inner") { bulkhead }
            _ = Pipeline("outer") {
                bulkhead
                inner
            }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("outer") && message.contains("shared"))
        await #expect(processExitsWith: .failure) {
            let breaker = CircuitBreaker()
            _ = Pipeline {
                breaker
                breaker
            }
        }
        await #expect(processExitsWith: .failure) {
            let throttle = Throttle(limit: .perSecond(1))
            _ = Pipeline {
                throttle
                throttle
            }
        }
    }

    @Test("an around policy that can't nest in itself also traps if it is in a pipeline twice")
    func aroundTwice() async {
        await #expect(processExitsWith: .failure) {
            final class Gate: AroundPolicy {
                let traits = PolicyTraits(canNestInItself: false)
                func around(
                    _ call: inout PolicyCall, isolation: isolated (any Actor)?,
                    _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
                ) async throws -> Verdict { try await inside(call.deadline) }
            }
            let gate = Gate()
            _ = Pipeline {
                gate
                gate
            }
        }
    }

    @Test("only classes can be the same object: structs that can't nest in themselves may occur several times")
    func structs() async {
        await #expect(processExitsWith: .success) {
            struct Holding: Policy {
                let number: Int
                var traits: PolicyTraits { PolicyTraits(canNestInItself: false) }
            }
            _ = Pipeline {
                for number in 0..<100 { Holding(number: number) }
            }
        }
    }

    @Test("any other policy may be in a pipeline twice")
    func twiceWithoutHolding() async throws {
        let policy = ScriptedPolicy("again", journal)
        let pipeline = Pipeline {
            policy
            policy
        }
        #expect(try await pipeline.run { 7 } == 7)
        #expect(journal.lines.count == 4)
    }

    @Test("an operation can take its attempt and its deadline")
    func call() async throws {
        let clock = ManualClock()
        let pipeline = Pipeline("named", timeBase: clock) { Timeout(limit: .seconds(5)) }
        let attempt = try await pipeline.run { (attempt: CallAttempt) in attempt }
        #expect(attempt.number == 1 && attempt.deadline == clock.now + .seconds(5))
    }
}
