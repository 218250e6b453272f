import ResilienceTesting
import Testing

@testable import Resilience
import ResilienceTraffic

@Suite struct CallForecastTests {
    let clock = ManualClock()

    private func pipeline(@PipelineBuilder _ elements: () -> [Pipeline.Element]) -> Pipeline {
        Pipeline("calls", timeBase: clock, elements)
    }

    @Test("a call begins at once if no policy is in its way")
    func begins() {
        let pipeline = pipeline {
            Timeout(limit: .seconds(30))
            Retry()
            CircuitBreaker(timeBase: clock)
            Throttle(limit: .perSecond(1), timeBase: clock)
            Bulkhead(limit: 1, timeBase: clock)
        }
        #expect(pipeline.forecast() == CallForecast(.begins) && pipeline.forecast().begins)
        #expect("\(pipeline.forecast())" == "begins at once")
    }

    @Test("a rejection behind a wait counts only if it will surely last longer than the wait")
    func rejectionBehindWait() throws {
        let throttle = Throttle(
            "turns", limit: .rate(1, per: .seconds(10), burst: 1), maxWait: .seconds(60), timeBase: clock)
        for (openFor, isRejected) in [(1, false), (11, true)] {
            let breaker = CircuitBreaker("circuit", openFor: .constant(.seconds(openFor)), timeBase: clock)
            let pipeline = pipeline {
                throttle
                breaker
            }
            throttle.reset()
            try throttle.tryAcquire().complete(.success)
            breaker.trip()
            let expected =
                isRejected
                ? CallForecast(.isRejected(retryAfter: .seconds(11)), by: "circuit", chance: 0)
                : CallForecast(.waits(.seconds(10)), by: "turns")
            #expect(pipeline.forecast() == expected)
        }
        let full = Bulkhead(limit: 1, timeBase: clock)
        let inside = try full.tryAcquire()
        let behind = pipeline {
            throttle
            Timeout { _ in .zero }
            full
        }
        #expect(behind.forecast() == CallForecast(.waits(.seconds(10)), by: "turns"))
        inside.complete(.success)
    }

    @Test("the forecast asks an inner policy what it will do at the time when the call gets there")
    func asOfThen() throws {
        let turns = Throttle(
            "turns", limit: .rate(1, per: .seconds(10), burst: 1), maxWait: .seconds(60), timeBase: clock)
        try turns.tryAcquire().complete(.success)
        let held = Throttle("held", limit: .unlimited, maxWait: .seconds(5), timeBase: clock)
        held.hold(for: .seconds(12))
        let waits = pipeline {
            turns
            held
        }
        #expect(waits.forecast() == CallForecast(.waits(.seconds(12)), by: "turns"))
        // The hold ends within the timeout, which begins after the first wait.
        let limited = pipeline {
            turns
            Timeout(limit: .seconds(3))
            held
        }
        #expect(limited.forecast() == CallForecast(.waits(.seconds(12)), by: "turns"))
        let short = pipeline {
            turns
            Timeout(limit: .seconds(1))
            held
        }
        #expect(short.forecast() == CallForecast(.isRejected(retryAfter: .seconds(12)), by: "held", chance: 0))
        let breaker = CircuitBreaker("circuit", openFor: .constant(.seconds(2)), timeBase: clock)
        breaker.trip()
        let rejects = pipeline {
            breaker
            turns
        }
        #expect(rejects.forecast() == CallForecast(.isRejected(retryAfter: .seconds(2)), by: "circuit", chance: 0))
        let deadline = RunOptions(deadline: clock.now + .seconds(9))
        let late = rejects.forecast(options: deadline)
        #expect(late == CallForecast(.isRejected(retryAfter: .seconds(2)), by: "circuit", chance: 0))
        breaker.setMode(.isolated)
        let isolated = pipeline {
            turns
            breaker
        }
        #expect(isolated.forecast() == CallForecast(.isRejected(retryAfter: nil), by: "circuit", chance: 0))
    }

    @Test("a call whose deadline has passed, or whose timeout is zero, does not begin")
    func noTime() {
        let none = CallForecast(.isRejected(retryAfter: nil), chance: 0)
        #expect(pipeline { Timeout { _ in .zero } }.forecast() == none)
        #expect(pipeline { Retry() }.forecast(options: RunOptions(deadline: clock.now)) == none)
    }

