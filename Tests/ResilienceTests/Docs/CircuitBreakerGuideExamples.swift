import Foundation
import Resilience
import TestSupport
import Testing

/// The code of Sources/Resilience/Resilience.docc/CircuitBreakerGuide.md, word for word.
@Suite(.timeLimit(.minutes(20))) struct CircuitBreakerGuideExamples {
    private struct Client: Sendable {
        func activities() async throws -> String { "activities" }
        func ping() async throws {}
    }

    private let client = Client()

    @Test("the guide's first breaker returns the operation's result, takes a new ratio, and is restored")
    func usual() async throws {
        let breaker = CircuitBreaker(
            "activities", tripping: .failureRatio(0.5), openFor: .exponential())
        let page = try await breaker.run { try await client.activities() }
        breaker.reconfigure(tripping: .failureRatio(0.3), openFor: .exponential())
        let stored = try JSONEncoder().encode(breaker.snapshot())
        breaker.reset()
        try breaker.restore(
            JSONDecoder().decode(CircuitSnapshot.self, from: stored))
        #expect(page == "activities" && breaker.status.callCount == 1)
    }

    @Test("the guide's loop over transitions prints an opening and a reset")
    func watching() async throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1))
        let transitions = breaker.transitions()
        try breaker.tryAcquire().complete(.transient)
        breaker.reset()
        let reader = Task {
            var seen: [CircuitState] = []
            func print(_ from: CircuitState, _ to: CircuitState) {
                seen += [from, to]
                if seen.count == 4 { withUnsafeCurrentTask { $0?.cancel() } }
            }
            for await change in transitions { print(change.from, change.to) }
            return seen
        }
        #expect(await reader.value == [.closed, .open, .open, .closed])
    }

    @Test("the guide's combined breaker is changed by hand; its gate and its breaker with a check admit calls")
    func others() async throws {
        let search = CircuitBreaker(
            "search",
            circuit: ThreeStateCircuit(
                tripping: .anyOf(
                    .consecutiveFailures(5),
                    .slowCalls(0.8, longerThan: .seconds(2), over: .calls(50))),
                openFor: .retryAfter(otherwise: .exponential().jittered()),
                probes: 3, closing: .successes(3),
                excess: .waits(upTo: .seconds(1)), ramp: .seconds(30)))
        let sync = CircuitBreaker(
            "sync", circuit: BackoffGate(tripping: .consecutiveThrottles(3)))
        let ledger = CircuitBreaker(
            "ledger", healthCheck: CircuitHealthCheck { try await client.ping() })
        for breaker in [search, sync, ledger] { try await breaker.run {} }
        search.setMode(.isolated)  // rejects all calls, until you set another mode
        #expect(!search.status.isAllowed)
        search.setMode(.disabled)  // lets all calls in, and counts nothing
        search.setMode(.observing)  // lets all calls in, and tells when it would open
        search.setMode(.automatic)
        search.reset()  // closed, nothing counted; same mode
        #expect(search.status.isAllowed)
        search.trip()  // open, as if its rule were met
        search.trip(for: .seconds(300))  // open for this time, then a probe
        #expect(!search.status.isAllowed)
        search.endBreak()  // the next call is the probe, now
        #expect(search.status.isAllowed)
    }
}
