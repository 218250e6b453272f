import Resilience
import ResilienceHTTP
import ResilienceTesting
import Testing

private struct Down: Error, VerdictConvertible { var verdict: Verdict { .transient } }

@Suite struct StandardPipelineTests {
    // MARK: Clients

    @Test("a client's pipeline has its policies in the documented order, and no warnings")
    func http() {
        let pipeline = Pipeline.http("catalog")
        #expect(
            pipeline.elements.map(\.name) == ["total", "retry", "catalog", "throttle", "bulkhead", "attempt"])
        #expect(pipeline.warnings == [])
        #expect(Pipeline.http(rate: .perSecond(10), concurrency: 1).warnings == [])
        #expect(pipeline.isAtRest && pipeline.isAllowed)
        #expect(pipeline.policies(of: Timeout.self).map(\.limit) == [.seconds(30), .seconds(10)])
        #expect(pipeline.policies(of: Bulkhead.self).map(\.status.limit) == [1_000])
    }

    @Test(
        "with client-enforced timeouts, the client ends each attempt, and the last one at the call's own deadline"
    )
    func enforcedByClient() throws {
        let clock = ManualClock()
        let pipeline = Pipeline.http("catalog", total: .seconds(25), timeoutsEnforcedBy: .client, timeBase: clock)
        #expect(pipeline.policies(of: Timeout.self).isEmpty && pipeline.warnings == [])
        #expect(pipeline.elements.map(\.name) == ["total", "retry", "catalog", "throttle", "bulkhead", "attempt"])
        let start = clock.now
        let ends = Locked<[Duration]>([])
        let error = #expect(throws: TimedOut.self) {
            try clock.run {
                try await pipeline.run { attempt in
                    ends.withLock { $0.append(start.duration(to: attempt.deadline)) }
                    try await clock.sleep(until: attempt.deadline)
                    throw Down()
                }
            }
        }
        #expect(error?.policy == "total" && error?.limit == .seconds(25))
        let ended = ends.withLock { $0 }
        #expect(ended.count == 3 && ended.first == .seconds(10) && ended.last == .seconds(25))
        #expect(start.duration(to: clock.now) == .seconds(25))
    }

    @Test("a failure is retried three times, after short waits")
    func retries() throws {
        let clock = ManualClock()
        let fetch = ScriptedOperation<Void, Int>([.failure(Down()), .failure(Down()), .failure(Down()), .success(7)])
        let pipeline = Pipeline.http(timeBase: clock)
        let start = clock.now
        #expect(try clock.run { try await pipeline.run { try await fetch() } } == 7)
        #expect(start.duration(to: clock.now) <= .milliseconds(50 + 100 + 200))
    }

    @Test("five failures in a row open the circuit for five seconds, and for longer after each failed probe")
    func circuit() throws {
        let clock = ManualClock()
        let pipeline = Pipeline.http("catalog", maxRetries: 0, timeBase: clock)
        func fails() { #expect(throws: Down.self) { try clock.run { try await pipeline.run { throw Down() } } } }
        for _ in 0..<5 { fails() }
        for wait in [5, 10, 20, 40, 60, 60] {
            let error = #expect(throws: CircuitOpen.self) { try clock.run { try await pipeline.run {} } }
            #expect(error?.retryAfter == .seconds(wait))
            clock.advance(by: .seconds(wait))
            fails()
        }
    }

    @Test(
        "50 failures in a hundred calls open the circuit, and 25 do not", arguments: [(50, true), (25, false)])
    func share(failures: Int, opens: Bool) throws {
        let clock = ManualClock()
        let pipeline = Pipeline.http(maxRetries: 0, timeBase: clock)
        for number in 0..<100 {
            // The last call is a failure, since only a failure opens a circuit.
            let fails = number % (100 / failures) == 100 / failures - 1
            try clock.run {
                do { try await pipeline.run { if fails { throw Down() } } } catch is Down {}
            }
        }
        #expect(pipeline.isAllowed == !opens)
    }

    @Test("an attempt has ten seconds, and a call thirty")
    func times() throws {
        let clock = ManualClock()
        let pipeline = Pipeline.http(timeBase: clock)
        let start = clock.now
        let error = #expect(throws: TimedOut.self) {
            try clock.run { try await pipeline.run { try await clock.sleep(for: .seconds(3600)) } }
        }
        #expect(error?.limit == .seconds(30) || error?.policy == "attempt")
        #expect(start.duration(to: clock.now) <= .seconds(30))
        #expect(pipeline.policies(of: Bulkhead.self).map(\.status.inUse) == [0])
    }

    @Test("a 429 holds all calls until its wait is over")
    func hold() throws {
        let clock = ManualClock()
        let pipeline = Pipeline.http(maxRetries: 0, timeBase: clock)
        _ = try clock.run {
            try await pipeline.run(judging: { _ in .throttled(retryAfter: .seconds(60)) }) { 429 }
        }
        let error = #expect(throws: ThrottleExceeded.self) { try clock.run { try await pipeline.run {} } }
        #expect(error?.retryAfter == .seconds(60))
        clock.advance(by: .seconds(60))
        try clock.run { try await pipeline.run {} }
    }

    @Test("a server's remaining quota also holds all calls")
    func quota() throws {
        let clock = ManualClock()
        let pipeline = Pipeline.http(timeBase: clock)
        pipeline.note(RateLimitFields { ["ratelimit": #""a";r=5;t=60, "b";r=0;t=40"#][$0] })
        #expect(throws: ThrottleExceeded.self) { try clock.run { try await pipeline.run {} } }
        clock.advance(by: .seconds(40))
        try clock.run { try await pipeline.run {} }
    }

    @Test("in an outage the budget ends the retries")
    func budget() throws {
        let clock = ManualClock()
        let fetch = ScriptedOperation<Void, Void>(fallback: .failure(Down()))
        let pipeline = Pipeline.http(budget: .tokens(capacity: 14), timeBase: clock)
        for _ in 0..<3 {
            #expect(throws: Down.self) { try clock.run { try await pipeline.run { try await fetch() } } }
        }
        #expect(fetch.callCount == 4)
    }

    // MARK: Servers

    @Test("a server's pipeline has its policies in the documented order, and no warnings")
    func server() {
        #expect(Pipeline.server("api").elements.map(\.name) == ["request", "bulkhead"])
        let limited = Pipeline.server("api", rate: .perSecond(100, burst: 100))
        #expect(limited.elements.map(\.name) == ["request", "throttle", "bulkhead"])
        #expect(Pipeline.server().warnings == [] && limited.warnings == [])
    }

    @Test("a server rejects excess requests; it lets a request wait for at most a second, and ends it after thirty")
    func overload() async throws {
        let clock = ManualClock()
        let handle = ScriptedOperation<Void, Void>(fallback: .success(()))
        let pipeline = Pipeline.server(concurrency: 1, queue: 1, timeBase: clock)
        handle.hold()
        let first = Task { try await pipeline.run { try await handle() } }
        await handle.waitForCalls(1)
        let second = Task { try await pipeline.run { try await handle() } }
        // Three sleepers: the time limits of both calls, and the second call's wait.
        await clock.waitForSleepers(3)
        await #expect(throws: BulkheadFull.self) { try await pipeline.run { try await handle() } }
        clock.advance(by: .seconds(1))
        await #expect(throws: BulkheadFull.self) { try await second.value }
        clock.advance(by: .seconds(29))
        await #expect(throws: TimedOut.self) { try await first.value }
        #expect(handle.callCount == 1)
        #expect(pipeline.isAllowed)
    }
}
