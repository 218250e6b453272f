import Resilience
import Testing

@Suite struct PipelineDescriptionTests {
    @Test("a pipeline's description has its name, its policies in order, and their settings")
    func description() {
        let pipeline = Pipeline("activities") {
            Timeout(limit: .seconds(30))
            Bulkhead("slots", limit: 2, queue: 3)
        }
        #expect(pipeline.description == "activities\n  timeout: 30 s\n  slots: 2 at a time, 3 queued")
    }

    @Test("the usual order has no warnings")
    func usualOrder() {
        let pipeline = Pipeline {
            Timeout(limit: .seconds(30))
            Retry()
            CircuitBreaker()
            Throttle(limit: .perSecond(10, burst: 20))
            Bulkhead(limit: 16)
            Timeout(limit: .seconds(5))
        }
        #expect(pipeline.warnings.isEmpty)
    }

    @Test("two retry layers give a warning: 4 attempts times 5 are 20")
    func retriesMultiply() {
        let pipeline = Pipeline {
            Retry("outer", maxRetries: 4)
            Retry("inner", maxRetries: 3)
        }
        #expect(pipeline.warnings == ["outer around inner: attempts multiply, up to 20 per call"])
    }

    @Test("a retry of an open circuit's rejections gives a warning")
    func rejectionsRetried() {
        let pipeline = Pipeline {
            Retry(on: [.transient, .rejected])
            CircuitBreaker()
        }
        #expect(
            pipeline.warnings == ["retry around breaker: calls that an open circuit rejects are tried again"])
    }

    @Test("permits taken before a retry or a breaker give warnings")
    func permitsOutside() {
        let warnings = Pipeline {
            Bulkhead(limit: 1)
            Throttle(limit: .perSecond(1))
            Retry()
            CircuitBreaker()
        }.warnings
        #expect(
            warnings == [
                "bulkhead around retry: a call keeps its permit while it waits for its next attempt",
                "bulkhead around breaker: calls wait for their turn, and then an open circuit rejects them",
                "throttle around retry: only the first attempt of a call is throttled",
                "throttle around breaker: calls wait for their turn, and then an open circuit rejects them",
            ])
    }

    @Test("a policy that holds permits or counts slow calls gives a warning if an inner policy makes calls wait")
    func waitsFurtherIn() {
        let slow = CircuitBreaker(tripping: .slowCalls(0.5, longerThan: .seconds(1)))
        let warnings = Pipeline {
            slow
            Bulkhead(limit: 1, queue: 1)
            Throttle(limit: .perSecond(1), maxWait: .seconds(1))
            Retry("inner")
        }.warnings
        #expect(
            warnings == [
                "breaker around bulkhead: its waits count as the endpoint's slowness",
                "breaker around throttle: its waits count as the endpoint's slowness",
                "breaker around inner: its waits count as the endpoint's slowness",
                "bulkhead around throttle: a call keeps its permit while it waits for its turn",
                "bulkhead around inner: a call keeps its permit while it waits for its next attempt",
                "throttle around inner: only the first attempt of a call is throttled",
            ])
        let none = Pipeline {
            slow
            Throttle(limit: .perSecond(1))
            Bulkhead(limit: 1)
        }
        #expect(none.warnings == [])
    }

    @Test("custom policies, and around policies, give warnings by their traits")
    func traitsOfOthers() {
        struct Again: Policy {
            let name = "again"
            let traits = PolicyTraits(maxAttempts: 3, retriesRejections: true)
        }
        struct Elsewhere: AroundPolicy {
            let name = "elsewhere"
            let traits = PolicyTraits(waits: true, holdsPermits: true, measuresDuration: true)
            func around(
                _ call: inout PolicyCall, isolation: isolated (any Actor)?,
                _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
            ) async throws -> Verdict { try await inside(call.deadline) }
        }
        let warnings = Pipeline {
            Elsewhere()
            Again()
            Bulkhead(limit: 1)
            CircuitBreaker()
            Elsewhere()
        }.warnings
        #expect(
            warnings == [
                "elsewhere around again: a call keeps its permit while it waits for its next attempt",
                "elsewhere around again: its waits count as the endpoint's slowness",
                "elsewhere around breaker: calls wait for their turn, and then an open circuit rejects them",
                "elsewhere around elsewhere: a call keeps its permit while it waits for its turn",
                "elsewhere around elsewhere: its waits count as the endpoint's slowness",
                "again around breaker: calls that an open circuit rejects are tried again",
                "bulkhead around breaker: calls wait for their turn, and then an open circuit rejects them",
                "bulkhead around elsewhere: a call keeps its permit while it waits for its turn",
            ])
    }

    @Test("a retry without retries gives no warning")
    func noRetry() {
        let pipeline = Pipeline {
            Bulkhead(limit: 1)
            Retry("outer", maxRetries: 0)
            Retry("inner")
        }
        #expect(
            pipeline.warnings == ["bulkhead around inner: a call keeps its permit while it waits for its next attempt"])
    }

    @Test("traits depend on settings: a queue with maxWait zero never waits, and a breaker may make calls wait")
    func traitsBySettings() {
        #expect(!Bulkhead(limit: 1, queue: 5, maxWait: .zero).traits.waits)
        #expect(Bulkhead(limit: 1, queue: 5).traits.waits && !Bulkhead(limit: 1).traits.waits)
        let patient = CircuitBreaker(circuit: ThreeStateCircuit(excess: .waits(upTo: .seconds(1))))
        #expect(patient.traits.waits && !CircuitBreaker().traits.waits)
        let slow = CircuitBreaker(tripping: .slowCalls(0.5, longerThan: .seconds(1)))
        slow.setMode(.observing)
        let plain = CircuitBreaker()
        plain.setMode(.observing)
        #expect(slow.traits.measuresDuration && !plain.traits.measuresDuration)
        let never = Pipeline {
            Retry(maxRetries: 0, on: .rejected)
            CircuitBreaker()
        }
        #expect(never.warnings == [])
    }
}
