import Resilience
import ResilienceTraffic
import ResilienceTesting
import TestSupport
import Testing

/// An endpoint that may run other code each time it is compared with another.
private struct Comparing: Hashable {
    @TaskLocal static var meanwhile: (@Sendable () -> Void)?
    let name: String

    static func == (one: Comparing, other: Comparing) -> Bool {
        meanwhile?()
        return one.name == other.name
    }

    func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// A pool with calls, time and events.
@Suite(.timeLimit(.minutes(20))) struct EndpointPoolTests {
    let clock = ManualClock()
    let recorder = EventRecorder()

    private func pool(
        _ endpoints: [String] = ["a", "b", "c", "d"], _ choice: EndpointChoice = .roundRobin,
        ejecting ejection: OutlierEjection? = OutlierEjection(afterConsecutive: 3, jitter: 0),
        panicThreshold: Double = 0.5
    ) -> EndpointPool<String> {
        EndpointPool(
            "search", endpoints, choosing: choice, ejecting: ejection, slowStart: nil, panicThreshold: panicThreshold,
            generator: SplitMix64(seed: 1), timeBase: clock, observers: PolicyObservers(recorder))
    }

    private func retries(_ count: Int = 3, on verdicts: VerdictSet = [.transient, .throttled]) -> Retry {
        Retry(maxRetries: count, backoff: .constant(.zero), on: verdicts)
    }

    private var events: [EndpointPoolEvent] { recorder.events(of: EndpointPoolEvent.self) }

    @Test(
        "each attempt of a call goes to another endpoint, while an untried one exists (P58)",
        arguments: EndpointChoice.allCases)
    func attempts(choice: EndpointChoice) async {
        let pool = pool(["a", "b", "c"], choice, ejecting: nil)
        let pipeline = Pipeline("search", timeBase: clock) { retries(5) }
        for _ in 0..<20 {
            var tried: [String] = []
            await #expect(throws: (any Error).self) {
                try await pipeline.run(over: pool) { endpoint, attempt in
                    tried.append(endpoint)
                    #expect(attempt.number == tried.count)
                    throw Outage()
                }
            }
            // All three endpoints come first; after that, any except the last one.
            #expect(tried.count == 6 && Set(tried[..<3]).count == 3 && Set(tried[2..<5]).count == 3)
            #expect(tried[4] != tried[5])
        }
        #expect(pool.status.endpoints.allSatisfy { $0.inFlight == 0 && $0.calls == $0.failures && $0.calls > 0 })
    }

    @Test("ejecting an endpoint that is meanwhile removed does nothing, and does not even bring back due endpoints")
    func ejectedWhileRemoved() {
        let (clock, isDone) = (clock, Box(false))
        let pool = EndpointPool(
            "search", ["a", "b", "c"].map(Comparing.init), ejecting: nil, slowStart: nil, timeBase: clock,
            observers: PolicyObservers(recorder))
        pool.eject(Comparing(name: "b"), for: .seconds(10))
        Comparing.$meanwhile.withValue({
            guard !isDone.value else { return }
            isDone.value = true
            pool.update(["a", "b"].map(Comparing.init))
            clock.advance(by: .seconds(20))
        }) {
            pool.eject(Comparing(name: "c"))
        }
        #expect(isDone.value && pool.endpoints.count == 2)
        #expect(!events.contains { $0.kind == "returned" })
    }

    @Test("a failing endpoint is ejected, gets no calls, and returns")
    func ejection() async throws {
        let pool = pool()
        var served: [String] = []
        func calls(_ count: Int) async {
            for _ in 0..<count {
                _ = try? await pool.run { endpoint in
                    served.append(endpoint)
                    if endpoint == "b" { throw Outage() }
                }
            }
        }
        await calls(12)
        #expect(served.count { $0 == "b" } == 3)
        #expect(events == [.ejected("b", .consecutiveFailures(3), for: .seconds(30))])
        let status = pool.status
        #expect(status.ejected == 1 && status.isAllowed && !status.isPanicking)
        #expect(status.endpoints[1].isEjected && !status.endpoints[1].isUsed)
        #expect(status.endpoints[1].timeRemaining == .seconds(30) && status.endpoints[1].failures == 3)
        served = []
        await calls(30)
        #expect(!served.contains("b"))
        clock.advance(by: .seconds(30))
        #expect(pool.status.ejected == 0 && events.count == 1)
        await calls(8)
        #expect(served.count { $0 == "b" } == 2)
        #expect(events.last == .returned("b"))
    }

