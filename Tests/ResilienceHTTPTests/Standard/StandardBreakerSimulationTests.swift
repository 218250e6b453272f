import Resilience
import ResilienceHTTP
import ResilienceTesting
import TestSupport
import Testing

private struct Down: Error, VerdictConvertible {
    let verdict = Verdict.transient
}

/// A class, since permits can't be copied and so can't be in an array.
private final class InFlight {
    var permit: PolicyPermit?

    init(_ permit: consuming PolicyPermit) { self.permit = consume permit }
}

/// The figures in the documentation of ``Pipeline/http``: when its default circuit opens.
@Suite struct StandardBreakerSimulationTests {
    private let clock = ManualClock()
    private let pipeline: Pipeline
    private let breaker: CircuitBreaker

    init() throws {
        pipeline = Pipeline.http("catalog", timeBase: clock)
        breaker = try #require(pipeline.policies(of: CircuitBreaker.self).first)
    }

    /// A call of a quiet service. Each attempt takes 100 ms.
    /// - Returns: The number of attempts.
    private func call(fails: Bool) throws -> Int {
        let attempts = Locked(0)
        let clock = clock
        _ = try clock.run {
            try? await pipeline.run(options: RunOptions(isIdempotent: true)) {
                attempts.withLock { $0 += 1 }
                try await clock.sleep(for: .milliseconds(100))
                if fails { throw Down() }
            }
        }
        return attempts.withLock { $0 }
    }

    @Test("a quiet service's circuit stays closed after two calls fail with all their attempts")
    func quiet() throws {
        var attempts: [Int] = []
        for minute in 0..<30 {
            attempts.append(try call(fails: minute == 10 || minute == 11))
            clock.advance(by: .seconds(60))
        }
        #expect(attempts[10] == 4 && attempts[11] == 4 && attempts.count { $0 == 1 } == 28)
        #expect(breaker.state == .closed)
    }

    @Test("a quiet service that is down opens its circuit in the third call, after two minutes")
    func quietAndDown() throws {
        let start = clock.now
        var attempts: [Int] = []
        while breaker.state == .closed {
            attempts.append(try call(fails: true))
            if breaker.state == .closed { clock.advance(by: .seconds(60)) }
        }
        #expect(attempts == [4, 4, 1])
        #expect(start.duration(to: clock.now) < .seconds(125))
        #expect(try call(fails: false) == 0)
    }

    /// Fifty attempts per second, each of 100 ms.
    /// - Returns: How many ended before the circuit opened, and after how long; nil if it never opened.
    private func attempts(for length: Duration, failing: (Int) -> Bool) throws -> (count: Int, after: Duration)? {
        let start = clock.now
        var inFlight: [InFlight] = []
        var count = 0
        while start.duration(to: clock.now) < length {
            inFlight.append(InFlight(try breaker.tryAcquire()))
            if inFlight.count > 5 {
                inFlight.removeFirst().permit.take()?.complete(failing(count) ? .transient : .success)
                count += 1
            }
            if breaker.state != .closed { return (count, start.duration(to: clock.now)) }
            clock.advance(by: .milliseconds(20))
        }
        return nil
    }

    @Test("a busy service that is down opens its circuit after nine attempts, within 0.3 s")
    func busyAndDown() throws {
        let opened = try attempts(for: .seconds(10)) { _ in true }
        #expect(opened?.count == 9 && opened?.after ?? .seconds(9) < .milliseconds(300))
    }

    @Test(
        "a busy service that fails three attempts in five opens its circuit within 10 s",
        arguments: 1...5 as ClosedRange<UInt64>)
    func mostlyDown(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let opened = try attempts(for: .seconds(60)) { _ in Int.random(in: 0..<10, using: &random) < 6 }
        #expect(opened?.after ?? .seconds(60) < .seconds(10))
    }

    @Test(
        "a busy service that fails one attempt in ten does not open its circuit in an hour",
        arguments: [1, 2, 3] as [UInt64])
    func background(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        #expect(try attempts(for: .seconds(3600)) { _ in Int.random(in: 0..<10, using: &random) == 0 } == nil)
    }

    @Test(
        "the circuit opens after two calls with all their attempts and one more attempt, and after at least 5",
        arguments: [(0, 5), (1, 5), (3, 9), (10, 23), (.max, .max)] as [(Int, Int)])
    func row(maxRetries: Int, row: Int) throws {
        let pipeline = Pipeline.http(maxRetries: maxRetries, timeBase: clock)
        let breaker = try #require(pipeline.policies(of: CircuitBreaker.self).first)
        for _ in 0..<min(row, 50) {
            #expect(breaker.state == .closed)
            try breaker.tryAcquire().complete(.transient)
        }
        #expect(breaker.state == (row > 50 ? .closed : .open))
    }

    // MARK: Named waits

    @Test("a 503 with a Retry-After holds only its own call: other calls run, and the circuit counts the 503")
    func unavailable() throws {
        let verdict = Verdict(httpStatus: 503, for: RequestSemantics(method: "GET"), fields: ["Retry-After": "86400"])
        let clock = clock
        _ = try clock.run { try await pipeline.run(judging: { _ in verdict }) { 503 } }
        #expect(try call(fails: false) == 1)
        #expect(breaker.state == .closed)
        for _ in 0..<9 { try breaker.tryAcquire().complete(verdict) }
        // A breaker's own break, and then a probe.
        #expect(breaker.status.timeRemaining == .seconds(5))
    }

    @Test("a 429 that asks for a day is probed after five minutes, and calls follow if the probe succeeds")
    func longHold() throws {
        let verdict = Verdict(httpStatus: 429, for: RequestSemantics(method: "GET"), fields: ["Retry-After": "86400"])
        let clock = clock
        _ = try clock.run { try await pipeline.run(judging: { _ in verdict }) { 429 } }
        #expect(try call(fails: false) == 0)
        clock.advance(by: .seconds(299))
        // The call waits for its turn, which comes in time.
        #expect(try call(fails: false) == 1)
        #expect(try call(fails: false) == 1)
    }

    @Test("after a hold is ended by hand, the next call probes")
    func endedByHand() throws {
        let throttle = try #require(pipeline.policies(of: Throttle.self).first)
        try throttle.tryAcquire().complete(.throttled(retryAfter: .seconds(86_400)))
        #expect(try call(fails: false) == 0)
        #expect(throttle.endHold() && !throttle.endHold())
        #expect(try call(fails: false) == 1)
        #expect(try call(fails: false) == 1)
    }
}
