import Dispatch
import Resilience
import ResilienceBlocking
import ResilienceTraffic
import Synchronization

extension Calls {
    /// All cases, with their floors.
    public static var all: [Calls] { floors + singles + stacks + rejections + contended + travelling }

    private static var floors: [Calls] {
        [
            bare,
            Calls("bare call that throws, caught") { count in
                for _ in 0..<count { do { _ = try await call { throw Failure() } } catch {} }
            },
        ]
    }

    private static var singles: [Calls] {
        let breaker = CircuitBreaker()
        return [
            Calls("empty pipeline", through: Pipeline {}),
            Calls("retry", through: Pipeline { Retry() }),
            Calls("retry, budget of tokens", through: Pipeline { Retry(budget: .tokens()) }),
            Calls("retry, budget by ratio", through: Pipeline { Retry(budget: .ratio()) }),
            Calls("retry, budget of throttling", through: Pipeline { Retry(budget: .throttling()) }),
            Calls("retry, with a limit of elapsed time", through: Pipeline { Retry(maxElapsed: .seconds(60)) }),
            Calls(
                "retry, with all hooks",
                through: Pipeline { Retry(rules: { _ in nil }, beforeRetry: { _, _ in }, onGiveUp: { _, _ in }) }),
            Calls("breaker, closed", through: Pipeline { breaker }),
            Calls("breaker.run, closed") { count in
                for number in 0..<count { _ = try await breaker.run { number } }
            },
            Calls(
                "breaker, closed, window of 100 calls",
                through: Pipeline { CircuitBreaker(tripping: .failureRatio(0.5)) }),
            Calls(
                "breaker, closed, window of 10 s",
                through: Pipeline { CircuitBreaker(tripping: .failureRatio(0.5, over: .time(.seconds(10)))) }),
            Calls(
                "breaker, closed, slow calls",
                through: Pipeline { CircuitBreaker(tripping: .slowCalls(0.5, longerThan: .seconds(1))) }),
            Calls(
                "breaker, closed, any of two rules",
                through: Pipeline {
                    CircuitBreaker(tripping: .anyOf(.consecutiveFailures(5), .failureRatio(0.5)))
                }),
            Calls("throttle, with permits", through: Pipeline { ample }),
            onLease,
            Calls(
                "throttle, sliding window",
                through: Pipeline { Throttle(limit: .slidingWindow(1000, per: .nanoseconds(1))) }),
            Calls(
                "throttle, fixed window",
                through: Pipeline { Throttle(limit: .fixedWindow(.max, per: .seconds(100_000))) }),
            Calls("adaptive throttle", through: Pipeline { AdaptiveThrottle() }),
            Calls("chaos, off", through: Pipeline { Chaos(injecting: [.fault(at: 0.5)]) }),
            Calls("hedge, not needed") { count in
                let pipeline = Pipeline(isIdempotent: true) { Hedge() }
                for number in 0..<count { _ = try await pipeline.runHedged { number } }
            },
            Calls("hedge, not needed, suspending once") { count in
                let pipeline = Pipeline(isIdempotent: true) { Hedge() }
                for number in 0..<count { _ = try await pipeline.runHedged { await suspended(number) } }
            },
            Calls("hedge, without copies", through: Pipeline { Hedge() }),
            Calls("bulkhead, free", through: Pipeline { Bulkhead(limit: 10) }),
            Calls("bulkhead, adaptive", through: Pipeline { AdaptiveBulkhead() }),
            Calls("fallback, not needed", through: Pipeline { breaker }.withFallback(to: 0)),
            Calls(
                "fallback to the last good, not needed",
                through: Pipeline { breaker }.withFallback(toLastGood: LastGood())),
            Calls(
                "breaker, closed, counted",
                through: Pipeline(observers: PolicyObservers(EventCounter())) { CircuitBreaker() }),
            Calls("timeout, done at once", through: Pipeline { Timeout(limit: .seconds(5)) }),
            Calls("client timeout, done at once", through: Pipeline { ClientTimeout(limit: .seconds(5)) }),
            Calls("permit of a pipeline, breaker and bulkhead") { count in
                let pipeline = Pipeline {
                    CircuitBreaker()
                    Bulkhead(limit: 10)
                }
                for _ in 0..<count { try await pipeline.acquire().complete(.success) }
            },
            Calls("timeout by attempt, done at once", through: Pipeline { Timeout { .seconds(5 * $0) } }),
            Calls("abandoning timeout, done at once") { count in
                let patience = AbandoningTimeout(limit: .seconds(5))
                for number in 0..<count { _ = try await patience.run { number } }
            },
            Calls("single flight, joined by nobody") { count in
                let flights = SingleFlight<Int, Int>()
                for number in 0..<count { _ = try await flights.run(for: 1) { number } }
            },
            Calls("forecast, four: retry, breaker, throttle, bulkhead") { count in
                let pipeline = four()
                for _ in 0..<count { _ = pipeline.forecast() }
            },
            Calls("bulkhead by priority with shedding, free") { count in
                let pipeline = Pipeline {
                    Bulkhead(limit: 10, queue: 10, order: .byPriority, shedding: LoadShedding())
                }
                for number in 0..<count { _ = try await pipeline.run { number } }
            },
            Calls("runBlocking, empty pipeline") { count in
                // Not in a task, whose thread must not be blocked.
                try await withCheckedThrowingContinuation { continuation in
                    DispatchQueue.global().async {
                        let pipeline = Pipeline {}
                        continuation.resume(
                            with: Result { for number in 0..<count { _ = try pipeline.runBlocking { number } } })
                    }
                }
            },
            Calls("cache, fresh") { count in
                let cache = CallCache<Int, Int>(lifetime: CacheLifetime(freshFor: .seconds(86_400)))
                for number in 0..<count { _ = try await cache.value(for: 1) { number } }
            },
            Calls("pool of 10 endpoints, the less loaded of two") { count in
                let (pool, pipeline) = (EndpointPool("pool", Array(0..<10)), Pipeline {})
                for number in 0..<count { _ = try await pipeline.run(over: pool) { $0 + number } }
            },
            Calls("pool of 10 endpoints, in turn") { count in
                let (pool, pipeline) = (EndpointPool("pool", Array(0..<10), choosing: .roundRobin), Pipeline {})
                for number in 0..<count { _ = try await pipeline.run(over: pool) { $0 + number } }
            },
            Calls("race of a task group, done at once") { count in
                for number in 0..<count { _ = try await race { number } }
            },
            Calls("timeout, suspending once") { count in
                let pipeline = Pipeline { Timeout(limit: .seconds(5)) }
                for number in 0..<count { _ = try await pipeline.run { await suspended(number) } }
            },
            Calls("race of a task group, suspending once") { count in
                for number in 0..<count { _ = try await race { await suspended(number) } }
            },
        ]
    }