    @Test("an open circuit rejects until its next probe, and an isolated circuit for an unknown time")
    func breaker() {
        let breaker = CircuitBreaker("catalog", openFor: .constant(.seconds(60)), timeBase: clock)
        let pipeline = pipeline { breaker }
        breaker.trip()
        clock.advance(by: .seconds(20))
        let forecast = pipeline.forecast()
        #expect(forecast == CallForecast(.isRejected(retryAfter: .seconds(40)), by: "catalog", chance: 0))
        #expect("\(forecast)" == "is rejected for 40 s (catalog)" && breaker.forecast() == forecast)
        clock.advance(by: .seconds(40))
        #expect(pipeline.forecast().begins && breaker.status.state == .halfOpen)
        breaker.setMode(.isolated)
        #expect(breaker.forecast().outcome == .isRejected(retryAfter: nil))
        breaker.setMode(.disabled)
        #expect(breaker.forecast().begins)
    }

    @Test("while probes are in flight, a call waits for them, or is rejected")
    func probes() throws {
        for waits in [true, false] {
            let machine = ThreeStateCircuit(
                tripping: .standard, openFor: .constant(.seconds(60)), probeLease: .seconds(9),
                excess: waits ? .waits(upTo: .seconds(5)) : .rejected)
            let breaker = CircuitBreaker(circuit: machine, timeBase: clock)
            breaker.trip()
            clock.advance(by: .seconds(60))
            let probe = try breaker.tryAcquire()
            #expect(breaker.forecast().outcome == (waits ? .waits(nil) : .isRejected(retryAfter: .seconds(1))))
            probe.complete(.success)
            #expect(breaker.forecast().begins)
        }
    }

    @Test("a throttle forecasts a call's turn, by its cost, if the call may wait that long")
    func throttle() throws {
        let throttle = Throttle(limit: .perSecond(1, burst: 4), maxWait: .seconds(10), timeBase: clock)
        let pipeline = pipeline { throttle }
        try throttle.tryAcquire(options: RunOptions(cost: 4)).complete(.success)
        #expect(pipeline.forecast().outcome == .waits(.seconds(1)) && pipeline.forecast().policy == "throttle")
        #expect(pipeline.forecast(options: RunOptions(cost: 3)).outcome == .waits(.seconds(3)))
        #expect(pipeline.forecast(options: RunOptions(cost: 5)).outcome == .isRejected(retryAfter: nil))
        let soon = RunOptions(deadline: clock.now + .milliseconds(500))
        #expect(pipeline.forecast(options: soon).outcome == .isRejected(retryAfter: .seconds(1)))
        throttle.hold(for: .seconds(30))
        #expect(pipeline.forecast().outcome == .isRejected(retryAfter: .seconds(30)))
    }

    @Test("a bulkhead forecasts whether a call gets a permit, waits, or finds no place")
    func bulkhead() {
        let bulkhead = Bulkhead(limit: 1, queue: 1, timeBase: clock)
        let core = PipelineCore.bare(on: clock)
        defer { withExtendedLifetime(core) {} }
        var (first, second, third) = (PolicySlot(), PolicySlot(), PolicySlot())
        #expect(bulkhead.forecast().begins)
        var call = PolicyCall(core)
        _ = bulkhead.enter(&call, &first)
        #expect(bulkhead.forecast() == CallForecast(.waits(nil), by: "bulkhead"))
        #expect("\(bulkhead.forecast())" == "waits (bulkhead)")
        _ = bulkhead.enter(&call, &second)
        #expect(bulkhead.forecast().outcome == .isRejected(retryAfter: nil))
        // The second call gets its permit, and keeps it for two seconds; the third call waits.
        _ = bulkhead.exit(&call, &first, .success)
        _ = bulkhead.enter(&call, &second)
        _ = bulkhead.enter(&call, &third)
        clock.advance(by: .seconds(2))
        var later = PolicyCall(core)
        _ = bulkhead.exit(&later, &second, .success)
        _ = bulkhead.enter(&later, &third)
        #expect(bulkhead.forecast().outcome == .waits(.seconds(2)))
        _ = bulkhead.exit(&later, &third, .success)
        #expect(bulkhead.forecast().begins)
    }

