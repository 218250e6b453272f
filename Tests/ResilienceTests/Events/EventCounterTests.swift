import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite struct EventCounterTests {
    private enum Told: PolicyEventDetail {
        case bell, knock

        var kind: String { self == .bell ? "bell" : "knock" }
        var description: String { "at the door" }
    }

    private func event(_ detail: some PolicyEventDetail = Told.bell, policy: String = "door", pipeline: String? = nil)
        -> PolicyEvent
    {
        PolicyEvent(policy: policy, pipeline: pipeline, time: .second(0), detail: detail)
    }

    private func key(_ kind: String, _ policy: String = "door", in pipeline: String? = nil) -> EventCounts.Key {
        EventCounts.Key(pipeline: pipeline, policy: policy, kind: kind)
    }

    @Test("by default a thousand keys are counted separately")
    func limit() {
        let counter = EventCounter()
        for number in 0..<1_001 { counter.receive(event(policy: "\(number)")) }
        #expect(counter.counts.byKey.count == 1_000 && counter.counts.others == 1)
    }

    @Test("during an outage and a recovery every kind of event is counted, by pipeline and policy (A10)")
    func metrics() throws {
        let clock = ManualClock()
        let counter = EventCounter()
        let breaker = CircuitBreaker("circuit", tripping: .consecutiveFailures(2), timeBase: clock)
        let pipeline = Pipeline("activities", observers: PolicyObservers(counter)) {
            Retry(maxRetries: 1, backoff: .constant(.seconds(1)))
            breaker
        }
        let fetch = ScriptedOperation<Void, Int>([.failure(Outage()), .failure(Outage())], fallback: .success(7))
        try clock.run {
            for _ in 0..<3 { _ = try? await pipeline.run { try await fetch() } }
            clock.advance(by: .seconds(60))
            _ = try await pipeline.run { try await fetch() }
        }
        #expect(
            counter.counts.byKey == [
                key("allowed", "circuit", in: "activities"): 1,
                key("failure", "circuit", in: "activities"): 2,
                key("opened", "circuit", in: "activities"): 1,
                key("rejected", "circuit", in: "activities"): 2,
                key("halfOpened", "circuit", in: "activities"): 1,
                key("recovered", "circuit", in: "activities"): 1,
                key("retrying", "retry", in: "activities"): 1,
                key("gaveUp", "retry", in: "activities"): 1,
                key("attemptFailed", "call", in: "activities"): 2,
                key("attemptSucceeded", "call", in: "activities"): 1,
                key("failed", "call", in: "activities"): 1,
                key("rejected", "call", in: "activities"): 2,
                key("succeeded", "call", in: "activities"): 1,
            ])
        #expect(counter.counts.others == 0)
    }

    @Test("a policy's events are counted separately for each pipeline, and without a pipeline, and can be summed")
    func keys() {
        let counter = EventCounter()
        for pipeline in [nil, "a", "b", "b"] { counter.receive(event(pipeline: pipeline)) }
        counter.receive(event(Told.knock))
        counter.receive(event(policy: "window"))
        let counts = counter.counts
        #expect(counts.byKey[key("bell")] == 1 && counts.byKey[key("bell", in: "b")] == 2)
        #expect(counts.count("bell", of: "door") == 4 && counts.count("knock", of: "door") == 1)
        #expect(counts.count("bell", of: "window") == 1 && counts.count("knock", of: "window") == 0)
    }

    @Test("new keys beyond the limit are counted together; earlier keys still count separately", arguments: [0, 1, 2])
    func limit(limit: Int) {
        let counter = EventCounter(limit: limit)
        for round in 1...2 {
            for number in 0..<10 { counter.receive(event(policy: "\(number)")) }
            let counts = counter.counts
            #expect(counts.byKey.count == limit)
            #expect(counts.byKey.values.allSatisfy { $0 == round } && counts.others == round * (10 - limit))
        }
    }

    @Test("a reset returns the counts, and makes room for new keys")
    func reset() {
        let counter = EventCounter(limit: 1)
        counter.receive(event(policy: "old"))
        counter.receive(event(policy: "other"))
        let counts = counter.reset()
        #expect(counts.byKey == [key("bell", "old"): 1] && counts.others == 1)
        #expect(counter.counts.byKey.isEmpty && counter.counts.others == 0)
        counter.receive(event(policy: "new"))
        #expect(counter.counts.byKey == [key("bell", "new"): 1])
    }

    @Test("a reset does not change the limit")
    func limitAfterReset() {
        let counter = EventCounter(limit: 1)
        for _ in 0..<3 {
            for policy in ["a", "b"] { counter.receive(event(policy: policy)) }
            #expect(counter.counts.byKey.count == 1 && counter.counts.others == 1)
            counter.reset()
        }
    }

    @Test("an event's own code may read the counter that counts it, without deadlock (P7)")
    func asksBack() {
        struct Curious: PolicyEventDetail {
            let counter: EventCounter
            var kind: String { "seen \(counter.counts.byKey.count)" }
            var description: String { kind }
        }
        let counter = EventCounter()
        counter.receive(event(Curious(counter: counter)))
        counter.receive(event(Curious(counter: counter)))
        #expect(Set(counter.counts.byKey.keys) == [key("seen 0"), key("seen 1")])
    }

    @Test("while many threads count and reset, no event is lost or counted twice")
    func concurrent() async {
        let counter = EventCounter(limit: 2)
        let taken = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for number in 0..<2_000 { counter.receive(event(policy: "\(number % 3)")) }
                    return 0
                }
            }
            group.addTask { (0..<500).reduce(0) { sum, _ in sum + total(counter.reset()) } }
            return await group.reduce(0, +)
        }
        #expect(taken + total(counter.counts) == 8_000)
    }

    private func total(_ counts: EventCounts) -> Int { counts.byKey.values.reduce(counts.others, +) }

    @Test("a key's description is its name for an exporter")
    func description() {
        #expect("\(key("opened", "circuit", in: "activities"))" == "activities/circuit.opened")
        #expect("\(key("opened", "circuit"))" == "circuit.opened")
    }

    @Test("calls and attempts are counted by outcome, with their durations and waits")
    func outcomes() throws {
        let clock = ManualClock()
        let counter = EventCounter()
        let pipeline = Pipeline("calls", timeBase: clock, observers: PolicyObservers(counter)) {
            Retry(maxRetries: 1, backoff: .constant(.seconds(2)))
        }
        try clock.run { [clock] in
            try await pipeline.run { attempt in
                try await clock.sleep(for: .milliseconds(40))
                if attempt.number == 1 { throw Judged(verdict: .transient) }
            }
        }
        func key(_ outcome: CallOutcome) -> EventCounts.CallKey {
            EventCounts.CallKey(pipeline: "calls", outcome: outcome)
        }
        let counts = counter.counts
        #expect(
            Set(counts.calls.keys) == [key(.success)] && Set(counts.attempts.keys) == [key(.success), key(.transient)])
        let calls = try #require(counts.calls[key(.success)])
        #expect(calls.count == 1 && abs(calls.sum - 2.08) < 1e-9)
        let bound = try #require(calls.bounds.firstIndex(of: 2.5))
        #expect(calls.counts[bound] == 1)
        #expect(counts.callAttempts[key(.success)]?.sum == 2)
        #expect(counts.waits.map { "\($0.key.policy) \($0.value.sum)" } == ["retry 2.0"])
        #expect(counter.reset().calls == counts.calls && counter.counts.calls.isEmpty)
    }

    @Test(
        "a value counts in the first bucket whose bound is not below it; values above all bounds have their own bucket")
    func bounds() {
        var values = CountedValues.seconds
        for value in [0, 0.001, 0.0011, 60, 61, .infinity] { values.add(value) }
        #expect(values.count == 6 && values.counts.first == 2 && values.counts[1] == 1)
        #expect(values.counts.suffix(2) == [1, 2] && values.counts.count == values.bounds.count + 1)
        var twice = values
        twice.add(values)
        #expect(twice.counts == values.counts.map { $0 * 2 })
    }

    @Test("an event with a count adds that count, but a negative count adds nothing")
    func several() {
        struct Several: PolicyEventDetail {
            let number: Int
            var measure: EventMeasure { .count(number) }
            var description: String { "\(number)" }
        }
        let counter = EventCounter(limit: 1)
        for number in [3, 4, -5, 0] { counter.receive(event(Several(number: number))) }
        for number in [2, -1] { counter.receive(event(Several(number: number), policy: "other")) }
        #expect(counter.counts.byKey.map(\.value) == [7] && counter.counts.others == 2)
        for policy in ["door", "other"] { counter.receive(event(Several(number: .max), policy: policy)) }
        #expect(counter.counts.byKey.map(\.value) == [.max] && counter.counts.others == .max)
    }

    @Test("any number of pipeline and policy names gives a bounded number of keys for calls and waits")
    func boundedCalls() {
        let counter = EventCounter(limit: 10)
        for number in 0..<1_000 {
            let waits = [PolicyWait(policy: "\(number)", duration: .seconds(1))]
            counter.receive(
                event(Pipeline.Event.succeeded(took: .zero, attempts: 1, waits: waits), policy: "call", pipeline: "p"))
            counter.receive(
                event(Pipeline.Event.succeeded(took: .zero, attempts: 1), policy: "call", pipeline: "\(number)"))
        }
        #expect(counter.counts.calls.count == 10 && counter.counts.waits.count == 10)
    }

    @Test("if a pipeline's successes are counted, its later failures are too, even at the limit")
    func roomForFailures() async {
        let counter = EventCounter(limit: 20)
        let pipelines = (0..<30).map { number in
            Pipeline("\(number)", observers: PolicyObservers(counter)) {}
        }
        for pipeline in pipelines { try? await pipeline.run {} }
        for pipeline in pipelines { try? await pipeline.run { throw Outage() } }
        let ends = counter.counts.byKey.filter { !$0.key.kind.hasPrefix("attempt") }
        #expect(ends.keys.count { $0.kind == "succeeded" } == 20 && ends.keys.count { $0.kind == "failed" } == 20)
        #expect(counter.counts.calls.values.reduce(0) { $0 + $1.count } == 40 && counter.counts.others == 40)
    }

    @Test("event kinds made from data give a bounded number of keys")
    func kinds() {
        struct Numbered: PolicyEventDetail {
            let number: Int
            var kind: String { "\(number)" }
            var description: String { kind }
        }
        let counter = EventCounter(limit: 1)
        for number in 0..<200 { counter.receive(event(Numbered(number: number))) }
        #expect(counter.counts.byKey.count == 100 && counter.counts.others == 100)
    }
}
