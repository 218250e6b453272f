import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

@Suite(.timeLimit(.minutes(20))) struct CallCacheTests {
    let clock = ManualClock()
    let recorder = EventRecorder()
    let load = ScriptedOperation<String, Int>()

    private struct NotFound: Error, Equatable, VerdictConvertible { let verdict = Verdict.permanent }

    private static let lifetime = CacheLifetime(
        freshFor: .seconds(60), staleWhileRevalidate: .seconds(30), staleIfError: .seconds(600))

    private func cache(
        lifetime: CacheLifetime = Self.lifetime, staleOn: VerdictSet = .outages, failuresFor: Duration = .zero,
        maxCount: Int = 1000, maxCost: Int? = nil, costOf: (@Sendable (Int) -> Int)? = nil,
        lifetimeOf: (@Sendable (String, Int) -> CacheLifetime?)? = nil
    ) -> CallCache<String, Int> {
        CallCache(
            "profiles", lifetime: lifetime, staleOn: staleOn, failuresFor: failuresFor, maxCount: maxCount,
            maxCost: maxCost,
            costOf: costOf, lifetimeOf: lifetimeOf, timeBase: clock, observers: PolicyObservers(recorder))
    }

    private var events: [CacheEvent] { recorder.events(of: CacheEvent.self) }

    private func ask(_ cache: CallCache<String, Int>, _ key: String = "a") async throws -> Int {
        try await cache.value(for: key) { try await load(key) }
    }

    // MARK: Fresh

    @Test("a value is loaded once per key, and returned while it is fresh")
    func fresh() throws {
        let cache = cache()
        load.enqueue(.success(1), .success(2), .success(3))
        try clock.run { () async throws in
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(59))
            #expect(try await ask(cache) == 1)
            #expect(try await ask(cache, "b") == 2)
            #expect(load.inputs == ["a", "b"] && cache.status.count == 2 && cache.status.cost == 0)
        }
        #expect(events == [.missed, .loaded(took: .zero), .hit, .missed, .loaded(took: .zero)])
    }

    @Test("the load's closure is made only if it may be needed, and not for a fresh value")
    func loadIsNotMade() throws {
        let (cache, made, load) = (cache(), Box(0), load)
        load.enqueue(.success(1))
        @Sendable func makeLoad() -> @Sendable () async throws -> Int {
            made.withLock { $0 += 1 }
            return { try await load("a") }
        }
        try clock.run { () async throws in
            for _ in 0..<3 { #expect(try await cache.value(for: "a", makeLoad()) == 1) }
        }
        #expect(made.value == 1)
    }

    @Test("a thousand calls that find nothing load once, and a second thousand gets the stored value")
    func stampede() throws {
        let cache = cache()
        load.enqueue(.success(1))
        try clock.run { () async throws in
            load.hold()
            let calls = (0..<1000).map { _ in Task { try await ask(cache) } }
            await clock.runUntilIdle()
            #expect(cache.status.loads == SingleFlightStatus(flights: 1, waiting: 1000, abandoned: 0))
            load.release()
            for call in calls { #expect(try await call.value == 1) }
            for _ in 0..<1000 { #expect(try await ask(cache) == 1) }
        }
        #expect(load.callCount == 1)
    }

    // MARK: Stale

    @Test("a stale value is returned at once, while one load runs in the background, whatever happens to the caller")
    func staleWhileRevalidate() throws {
        let cache = cache()
        load.enqueue(.success(1), .success(2))
        try clock.run { () async throws in
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(60))
            load.hold()
            let caller = Task {
                let value = try await CallDeadline(after: .seconds(1), on: clock).run { try await ask(cache) }
                cancelCurrentTask()
                return value
            }
            #expect(try await caller.value == 1)
            for _ in 0..<10 { #expect(try await ask(cache) == 1) }
            await clock.runUntilIdle()
            #expect(load.running == 1)
            clock.advance(by: .seconds(5))
            load.release()
            await clock.runUntilIdle()
            #expect(try await ask(cache) == 2)
            #expect(load.callCount == 2)
        }
        #expect(events.filter { $0 == .hitStale }.count == 11 && events.contains(.loaded(took: .seconds(5))))
    }

    @Test("a background load belongs to no request: it has neither a request's priority nor its attempt number")
    func refreshHasNoOrigin() throws {
        let cache = cache()
        let seen = Journal()
        try clock.run { () async throws in
            for advance in [0, 60] {
                clock.advance(by: .seconds(advance))
                try await CallOrigin(priority: .low, attempt: 2).run {
                    _ = try await cache.value(for: "a") {
                        let origin = CallOrigin.current
                        seen.note("\(origin?.attempt ?? 1) \(origin?.priority == .low)")
                        return 1
                    }
                }
                await clock.runUntilIdle()
            }
        }
        #expect(seen.lines == ["2 true", "1 false"])
    }

    @Test("a background load that fails leaves the value; after the pause the next call tries again")
    func failedRefresh() throws {
        let cache = cache()
        load.enqueue(.success(1), .failure(Outage()), .success(2))
        try clock.run { () async throws in
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(60))
            for _ in 0..<3 {
                #expect(try await ask(cache) == 1)
                await clock.runUntilIdle()
            }
            #expect(load.callCount == 2)
            clock.advance(by: .seconds(1))
            #expect(try await ask(cache) == 1)
            await clock.runUntilIdle()
            #expect(try await ask(cache) == 2)
        }
        #expect(events.contains(.failed(.transient, took: .zero)))
    }

    @Test(
        "when the stale value may no longer be returned, a hanging background load is given up: the next call loads")
    func hangingRefresh() throws {
        let cache = cache()
        load.enqueue(.success(1), .success(2), .success(3))
        try clock.run { () async throws in
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(60))
            load.hold()
            #expect(try await ask(cache) == 1)
            await clock.runUntilIdle()
            clock.advance(by: .seconds(30))
            await clock.runUntilIdle()
            #expect(load.running == 0 && cache.status.loads.flights == 0)
            load.release()
            #expect(try await ask(cache) == 3)
        }
    }

    @Test("a background load does not replace a value that was stored before it began")
    func storedBeforeRefresh() throws {
        let cache = cache()
        load.enqueue(.success(1), .success(2))
        try clock.run { () async throws in
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(60))
            #expect(try await ask(cache) == 1)
            cache.store(9, for: "a")
            await clock.runUntilIdle()
            #expect(cache.freshValue(for: "a") == 9 && load.callCount == 1)
        }
    }

    @Test("if no new value can be loaded, the stale value is returned while its age allows it")
    func staleIfError() throws {
        let cache = cache()
        load.enqueue(.success(1))
        load.fallback = .failure(Outage())
        try clock.run { () async throws in
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(120))
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(539))
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(1))
            await #expect(throws: Outage()) { try await ask(cache) }
        }
        #expect(events.filter { $0 == .fellBack(.transient) }.count == 2)
    }

    @Test("if a load takes too long for a caller, the caller gets the stale value, and the load continues for others")
    func deadline() throws {
        let cache = cache()
        load.enqueue(.success(1), .success(2))
        try clock.run { () async throws in
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(100))
            load.hold()
            async let patient = ask(cache)
            await clock.runUntilIdle()
            let start = clock.now
            let impatient = try await cache.value(for: "a", deadline: start + .seconds(2)) { try await load("a") }
            #expect(impatient == 1 && clock.now == start + .seconds(2))
            // Later callers need not wait for a second.
            let next = try await cache.value(for: "a", deadline: clock.now + .seconds(2)) { try await load("a") }
            #expect(next == 1 && clock.now == start + .seconds(2))
            load.release()
            #expect(try await patient == 2)
        }
    }

    @Test("the stale value is also returned when a pipeline around the cache runs out of time")
    func deadlineOfAll() throws {
        let cache = cache()
        load.enqueue(.success(1))
        let pipeline = Pipeline(timeBase: clock) { Retry() }
        try clock.run { () async throws in
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(100))
            load.hold()
            let value = try await CallDeadline(after: .seconds(2), on: clock).run {
                try await pipeline.run { try await ask(cache) }
            }
            #expect(value == 1)
        }
    }

    private struct Busy: Error, VerdictConvertible {
        var verdict = Verdict.throttled(retryAfter: .seconds(60))
    }

    @Test("the other side's named wait holds all loads of the key, and the stale value is returned meanwhile (P62)")
    func namedWait() throws {
        let cache = cache()
        try clock.run { () async throws in
            load.enqueue(.success(1))
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(100))
            load.enqueue(.failure(Busy()))
            for _ in 0..<60 {
                #expect(try await ask(cache) == 1)
                await clock.runUntilIdle()
                clock.advance(by: .seconds(1))
            }
            #expect(load.callCount == 2)
            load.enqueue(.success(2))
            #expect(try await ask(cache) == 2)
        }
        // One call before the value became due for a background load.
        #expect(events.filter { $0 == .hitStale }.count == 59)
    }

    @Test(
        "without a usable value, calls get the failure that named the wait, and nothing is loaded (P62)",
        arguments: [true, false])
    func namedWaitWithoutValue(hadValue: Bool) throws {
        let cache = cache(lifetime: CacheLifetime(freshFor: .seconds(60), staleIfError: .seconds(10)))
        try clock.run { () async throws in
            if hadValue {
                load.enqueue(.success(1))
                #expect(try await ask(cache) == 1)
                clock.advance(by: .seconds(65))
            }
            load.enqueue(.failure(Busy()))
            for second in 0..<60 {
                if hadValue, second < 5 {
                    #expect(try await ask(cache) == 1)
                } else {
                    await #expect(throws: Busy.self) { try await ask(cache) }
                }
                clock.advance(by: .seconds(1))
            }
            #expect(load.callCount == (hadValue ? 2 : 1))
            load.enqueue(.success(2))
            #expect(try await ask(cache) == 2)
            // A write ends the wait.
            clock.advance(by: .seconds(1_000))
            load.enqueue(.failure(Busy()), .success(3))
            await #expect(throws: Busy.self) { try await ask(cache) }
            cache.remove("a")
            #expect(try await ask(cache) == 3)
        }
    }

    @Test(
        "an answer is kept as long as the cache keeps answers, or as the service asks, whichever is longer",
        arguments: [(wait: 60, kept: 60), (wait: 1, kept: 5)])
    func namedWaitOfAnswer(wait: Int, kept: Int) throws {
        let cache = CallCache<String, Int>(
            lifetime: CacheLifetime(freshFor: .seconds(60)), failuresFor: .seconds(5), timeBase: clock)
        try clock.run { () async throws in
            load.enqueue(.failure(Busy(verdict: Verdict(.permanent, retryAfter: .seconds(wait)))))
            for _ in 0..<kept {
                await #expect(throws: Busy.self) { try await ask(cache) }
                clock.advance(by: .seconds(1))
            }
            #expect(load.callCount == 1)
            load.enqueue(.success(2))
            #expect(try await ask(cache) == 2)
        }
    }

    @Test("a wait of years holds loads for an hour; a wait of zero, or a policy's rejection, holds none")
    func waitsThatHoldLittle() throws {
        let cache = cache()
        try clock.run { () async throws in
            load.enqueue(.failure(Busy(verdict: .transient(retryAfter: .seconds(1_000_000_000)))))
            await #expect(throws: Busy.self) { try await ask(cache) }
            clock.advance(by: .seconds(3_599))
            await #expect(throws: Busy.self) { try await ask(cache) }
            clock.advance(by: .seconds(1))
            load.enqueue(
                .failure(Busy(verdict: .transient(retryAfter: .zero))),
                .failure(NoEndpoint(policy: "pool", count: 2, retryAfter: .seconds(9))))
            await #expect(throws: Busy.self) { try await ask(cache) }
            await #expect(throws: NoEndpoint.self) { try await ask(cache) }
            load.enqueue(.success(1))
            #expect(try await ask(cache) == 1)
        }
    }

    @Test("a value that is stored between a call's lookup and its load is returned, and nothing is loaded")
    func cameMeanwhile() throws {
        let cache = cache()
        // Sent when the call has found nothing, and before it loads.
        let storing = cache.observers.add { event in
            if event.detail as? CacheEvent == .missed { cache.store(1, for: "a") }
        }
        try clock.run { () async throws in
            #expect(try await ask(cache) == 1)
            #expect(load.callCount == 0)
            storing.cancel()
            clock.advance(by: .seconds(60))
            // This is sent before a load in the background begins.
            let replacing = cache.observers.add { event in
                if event.detail as? CacheEvent == .hitStale { cache.store(7, for: "a") }
            }
            #expect(try await ask(cache) == 1)
            await clock.runUntilIdle()
            replacing.cancel()
            #expect(try await ask(cache) == 7)
        }
        #expect(load.callCount == 0 && events == [.missed, .hitStale, .hit])
    }

    @Test("a replaced value is not reported as evicted")
    func replaced() {
        let cache = cache(maxCount: 2, maxCost: 100, costOf: { $0 })
        for value in 1...5 { cache.store(value, for: "a") }
        // The replaced value itself makes room.
        cache.store(99, for: "a")
        cache.store(100, for: "a")
        #expect(events.isEmpty && cache.status.cost == 100)
        cache.store(1, for: "b")
        #expect(events == [.evicted(1)])
    }

    @Test("after a failure that is not in `staleOn`, every call loads")
    func failureOfAnotherKind() throws {
        let cache = cache(staleOn: .uncertain)
        load.enqueue(.success(1))
        load.fallback = .failure(Outage())
        try clock.run { () async throws in
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(100))
            for _ in 0..<3 { await #expect(throws: Outage()) { try await ask(cache) } }
        }
        #expect(load.callCount == 4)
    }

    @Test("if a write comes before a background load begins, the load does not run, and nobody joins it")
    func removedBeforeRefresh() throws {
        for seed in UInt64(1)...20 {
            let (cache, asked) = (cache(), Journal())
            try clock.run(seed: seed) { () async throws in
                _ = try await cache.value(for: "a") { 1 }
                clock.advance(by: .seconds(60))
                for write in 0..<2 {
                    _ = try await cache.value(for: "a") {
                        asked.note("before")
                        return 2
                    }
                    if write == 0 { cache.remove("a") } else { cache.removeAll() }
                    let after = try await cache.value(for: "a") { 3 }
                    #expect(after == 3 && cache.freshValue(for: "a") == 3)
                    clock.advance(by: .seconds(60))
                }
            }
            #expect(asked.lines == [])
        }
    }

    @Test("a cancelled caller gets its cancellation, not the stale value")
    func cancelled() throws {
        let cache = cache()
        load.enqueue(.success(1), .success(2))
        try clock.run { () async throws in
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(100))
            load.hold()
            let call = Task { try await ask(cache) }
            await clock.runUntilIdle()
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            await clock.runUntilIdle()
            #expect(load.running == 0 && cache.status.loads.abandoned == 0)
        }
    }

    @Test(
        "if a load fails, a value removed meanwhile is not returned, but a value stored meanwhile is",
        arguments: [true, false])
    func writtenWhileWaiting(stores: Bool) throws {
        let cache = cache()
        load.enqueue(.success(1), .failure(Outage()))
        try clock.run { () async throws in
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(100))
            load.hold()
            let call = Task { try await ask(cache) }
            await clock.runUntilIdle()
            if stores { cache.store(9, for: "a") } else { cache.remove("a") }
            load.release()
            if stores {
                #expect(try await call.value == 9)
            } else {
                await #expect(throws: Outage()) { try await call.value }
            }
        }
    }

    @Test("a call without time left gets the stale value, if any")
    func noTime() throws {
        let cache = cache()
        load.enqueue(.success(1))
        try clock.run { () async throws in
            await #expect(throws: DeadlinePassed.self) {
                try await cache.value(for: "a", deadline: clock.now) { try await load("a") }
            }
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(100))
            #expect(try await cache.value(for: "a", deadline: clock.now) { try await load("a") } == 1)
        }
        #expect(load.callCount == 1 && events.last == .fellBack(.rejected))
    }

    @Test("a call without time left has waited for no load, and does not block the next call's load")
    func noTimeAtFirst() throws {
        let cache = cache()
        load.enqueue(.success(1), .success(2))
        try clock.run { () async throws in
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(100))
            #expect(try await cache.value(for: "a", deadline: clock.now) { try await load("a") } == 1)
            #expect(try await ask(cache) == 2)
        }
    }

    @Test("an operation that asks a cache for a stale value does not become part of the background load")
    func refreshInside() throws {
        let (cache, outer) = (cache(), SingleFlight<String, Int>(timeBase: clock))
        load.enqueue(.success(1), .success(2))
        let depth = Box(-1)
        try clock.run { () async throws in
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(60))
            let value = try await outer.run(for: "o") {
                try await cache.value(for: "a") {
                    depth.withLock { $0 = FlightPath.current.count }
                    return try await load("a")
                }
            }
            #expect(value == 1)
            await clock.runUntilIdle()
            #expect(depth.value == 1)
        }
    }

    // MARK: Failures

    @Test("a failure that is an answer removes the value, and is itself kept if configured; an outage is never kept")
    func answers() throws {
        let cache = cache(failuresFor: .seconds(10))
        load.enqueue(.success(1), .failure(NotFound()), .failure(Outage()), .success(2))
        try clock.run { () async throws in
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(60))
            // The value is stale, and the background load learns that it is gone.
            #expect(try await ask(cache) == 1)
            await clock.runUntilIdle()
            await #expect(throws: NotFound()) { try await ask(cache) }
            #expect(load.callCount == 2)
            clock.advance(by: .seconds(10))
            await #expect(throws: Outage()) { try await ask(cache) }
            #expect(try await ask(cache) == 2)
        }
        #expect(events.contains(.hitFailure) && events.contains(.failed(.permanent, took: .zero)))
    }

    @Test(
        "a failure that is neither an answer nor in staleOn is thrown and leaves the value; staleOn overrides answers"
    )
    func otherFailures() throws {
        let cache = cache(staleOn: .permanent, failuresFor: .seconds(10))
        load.enqueue(.success(1), .failure(Outage()), .failure(NotFound()))
        try clock.run { () async throws in
            #expect(try await ask(cache) == 1)
            clock.advance(by: .seconds(100))
            await #expect(throws: Outage()) { try await ask(cache) }
            clock.advance(by: .seconds(1))
            #expect(try await ask(cache) == 1)
        }
        #expect(load.callCount == 3)
    }

    // MARK: By hand

    @Test("the result of a load that began before a write is not kept", arguments: [true, false])
    func write(stores: Bool) throws {
        let cache = cache()
        load.enqueue(.success(1), .success(2))
        try clock.run { () async throws in
            load.hold()
            async let before = ask(cache)
            await clock.runUntilIdle()
            if stores { cache.store(9, for: "a") } else { cache.remove("a") }
            async let after = ask(cache)
            await clock.runUntilIdle()
            load.release()
            #expect(try await before == 1)
            #expect(try await after == (stores ? 9 : 2))
            #expect(cache.freshValue(for: "a") == (stores ? 9 : 2))
        }
    }

    @Test("if a call asked before all values were removed, its load's result is not kept, even if the load began later")
    func askedBefore() throws {
        var hasBegunLater = false
        for seed in UInt64(0)..<100 {
            let clock = ManualClock()
            let cache = CallCache<String, Int>(lifetime: Self.lifetime, timeBase: clock)
            let log = Journal()
            try clock.run(seed: seed) { () async throws in
                let call = Task {
                    _ = try await cache.value(for: "a") {
                        log.note("load")
                        return 1
                    }
                }
                Task {
                    log.note("remove, \(cache.status.loads.waiting)")
                    cache.removeAll()
                }
                try await call.value
                await clock.runUntilIdle()
            }
            // The call had asked, but its load had not begun.
            if log.lines == ["remove, 1", "load"] {
                hasBegunLater = true
                #expect(cache.status.count == 0, "seed \(seed)")
            }
        }
        #expect(hasBegunLater)
    }

    // MARK: Bounds

    @Test("the cache never exceeds its count and its cost, and reports how many were evicted")
    func bounds() throws {
        let cache = cache(maxCount: 3, maxCost: 100, costOf: { $0 })
        for (key, value) in [("a", 10), ("b", 20), ("c", 30), ("d", 40)] { cache.store(value, for: key) }
        #expect(cache.status.count == 3 && cache.status.cost == 90 && cache.freshValue(for: "a") == nil)
        cache.store(95, for: "e")
        #expect(cache.status.count == 1 && cache.status.cost == 95)
        cache.store(101, for: "f")
        #expect(cache.status.count == 1 && cache.freshValue(for: "f") == nil)
        #expect(events == [.evicted(1), .evicted(3)])
    }

    @Test("a value may have its own lifetime; a negative lifetime counts as zero")
    func ownLifetime() throws {
        let cache = cache(lifetimeOf: { key, value in
            key == "usual" ? nil : CacheLifetime(freshFor: .seconds(value), staleIfError: .seconds(-5))
        })
        cache.store(5, for: "short")
        cache.store(-5, for: "never")
        cache.store(5, for: "usual")
        #expect(cache.freshValue(for: "never") == nil && cache.freshValue(for: "short") == 5)
        clock.advance(by: .seconds(5))
        #expect(cache.freshValue(for: "short") == nil && cache.freshValue(for: "usual") == 5)
    }

    @Test("values and keys whose deinit uses the cache do not deadlock")
    func deinits() {
        final class Value: Sendable {
            let whenGone: @Sendable () -> Void
            init(_ whenGone: @escaping @Sendable () -> Void) { self.whenGone = whenGone }
            deinit { whenGone() }
        }
        let gone = Box(0)
        let cache = CallCache<Int, Value>(lifetime: CacheLifetime(freshFor: .seconds(1)), maxCount: 2, timeBase: clock)
        let whenGone: @Sendable () -> Void = { [unowned cache] in
            _ = cache.status
            cache.remove(100)
            gone.withLock { $0 += 1 }
        }
        for key in [1, 2, 3, 3] { cache.store(Value(whenGone), for: key) }
        cache.remove(3)
        #expect(gone.value == 3)
        cache.removeAll()
        #expect(gone.value == 4)
    }

    @Test("the description shows the settings")
    func describes() {
        #expect("\(cache())" == "profiles: up to 1000 entries, fresh for 60 s")
        #expect("\(cache(maxCount: 5, maxCost: 100))" == "profiles: up to 5 entries of cost 100, fresh for 60 s")
    }
}
