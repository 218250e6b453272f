import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

@Suite(.timeLimit(.minutes(20))) struct CallOriginTests {
    let clock = ManualClock()
    let recorder = EventRecorder()

    private func retrying(
        maxRetries: Int = 3, budget: RetryBudget? = nil, rules: Retry.Rules? = nil
    ) -> Pipeline {
        Pipeline("calls", timeBase: clock, observers: PolicyObservers(recorder)) {
            Retry(maxRetries: maxRetries, backoff: .none, budget: budget, rules: rules)
        }
    }

    @Test("an origin reaches child tasks, and lasts as long as its work; of nested origins the inner origin counts")
    func travels() async {
        #expect(CallOrigin.current == nil)
        await CallOrigin(priority: .low, attempt: 2).run {
            async let child = CallOrigin.current?.priority
            #expect(await child == .low && CallOrigin.current?.attempt == 2)
            await CallOrigin().run {
                #expect(CallOrigin.current?.priority == nil && CallOrigin.current?.attempt == 1)
            }
            #expect(CallOrigin.current?.attempt == 2)
        }
        #expect(CallOrigin.current == nil)
    }

    @Test("an attempt number is at least 1", arguments: [Int.min, -1, 0, 1])
    func numbers(attempt: Int) {
        #expect(CallOrigin(attempt: attempt).attempt == 1)
        #expect(CallOrigin(attempt: .max).attempt == .max)
    }

    @Test("in a bulkhead by priority a call has its own priority, or else its request's priority, or else normal")
    func priority() throws {
        let bulkhead = Bulkhead(
            limit: 1, queue: 9, order: .byPriority, timeBase: clock, observers: PolicyObservers(recorder))
        let journal = Journal()
        try clock.run { [clock] in
            let inside = try bulkhead.tryAcquire()
            async let normal: Void = bulkhead.run { journal.note("normal") }
            await clock.runUntilIdle()
            async let high: Void = CallOrigin(priority: .high).run { try await bulkhead.run { journal.note("high") } }
            await clock.runUntilIdle()
            async let own: Void = CallOrigin(priority: .high).run {
                try await bulkhead.run(options: RunOptions(priority: .low)) { journal.note("low") }
            }
            await clock.runUntilIdle()
            async let silent: Void = CallOrigin().run { try await bulkhead.run { journal.note("silent") } }
            await clock.runUntilIdle()
            inside.complete(.success)
            _ = try await (normal, high, own, silent)
        }
        #expect(journal.lines == ["high", "normal", "silent", "low"])
    }

    @Test("a call for a request that is itself a retry is not retried, and its caller may retry")
    func callerRetries() async {
        let operation = ScriptedOperation<Void, Int>(fallback: .failure(Outage()))
        let pipeline = retrying()
        await CallOrigin(attempt: 2).run {
            await #expect(throws: Outage.self) { _ = try await pipeline.run { try await operation() } }
            #expect(CallOrigin.current?.shouldCallerRetry == nil)
        }
        #expect(operation.callCount == 1)
        #expect(recorder.events(of: Retry.Event.self) == [.gaveUp(attempt: 1, .callerRetries)])
    }

    @Test("a rule can retry a call for a request that is itself a retry")
    func rules() async {
        let operation = ScriptedOperation<Void, Int>(fallback: .failure(Outage()))
        let pipeline = retrying(maxRetries: 1) { _ in .retry(after: .none) }
        _ = await CallOrigin(attempt: 2).run {
            await #expect(throws: Outage.self) { _ = try await pipeline.run { try await operation() } }
        }
        #expect(operation.callCount == 2)
    }

    @Test("a first attempt is retried; if all retries fail, its caller should not retry")
    func inVain() async {
        let operation = ScriptedOperation<Void, Int>(fallback: .failure(Outage()))
        let pipeline = retrying(maxRetries: 1)
        await CallOrigin().run {
            #expect(CallOrigin.current?.shouldCallerRetry == nil)
            await #expect(throws: Outage.self) { _ = try await pipeline.run { try await operation() } }
            #expect(CallOrigin.current?.shouldCallerRetry == false)
        }
        #expect(operation.callCount == 2)
        // The advice belongs to the origin: the next request begins anew.
        await CallOrigin().run { #expect(CallOrigin.current?.shouldCallerRetry == nil) }
    }

    @Test("a failure that was not retried gives the caller no advice", arguments: [Verdict.permanent, .rejected])
    func untried(verdict: Verdict) async {
        await CallOrigin().run {
            await #expect(throws: Judged.self) { try await retrying().run { throw Judged(verdict: verdict) } }
            await #expect(throws: Outage.self) { try await retrying(maxRetries: 0).run { throw Outage() } }
            #expect(CallOrigin.current?.shouldCallerRetry == nil)
        }
    }

    @Test("a successful retry gives the caller no advice")
    func success() async throws {
        let operation = ScriptedOperation<Void, Int>([.failure(Outage()), .success(7)])
        try await CallOrigin().run {
            let result = try await retrying().run { try await operation() }
            #expect(result == 7 && CallOrigin.current?.shouldCallerRetry == nil)
        }
    }

    @Test("after failed retries the caller should not retry, whatever ends the call")
    func inVainAndThen() throws {
        let operation = ScriptedOperation<Void, Int>([.failure(Outage()), .failure(Judged(verdict: .permanent))])
        let pipeline = Pipeline(timeBase: clock) {
            Timeout(limit: .seconds(10))
            Retry(maxRetries: 2, backoff: .none)
        }
        try clock.run { [clock] in
            await CallOrigin().run {
                await #expect(throws: Judged.self) { try await pipeline.run { try await operation() } }
                #expect(CallOrigin.current?.shouldCallerRetry == false)
            }
            await CallOrigin().run {
                let origin = CallOrigin.current
                operation.enqueue(.failure(Outage()), .failure(Outage()))
                async let call = #expect(throws: TimedOut.self) {
                    try await pipeline.run { attempt in
                        if attempt.number > 2 { try await clock.sleep(for: .seconds(60)) }
                        return try await operation()
                    }
                }
                for _ in 0..<3 {
                    await clock.runUntilIdle()
                    clock.advance(by: .nanoseconds(1))
                }
                #expect(origin?.shouldCallerRetry == false)
                clock.advance(by: .seconds(10))
                _ = await call
                #expect(origin?.shouldCallerRetry == false)
            }
        }
    }

    @Test("a second attempt that a policy rejected does not count: the caller may retry")
    func rejectedThen() async {
        let operation = ScriptedOperation<Void, Int>([
            .failure(Outage()), .failure(WouldWait(policy: "throttle", retryAfter: nil)),
        ])
        await CallOrigin().run {
            await #expect(throws: (any Error).self) { try await retrying().run { try await operation() } }
            #expect(CallOrigin.current?.shouldCallerRetry == nil)
        }
        #expect(operation.callCount == 2)
    }

    @Test("all callers of a flight learn that its retries failed; a successful flight gives no advice")
    func flights() throws {
        let flights = SingleFlight<String, Int>(timeBase: clock)
        let operation = ScriptedOperation<Void, Int>([.failure(Outage()), .failure(Outage()), .success(1)])
        let pipeline = retrying(maxRetries: 1)
        try clock.run { [clock] () async throws in
            for advice in [false, nil] {
                operation.hold()
                let calls = (0..<3).map { _ in
                    Task {
                        await CallOrigin().run {
                            _ = try? await flights.run(for: "a") { try await pipeline.run { try await operation() } }
                            return CallOrigin.current?.shouldCallerRetry
                        }
                    }
                }
                await clock.runUntilIdle()
                operation.release()
                for call in calls { #expect(await call.value == advice) }
            }
        }
    }

    @Test("a caller learns of failed retries even if it leaves the flight, or the flight began without an origin")
    func flightWithoutOrigin() throws {
        let flights = SingleFlight<String, Int>(timeBase: clock)
        let operation = ScriptedOperation<Void, Int>([.failure(Outage()), .failure(Outage()), .success(1)])
        let pipeline = Pipeline(timeBase: clock) { Retry(maxRetries: 2, backoff: .constant(.seconds(10))) }
        try clock.run { [clock] () async throws in
            func call() async {
                _ = try? await flights.run(for: "a") { try await pipeline.run { try await operation() } }
            }
            await CallOrigin().run {}
            let first = Task { await call() }
            await clock.runUntilIdle()
            let second = Task {
                await CallOrigin().run {
                    await CallDeadline(after: .seconds(15), on: clock).run { await call() }
                    return CallOrigin.current?.shouldCallerRetry
                }
            }
            #expect(await second.value == false)
            await first.value
            #expect(operation.callCount == 3)
        }
    }

    @Test("a cancelled second attempt does not count as a failed retry")
    func cancelledThen() async {
        let pipeline = retrying()
        let advice = await Task {
            await CallOrigin().run {
                try? await pipeline.run { attempt in
                    guard attempt.number == 2 else { throw Outage() }
                    withUnsafeCurrentTask { $0?.cancel() }
                    throw CancellationError()
                }
                return CallOrigin.current?.shouldCallerRetry
            }
        }.value
        #expect(advice == nil)
    }

    @Test("if the retry budget is exhausted, the caller should also not retry")
    func budget() async {
        let budget = RetryBudget.tokens(capacity: 1, cost: 5)
        await CallOrigin().run {
            await #expect(throws: Outage.self) { try await retrying(budget: budget).run { throw Outage() } }
            #expect(CallOrigin.current?.shouldCallerRetry == false)
        }
    }

    @Test("a request on its third attempt or later should not be retried")
    func most() {
        #expect((1...4).map { CallOrigin(attempt: $0).shouldCallerRetry } == [nil, nil, false, false])
    }
}
