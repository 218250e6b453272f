import Resilience
import ResilienceTraffic
import ResilienceTesting
import TestSupport
import Testing

@Suite struct PolicySettingsTests {
    private func problems(_ make: () throws -> Void) -> [String] {
        TestSupport.problems { try PolicySettings.checked(make) }
    }

    @Test("a check of valid settings returns the result, and rethrows the closure's own error")
    func valid() throws {
        #expect(try PolicySettings.checked { Bulkhead(limit: 3) }.status.limit == 3)
        #expect(throws: Outage.self) { try PolicySettings.checked { throw Outage() } }
    }

    private static let invalid: [(make: @Sendable () -> Void, text: String)] = [
        ({ _ = Bulkhead(limit: 0) }, "Bulkhead: limit is 0, and must be at least 1"),
        ({ _ = Bulkhead(limit: 1, queue: -1) }, "Bulkhead: queue is -1, and must not be negative"),
        ({ _ = Bulkhead(limit: 1, maxWait: .seconds(-1)) }, "Bulkhead: maxWait is -1 s, and must not be negative"),
        ({ _ = Throttle(limit: .rate(0, per: .seconds(1))) }, "ThrottleRate: calls is 0, and must be at least 1"),
        ({ _ = Throttle(limit: .rate(1, per: .zero)) }, "ThrottleRate: period is 0 s, and must be above zero"),
        ({ _ = Throttle(limit: .perSecond(1, burst: 0)) }, "ThrottleLimit: burst is 0, and must be at least 1"),
        (
            { _ = Throttle(limit: .perSecond(1), maxWait: .seconds(-2)) },
            "Throttle: maxWait is -2 s, and must not be negative"
        ),
        (
            { _ = Throttle(limit: .perSecond(1), queue: -2) },
            "Throttle: queue is -2, and must not be negative"
        ),
        (
            { _ = Throttle(limit: .slidingWindow(0, per: .seconds(1))) },
            "ThrottleLimit: calls is 0, and must be at least 1"
        ),
        (
            { _ = Throttle(limit: .fixedWindow(1, per: .seconds(-1))) },
            "ThrottleLimit: period is -1 s, and must be above zero"
        ),
        (
            { _ = Throttle("gate", limit: .unlimited, holdOnThrottled: true, maxHold: .seconds(-1)) },
            "Throttle: maxHold is -1 s, and must not be negative"
        ),
        (
            { _ = Throttle("gate", limit: .unlimited, holdOnThrottled: true, ramp: .seconds(-1)) },
            "Throttle: ramp is -1 s, and must not be negative"
        ),
        ({ _ = Timeout(limit: .zero) }, "Timeout: limit is 0 s, and must be above zero"),
        ({ _ = AbandoningTimeout(limit: .zero) }, "Timeout: limit is 0 s, and must be above zero"),
        ({ _ = cache(freshFor: .seconds(-1)) }, "CallCache: freshFor is -1 s, and must not be negative"),
        ({ _ = cache(maxCount: 0) }, "CallCache: maxCount is 0, and must be at least 1"),
        ({ _ = cache(maxCost: 0) }, "CallCache: maxCost is 0, and must be at least 1"),
        (
            { _ = SingleFlight<Int, Int>(joinWindow: .zero) }, "SingleFlight: joinWindow is 0 s, and must be above zero"
        ),
        ({ _ = Retry(maxRetries: -1) }, "Retry: maxRetries is -1, and must not be negative"),
        ({ _ = Retry(maxElapsed: .seconds(-1)) }, "Retry: maxElapsed is -1 s, and must not be negative"),
        (
            { _ = Retry(on: [.transient, .success]) },
            "Retry: verdicts is success+transient, and must have neither success nor cancelled among them"
        ),
        ({ _ = Backoff.exponential(factor: .nan) }, "Backoff: factor is nan, and must be finite and at least 1"),
        ({ _ = Backoff.linear(.seconds(-1)) }, "Backoff: base is -1 s, and must not be negative"),
        (
            { _ = Backoff.sequence([]) },
            "Backoff: sequence is [], and must have at least one delay"
        ),
        ({ _ = RetryBudget.tokens(capacity: -1) }, "RetryBudget: capacity is -1, and must not be negative"),
        ({ _ = RetryBudget.ratio(.infinity) }, "RetryBudget: share is inf, and must lie in 0...1000"),
        ({ _ = RetryBudget.throttling(maxTokens: 0) }, "RetryBudget: maxTokens is 0, and must lie in 1...1000"),
        (
            { _ = CircuitBreaker(tripping: .consecutiveFailures(0)) },
            "TripRule: limit is 0, and must be at least 1"
        ),
        (
            { _ = CircuitBreaker(tripping: .failureRatio(2)) },
            "TripRule: ratio is 2.0, and must be above 0 and at most 1"
        ),
        (
            { _ = CircuitBreaker(tripping: .failureRatio(0.5, over: .calls(.max))) },
            "CallWindow: calls is 9223372036854775807, and must lie in 1...10000000"
        ),
        (
            { _ = CircuitBreaker(tripping: .slowCalls(0.5, longerThan: .zero)) },
            "TripRule: slowness is 0 s, and must be above zero"
        ),
        (
            { _ = CircuitBreaker(tripping: CombinedRule(.any, of: [])) },
            "CombinedRule: rules is [], and must have at least one rule"
        ),
        (
            { _ = CircuitBreaker(openFor: .constant(.seconds(-1))) },
            "BreakDuration: length is -1 s, and must not be negative"
        ),
        ({ _ = ThreeStateCircuit(probes: 2) }, "CircuitBreaker: probes is 2, and must lie in 1...1"),
        ({ _ = CircuitHealthCheck(timeout: .zero) {} }, "CircuitHealthCheck: timeout is 0 s, and must be above zero"),
        ({ _ = RunOptions(cost: -1) }, "RunOptions: cost is -1, and must not be negative"),
        ({ _ = RunOptions(firstAttempt: 0) }, "RunOptions: firstAttempt is 0, and must be at least 1"),
        ({ _ = LastGood<Int>(maxAge: .zero) }, "LastGood: maxAge is 0 s, and must be above zero"),
        ({ _ = EventCounter(limit: -1) }, "EventCounter: limit is -1, and must not be negative"),
        (
            { _ = BulkheadRegistry<String>(capacity: 0) { _ in Bulkhead(limit: 1) } },
            "PolicyRegistry: capacity is 0, and must be at least 1"
        ),
    ]