    /// Last, since after a value has travelled once, every call of the process pays for it.
    private static var travelling: [Calls] {
        [
            Calls("retry, while an origin travels") { count in
                let pipeline = Pipeline { Retry() }
                try await CallOrigin(priority: .low, attempt: 2).run {
                    for number in 0..<count { _ = try await pipeline.run { number } }
                }
            },
            Calls("empty pipeline, after a deadline has travelled") { count in
                await CallDeadline(after: .seconds(5)).run {}
                let pipeline = Pipeline {}
                for number in 0..<count { _ = try await pipeline.run { number } }
            },
            Calls("client timeout, while a deadline travels") { count in
                let pipeline = Pipeline { ClientTimeout(limit: .seconds(5)) }
                try await CallDeadline(after: .seconds(500)).run {
                    for number in 0..<count { _ = try await pipeline.run { number } }
                }
            },
            Calls("empty pipeline, while a deadline travels") { count in
                let pipeline = Pipeline {}
                try await CallDeadline(after: .seconds(500)).run {
                    for number in 0..<count { _ = try await pipeline.run { number } }
                }
            },
            Calls("README: two timeouts and four policies, while a deadline travels") { count in
                let pipeline = Pipeline {
                    Timeout(limit: .seconds(30))
                    four()
                    Timeout(limit: .seconds(5))
                }
                try await CallDeadline(after: .seconds(500)).run {
                    for number in 0..<count { _ = try await pipeline.run { number } }
                }
            },
        ]
    }

