import Resilience
import ResilienceTesting
import TestSupport
import Testing

@Suite struct CircuitBreakerConcurrencyTests {
    let clock = ManualClock()

    @Test("a thousand tasks that fail at the same time open it once, and no failure is counted twice")
    func openedOnce() async {
        let recorder = EventRecorder()
        let breaker = CircuitBreaker(timeBase: clock, observers: PolicyObservers(recorder))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<1000 { group.addTask { try? await breaker.run { throw Outage() } } }
        }
        let failures = recorder.events(of: CircuitBreaker.Event.self).compactMap { event -> Int? in
            if case .failure(let count, _) = event { count } else { nil }
        }
        #expect(failures.sorted() == [1, 2, 3, 4, 5])
        #expect(recorder.count { $0 == CircuitBreaker.Event.opened(5, of: 5, for: .seconds(60)) } == 1)
        #expect(breaker.status.failureCount == 5 && breaker.status.isTripped)
    }

    @Test("every call is reported once, as allowed or rejected, whatever tasks do at the same time")
    func addsUp() async {
        let recorder = EventRecorder()
        let breaker = CircuitBreaker(
            tripping: .consecutiveFailures(3), openFor: .constant(.milliseconds(50)), timeBase: clock,
            observers: PolicyObservers(recorder))
        let reached = Journal()
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask {
                    for round in 0..<200 {
                        try? await breaker.run {
                            reached.note("call")
                            if (index + round).isMultiple(of: 2) { throw Outage() }
                        }
                        clock.advance(by: .milliseconds(1))
                    }
                }
            }
        }
        let allowed = recorder.count(CircuitBreaker.Event.self) { if case .allowed = $0 { true } else { false } }
        let rejected = recorder.count(CircuitBreaker.Event.self) { if case .rejected = $0 { true } else { false } }
        #expect(allowed == reached.lines.count)
        #expect(allowed + rejected == 1600)
    }

    @Test("successes of many threads are all counted, none twice and none in another generation")
    func threads() async throws {
        let breaker = CircuitBreaker(tripping: .failureRatio(1, over: .time(.seconds(10))), timeBase: clock)
        // With one success, the ratio is never met, in any order of the calls.
        try breaker.tryAcquire().complete(.success)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<5_000 { try? breaker.tryAcquire().complete(.success) } }
                group.addTask {
                    for _ in 0..<500 {
                        _ = breaker.status
                        try? breaker.tryAcquire().complete(.transient)
                    }
                }
            }
        }
        #expect(breaker.status.timeless == CircuitBreakerStatus(state: .closed, failureCount: 2_000, callCount: 22_001))
    }
}
