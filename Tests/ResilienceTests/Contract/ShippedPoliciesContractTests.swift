import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
import ResilienceTraffic

/// Checks every policy of the package against the contract for users' policies. A new policy adds a line.
@Suite(.timeLimit(.minutes(20)), .heavy) struct ShippedPoliciesContractTests {
    @Test("a retry keeps the contract")
    func retry() async {
        await expect(PolicyContract { _ in Retry(maxRetries: 3) }, calls: 10_000)
        await expect(PolicyContract { _ in Retry.throttledOnly })
        await expect(
            PolicyContract { _ in Retry(maxRetries: 5, backoff: .constant(.zero), on: [.transient, .rejected]) })
        await expect(PolicyContract { _ in Retry(maxRetries: 20, maxElapsed: .seconds(5)) })
        await expect(
            PolicyContract { _ in
                Retry(
                    wrapsLastError: true, rules: { _ in .retry(after: .none) }, beforeRetry: { _, _ in },
                    onGiveUp: { _, _ in })
            }, calls: 10_000)
    }

    @Test("a retry keeps the contract with each kind of budget")
    func retryBudgets() async {
        await expect(PolicyContract { _ in Retry(budget: .tokens(capacity: 100)) }, calls: 10_000)
        await expect(PolicyContract { Retry(budget: .ratio(reserve: 1, timeBase: $0)) })
        await expect(PolicyContract { _ in Retry(budget: .throttling()) })
    }

    @Test("a circuit breaker with three states keeps the contract")
    func breaker() async {
        await expect(PolicyContract { CircuitBreaker(timeBase: $0) }, calls: 10_000)
        await expect(
            PolicyContract { clock in
                CircuitBreaker(
                    circuit: ThreeStateCircuit(
                        tripping: .consecutiveFailures(1), openFor: .exponential(from: .seconds(1)), probes: 4,
                        closing: .successes(2, of: 4), probeLease: .seconds(5)),
                    timeBase: clock)
            })
    }

    @Test("a circuit breaker keeps the contract with each rule, each way to recover, and each mode except isolated")
    func breakerSettings() async {
        for rule in [
            .anyOf(.failureRatio(0.5, over: .calls(20))), .anyOf(.failures(5, over: .time(.seconds(5)))),
            .anyOf(.slowCalls(0.5, longerThan: .milliseconds(50))),
            .allOf(.consecutiveFailures(2), .failureRatio(0.1), .slowCalls(0.1, longerThan: .milliseconds(5))),
        ] as [CombinedRule] {
            await expect(
                PolicyContract { CircuitBreaker(tripping: rule, openFor: .seconds(1), timeBase: $0) })
        }
        await expect(
            PolicyContract { clock in
                CircuitBreaker(
                    circuit: ThreeStateCircuit(
                        tripping: .consecutiveFailures(1), openFor: .constant(.milliseconds(20)).jittered(),
                        excess: .waits(upTo: .seconds(1)), ramp: .seconds(2)),
                    timeBase: clock)
            }, calls: 10_000
        ) { $0.inner.withLock { $0.extras?.line.count ?? 0 } }
        for mode in [CircuitBreaker.Mode.disabled, .observing] {
            await expect(
                PolicyContract { clock in
                    let breaker = CircuitBreaker(timeBase: clock)
                    breaker.setMode(mode)
                    return breaker
                })
        }
        await expect(
            PolicyContract { clock in
                let breaker = CircuitBreaker(openFor: .seconds(1), timeBase: clock)
                breaker.trip(for: .seconds(3600))
                breaker.endBreak()
                return breaker
            }, calls: 10_000)
    }

    @Test("a circuit breaker that is a backoff gate keeps the contract")
    func gate() async {
        await expect(PolicyContract { CircuitBreaker(circuit: BackoffGate(), timeBase: $0) }, calls: 10_000)
    }

    @Test("a bulkhead keeps the contract, with a queue and without")
    func bulkhead() async {
        await expect(PolicyContract { Bulkhead(limit: 4, timeBase: $0) }) { $0.inUse + $0.queued }
        await expect(PolicyContract { Bulkhead(limit: 4, queue: 16, timeBase: $0) }, calls: 10_000) {
            $0.inUse + $0.queued
        }
        await expect(PolicyContract { Bulkhead(limit: 8, queue: 100_000, maxWait: .seconds(1), timeBase: $0) }) {
            $0.inUse + $0.queued
        }
    }

    @Test("a bulkhead keeps the contract in every order, and with waits of every length")
    func bulkheadOrders() async {
        await expect(PolicyContract { Bulkhead(limit: 4, queue: 16, order: .lastInFirstOut, timeBase: $0) }) {
            $0.inUse + $0.queued
        }
        await expect(
            PolicyContract { clock in
                Bulkhead(
                    limit: 4, queue: 16, order: .byPriority, maxWait: .seconds(1), predictsWait: false, timeBase: clock)
            }
        ) { $0.inUse + $0.queued }
        await expect(PolicyContract { Bulkhead(limit: 4, queue: 16, maxWait: .zero, timeBase: $0) }) {
            $0.inUse + $0.queued
        }
    }

    @Test("a hedge keeps the contract; the contract asks the hedge step by step, so the hedge makes no copies")
    func hedge() async {
        await expect(PolicyContract { Hedge(timeBase: $0) }, calls: 10_000)
        await expect(
            PolicyContract { _ in Hedge(after: .constant(.zero), maxHedges: 3, budget: .tokens(capacity: 100)) })
    }

    @Test("an adaptive throttle keeps the contract, whatever it rejects")
    func adaptiveThrottle() async {
        await expect(PolicyContract { AdaptiveThrottle(timeBase: $0) }, calls: 10_000)
        await expect(
            PolicyContract {
                AdaptiveThrottle(
                    multiplier: 1.1, over: .milliseconds(50), minimumCalls: 1, maxRejection: 1,
                    generator: SplitMix64(seed: 3), timeBase: $0)
            }, calls: 10_000)
    }

    @Test("a chaos policy keeps the contract, on and off, whatever it injects")
    func chaos() async {
        await expect(PolicyContract { Chaos(injecting: [.fault()], timeBase: $0) }, calls: 10_000)
        await expect(
            PolicyContract { clock in
                let chaos = Chaos(
                    injecting: [.delay(.zero ... .milliseconds(50), at: 0.4), .behavior(at: 0.2) {}],
                    script: [.delay(.milliseconds(1)), nil, .delay(.seconds(2))], maxDelayed: 8,
                    generator: SplitMix64(seed: 5), timeBase: clock)
                chaos.turnOn(for: Chaos.longestTime)
                return chaos
            }, calls: 10_000
        ) { $0.status.delayed }
    }

    @Test("chaos that ends calls keeps the contract, except that it makes successful calls fail, which is its purpose")
    func failingChaos() async {
        let contract = PolicyContract { clock in
            let chaos = Chaos(
                injecting: [
                    .fault(at: 0.1), .lostAnswer(at: 0.2), .delay(.zero ... .milliseconds(50), at: 0.2),
                    .cancellation(at: 0.1, after: .milliseconds(5)), .behavior(at: 0.1) {},
                ],
                maxDelayed: 8, generator: SplitMix64(seed: 5), timeBase: clock)
            // The contract requires that a call gets through an hour later.
            chaos.turnOn(for: .seconds(1_800))
            return chaos
        }
        let report = await contract.check(calls: 10_000) { $0.status.delayed }
        let purpose: Set = [
            "it fails", "the outer call fails", "a result is thrown away",
            "after rejections further in, it lets no call through",
        ]
        #expect(report.violations.filter { !purpose.contains($0.problem) } == [])
        #expect(report.calls > 14_000)
    }

    @Test("a timeout that the client enforces keeps the contract")
    func clientTimeout() async {
        await expect(PolicyContract { _ in ClientTimeout(limit: .milliseconds(20)) }, calls: 10_000)
        await expect(PolicyContract { _ in ClientTimeout(limit: .nanoseconds(1)) })
    }

    @Test("a throttle keeps the contract, whether it rejects or waits")
    func throttle() async {
        await expect(PolicyContract { Throttle(limit: .perSecond(10, burst: 20), timeBase: $0) }) { $0.queued }
        await expect(
            PolicyContract { Throttle(limit: .perSecond(100, burst: 4), maxWait: .seconds(30), timeBase: $0) },
            calls: 10_000
        ) { $0.queued }
    }

    @Test("a throttle that counts in windows keeps the contract")
    func windows() async {
        await expect(
            PolicyContract {
                Throttle(limit: .slidingWindow(50, per: .seconds(1)), maxWait: .seconds(30), timeBase: $0)
            }
        ) { $0.queued }
        await expect(
            PolicyContract { Throttle(limit: .fixedWindow(50, per: .seconds(1)), maxWait: .seconds(30), timeBase: $0) }
        ) { $0.queued }
    }

    @Test("a throttle that holds and ramps keeps the contract, with a rate and without")
    func ramps() async {
        await expect(
            PolicyContract {
                Throttle(
                    limit: .perSecond(100, burst: 4), maxWait: .seconds(30), holdOnThrottled: true, ramp: .seconds(5),
                    timeBase: $0)
            }
        ) { $0.queued }
        await expect(
            PolicyContract {
                Throttle(
                    "gate", limit: .unlimited, maxWait: .seconds(90), holdOnThrottled: true, ramp: .seconds(5),
                    timeBase: $0)
            }
        ) {
            $0.queued
        }
        await expect(
            PolicyContract {
                Throttle(
                    limit: .unlimited, maxWait: .milliseconds(5), holdOnThrottled: true, earlyProbe: .milliseconds(1),
                    timeBase: $0)
            }
        ) { $0.queued }
    }

    @Test("a timeout keeps the contract")
    func timeout() async {
        await expect(PolicyContract { _ in Timeout(limit: .milliseconds(20)) }, calls: 10_000)
        await expect(PolicyContract { _ in Timeout(limit: .seconds(60)) })
        await expect(PolicyContract { _ in Timeout { attempt in .milliseconds(10 * attempt) } })
    }

    private func expect<Subject>(
        _ contract: PolicyContract<Subject>, calls: Int = 1_000, permitsOut: (@Sendable (Subject) -> Int)? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let report = await contract.check(calls: calls, permitsOut: permitsOut)
        #expect(report.violations == [], sourceLocation: sourceLocation)
        #expect(report.calls > 4_000 + calls, sourceLocation: sourceLocation)
    }
}