    private static var stacks: [Calls] {
        [
            Calls("four: retry, breaker, throttle, bulkhead", through: four()),
            Calls(
                "four: for an observer of what goes wrong",
                through: Pipeline(observers: PolicyObservers(OfTrouble())) { four() }),
            Calls("four: with a meter", through: Pipeline(observers: PolicyObservers(Metering())) { four() }),
            Calls("four: with a window of 100 calls", through: four(CircuitBreaker(tripping: .failureRatio(0.5)))),
            Calls(
                "five: with a timeout",
                through: Pipeline {
                    four()
                    Timeout(limit: .seconds(5))
                }),
            Calls(
                "README: two timeouts and four policies",
                through: Pipeline {
                    Timeout(limit: .seconds(30))
                    four()
                    Timeout(limit: .seconds(5))
                }),
        ]
    }

    private static var rejections: [Calls] {
        let open = CircuitBreaker(tripping: .consecutiveFailures(1), openFor: .seconds(100_000))
        try? open.tryAcquire().complete(.transient)
        let shut = Throttle("gate", limit: .unlimited, holdOnThrottled: true)
        shut.hold(for: .seconds(100_000))
        return [
            Calls("breaker, open", rejectedBy: Pipeline { open }),
            Calls("throttle, shut", rejectedBy: Pipeline { shut }),
            Calls("bulkhead, full") { count in
                let full = Bulkhead(limit: 1)
                let permit = try full.tryAcquire()
                try await Calls("", rejectedBy: Pipeline { full }).make(count)
                permit.complete(.success)
            },
        ]
    }

    private static var contended: [Calls] {
        [
            bare.byTwoTasks("two tasks: bare call"),
            Calls("", through: Pipeline { CircuitBreaker() }).byTwoTasks("two tasks: one breaker"),
            Calls("", through: Pipeline { CircuitBreaker(tripping: .failureRatio(0.5)) })
                .byTwoTasks("two tasks: one breaker, window of 100 calls"),
            Calls("", through: Pipeline { Bulkhead(limit: 10) }).byTwoTasks("two tasks: one bulkhead"),
            Calls("", through: four()).byTwoTasks("two tasks: one pipeline of four"),
            Calls("two tasks: a pipeline of four each") { count in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<2 { group.addTask { try await Calls("", through: four()).make(count / 2) } }
                    try await group.waitForAll()
                }
            },
        ]
    }

    /// A throttle that never rejects.
    private static var ample: Throttle { Throttle(limit: .perSecond(1_000_000_000, burst: 1_000_000_000)) }

    private static func four(_ breaker: CircuitBreaker = CircuitBreaker()) -> Pipeline {
        Pipeline("four") {
            Retry()
            breaker
            ample
            Bulkhead(limit: 10)
        }
    }

    private struct Failure: Error {}

    private static func suspended(_ number: Int) async -> Int {
        await Task.yield()
        return number
    }

    /// The usual timeout by hand.
    private static func race(_ operation: @escaping @Sendable () async throws -> Int) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask { try await operation() }
            group.addTask {
                try await Task.sleep(for: .seconds(5))
                throw CancellationError()
            }
            defer { group.cancelAll() }
            return try await group.next()!
        }
    }
}

/// Like a logger at `info`, it ignores the events of every call.
private struct OfTrouble: PolicyObserver {
    var leastSeverity: PolicyEventSeverity { .debug }
    func receive(_ event: PolicyEvent) {}
}

private struct Metering: MeteringObserver {
    func receive(_ event: PolicyEvent) {}
    func meter(of pipeline: String) -> any CallMeter { Meter() }

    private final class Meter: CallMeter {
        let count = Atomic(0)
        func count(_ end: some PolicyEventDetail) { count.add(1, ordering: .relaxed) }
    }
}