    @Test("by priority, only calls with an earlier turn make a call wait")
    func priority() async {
        let bulkhead = Bulkhead(limit: 1, queue: 9, order: .byPriority, timeBase: clock)
        let core = PipelineCore.bare(on: clock)
        defer { withExtendedLifetime(core) {} }
        var (first, second, third, fourth) = (PolicySlot(), PolicySlot(), PolicySlot(), PolicySlot())
        var call = PolicyCall(core)
        _ = bulkhead.enter(&call, &first)
        _ = bulkhead.enter(&call, &second)
        _ = bulkhead.enter(&call, &third)
        _ = bulkhead.enter(&call, &fourth)
        _ = bulkhead.exit(&call, &first, .success)
        _ = bulkhead.enter(&call, &second)
        clock.advance(by: .seconds(1))
        var later = PolicyCall(core)
        _ = bulkhead.exit(&later, &second, .success)
        // The third call is inside, the fourth call waits, and each call takes a second.
        let normal = bulkhead.forecast(options: RunOptions(priority: .normal)).outcome
        let high = bulkhead.forecast(options: RunOptions(priority: .high)).outcome
        #expect(normal == .waits(.seconds(2)) && high == .waits(.seconds(1)), "\(normal) \(high)")
        await CallOrigin(priority: .high).run { #expect(bulkhead.forecast().outcome == high) }
        _ = bulkhead.exit(&later, &third, .success)
        _ = bulkhead.exit(&later, &fourth, .success)
    }

    @Test("with an adaptive throttle the forecast is a probability")
    func chance() {
        let throttle = AdaptiveThrottle(timeBase: clock)
        let pipeline = pipeline { throttle }
        for _ in 0..<100 {
            if let permit = try? throttle.tryAcquire() { permit.complete(.transient) }
        }
        let forecast = pipeline.forecast()
        #expect(forecast.outcome == .begins && abs(forecast.chance - (1 - throttle.status.rejection)) < 1e-9)
        #expect(forecast.chance < 1 && forecast.chance > 0 && "\(forecast)".contains("with a chance of"))
    }

    @Test("an outer timeout leaves less time to wait", arguments: [false, true])
    func timeouts(byClient: Bool) throws {
        let throttle = Throttle(limit: .perSecond(1), maxWait: .seconds(60), timeBase: clock)
        let limited = pipeline {
            if byClient { ClientTimeout(limit: .milliseconds(500)) } else { Timeout(limit: .milliseconds(500)) }
            throttle
        }
        let outside = pipeline {
            throttle
            if byClient { ClientTimeout(limit: .milliseconds(500)) } else { Timeout(limit: .milliseconds(500)) }
        }
        try throttle.tryAcquire().complete(.success)
        #expect(limited.forecast().outcome == .isRejected(retryAfter: .seconds(1)))
        #expect(outside.forecast().outcome == .waits(.seconds(1)))
    }

    @Test("of several policies the longest wait counts, unless a rejection lasts longer than the wait")
    func together() throws {
        let throttle = Throttle("rate", limit: .perSecond(1), maxWait: .seconds(100), timeBase: clock)
        let slower = Throttle("slower", limit: .perMinute(1), maxWait: .seconds(100), timeBase: clock)
        let breaker = CircuitBreaker(openFor: .constant(.seconds(90)), timeBase: clock)
        let pipeline = pipeline {
            slower
            breaker
            throttle
        }
        try throttle.tryAcquire().complete(.success)
        #expect(pipeline.forecast() == CallForecast(.waits(.seconds(1)), by: "rate"))
        try slower.tryAcquire().complete(.success)
        #expect(pipeline.forecast() == CallForecast(.waits(.seconds(60)), by: "slower"))
        breaker.trip()
        #expect(pipeline.forecast() == CallForecast(.isRejected(retryAfter: .seconds(90)), by: "breaker", chance: 0))
        clock.advance(by: .seconds(45))
        #expect(pipeline.forecast() == CallForecast(.isRejected(retryAfter: .seconds(45)), by: "breaker", chance: 0))
    }

    @Test(
        "a forecast combines the answers of all policies",
        arguments: [
            ([.proceeds], CallForecast(.begins)), ([], CallForecast(.begins)),
            ([.waits(nil), .waits(.seconds(1))], CallForecast(.waits(.seconds(1)), by: "1")),
            ([.waits(.seconds(1)), .waits(nil)], CallForecast(.waits(.seconds(1)), by: "0")),
            ([.waits(nil), .proceeds], CallForecast(.waits(nil), by: "0")),
            (
                [.rejects(retryAfter: nil), .waits(.seconds(3))],
                CallForecast(.isRejected(retryAfter: nil), by: "0", chance: 0)
            ),
            (
                [.rejects(retryAfter: nil), .rejects(retryAfter: .seconds(2)), .rejects(retryAfter: .seconds(1))],
                CallForecast(.isRejected(retryAfter: .seconds(2)), by: "1", chance: 0)
            ),
            (
                [.rejects(retryAfter: .seconds(2)), .waits(.seconds(3))],
                CallForecast(.isRejected(retryAfter: .seconds(2)), by: "0", chance: 0)
            ),
            (
                [.waits(nil), .rejects(retryAfter: .nanoseconds(Int64.max))],
                CallForecast(.isRejected(retryAfter: nil), by: "1", chance: 0)
            ),
            (
                [.waits(.seconds(3)), .rejects(retryAfter: .seconds(4))],
                CallForecast(.isRejected(retryAfter: .seconds(4)), by: "1", chance: 0)
            ),
            ([.waits(.seconds(3)), .rejects(retryAfter: .seconds(3))], CallForecast(.waits(.seconds(3)), by: "0")),
            ([.waits(.seconds(3)), .rejects(retryAfter: nil)], CallForecast(.waits(.seconds(3)), by: "0")),
            ([.waits(nil), .rejects(retryAfter: .seconds(4))], CallForecast(.waits(nil), by: "0")),
            ([.mayProceed(chance: 0.5), .mayProceed(chance: 0.5)], CallForecast(.begins, chance: 0.25)),
            ([.mayProceed(chance: -1), .waits(nil)], CallForecast(.waits(nil), by: "1", chance: 0)),
            ([.mayProceed(chance: .infinity)], CallForecast(.begins)),
        ] as [([PolicyForecast], CallForecast)])
    func combined(answers: [PolicyForecast], expected: CallForecast) {
        var forecaster = Forecaster()
        for (place, answer) in answers.enumerated() { forecaster.add(answer, of: "\(place)") }
        #expect(forecaster.forecast == expected, "\(forecaster.forecast)")
    }

    @Test("once its deadline, or a travelling deadline, has come, a call is rejected by the deadline, not by a policy")
    func over() async {
        let pipeline = pipeline { Throttle(limit: .perSecond(1), timeBase: clock) }
        let over = CallForecast(.isRejected(retryAfter: nil), chance: 0)
        #expect(pipeline.forecast(options: RunOptions(deadline: clock.now)) == over)
        await CallDeadline(after: .zero, on: clock).run { #expect(pipeline.forecast() == over) }
    }

    @Test("a custom policy is forecast by its status, or by its own forecast")
    func own() {
        struct Status: PolicyStatusDetail {
            let isAllowed: Bool
            static var kind: String { "own" }
        }
        struct Telling: Policy, StatusReporting {
            let status: Status
        }
        struct Forecasting: Policy {
            func forecast(_ call: inout PolicyCall) -> PolicyForecast { .waits(.seconds(call.options.cost)) }
        }
        #expect(Pipeline { Telling(status: Status(isAllowed: true)) }.forecast().begins)
        let closed = Pipeline { Telling(status: Status(isAllowed: false)) }
        #expect(closed.forecast() == CallForecast(.isRejected(retryAfter: nil), by: "Telling", chance: 0))
        #expect(Pipeline { Forecasting() }.forecast(options: RunOptions(cost: 3)).outcome == .waits(.seconds(3)))
    }

    @Test("in any state, a forecast changes nothing, and matches the answer that a call gets", arguments: 1...20)
    func agrees(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        let breaker = CircuitBreaker(
            tripping: .consecutiveFailures(2), openFor: .constant(.seconds(3)), timeBase: clock)
        let throttle = Throttle(
            limit: .perSecond(1, burst: 3), maxWait: .seconds(2), holdOnThrottled: true, timeBase: clock)
        let bulkhead = Bulkhead(limit: 2, timeBase: clock)
        let waiting = Bulkhead("waiting", limit: 2, queue: 1, maxWait: .seconds(1), timeBase: clock)
        let policies: [any Policy & StatusReporting] = [breaker, throttle, bulkhead, waiting]
        let permits = HeldPermits()
        for _ in 0..<300 {
            if Int.random(in: 0..<4, using: &generator) == 0 {
                clock.advance(by: .milliseconds(Int64.random(in: 0..<2_000, using: &generator)))
            }
            if Int.random(in: 0..<3, using: &generator) == 0 {
                permits.completeFirst(
                    [Verdict.success, .transient, .throttled, .cancelled][Int.random(in: 0..<4, using: &generator)])
            }
            let policy = policies[Int.random(in: 0..<4, using: &generator)]
            let options = RunOptions(cost: Int.random(in: 0..<4, using: &generator))
            let before = AnyHashable(policy.status)
            let forecast = policy.forecast(options: options)
            #expect(AnyHashable(policy.status) == before)
            do {
                permits.add(try policy.tryAcquire(options: options))
                #expect(forecast.begins, "\(policy.name): \(forecast)")
            } catch let error as WouldWait {
                guard case .waits(let time) = forecast.outcome else {
                    Issue.record("\(policy.name): \(forecast), and it waits")
                    continue
                }
                #expect(time == error.retryAfter || time == nil, "\(policy.name)")
            } catch {
                guard case .isRejected(let time) = forecast.outcome else {
                    Issue.record("\(policy.name): \(forecast), and \(error)")
                    continue
                }
                #expect(time == CallFailure(error).retryAfter, "\(policy.name)")
            }
        }
        permits.completeAll(.cancelled)
    }
}
