import ResilienceTesting
import Synchronization
import TestSupport
import Testing

@testable import Resilience

/// When each call actually went.
private final class Departures: Sendable {
    private let instants = Mutex<[(at: MonotonicInstant, cost: Int)]>([])

    func note(_ cost: Int = 1, at now: MonotonicInstant) { instants.withLock { $0.append((now, cost)) } }

    var all: [(at: MonotonicInstant, cost: Int)] { instants.withLock { $0 } }

    /// The largest number of calls by which any period exceeds burst + rate · time. Exact.
    func excess(over rate: ThrottleRate, burst: Int) -> Int128 {
        let (calls, period) = (Int128(rate.calls), Int128(rate.period.saturatedNanoseconds))
        // In calls times nanoseconds: the lowest level before each call.
        var (sum, lowest, most) = (Int128(0), Int128.max, Int128.min)
        for (instant, cost) in all {
            let time = Int128(instant.nanoseconds) * calls
            lowest = min(lowest, sum - time)
            sum += Int128(cost) * period
            most = max(most, sum - time - lowest - Int128(burst) * period)
        }
        return most
    }
}

@Suite(.heavy) struct LateWakeTests {
    private let clock = ManualClock()

    @Test("after the machine slept for 50 s, the line continues at its rate (P33)")
    func oneJump() throws {
        let throttle = Throttle(limit: .perSecond(10, burst: 1), maxWait: .seconds(200), timeBase: clock)
        let departures = Departures()
        let start = clock.now
        try clock.run { [clock] in
            async let calls: Void = withThrowingTaskGroup { group in
                for _ in 0..<501 {
                    group.addTask { try await throttle.run { departures.note(at: clock.now) } }
                }
                try await group.waitForAll()
            }
            await clock.runUntilIdle()
            #expect(departures.all.count == 1)
            clock.jump(by: .seconds(50))
            await clock.runUntilIdle()
            #expect(departures.all.count == 2)
            try await calls
        }
        #expect(departures.all.count == 501)
        #expect(departures.excess(over: .perSecond(10), burst: 1) <= 0)
        // No permit added after the sleep was wasted.
        #expect(departures.all.last.map { $0.at == start + .milliseconds(99_900) } == true)
    }

    @Test(
        "with late wakes, cancellations and refunds, no period has more calls than burst + rate · time (P33)",
        arguments: 1...40)
    func anySchedule(seed: UInt64) throws {
        var random = SeededNumbers(seed: seed)
        let (calls, burst) = (1 + random.below(5), 1 + random.below(4))
        let rate = ThrottleRate(calls, per: .milliseconds(1 + random.below(999)))
        let throttle = Throttle(
            limit: .rate(rate.calls, per: rate.period, burst: burst), maxWait: .seconds(30), timeBase: clock)
        let breaker = CircuitBreaker("inner", timeBase: clock)
        let pipeline = Pipeline(timeBase: clock) {
            throttle
            breaker
        }
        let departures = Departures()
        let plans = (0..<60).map { _ in
            (
                begin: random.below(5_000), cost: random.below(burst + 1),
                cancel: random.below(6) == 0 ? random.below(9_000) : nil
            )
        }
        let jumps = (0..<12).map { _ in (after: random.below(900), by: random.below(3_000)) }
        try clock.run(seed: seed) { [clock] in
            await withTaskGroup { group in
                for plan in plans {
                    group.addTask {
                        try? await clock.sleep(for: .milliseconds(plan.begin))
                        let call = Task {
                            try await pipeline.run(options: RunOptions(cost: plan.cost)) {
                                departures.note(plan.cost, at: clock.now)
                            }
                        }
                        if let cancel = plan.cancel {
                            try? await clock.sleep(for: .milliseconds(cancel))
                            call.cancel()
                        }
                        _ = try? await call.value
                    }
                }
                group.addTask {
                    for (number, jump) in jumps.enumerated() {
                        try? await clock.sleep(for: .milliseconds(jump.after))
                        clock.jump(by: .milliseconds(jump.by))
                        // While isolated, calls do not leave, and their permits are refunded.
                        breaker.setMode(number.isMultiple(of: 3) ? .isolated : .automatic)
                    }
                    breaker.setMode(.automatic)
                }
            }
        }
        #expect(departures.all.count > 3)
        #expect(departures.excess(over: rate, burst: burst) <= 0, "\(rate), burst \(burst)")
        #expect(throttle.queued == 0)
    }

    @Test("calls go in order, even if a 429 comes before the next call has woken (P34)")
    func orderAfterHold() throws {
        let throttle = Throttle(
            limit: .perSecond(1), maxWait: .seconds(60), holdOnThrottled: true, holdBackoff: .constant(.seconds(1)),
            timeBase: clock)
        let operation = ScriptedOperation<String, Void>(fallback: .success(()))
        try clock.run { [clock] in
            try await throttle.run {}
            await withTaskGroup { group in
                for name in ["A", "B", "C", "D"] {
                    group.addTask {
                        try? await throttle.run {
                            try await operation(name)
                            guard name == "A" else { return }
                            // B's turn comes, but B does not run before A ends.
                            clock.jump(by: .milliseconds(1_500))
                            throw TooMany()
                        }
                    }
                    await clock.runUntilIdle()
                }
            }
        }
        #expect(operation.inputs == ["A", "B", "C", "D"])
        #expect(throttle.heldUntil == nil && throttle.queued == 0)
    }

    @Test("if an inner policy rejects a call, the call never left: its permit is refunded", arguments: [true, false])
    func sharesComeBack(isRate: Bool) async throws {
        let throttle =
            isRate
            ? Throttle(limit: .perSecond(1, burst: 2), timeBase: clock)
            : Throttle(limit: .slidingWindow(2, per: .seconds(10)), timeBase: clock)
        let breaker = CircuitBreaker("inner", timeBase: clock)
        let pipeline = Pipeline(timeBase: clock) {
            throttle
            breaker
        }
        breaker.setMode(.isolated)
        for _ in 1...5 {
            await #expect(throws: CircuitOpen.self) { try await pipeline.run {} }
        }
        #expect(throttle.status.available == 2)
        breaker.setMode(.automatic)
        for _ in 1...2 { try await pipeline.run {} }
        await #expect(throws: ThrottleExceeded.self) { try await pipeline.run {} }
    }

    @Test("a failed or cancelled call has used its permit")
    func sharesStaySpent() async throws {
        let throttle = Throttle(limit: .perSecond(1, burst: 9), timeBase: clock)
        for (verdict, left) in zip(
            [.transient, .permanent, .cancelled, .rejected, .success] as [Verdict], [8, 7, 6, 6, 5])
        {
            try throttle.tryAcquire().complete(verdict)
            #expect(throttle.status.available == left, "\(verdict)")
        }
    }

    @Test("reading the status of a window of many calls does not scan all of them", .timeLimit(.minutes(20)))
    func largeWindow() throws {
        let throttle = Throttle(limit: .slidingWindow(100_000, per: .seconds(1_000)), timeBase: clock)
        for _ in 0..<100_000 {
            clock.advance(by: .milliseconds(5))
            try throttle.tryAcquire().complete(.success)
        }
        clock.advance(by: .seconds(750))
        for _ in 0..<10_000 {
            #expect(throttle.status.available == 50_000 && !throttle.isAtRest)
        }
    }
}

private struct TooMany: Error, VerdictConvertible {
    var verdict: Verdict { .throttled }
}