    @Test(
        "an invalid setting from outside is thrown with its name, value and range, and does not trap (C7, P40)",
        arguments: invalid)
    func each(make: @Sendable () -> Void, text: String) {
        #expect(problems(make) == [text])
    }

    @Test("all problems are reported, even if they are in several policies of a pipeline (P40)")
    func all() {
        let found = problems {
            _ = Pipeline {
                Timeout(limit: .zero)
                Retry(maxRetries: -3, backoff: .constant(.seconds(-1)))
                Bulkhead(limit: 0, queue: -1)
            }
        }
        #expect(
            found == [
                "Timeout: limit is 0 s, and must be above zero", "Backoff: base is -1 s, and must not be negative",
                "Retry: maxRetries is -3, and must not be negative",
                "Bulkhead: limit is 0, and must be at least 1", "Bulkhead: queue is -1, and must not be negative",
            ])
    }

    @Test("an invalid setting changes nothing in an existing policy (P37)")
    func changes() {
        let bulkhead = Bulkhead(limit: 3, queue: 5)
        let throttle = Throttle(limit: .perSecond(10, burst: 4))
        let breaker = CircuitBreaker()
        let before = "\(breaker)"
        #expect(problems { bulkhead.setLimit(0) } == ["Bulkhead: limit is 0, and must be at least 1"])
        #expect(problems { bulkhead.setQueue(-1) }.count == 1)
        #expect(problems { throttle.setRate(.perSecond(0)) } == ["ThrottleRate: calls is 0, and must be at least 1"])
        #expect(
            problems { throttle.setRate(.perSecond(1), burst: 0) } == [
                "ThrottleLimit: burst is 0, and must be at least 1"
            ])
        #expect(problems { breaker.reconfigure(tripping: .consecutiveFailures(0)) }.count == 1)
        #expect(bulkhead.status.limit == 3 && bulkhead.status.queueLimit == 5)
        #expect("\(throttle)".hasPrefix("throttle: 10 per 1 s, burst 4") && "\(breaker)" == before)
        #expect(problems { bulkhead.setLimit(7) } == [] && bulkhead.status.limit == 7)
    }

    @Test("a check inside another check has only its own problems")
    func nested() {
        let outer = problems {
            _ = Bulkhead(limit: 0)
            #expect(problems { _ = Timeout(limit: .zero) }.count == 1)
        }
        #expect(outer.count == 1)
    }

    private static let limit = "Bulkhead: limit is 0, and must be at least 1"
    private static let retries = "Retry: maxRetries is -1, and must not be negative"

    @Test("a change in a nested check is dropped if a setting was invalid in the inner or the outer check")
    func nestedChanges() {
        let bulkhead = Bulkhead(limit: 3)
        let outer = problems {
            #expect(problems { bulkhead.setLimit(4) } == [] && bulkhead.status.limit == 4)
            _ = Bulkhead(limit: 0)
            #expect(problems { bulkhead.setLimit(5) } == [])
        }
        #expect(outer == [Self.limit] && bulkhead.status.limit == 4)
    }

    @Test("if an inner check's error leaves the outer check, both checks' problems are thrown, each once")
    func nestedThrows() {
        let both = problems {
            _ = Bulkhead(limit: 0)
            try PolicySettings.checked { _ = Retry(maxRetries: -1) }
        }
        #expect(both == [Self.limit, Self.retries])
        let once = problems {
            _ = Bulkhead(limit: 0)
            try PolicySettings.checked {
                _ = Retry(maxRetries: -1)
                try PolicySettings.checked { _ = Bulkhead(limit: 0) }
            }
        }
        #expect(once == [Self.limit, Self.retries])
        #expect(problems { try PolicySettings.checked { _ = Retry(maxRetries: -1) } } == [Self.retries])
    }

    @Test("if an inner check's error is handled, the outer check's changes are applied")
    func nestedHandled() throws {
        let live = Bulkhead(limit: 3)
        let made = try PolicySettings.checked {
            let own = (try? PolicySettings.checked { Bulkhead(limit: 0) }) ?? Bulkhead(limit: 16)
            live.setLimit(5)
            return own
        }
        #expect(made.status.limit == 16 && live.status.limit == 5)
    }

    @Test("a task started within a check changes settings normally once the check has returned")
    func taskAfterCheck() async {
        let live = Bulkhead(limit: 3)
        let (returned, end) = AsyncStream<Void>.makeStream()
        var task: Task<[String], Never>?
        let found = problems {
            _ = try? PolicySettings.checked {
                task = Task {
                    for await _ in returned {}
                    live.setLimit(9)
                    return problems { _ = Timeout(limit: .zero) }
                }
                _ = Bulkhead(limit: 0)
            }
            _ = Retry(maxRetries: -1)
        }
        #expect(found == [Self.retries] && live.status.limit == 3)
        end.finish()
        #expect(await task?.value == ["Timeout: limit is 0 s, and must be above zero"] && live.status.limit == 9)
    }

    @Test("a task started within a check traps on an invalid setting once the check has returned")
    func trapAfterCheck() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let (returned, end) = AsyncStream<Void>.makeStream()
            let task = try PolicySettings.checked {
                Task {
                    for await _ in returned {}
                    _ = Bulkhead(limit: 0)
                }
            }
            end.finish()
            await task.value
        }
        #expect(errorText(result).contains(Self.limit))
    }
}

/// The standard error output of the process that was expected to end.
func errorText(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
}

private func cache(freshFor: Duration = .seconds(1), maxCount: Int = 1, maxCost: Int? = nil) -> CallCache<Int, Int> {
    CallCache(lifetime: CacheLifetime(freshFor: freshFor), maxCount: maxCount, maxCost: maxCost)
}
