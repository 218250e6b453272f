import Foundation
import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite struct PolicyStatusTests {
    let clock = ManualClock()

    private func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try #require(String(data: encoder.encode(value), encoding: .utf8))
    }

    private func roundTrip<Value: Codable>(_ value: Value) throws -> Value {
        try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    }

    @Test("a health endpoint takes one line: the statuses of all pipelines as JSON, with durations in seconds")
    func health() throws {
        let pipelines = PipelineRegistry<String> { [clock] key in
            Pipeline {
                Retry()
                CircuitBreaker(key, tripping: .consecutiveFailures(1), openFor: .seconds(60), timeBase: clock)
                Throttle(limit: .perSecond(1), timeBase: clock)
                Bulkhead("db", limit: 3, queue: 7, timeBase: clock)
            }
        }
        clock.advance(by: .seconds(1))
        try pipelines["/a"].circuitBreakers[0].tryAcquire().complete(.transient)
        clock.advance(by: .milliseconds(500))
        let text = try json(pipelines.statuses)
        #expect(
            text == """
                {"/a":[{"isAllowed":false,"kind":"circuitBreaker","policy":"/a","status":{"failureCount":1,\
                "failureLimit":1,"isAllowed":false,"lastClosedNanoseconds":3601000000000,"mode":"automatic",\
                "sinceNanoseconds":3601000000000,"state":"open","timeRemainingSeconds":59.5}},\
                {"isAllowed":true,"kind":"throttle","policy":"throttle","status":{"available":1,"isProbing":false,\
                "queued":0,"timeUntilNextSeconds":0}},\
                {"isAllowed":true,"kind":"bulkhead","policy":"db","status":{"inUse":0,\
                "isShedding":false,"limit":3,"queueLimit":7,"queued":0}}]}
                """)
    }

    @Test("a policy's status is decoded as it was encoded")
    func again() throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        let throttle = Throttle(limit: .perSecond(3), timeBase: clock)
        let bulkhead = BulkheadStatus(
            limit: 3, inUse: 2, queueLimit: 1, queued: 0, estimatedWait: .nanoseconds(1_234_567_891))
        #expect(try roundTrip(breaker.status) == breaker.status)
        breaker.trip(for: .nanoseconds(5_000_000_001))
        breaker.setMode(.observing)
        #expect(try roundTrip(breaker.status) == breaker.status)
        try throttle.tryAcquire().complete(.success)
        #expect(throttle.status.timeUntilNext > .zero)
        #expect(try roundTrip(throttle.status) == throttle.status)
        throttle.hold(for: .seconds(7))
        #expect(throttle.status.heldUntil != nil)
        #expect(try roundTrip(throttle.status) == throttle.status)
        #expect(try roundTrip(bulkhead) == bulkhead)
        let transition = KeyedTransition(
            key: "/a", transition: CircuitTransition(from: .closed, to: .open, time: MonotonicInstant(nanoseconds: 7)))
        #expect(try roundTrip(transition) == transition)
        #expect(
            try json(transition) == #"{"key":"/a","transition":{"from":"closed","timeNanoseconds":7,"to":"open"}}"#)
    }

    @Test(
        "a duration is encoded in seconds and decoded to the nanosecond; durations above 292 years are cut",
        arguments: [
            (Duration.zero, Duration.zero), (.nanoseconds(1), .nanoseconds(1)), (.nanoseconds(-1), .nanoseconds(-1)),
            (.nanoseconds(4_194_303_999_999_999), .nanoseconds(4_194_303_999_999_999)),
            (.nanoseconds(2_251_813_279_624_677), .nanoseconds(2_251_813_279_624_677)),
            (.seconds(2_417_859), .seconds(2_417_859)), (.nanoseconds(Int64.max), .nanoseconds(Int64.max)),
            (.seconds(Int64.max), .nanoseconds(Int64.max)),
            (.seconds(Int64.min), .nanoseconds(Int64.min)), (.nanoseconds(1.4), .nanoseconds(2)),
            (Duration(attoseconds: .max), .nanoseconds(Int64.max)),
        ])
    func durations(written: Duration, read: Duration) throws {
        func status(_ wait: Duration?) -> BulkheadStatus {
            BulkheadStatus(limit: 1, inUse: 0, queueLimit: 0, queued: 0, estimatedWait: wait)
        }
        #expect(try roundTrip(status(written)) == status(read))
        let throttle = ThrottleStatus(
            available: 1, timeUntilNext: written, heldUntil: .distantFuture, isProbing: false, queued: 0)
        #expect(try roundTrip(throttle).timeUntilNext == read)
    }

    @Test(
        "a duration is encoded as a plain decimal number",
        arguments: [(2363.0, "2363"), (295.149, "295.149"), (-0.5, "-0.5")])
    func asWritten(seconds: Double, text: String) throws {
        let status = BulkheadStatus(
            limit: 1, inUse: 0, queueLimit: 0, queued: 0,
            estimatedWait: .milliseconds(Int64((seconds * 1000).rounded())))
        #expect(try json(status).contains(#""estimatedWaitSeconds":\#(text),"#))
    }

    private struct Number: PolicyStatusDetail {
        static let kind = "number"
        let value: Int
        var isAllowed: Bool { true }
    }

    @Test("equal statuses have one hash, and statuses of two types are not equal")
    func hashes() {
        let one = PolicyStatus(policy: "a", detail: Number(value: 1))
        let same = PolicyStatus(policy: "a", detail: Number(value: 1))
        #expect(one == same && one.hashValue == same.hashValue)
        #expect(one != PolicyStatus(policy: "a", detail: Maintenance.Status(isAllowed: true)))
    }

    @Test("a pipeline lists the breaker of a policy that runs the inside through that breaker")
    func breakerAround() {
        let breaker = CircuitBreaker("around", timeBase: clock)
        let pipeline = Pipeline(timeBase: clock) { AroundBreaker(breaker: breaker) }
        #expect(pipeline.circuitBreakers.map(\.name) == ["around"])
    }

    @Test("a pipeline lists each breaker once, even one inside a custom policy")
    func breakersOnce() {
        let (one, other) = (CircuitBreaker("one", timeBase: clock), CircuitBreaker("other", timeBase: clock))
        let pipeline = Pipeline(timeBase: clock) {
            Guarding(one)
            other
            one
        }
        #expect(pipeline.circuitBreakers.map(\.name) == ["one", "other"])
        let alone = Pipeline(timeBase: clock) { Guarding(one) }
        #expect(alone.circuitBreakers.map(\.name) == ["one"])
    }

    @Test("a value that is not a number of seconds is a decoding error", arguments: ["\"NaN\"", "\"7\"", "[]"])
    func notADuration(text: String) throws {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "NaN")
        let json =
            #"{"limit":1,"inUse":0,"queueLimit":0,"queued":0,"isShedding":false,"estimatedWaitSeconds":\#(text)}"#
        #expect(throws: DecodingError.self) { try decoder.decode(BulkheadStatus.self, from: Data(json.utf8)) }
    }

    private struct Maintenance: Policy, StatusReporting {
        struct Status: PolicyStatusDetail {
            static let kind = "maintenance"
            var isAllowed: Bool
        }
        let status: Status
    }

    @Test("a custom policy also reports its status, which affects isAllowed", arguments: [true, false])
    func own(isAllowed: Bool) throws {
        let pipeline = Pipeline(timeBase: clock) {
            CircuitBreaker("api", timeBase: clock)
            Maintenance(status: .init(isAllowed: isAllowed))
        }
        #expect(pipeline.statuses.map(\.policy) == ["api", "Maintenance"])
        #expect(pipeline.statuses.map(\.kind) == ["circuitBreaker", "maintenance"])
        #expect(pipeline.isAllowed == isAllowed)
        let expected = PolicyStatus(policy: "Maintenance", detail: Maintenance.Status(isAllowed: isAllowed))
        #expect(Set(pipeline.statuses).contains(expected))
        #expect(
            !pipeline.statuses.contains(
                PolicyStatus(policy: "Maintenance", detail: Maintenance.Status(isAllowed: !isAllowed))))
        #expect(!pipeline.statuses.contains(PolicyStatus(policy: "other", detail: expected.detail)))
    }

    @Test("an event is encoded with the fields of a log line")
    func event() throws {
        let time = MonotonicInstant(nanoseconds: 12)
        let event = PolicyEvent(
            policy: "api", pipeline: "search", time: time, detail: Throttle.Event.held(for: .seconds(2)))
        #expect(
            try json(event) == """
                {"kind":"held","message":"\(event.detail)","pipeline":"search","policy":"api","timeNanoseconds":12}
                """)
        let own = PolicyEvent(policy: "api", pipeline: nil, time: time, detail: CircuitBreaker.Event.recovered)
        #expect(
            try json(own) == """
                {"kind":"recovered","message":"\(own.detail)","policy":"api","timeNanoseconds":12}
                """)
    }
}
