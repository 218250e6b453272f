import Resilience
import ResilienceTesting
import Testing

@Suite struct CircuitBreakerEventTests {
    let clock = ManualClock()
    let recorder = EventRecorder()
    let breaker: CircuitBreaker

    init() {
        breaker = CircuitBreaker(
            "activities", tripping: .consecutiveFailures(2), timeBase: clock, observers: Observers(recorder))
    }

    private func end(_ verdict: Verdict) { try? breaker.acquire().complete(verdict) }

    private var lines: [String] { recorder.events.map { "\($0)" } }

    @Test("an outage and a recovery read as log lines, from the first failure to the last")
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
                "[activities] threshold reached → open for 60 s",
                "[activities] open, refusing call (retry in 60 s)",
                "[activities] break over → half-open",
                "[activities] half-open, allowing a probe",
                "[activities] probe failed → open for 60 s",
                "[activities] break over → half-open",
                "[activities] half-open, allowing a probe",
                "[activities] probe succeeded → closed (recovered)",
            ])
    }

    @Test("the events come in the order things happened, each with its time")
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

    @Test("a reset of an open circuit is told; one that changes nothing is not")
    func reset() {
        breaker.reset()
        #expect(recorder.events.isEmpty)
        for _ in 0..<2 { end(.transient) }
        recorder.reset()
        breaker.reset()
        #expect(lines == ["[activities] reset → closed"])
    }

    @Test("a gate tells of its breaks too, without any probe")
    func gate() throws {
        let breaker = CircuitBreaker(
            "sync", circuit: BackoffGate(), timeBase: clock, observers: Observers(recorder))
        for _ in 0..<3 { try breaker.acquire().complete(.throttled) }
        clock.advance(by: .seconds(30))
        try breaker.acquire().complete(.success)
        #expect(recorder.contains(inOrder: [CircuitBreaker.Event.opened(for: .seconds(30)), .breakEnded]))
        #expect(recorder.count { $0 == CircuitBreaker.Event.halfOpened } == 0)
    }

    @Test("the observers of the pipeline are told as well, with the pipeline's name")
    func pipelineObservers() async throws {
        let outer = EventRecorder()
        let pipeline = Pipeline("sync", observers: Observers(outer)) { breaker }
        try await pipeline.run {}
        #expect(outer.events.map { "\($0)" } == ["[sync/activities] closed, allowing call"])
        #expect(lines == ["[sync/activities] closed, allowing call"])
    }

    @Test(
        "every event has a line of its own",
        arguments: [
            (.failure(3, of: nil), "failure 3"), (.refused(retryAfter: nil), "open, refusing call"),
            (.opened(for: nil), "threshold reached → open"), (.reopened(for: nil), "probe failed → open"),
            (.breakEnded, "break over → closed"), (.late(.success), "late success from an earlier state, not counted"),
            (.refused(retryAfter: .milliseconds(1)), "open, refusing call (retry in 1 s)"),
        ] as [(CircuitBreaker.Event, String)])
    func texts(event: CircuitBreaker.Event, text: String) {
        #expect("\(event)" == text)
    }
}