    @Test("a cancelled call does not count, but a call cancelled at its attempt's deadline is a failure")
    func cancellation() throws {
        let clock = clock
        let pool = pool(["a"])
        let pipeline = Pipeline("search", timeBase: clock) { Timeout(limit: .seconds(2)) }
        try clock.run { () async throws in
            let call = Task {
                try await pipeline.run(over: pool) { _ in try await clock.sleep(for: .seconds(100)) }
            }
            try await clock.sleep(for: .seconds(1))
            #expect(pool.status.endpoints[0].inFlight == 1)
            call.cancel()
            _ = await call.result
            #expect(pool.status.endpoints[0].calls == 0 && pool.isAtRest)
            await #expect(throws: TimedOut.self) {
                try await pipeline.run(over: pool) { _ in try await clock.sleep(for: .seconds(100)) }
            }
        }
        let status = pool.status.endpoints[0]
        #expect(status.calls == 1 && status.failures == 1 && status.inFlight == 0)
    }

    @Test("a call that runs out of time at its own deadline is also a failure")
    func deadline() throws {
        let clock = clock
        let pool = pool(["a"])
        let pipeline = Pipeline("search", timeBase: clock) {}
        try clock.run { () async throws in
            _ = await #expect(throws: TimedOut.self) {
                try await pipeline.run(over: pool, options: RunOptions(deadline: clock.now + .seconds(2))) { _ in
                    try await clock.sleep(for: .seconds(100))
                }
            }
        }
        #expect(pool.status.endpoints[0].failures == 1)
    }

    @Test("an attempt that a breaker rejects goes to the next endpoint at once, and counts nowhere")
    func rejections() async throws {
        let pool = pool()
        let clock = clock
        let breakers = CircuitBreakerRegistry<String> { CircuitBreaker($0, timeBase: clock) }
        for endpoint in ["a", "b", "c"] { breakers[endpoint].setMode(.isolated) }
        var attempts: [Int] = []
        for _ in 0..<8 {
            // No retry.
            let endpoint = try await Pipeline("search", timeBase: clock) {}.run(over: pool) { endpoint, attempt in
                try await breakers[endpoint].run { attempts.append(attempt.number) }
                return endpoint
            }
            #expect(endpoint == "d")
        }
        #expect(attempts == Array(repeating: 1, count: 8))
        #expect(pool.status.endpoints.map(\.calls) == [0, 0, 0, 8])
        breakers["d"].setMode(.isolated)
        var asked = 0
        await #expect(throws: CircuitOpen.self) {
            try await Pipeline("search", timeBase: clock) { retries() }.run(over: pool) { endpoint in
                asked += 1
                try await breakers[endpoint].run {}
            }
        }
        #expect(asked == 4 && pool.isAtRest && events.isEmpty)
    }

    @Test("a call rejected because of its deadline does not try another endpoint, which would also reject it")
    func deadlinePassed() async {
        let pool = pool()
        var asked = 0
        await #expect(throws: DeadlinePassed.self) {
            try await pool.run { _ in
                asked += 1
                throw DeadlinePassed()
            }
        }
        #expect(asked == 1)
    }

    @Test("an endpoint with an open circuit does not end a retry, which continues on a tried endpoint")
    func openCircuitAndRetry() async throws {
        let pool = pool(["a", "b"], ejecting: nil)
        let pipeline = Pipeline(timeBase: clock) { retries(5) }
        for _ in 0..<10 {
            var calls = 0
            try await pipeline.run(over: pool) { endpoint in
                if endpoint == "b" { throw CircuitOpen(policy: "b", retryAfter: nil) }
                calls += 1
                if calls < 3 { throw Outage() }
            }
            #expect(calls == 3)
        }
    }

    @Test("if all endpoints reject an attempt, only ten are asked", arguments: EndpointChoice.allCases)
    func manyRejections(choice: EndpointChoice) async {
        let pool = pool((0..<1_000).map { "\($0)" }, choice, ejecting: nil)
        var asked: Set<String> = []
        await #expect(throws: CircuitOpen.self) {
            try await pool.run { endpoint in
                asked.insert(endpoint)
                throw CircuitOpen(policy: endpoint, retryAfter: nil)
            }
        }
        #expect(asked.count == 10)
    }

    @Test("without endpoints a call is rejected without an attempt, and reports when to retry")
    func empty() async {
        let pool = pool([], panicThreshold: 0)
        let calls = EventRecorder()
        let pipeline = Pipeline("search", timeBase: clock, observers: PolicyObservers(calls)) { retries() }
        await #expect(throws: NoEndpoint(policy: "search", count: 0, retryAfter: nil)) {
            try await pipeline.run(over: pool) { _ in Issue.record("ran") }
        }
        #expect(calls.events(of: Pipeline.Event.self) == [.rejected(took: .zero, attempts: 0)])
        #expect(!pool.status.isAllowed)
        pool.update(["a", "b"])
        pool.eject("a")
        pool.eject("b", for: .seconds(3))
        clock.advance(by: .seconds(1))
        let error = NoEndpoint(policy: "search", count: 2, retryAfter: .seconds(2))
        await #expect(throws: error) { try await pool.run { _ in } }
        #expect("\(error)" == "No endpoint is available (search): all 2 are ejected. Please try again in 2 seconds.")
        #expect(CallFailure(error).reachedService == false && error.verdict == .rejected)
        clock.advance(by: .seconds(2))
        await #expect(throws: Never.self) { try await pool.run { #expect($0 == "b") } }
        await #expect(throws: NoEndpoint.self) {
            try await pipeline.runHedged(over: EndpointPool<Int>("none", [], timeBase: clock)) { _ in }
        }
    }

    @Test("an attempt without an endpoint does not count; the next attempt is counted and reported")
    func emptyAtFirst() async {
        let pool = pool([])
        let calls = EventRecorder()
        let pipeline = Pipeline("search", timeBase: clock, observers: PolicyObservers(calls)) {
            Retry(
                maxRetries: 1, backoff: .constant(.zero), on: [.transient, .rejected],
                beforeRetry: { _, _ in pool.update(["a"]) })
        }
        await #expect(throws: Outage.self) { try await pipeline.run(over: pool) { _ in throw Outage() } }
        #expect(
            calls.events(of: Pipeline.Event.self) == [
                .attemptFailed(2, .transient, took: .zero), .failed(.transient, took: .zero, attempts: 1),
            ])
    }

    @Test("if the list is emptied between two attempts, the call throws the earlier attempt's error")
    func emptied() async {
        let pool = pool()
        var attempts = 0
        await #expect(throws: Outage.self) {
            try await Pipeline("search", timeBase: clock) { retries() }.run(over: pool) { _ in
                attempts += 1
                pool.update([])
                throw Outage()
            }
        }
        #expect(attempts == 1)
    }

    @Test("an endpoint that is ejected by hand stays out until it is restored by hand")
    func byHand() async throws {
        let pool = pool(["a", "b"])
        pool.eject("a")
        pool.eject("elsewhere")
        for _ in 0..<4 { try await pool.run { #expect($0 == "b") } }
        #expect(pool.status.endpoints[0].timeRemaining == nil && pool.status.endpoints[0].isEjected)
        clock.advance(by: .seconds(1_000_000))
        try await pool.run { #expect($0 == "b") }
        pool.restore("a")
        pool.restore("a")
        #expect(events == [.ejected("a", .byHand, for: .nanoseconds(Int64.max)), .returned("a")])
        #expect(pool.status.ejected == 0)
        pool.eject("a", for: .seconds(-5))
        try await pool.run { _ in }
        #expect(pool.status.ejected == 0)
    }

    @Test("the list may change while calls are in flight")
    func update() async throws {
        let pool = pool(["a", "b", "b"])
        #expect(pool.endpoints == ["a", "b"])
        let pipeline = Pipeline("search", timeBase: clock) { retries(1) }
        var tried: [String] = []
        try await pipeline.run(over: pool) { endpoint in
            tried.append(endpoint)
            if tried.count == 1 {
                pool.update(["x"], weights: ["x": .min, "y": 3])
                throw Outage()
            }
        }
        #expect(tried.count == 2 && tried[1] == "x" && pool.endpoints == ["x"])
        #expect(pool.status.endpoints.map(\.calls) == [1] && pool.status.endpoints[0].weight == 1)
        pool.update(["x", "y"], weights: ["x": .max])
        #expect(pool.status.endpoints.map(\.weight) == [65_535, 1])
        #expect(pool.status.endpoints.map(\.calls) == [1, 0])
        pool.update([])
        #expect(pool.endpoints.isEmpty)
    }

    @Test("a permit is reported once, and a dropped permit does not count")
    func permits() throws {
        let pool = pool(["a", "b", "c"])
        var tried = TriedEndpoints()
        var names: Set<String> = []
        for _ in 0..<3 {
            let permit = try pool.pick(after: &tried)
            names.insert(permit.endpoint)
            permit.complete(.transient)
        }
        #expect(names == ["a", "b", "c"] && tried.count == 3)
        do {
            let permit = try pool.pick()
            #expect(pool.status.endpoints.map(\.inFlight).reduce(0, +) == 1)
            _ = permit.endpoint
        }
        #expect(pool.status.endpoints.allSatisfy { $0.inFlight == 0 && $0.calls == 1 && $0.failures == 1 })
        pool.reset()
        #expect(pool.isAtRest && pool.status.endpoints.allSatisfy { $0.calls == 0 })
        #expect(throws: NoEndpoint(policy: "none", count: 0, retryAfter: nil)) {
            _ = try EndpointPool<Int>("none", []).pick()
        }
    }

    @Test("a hedge goes to another endpoint, and the losing copy does not count for its own endpoint")
    func hedges() throws {
        let clock = clock
        let pool = pool(["a", "b", "c"])
        let pipeline = Pipeline("search", timeBase: clock, isIdempotent: true) {
            Hedge(after: .constant(.seconds(1)), maxHedges: 2, timeBase: clock)
        }
        let tried = Locked<[String]>([])
        let winner = try clock.run { () async throws in
            try await pipeline.runHedged(over: pool) { endpoint, attempt in
                tried.withLock { $0.append(endpoint) }
                try await clock.sleep(for: .seconds(attempt.hedge == 2 ? 1 : 100))
                return endpoint
            }
        }
        let names = tried.withLock { $0 }
        #expect(names.count == 3 && Set(names).count == 3 && winner == names[2])
        #expect(pool.status.endpoints.allSatisfy { $0.inFlight == 0 && $0.failures == 0 })
        #expect(pool.status.endpoints.map(\.calls).reduce(0, +) == 1)
    }

    @Test("a hedged call works with attempts, rejections and judged results")
    func hedgedAttempts() throws {
        let pool = pool(["a", "b", "c", "d"])
        let pipeline = Pipeline("search", timeBase: clock) {
            retries(1)
            Hedge(after: .constant(.seconds(60)), maxHedges: 1, on: [], timeBase: clock)
        }
        let tried = Locked<[String]>([])
        let asked = Locked(0)
        let result = try clock.run { () async throws in
            try await pipeline.runHedged(
                over: pool,
                judging: { (result: Int) in
                    asked.withLock { $0 += 1 }
                    return result == 0 ? .transient : .success
                }
            ) { endpoint in
                let count = tried.withLock { tried in
                    tried.append(endpoint)
                    return tried.count
                }
                if count == 1 { throw NoEndpoint(policy: "inner", count: 0, retryAfter: nil) }
                return count == 2 ? 0 : count
            }
        }
        let names = tried.withLock { $0 }
        #expect(result == 3 && names.count == 3 && Set(names).count == 3 && asked.withLock { $0 } == 2)
        #expect(pool.status.endpoints.map(\.failures).reduce(0, +) == 1)
    }

    private struct Lost: Error, VerdictConvertible { var verdict: Verdict { .transient } }

    @Test("a finished copy is no longer in flight: a later copy may go to its endpoint, and to no other")
    func endedCopy() throws {
        let clock = clock
        let pool = pool(["a", "b", "c"], ejecting: nil)
        let pipeline = Pipeline("search", timeBase: clock, isIdempotent: true) {
            Hedge(after: .constant(.seconds(1)), maxHedges: 3, on: .transient, timeBase: clock)
        }
        let tried = Locked<[String]>([])
        try clock.run {
            try await pipeline.runHedged(over: pool) { endpoint, attempt in
                tried.withLock { $0.append(endpoint) }
                switch attempt.hedge {
                case 0: throw Lost()
                case 1: try await clock.sleep(for: .seconds(100))
                case 2:
                    // Another call takes the turn of the first one.
                    _ = try pool.pick()
                    try await clock.sleep(for: .seconds(100))
                default: break
                }
            }
        }
        let names = tried.withLock { $0 }
        #expect(names.count == 4 && Set(names[..<3]).count == 3 && names[3] == names[0], "\(names)")
    }

    @Test("a hedged copy that is cancelled at its deadline is a failure of its endpoint; a losing copy is not")
    func hedgedDeadline() throws {
        let clock = clock
        let pool = pool(ejecting: nil)
        let pipeline = Pipeline("search", timeBase: clock, isIdempotent: true) { Hedge(after: .never, timeBase: clock) }
        _ = try clock.run {
            await #expect(throws: TimedOut.self) {
                try await pipeline.runHedged(
                    over: pool, options: RunOptions(deadline: clock.now.advanced(by: .seconds(1)))
                ) { _ in try await clock.sleep(for: .seconds(100)) }
            }
        }
        #expect(pool.status.endpoints.map(\.failures).reduce(0, +) == 1)
        #expect(pool.status.endpoints.allSatisfy { $0.inFlight == 0 })
    }

    @Test("a due return is reported when the list changes, even without a call", arguments: [true, false])
    func returnsWithList(staysInList: Bool) async {
        let pool = pool()
        while !pool.status.endpoints.contains(where: { $0.isEjected }) {
            _ = try? await pool.run { endpoint in if endpoint == "b" { throw Lost() } }
        }
        clock.advance(by: .seconds(31))
        pool.update(staysInList ? ["a", "b"] : ["a", "c"])
        #expect(events.map(\.kind) == ["ejected", "returned"] && events.last == .returned("b"))
    }

    @Test("a due return is reported when something is done by hand, even without a call", arguments: 0..<3)
    func returnsByHand(change: Int) async {
        let pool = pool()
        while !pool.status.endpoints.contains(where: { $0.isEjected }) {
            _ = try? await pool.run { endpoint in if endpoint == "b" { throw Lost() } }
        }
        clock.advance(by: .seconds(31))
        switch change {
        case 0: pool.eject("c")
        case 1: pool.restore("c")
        default: pool.reset()
        }
        #expect(events.map(\.kind) == ["ejected", "returned"] + (change == 0 ? ["ejected"] : []))
        #expect(events.dropFirst().first == .returned("b"))
    }

    @Test("a due return is reported when the next endpoint is chosen", arguments: [true, false])
    func returnsWithChoice(isHedged: Bool) async throws {
        let pool = pool()
        while !pool.status.endpoints.contains(where: { $0.isEjected }) {
            _ = try? await pool.run { endpoint in if endpoint == "b" { throw Lost() } }
        }
        clock.advance(by: .seconds(31))
        if isHedged {
            try await Pipeline("calls", timeBase: clock) {}.runHedged(over: pool) { _ in }
        } else {
            try pool.pick().complete(.success)
        }
        #expect(events.map(\.kind) == ["ejected", "returned"] && events.last == .returned("b"))
    }

    @Test("a pool that shrinks to one ejected endpoint uses it (P60)")
    func shrinks() async throws {
        let pool = pool(panicThreshold: 0)
        while !pool.status.endpoints.contains(where: { $0.isEjected }) {
            _ = try? await pool.run { endpoint in if endpoint == "b" { throw Lost() } }
        }
        pool.update(["b"])
        #expect(try await pool.run { $0 } == "b")
        #expect(pool.status.ejected == 0 && events.map(\.kind) == ["ejected", "returned"])
    }

    @Test("the operation runs in its caller's isolation")
    @MainActor func isolation() async throws {
        let pool = pool()
        var count = 0
        try await Pipeline("search", timeBase: clock) { retries() }.run(over: pool) { _ in
            MainActor.assertIsolated()
            count += 1
            if count == 1 { throw Outage() }
        }
        #expect(count == 2)
    }

    @Test("a classifier is asked once per failure, and a judge once per result")
    func once() async throws {
        let asked = Locked((errors: 0, results: 0))
        let classifier = Classifier { _ in
            asked.withLock { $0.errors += 1 }
            return .transient
        }
        for observers in [nil, PolicyObservers(EventRecorder())] {
            asked.withLock { $0 = (0, 0) }
            let pipeline = Pipeline("search", timeBase: clock, classifier: classifier, observers: observers) {
                retries(4)
            }
            var count = 0
            let last = try await pipeline.run(
                over: pool(),
                judging: { (result: Int) in
                    asked.withLock { $0.results += 1 }
                    return result < 4 ? .transient : .success
                }
            ) { _ in
                count += 1
                if count < 3 { throw Outage() }
                return count
            }
            #expect(last == 4)
            let counts = asked.withLock { $0 }
            #expect(counts.errors == 2 && counts.results == 2)
        }
    }

    @Test("in a pipeline's list, a pool reports its status, and admits every call")
    func member() async throws {
        let pool = pool()
        let pipeline = Pipeline("search") {
            retries()
            pool
        }
        #expect(pipeline.timeBase === clock && pipeline.warnings.isEmpty)
        #expect(pipeline.elements.map(\.name) == ["retry", "search"])
        #expect("\(pipeline.elements[1])" == "search: 4 endpoints, in turn")
        #expect(pipeline.statuses.count == 1 && pipeline.statuses[0].kind == "endpointPool" && pipeline.isAllowed)
        try await pipeline.run {}
        try await pipeline.run(over: pool) { _ in }
        #expect(pool.status.endpoints.map(\.calls).reduce(0, +) == 1)
        pool.update([])
        #expect(!pipeline.isAllowed)
    }

    @Test("a pool's events in a pipeline also reach its observers, with the pipeline's name")
    func observed() async {
        let outer = EventRecorder()
        let pool = pool(["a", "b"], ejecting: OutlierEjection(afterConsecutive: 1, jitter: 0, maxEjected: 1))
        let pipeline = Pipeline("calls", timeBase: clock, observers: PolicyObservers(outer)) { retries() }
        _ = try? await pipeline.run(over: pool) { _ in throw Outage() }
        #expect(outer.events(of: EndpointPoolEvent.self) == events)
        #expect(recorder.events.first?.pipeline == "calls")
        // The other endpoint is reported once, however often it fails.
        #expect(events.map(\.kind) == ["ejected", "notEjected"])
    }

    @Test("a pool's events in a hedged call also reach the pipeline's observers")
    func observedHedge() async {
        let outer = EventRecorder()
        let pool = pool(["a", "b"], ejecting: OutlierEjection(afterConsecutive: 1, jitter: 0, maxEjected: 1))
        let pipeline = Pipeline("calls", timeBase: clock, observers: PolicyObservers(outer)) { retries(0) }
        _ = try? await pipeline.runHedged(over: pool) { _ in throw Outage() }
        #expect(outer.events(of: EndpointPoolEvent.self) == events && events.map(\.kind) == ["ejected"])
        #expect(recorder.events.first?.pipeline == "calls")
    }

    @Test(
        "over many pools the first choices are in proportion to the weights, and a reordered list continues the round")
    func firstRound() throws {
        var firsts: [String: Int] = [:]
        for seed in 0..<3_000 {
            let pool = EndpointPool(
                "p", ["a", "b"], weights: ["a": 2], choosing: .roundRobin, slowStart: nil,
                generator: SplitMix64(seed: UInt64(seed)))
            firsts[try pool.pick().endpoint, default: 0] += 1
        }
        #expect(firsts["a"].map { (1_900...2_100).contains($0) } == true, "\(firsts)")
        let pool = EndpointPool("p", ["a", "b", "c"], weights: ["a": 3], choosing: .roundRobin, slowStart: nil)
        var picks: [String: Int] = [:]
        for call in 0..<500 {
            pool.update(call % 2 == 0 ? ["a", "b", "c"] : ["c", "b", "a"], weights: ["a": 3])
            picks[try pool.pick().endpoint, default: 0] += 1
        }
        #expect(picks == ["a": 300, "b": 100, "c": 100])
    }

    @Test("a panic begins only below its threshold, even if rounding makes threshold times count slightly too large")
    func threshold() throws {
        let pool = EndpointPool(
            "p", Array(0..<100), choosing: .roundRobin,
            ejecting: OutlierEjection(afterConsecutive: 1, deviation: nil, maxEjected: 0.93), slowStart: nil,
            panicThreshold: 0.07, timeBase: clock)
        for _ in 0..<300 {
            let permit = try pool.pick()
            let fails = permit.endpoint < 93
            permit.complete(fails ? .transient : .success)
        }
        #expect(pool.status.ejected == 93 && !pool.status.isPanicking)
    }

    @Test("a registry evicts a pipeline whose pool remembers a failure, but none with an ejected endpoint (P39)")
    func evicted() async {
        let clock = clock
        let registry = PipelineRegistry<Int>(capacity: 10, evictingAfter: .seconds(10), timeBase: clock) { key in
            let pool = EndpointPool("\(key)", ["a", "b"], timeBase: clock)
            try? pool.pick().complete(.transient)
            if key % 50 == 0 { pool.eject("a") }
            return Pipeline("\(key)", timeBase: clock) { pool }
        }
        for key in 0..<500 {
            _ = registry[key]
            clock.advance(by: .seconds(60))
        }
        #expect(registry.count <= 20 && registry.existing(0) != nil && registry.existing(1) == nil)
    }

    @Test("a pool whose clock differs from the pipeline's uses its own clock")
    func clocks() async throws {
        let pool = pool(["a", "b"])
        let pipeline = Pipeline("calls", timeBase: ManualClock()) {}
        for _ in 0..<8 {
            _ = try? await pipeline.run(over: pool) { if $0 == "a" { throw Outage() } }
        }
        #expect(pool.status.ejected == 1)
        clock.advance(by: .seconds(30))
        for _ in 0..<2 { _ = try? await pipeline.run(over: pool) { _ in } }
        #expect(events.last == .returned("a"))
    }

    @Test("invalid settings are all reported")
    func invalid() {
        let error = #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked {
                EndpointPool(
                    "search", ["a"],
                    ejecting: OutlierEjection(
                        afterConsecutive: 0,
                        deviation: .init(factor: .nan, minimumGap: 2, minimumEndpoints: 1, minimumCalls: 0),
                        failureShare: .init(0, minimumEndpoints: 0, minimumCalls: 0), interval: .zero, for: .zero,
                        upTo: .zero, jitter: -1, maxEjected: .infinity),
                    slowStart: SlowStart(over: .seconds(-1), from: 0), panicThreshold: .nan,
                    failing: [.transient, .success])
            }
        }
        #expect(
            error?.problems.map(\.parameter) == [
                "consecutiveFailures", "factor", "minimumGap", "minimumEndpoints", "minimumCalls", "limit",
                "minimumEndpoints", "minimumCalls", "interval", "time", "maxTime", "jitter", "maxEjected", "over",
                "from", "panicThreshold", "failing",
            ])
    }
}
