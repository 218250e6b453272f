import Resilience
import ResilienceTesting
import Testing

@Suite struct CircuitBreakerEventTests {
    let clock = ManualClock()
    let recorder = EventRecorder()
    let breaker: CircuitBreaker

    init() {
        breaker = CircuitBreaker(
            "activities", tripping: .consecutiveFailures(2), timeBase: clock, observers: PolicyObservers(recorder))
    }

    private func end(_ verdict: Verdict) { try? breaker.tryAcquire().complete(verdict) }

    private var lines: [String] { recorder.events.map { "\($0)" } }

    @Test("an outage and a recovery can be read in the log lines, from the first failure to the recovery (A9, C2)")
    func story() {
        for verdict in [Verdict.transient, .transient, .success] { end(verdict) }
        clock.advance(by: .seconds(60))
        end(.transient)
        clock.advance(by: .milliseconds(60_001))
        end(.success)
        #expect(
            lines == [
                "[activities] closed, allowing call",
                "[activities] failure 1/2",
                "[activities] closed, allowing call",
                "[activities] failure 2/2",
                "[activities] threshold reached (2/2) → open for 60 s",
                "[activities] open, rejecting call (retry in 60 s)",
                "[activities] break over → half-open",
                "[activities] half-open, allowing a probe",
                "[activities] probe failed → open for 60 s",
                "[activities] break over → half-open",
                "[activities] half-open, allowing a probe",
                "[activities] probe succeeded → closed (recovered)",
            ])
    }

    @Test("the events come in order, each with its time")
    func times() {
        let start = clock.now
        end(.transient)
        clock.advance(by: .seconds(5))
        end(.transient)
        #expect(
            recorder.events.map(\.time) == [
                start, start, start + .seconds(5), start + .seconds(5), start + .seconds(5),
            ])
        #expect(recorder.events.allSatisfy { $0.policy == "activities" && $0.pipeline == nil })
    }

    @Test("a reset of an open circuit is reported; a reset that changes nothing is not")
    func reset() {
        breaker.reset()
        #expect(recorder.events.isEmpty)
        for _ in 0..<2 { end(.transient) }
        recorder.reset()
        breaker.reset()
        #expect(lines == ["[activities] reset → closed"])
    }

    @Test("a failure that pushes an earlier failure out of a full window is reported like any other failure (P36)")
    func fullWindow() throws {
        let breaker = CircuitBreaker(
            tripping: .failures(3, over: .calls(3)), timeBase: clock, observers: PolicyObservers(recorder))
        for verdict in [Verdict.transient, .success, .success, .transient, .transient] {
            try breaker.tryAcquire().complete(verdict)
        }
        let failures = recorder.events(of: CircuitBreaker.Event.self).filter { $0.kind == "failure" }
        #expect(failures == [.failure(1, of: 3), .failure(1, of: 3), .failure(2, of: 3)])
    }

    @Test("if hanging calls open the circuit, the log line has their number")
    func slow() throws {
        let breaker = CircuitBreaker(
            tripping: .slowCalls(0.5, longerThan: .seconds(1), over: .calls(4), minimumCalls: 2), timeBase: clock,
            observers: PolicyObservers(recorder))
        let first = try breaker.tryAcquire()
        let second = try breaker.tryAcquire()
        clock.advance(by: .seconds(3))
        #expect(throws: CircuitOpen.self) { _ = try breaker.tryAcquire() }
        #expect(lines.dropLast().last == "[breaker] threshold reached (2) → open for 60 s")
        first.complete(.success)
        second.complete(.success)
    }

    @Test("a gate also reports the beginning and the end of its break, but no probe")
    func gate() throws {
        let breaker = CircuitBreaker(
            "sync", circuit: BackoffGate(), timeBase: clock, observers: PolicyObservers(recorder))
        for _ in 0..<3 { try breaker.tryAcquire().complete(.throttled) }
        clock.advance(by: .seconds(30))
        try breaker.tryAcquire().complete(.success)
        #expect(recorder.contains(inOrder: [CircuitBreaker.Event.opened(3, of: 3, for: .seconds(30)), .breakEnded]))
        #expect(recorder.count { $0 == CircuitBreaker.Event.halfOpened } == 0)
    }

    @Test("the pipeline's observers also get events, with the pipeline's name")
    func pipelineObservers() async throws {
        let outer = EventRecorder()
        let pipeline = Pipeline("sync", observers: PolicyObservers(outer)) { breaker }
        try await pipeline.run {}
        #expect(
            outer.events.map { "\($0)" } == [
                "[sync/activities] closed, allowing call", "[sync/call] attempt 1 succeeded after 0 s",
                "[sync/call] succeeded after 0 s, 1 attempt",
            ])
        #expect(lines == ["[sync/activities] closed, allowing call"])
    }

    @Test(
        "every event has its own log line (A9)",
        arguments: [
            (.failure(3, of: nil), "failure 3"), (.rejected(retryAfter: nil), "open, rejecting call"),
            (.opened(3, of: 3, for: nil), "threshold reached (3/3) → open"),
            (.reopened(for: nil), "probe failed → open"),
            (.breakEnded, "break over → closed"), (.late(.success), "late success from an earlier state, not counted"),
            (.breakEndedByHand(.halfOpen), "break ended by hand → half-open"),
            (.breakEndedByHand(.closed), "break ended by hand → closed"),
            (.rejected(retryAfter: .milliseconds(1)), "open, rejecting call (retry in 1 s)"),
        ] as [(CircuitBreaker.Event, String)])
    func texts(event: CircuitBreaker.Event, text: String) {
        #expect("\(event)" == text)
    }
}
