import ResilienceTesting
import Synchronization
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// The injections, with calls, time and events.
@Suite(.timeLimit(.minutes(20))) struct ChaosTests {
    let clock = ManualClock()
    let recorder = EventRecorder()

    private func chaos(
        _ injections: [ChaosInjection] = [], script: [ChaosInjection?] = [], scope: ChaosScope = .all,
        limit: Int? = nil, maxDelayed: Int? = nil, isOn: Bool = true
    ) -> Chaos {
        let chaos = Chaos(
            "chaos", injecting: injections, script: script, scope: scope, limit: limit, maxDelayed: maxDelayed,
            generator: SplitMix64(seed: 1), timeBase: clock, observers: PolicyObservers(recorder))
        if isOn { chaos.turnOn(for: .seconds(600)) }
        return chaos
    }

    private var events: [Chaos.Event] { recorder.events(of: Chaos.Event.self) }
    private var kinds: [String] { events.map(\.kind).filter { $0 != "turnedOn" } }

    // MARK: The switch

    @Test("chaos touches calls only while it is turned on, and turns itself off when its time is over")
    func switched() async throws {
        let chaos = chaos([.fault()], isOn: false)
        #expect(!chaos.isOn && !chaos.status.isOn)
        try await chaos.run {}
        chaos.turnOn(for: .seconds(60))
        #expect(chaos.isOn && chaos.status.timeLeft == .seconds(60))
        await #expect(throws: InjectedFault(policy: "chaos", verdict: .transient)) { try await chaos.run {} }
        clock.advance(by: .seconds(60))
        #expect(!chaos.isOn && !chaos.status.isOn && chaos.status.timeLeft == .zero)
        try await chaos.run {}
        try await chaos.run {}
        #expect(
            events == [
                .turnedOn(for: .seconds(60)), .failed(.transient, after: .zero), .turnedOff(.timeIsOver),
            ])
        #expect(chaos.status.faults == 1 && chaos.status.touched == 1)
    }

    @Test("chaos that is turned off touches no more calls, and reports once that it is off")
    func turnedOff() async throws {
        let chaos = chaos([.fault()])
        chaos.turnOff()
        chaos.turnOff()
        try await chaos.run {}
        #expect(events == [.turnedOn(for: .seconds(600)), .turnedOff(.turnedOff)])
    }

    @Test(
        "chaos can't be on for more than a day, or a negative time",
        arguments: [
            (Duration.zero, Duration.zero), (.seconds(-5), .zero), (.seconds(Int64.max), .seconds(86_400)),
            (.seconds(86_401), .seconds(86_400)), (.nanoseconds(1), .nanoseconds(1)),
        ])
    func lengths(asked: Duration, got: Duration) {
        let chaos = chaos([.fault()], isOn: false)
        chaos.turnOn(for: asked)
        #expect(chaos.status.timeLeft == got && chaos.isOn == (got > .zero))
    }

    @Test("after a reset, chaos is off and its counts are zero")
    func reset() async throws {
        let chaos = chaos([.fault()])
        _ = try? await chaos.run {}
        chaos.reset()
        #expect(!chaos.isOn && chaos.status == ChaosStatus(isOn: false) && chaos.isAtRest)
        try await chaos.run {}
    }

    // MARK: Faults

    @Test("a fault replaces the operation's failure: a retry repeats it, a breaker counts it, a caller sees it")
    func faults() async {
        let chaos = chaos([.fault()])
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(4), timeBase: clock)
        let reached = Mutex(0)
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 2, backoff: .none)
            breaker
            chaos
        }
        let error = await #expect(throws: InjectedFault.self) {
            try await pipeline.run { reached.withLock { $0 += 1 } }
        }
        #expect(reached.withLock { $0 } == 0 && breaker.status.failureCount == 3 && chaos.status.faults == 3)
        let failure = error.map { CallFailure($0) }
        guard case .operation = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(failure?.reachedService == nil)
        _ = try? await pipeline.run {}
        #expect(breaker.status.state == .open)
    }

    @Test(
        "a fault's own verdict counts, whatever verdict the classifier gives to unknown errors",
        arguments: [.transient, .permanent, .uncertain, .throttled(retryAfter: .seconds(3))] as [Verdict])
    func verdicts(verdict: Verdict) async {
        let seen = Mutex<[Verdict]>([])
        let pipeline = Pipeline(timeBase: clock, classifier: Classifier { _ in .permanent }) {
            Watching { verdict in seen.withLock { $0.append(verdict) } }
            // An around policy classifies again.
            Timeout(limit: .seconds(5))
            Watching { verdict in seen.withLock { $0.append(verdict) } }
            chaos([.fault(verdict)])
        }
        await #expect(throws: InjectedFault(policy: "chaos", verdict: verdict)) { try await pipeline.run {} }
        #expect(seen.withLock { $0 } == [verdict, verdict])
    }

    @Test("a custom error is thrown unchanged, and the classifier decides its meaning")
    func ownError() async {
        let seen = Mutex<[Verdict]>([])
        let pipeline = Pipeline(
            timeBase: clock, classifier: Classifier { $0 is Offline ? .throttled : nil }
        ) {
            Watching { verdict in seen.withLock { $0.append(verdict) } }
            chaos([.fault(throwing: Offline())])
        }
        await #expect(throws: Offline.self) { try await pipeline.run {} }
        #expect(seen.withLock { $0 } == [.throttled])
        #expect(kinds == ["failed"] && events.last == .failed(.throttled, after: .zero))
    }

    @Test("a fault can come after a delay")
    func slowFault() throws {
        let chaos = chaos([.fault(after: .seconds(2))])
        let start = clock.now
        _ = #expect(throws: InjectedFault.self) { try clock.run { try await chaos.run {} } }
        #expect(clock.now == start + .seconds(2) && chaos.status.faults == 1)
        #expect(events.last == .failed(.transient, after: .seconds(2)))
    }

    // MARK: Lost answers

    @Test("if the answer is lost, the operation has run; a retry repeats it only if allowed")
    func lostAnswer() async {
        let chaos = chaos([.lostAnswer()])
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 2, backoff: .none)
            chaos
        }
        let runs = Mutex(0)
        await #expect(throws: InjectedFault(policy: "chaos", verdict: .uncertain, hasRun: true)) {
            try await pipeline.run { runs.withLock { $0 += 1 } }
        }
        #expect(runs.withLock { $0 } == 1 && chaos.status.lostAnswers == 1)
        _ = try? await pipeline.run(options: RunOptions(isIdempotent: true)) { runs.withLock { $0 += 1 } }
        #expect(runs.withLock { $0 } == 4 && chaos.status.lostAnswers == 4)
        #expect(kinds == Array(repeating: "lostAnswer", count: 4))
    }

    @Test("a lost answer hides no real failure, no result that means failure, and no cancellation")
    func realFailures() async throws {
        let chaos = chaos([.lostAnswer(throwing: Offline())])
        await #expect(throws: Outage.self) { try await chaos.run { throw Outage() } }
        let status = try await chaos.run(judging: { _ in .transient }) { 503 }
        #expect(status == 503)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await chaos.run { try Task.checkCancellation() }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(chaos.status.lostAnswers == 0 && kinds == [] && chaos.isAtRest == false)
        chaos.turnOff()
        #expect(chaos.isAtRest)
    }

    // MARK: Delays

    @Test("a delay waits before the operation, in the driver, for the given time")
    func delay() throws {
        let chaos = chaos([.delay(.milliseconds(200))])
        let start = clock.now
        let end = try clock.run {
            try await chaos.run { clock.now }
        }
        #expect(end == start + .milliseconds(200) && chaos.status.delays == 1 && kinds == ["delayed"])
    }

    @Test(
        "when chaos ends, a delay ends; the injection that should follow is not done, reported or counted"
    )
    func delayBeyondTheEnd() throws {
        for injection in [ChaosInjection.delay(.seconds(5_000)), .fault(after: .seconds(5_000))] {
            let chaos = chaos(script: [injection], isOn: false)
            chaos.turnOn(for: .seconds(10))
            let start = clock.now
            let result = try clock.run { try await chaos.run { "answer" } }
            #expect(result == "answer" && clock.now == start + .seconds(10))
            #expect(chaos.status.faults == 0 && !kinds.contains("failed"))
        }
    }

    @Test(
        "if settings without chaos can't be adopted, chaos also turns off in the old pipeline")
    func settingsWithoutIt() async throws {
        for isAdapted in [false, true] {
            let chaos = chaos([.fault()])
            let old = Pipeline(timeBase: clock) { chaos }
            let new = Pipeline(timeBase: clock) { Retry() }
            if isAdapted { _ = old.adapted(to: new) } else { #expect(old.reconfigured(like: new) == nil) }
            #expect(!chaos.isOn)
            try await old.run {}
        }
    }

    @Test("a timeout ends a delay like a slow operation, and a retry tries again")
    func timedOut() throws {
        let chaos = chaos(script: [.delay(.seconds(60)), nil])
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            Retry(maxRetries: 1, backoff: .none)
            Timeout(limit: .seconds(5))
            chaos
        }
        let start = clock.now
        let result = try clock.run { try await pipeline.run { "answer" } }
        #expect(result == "answer" && clock.now == start + .seconds(5) && chaos.status.delayed == 0)
    }

    @Test("a delay that reaches a client-enforced deadline is a failure, not a rejection")
    func clientTimeout() throws {
        let seen = Mutex<[Verdict]>([])
        let pipeline = Pipeline(timeBase: clock) {
            Watching { verdict in seen.withLock { $0.append(verdict) } }
            ClientTimeout(limit: .seconds(5))
            chaos([.delay(.seconds(60))])
        }
        let start = clock.now
        _ = #expect(throws: TimedOut.self) { try clock.run { try await pipeline.run {} } }
        #expect(clock.now == start + .seconds(5) && seen.withLock { $0 } == [.transient])
    }

    @Test("a call that is cancelled during its delay ends at once, and no longer counts as delayed")
    func cancelledInDelay() throws {
        let chaos = chaos([.delay(.seconds(60))], maxDelayed: 1)
        let start = clock.now
        try clock.run {
            let call = Task { try await chaos.run {} }
            await clock.runUntilIdle()
            #expect(chaos.status.delayed == 1)
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
        }
        #expect(clock.now == start && chaos.status.delayed == 0)
    }

    @Test("when chaos is turned off, delayed calls continue at once, without the fault after the delay")
    func turnedOffInDelay() throws {
        let chaos = chaos([.fault(after: .seconds(60))])
        let start = clock.now
        try clock.run {
            let calls = (0..<3).map { _ in Task { try await chaos.run { clock.now } } }
            await clock.runUntilIdle()
            #expect(chaos.status.delayed == 3)
            chaos.turnOff()
            for call in calls {
                let end = try await call.value
                #expect(end == start)
            }
        }
        #expect(chaos.isAtRest)
    }

    @Test("above the limit of delayed calls, other calls are left alone, with an event")
    func leftOut() throws {
        let chaos = chaos([.delay(.seconds(1))], maxDelayed: 2)
        try clock.run {
            await withTaskGroup { group in
                for _ in 0..<5 { group.addTask { _ = try? await chaos.run {} } }
            }
        }
        #expect(chaos.status.delays == 2 && chaos.status.leftOut == 3)
        #expect(events.count { $0 == .leftOut } == 3)
    }

    @Test(
        "a delayed call continues when chaos turns itself off, even if that time changes meanwhile",
        arguments: [1, 100])
    func otherEnd(seconds: Int64) throws {
        let clock = ManualClock()
        let chaos = Chaos(script: [.fault(after: .seconds(60))], timeBase: clock)
        chaos.turnOn(for: .seconds(30))
        let start = clock.now
        let ended = Box(MonotonicInstant.distantPast)
        let failed = Box(false)
        try clock.run { () async throws in
            await withTaskGroup { group in
                group.addTask {
                    do { try await chaos.run {} } catch { failed.value = true }
                    ended.value = clock.now
                }
                group.addTask {
                    try? await clock.sleep(for: .seconds(20))
                    chaos.turnOn(for: .seconds(seconds))
                }
            }
        }
        // If chaos is off before the delay is over, the call continues at once and is left alone.
        #expect(ended.value == start + .seconds(seconds == 1 ? 21 : 60) && failed.value == (seconds == 100))
    }

    @Test("if chaos is on, a reset sends a turned-off event")
    func resetIsTold() {
        let recorder = EventRecorder()
        let chaos = Chaos(timeBase: clock, observers: PolicyObservers(recorder))
        chaos.turnOn(for: .seconds(30))
        chaos.reset()
        chaos.reset()
        #expect(recorder.events(of: Chaos.Event.self) == [.turnedOn(for: .seconds(30)), .turnedOff(.turnedOff)])
    }

    @Test("a call that must not wait is not delayed, and its fault comes at once")
    func byHand() throws {
        let chaos = chaos(script: [
            .delay(.seconds(1)), .fault(.permanent, after: .seconds(1)), .cancellation(), .lostAnswer(), nil,
        ])
        try chaos.tryAcquire().complete(.success)
        #expect(throws: InjectedFault(policy: "chaos", verdict: .permanent)) { _ = try chaos.tryAcquire() }
        #expect(throws: CancellationError.self) { _ = try chaos.tryAcquire() }
        try chaos.tryAcquire().complete(.success)
        do { _ = try chaos.tryAcquire() }
        // The caller who reports the end has the answer.
        #expect(chaos.status.lostAnswers == 0 && chaos.status.scriptLeft == 0)
    }

    // MARK: Behaviors and cancellations

    @Test("a behavior runs before the operation, outside of every lock")
    func behavior() async throws {
        let breaker = CircuitBreaker(timeBase: clock)
        let box = Mutex<Chaos?>(nil)
        let journal = Journal()
        let chaos = chaos([
            .behavior("trip") {
                // The behavior may use the policy itself.
                _ = box.withLock { $0 }?.status
                breaker.trip()
                journal.note("behavior")
            }
        ])
        box.withLock { $0 = chaos }
        try await chaos.run { journal.note("operation") }
        #expect(journal.lines == ["behavior", "operation"] && breaker.status.state == .open)
        #expect(chaos.status.behaviors == 1 && events.last == .behaved("trip"))
        box.withLock { $0 = nil }
    }

    @Test(
        "all policies treat an injected cancellation as a cancellation: none counts or repeats it; the task continues")
    func cancellation() async throws {
        let chaos = chaos([.cancellation()])
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 2, backoff: .none)
            breaker
            // The cancellation's verdict crosses an around policy.
            Timeout(limit: .seconds(5))
            chaos
        }.withFallback(to: "substitute")
        await #expect(throws: CancellationError.self) { _ = try await pipeline.run { "answer" } }
        #expect(chaos.status.cancellations == 1 && breaker.status.failureCount == 0 && !Task.isCancelled)
    }

    @Test("an injected cancellation also cancels a call that opens something")
    func cancelledOpening() async {
        let chaos = chaos([.cancellation()])
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 2, backoff: .none)
            Timeout(limit: .seconds(5))
            chaos
        }
        await #expect(throws: CancellationError.self) {
            _ = try await pipeline.open { _ in
                1
            } holding: { result, _ in
                result
            }
        }
        #expect(chaos.status.cancellations == 1)
    }

    @Test("injections apply to a pipeline's permit, and outer policies see them")
    func pipelinePermit() async throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(10), timeBase: clock)
        let chaos = chaos(script: [.fault(), .cancellation(), .lostAnswer(.transient)])
        let pipeline = Pipeline(timeBase: clock) {
            breaker
            Timeout(limit: .seconds(5))
            chaos
        }
        await #expect(throws: InjectedFault.self) { _ = try await pipeline.acquire() }
        #expect(breaker.status.failureCount == 1)
        await #expect(throws: CancellationError.self) { _ = try await pipeline.acquire() }
        #expect(breaker.status.failureCount == 1)
        try await pipeline.acquire().complete(.success)
        #expect(breaker.status.failureCount == 0 && chaos.status.lostAnswers == 0)
    }

    // MARK: Which calls

    @Test("a script touches the next calls in order; calls out of scope take no step")
    func script() async {
        let chaos = chaos(script: [.fault(), nil, .fault(.permanent)], scope: ChaosScope(tags: ["game"]))
        func call() async -> Verdict? {
            do {
                try await chaos.run {}
                return nil
            } catch { return (error as? InjectedFault)?.verdict }
        }
        var ends: [Verdict?] = []
        for _ in 0..<4 {
            ends.append(await call())
            ends.append(await Chaos.tagged("other") { await call() })
            ends.append(await Chaos.tagged("game") { await call() })
        }
        #expect(
            ends == [nil, nil, .transient, nil, nil, nil, nil, nil, .permanent, nil, nil, nil])
        chaos.play([.fault(.throttled)])
        let played = await Chaos.tagged("game") { await call() }
        #expect(played == .throttled && chaos.status.scriptLeft == 0 && Chaos.currentTag == nil)
    }

    @Test("a scope selects calls by the priority of the call or the request, and by a closure")
    func scopes() async {
        let low = chaos([.fault()], scope: ChaosScope(maxPriority: .low))
        func isTouched(_ chaos: Chaos, _ options: RunOptions = RunOptions()) async -> Bool {
            do {
                try await Pipeline("search", timeBase: clock) { chaos }.run(options: options) {}
                return false
            } catch { return true }
        }
        let (normal, own) = (await isTouched(low), await isTouched(low, RunOptions(priority: .low)))
        let request = await CallOrigin(priority: .low).run { await isTouched(low) }
        #expect(!normal && own && request)
        let search = chaos([.fault()], scope: ChaosScope { $0.pipeline == "search" && $0.options.cost > 1 })
        let (cheap, dear) = (await isTouched(search), await isTouched(search, RunOptions(cost: 2)))
        #expect(!cheap && dear)
    }

    @Test("no more calls are touched than the limit allows, and the last touched call is reported")
    func limit() async throws {
        let chaos = chaos([.fault()], limit: 2)
        for _ in 0..<2 { _ = try? await chaos.run {} }
        try await chaos.run {}
        #expect(kinds == ["failed", "failed", "limitReached"] && events.last == .limitReached(2) && chaos.isOn)
    }

    @Test("a seed makes a run repeatable")
    func seeded() async {
        func run() async -> [Bool] {
            let chaos = chaos([.fault(at: 0.3)])
            var ends: [Bool] = []
            for _ in 0..<100 { ends.append((try? await chaos.run {}) == nil) }
            return ends
        }
        let (first, second) = (await run(), await run())
        #expect(first == second && (15...45).contains(first.count { $0 }))
    }

    @Test("a forecast uses no step of the script and no random number, and reports that the call begins")
    func forecast() async {
        let chaos = chaos(script: [.fault(), nil])
        let pipeline = Pipeline(timeBase: clock) { chaos }
        for _ in 0..<10 { #expect(pipeline.forecast().begins && chaos.forecast().begins) }
        #expect(chaos.status == ChaosStatus(isOn: true, timeLeft: .seconds(600), scriptLeft: 2))
        await #expect(throws: InjectedFault.self) { try await pipeline.run {} }
    }

    // MARK: Results

    @Test("a result that replaces the failure is returned, and judged like any other")
    func results() async throws {
        let chaos = chaos(script: [.fault(), .lostAnswer(), .fault(throwing: Offline()), nil, .fault(.permanent)])
        let pipeline = Pipeline(timeBase: clock) { Retry(maxRetries: 1, backoff: .none) }
        let runs = Mutex(0)
        func call() async throws -> Int {
            try await pipeline.run(judging: { $0 == 503 ? .transient : .success }) {
                try await chaos.run(answering: { $0.verdict == .permanent ? nil : 503 }) {
                    runs.withLock { $0 += 1 }
                    return 200
                }
            }
        }
        let first = try await call()
        #expect(first == 503 && runs.withLock { $0 } == 1)
        // The custom error is retried, and the next call is left alone.
        let second = try await call()
        #expect(second == 200)
        await #expect(throws: InjectedFault(policy: "chaos", verdict: .permanent)) { _ = try await call() }
    }

    @Test("another chaos policy's failure gets no replacement result: it is thrown unchanged")
    func otherFault() async throws {
        let outer = chaos()
        let inner = Chaos("inner", script: [.fault()], timeBase: clock)
        inner.turnOn(for: .seconds(600))
        let fault = InjectedFault(policy: "inner", verdict: .transient)
        await #expect(throws: fault) {
            try await outer.run(answering: { _ in 503 }) { try await inner.run { 200 } }
        }
    }

    // MARK: Settings

    @Test("invalid settings are rejected by name")
    func invalid() {
        func problems(_ make: @autoclosure () -> Chaos) -> [String] {
            do {
                _ = try PolicySettings.checked(make)
                return []
            } catch {
                return (error as? InvalidSettings)?.problems.map(\.parameter) ?? ["\(error)"]
            }
        }
        for rate in [-0.1, 1.1, .infinity, -.infinity, .nan] {
            #expect(problems(Chaos(injecting: [.fault(at: rate)])) == ["rate"])
        }
        #expect(problems(Chaos(injecting: [.fault(at: 0.6), .delay(.zero, at: 0.5)])) == ["rates"])
        #expect(problems(Chaos(injecting: [.fault(at: 0.1), .fault(at: 0.2), .cancellation(at: 0.7)])) == [])
        #expect(problems(Chaos(injecting: [.delay(.seconds(-1))])) == ["delay"])
        #expect(problems(Chaos(injecting: [.fault(after: .seconds(-1))])) == ["delay"])
        for verdict in [Verdict.success, .cancelled, .rejected] {
            #expect(problems(Chaos(injecting: [.fault(verdict)])) == ["verdict"])
            #expect(problems(Chaos(injecting: [.lostAnswer(verdict)])) == ["verdict"])
        }
        #expect(problems(Chaos(limit: -1)) == ["limit"] && problems(Chaos(maxDelayed: -1)) == ["maxDelayed"])
        #expect(problems(Chaos(injecting: [.delay(.seconds(Int64.max))], limit: .max)) == [])
    }

    @Test("an endless delay ends when chaos is turned off, or with the task")
    func endless() throws {
        let chaos = chaos([.delay(.seconds(Int64.max))])
        try clock.run {
            let call = Task { try await chaos.run {} }
            await clock.runUntilIdle()
            chaos.turnOff()
            try await call.value
        }
    }

    @Test("new settings apply; the switch and the counts stay, and an unchanged script continues")
    func reconfigured() async throws {
        let script: [ChaosInjection?] = [.fault(), .fault(.permanent)]
        let chaos = chaos(script: script)
        _ = try? await chaos.run {}
        let other = Chaos(injecting: [.cancellation()], script: script, timeBase: clock)
        #expect(chaos.canBeReconfigured(like: other) && chaos.reconfigured(like: other) === chaos)
        #expect(chaos.isOn && chaos.status.scriptLeft == 1 && chaos.status.faults == 1)
        await #expect(throws: InjectedFault(policy: "chaos", verdict: .permanent)) { try await chaos.run {} }
        await #expect(throws: CancellationError.self) { try await chaos.run {} }
        #expect(chaos.reconfigured(like: chaos) === chaos)
        let kept = #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked {
                #expect(chaos.reconfigured(like: Chaos(limit: -1, timeBase: clock)) == nil)
            }
        }
        #expect(kept?.problems.map(\.parameter) == ["limit"])
        await #expect(throws: CancellationError.self) { try await chaos.run {} }
    }

    @Test("a key whose policy is on is not evicted; a key whose policy is off is")
    func evicted() {
        let chaos = chaos([.fault()], isOn: false)
        #expect(chaos.isAtRest)
        chaos.turnOn(for: .seconds(5))
        #expect(!chaos.isAtRest && !chaos.canBeEvicted(unusedFor: .seconds(100)))
        clock.advance(by: .seconds(5))
        #expect(chaos.isAtRest)
    }

    @Test("users' values are released outside the lock")
    func released() {
        let chaos = chaos()
        // Its deinit asks the policy.
        final class Asking: Sendable {
            let chaos: Chaos

            init(_ chaos: Chaos) { self.chaos = chaos }
            deinit { _ = chaos.status }
        }
        func behavior() -> ChaosInjection {
            let asking = Asking(chaos)
            return .behavior { _ = asking }
        }
        chaos.play([behavior()])
        chaos.play([behavior()])
        chaos.play([])
        #expect(chaos.reconfigured(like: Chaos(injecting: [behavior()], timeBase: clock)) === chaos)
        #expect(chaos.reconfigured(like: Chaos(timeBase: clock)) === chaos)
        #expect(chaos.status.scriptLeft == 0)
    }

    @Test("a pipeline warns if chaos is outside its target")
    func warnings() {
        let (chaos, breaker) = (chaos(), CircuitBreaker(timeBase: clock))
        let outside = Pipeline(timeBase: clock) {
            chaos
            Retry()
            breaker
        }
        #expect(
            outside.warnings == [
                "chaos around retry: what it injects is never tried again",
                "chaos around breaker: what it injects never opens the circuit",
            ])
        let inside = Pipeline(timeBase: clock) {
            Retry()
            breaker
            Bulkhead(limit: 1, timeBase: clock)
            Timeout(limit: .seconds(5))
            chaos
        }
        #expect(inside.warnings == [])
    }

    @Test("the description shows what chaos does, and whether it is on")
    func texts() {
        let chaos = chaos([
            .fault(at: 0.105), .lostAnswer(at: 0.1), .delay(.seconds(1)...(.seconds(2)), at: 0.1),
            .cancellation(at: 0.1, after: .milliseconds(5)), .behavior("flush", at: 0) {},
        ])
        #expect(
            "\(chaos)"
                == "chaos: fault (transient), 10.5 %; lost answer (uncertain), 10 %; delay of 1 s…2 s, 10 %; "
                + "cancellation after 5 ms, 10 %; flush, 0 %")
        #expect("\(Chaos(script: [.fault()], timeBase: clock))" == "chaos: a script")
        #expect("\(Chaos(timeBase: clock))" == "chaos: nothing")
        #expect("\(ChaosInjection.fault(throwing: Offline()))" == "fault (Offline())")
        let events: [(Chaos.Event, String, PolicyEventSeverity)] = [
            (.failed(.transient, after: .zero), "chaos: failing call (transient)", .info),
            (.failed(.transient, after: .seconds(2)), "chaos: failing call after 2 s (transient)", .info),
            (.lostAnswer(.uncertain), "chaos: lost the answer of call (uncertain)", .info),
            (.delayed(.seconds(2)), "chaos: delaying call by 2 s", .debug),
            (.behaved("flush"), "chaos: ran flush", .debug),
            (.cancelled(after: .zero), "chaos: cancelling call", .info),
            (.leftOut, "chaos: not delaying call, enough are delayed", .debug),
            (.limitReached(5), "chaos: touched 5 calls, leaving the others alone", .notice),
            (.turnedOn(for: .seconds(900)), "chaos: on for 900 s", .warning),
            (.turnedOff(.turnedOff), "chaos: off (turned off)", .notice),
            (.turnedOff(.timeIsOver), "chaos: off (its time is over)", .notice),
        ]
        for (event, text, severity) in events { #expect("\(event)" == text && event.severity == severity) }
        #expect(
            "\(InjectedFault(policy: "c", verdict: .transient))" == "Failed, as injected for a test (c): transient")
        #expect(
            "\(InjectedFault(policy: "c", verdict: .uncertain, hasRun: true))"
                == "Lost the answer, as injected for a test (c): uncertain")
    }

    // MARK: Many at once

    @Test("many threads share one script: each step is used once, and the limit of touched calls holds")
    func concurrent() async {
        let chaos = Chaos(
            injecting: [.fault(at: 0.5)], script: Array(repeating: .fault(.permanent), count: 500), limit: 2_000)
        chaos.turnOn(for: .seconds(3_600))
        let permanent = Tally()
        await withTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    for turn in 0..<1_000 {
                        do {
                            try await chaos.run {}
                        } catch {
                            if (error as? InjectedFault)?.verdict == .permanent { permanent.count() }
                        }
                        // Equal settings change nothing.
                        if number == 0, turn.isMultiple(of: 100) { chaos.turnOn(for: .seconds(3_600)) }
                    }
                }
            }
        }
        #expect(permanent.value == 500 && chaos.status.faults == 2_000 && chaos.status.scriptLeft == 0)
    }

    @Test("turning chaos on and off while calls come, wait and go leaves no call behind")
    func flapping() async {
        let chaos = Chaos(
            injecting: [
                .delay(.microseconds(50), at: 0.3), .lostAnswer(at: 0.3), .fault(at: 0.2, after: .microseconds(20)),
            ],
            maxDelayed: 3)
        await withTaskGroup { group in
            for number in 0..<6 {
                group.addTask {
                    for turn in 0..<500 {
                        if number == 0 { turn.isMultiple(of: 3) ? chaos.turnOff() : chaos.turnOn(for: .seconds(60)) }
                        _ = try? await chaos.run {}
                    }
                }
            }
        }
        chaos.turnOff()
        #expect(chaos.status.delayed == 0 && chaos.isAtRest)
    }
}

private final class Tally: Sendable {
    private let calls = Mutex(0)

    var value: Int { calls.withLock { $0 } }

    func count() { calls.withLock { $0 += 1 } }
}

private struct Offline: Error, VerdictConvertible { var verdict: Verdict { .transient } }

/// Reports the verdict of every returning call.
private struct Watching: Policy {
    let tell: @Sendable (Verdict) -> Void

    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        tell(outcome.verdict)
        return .pass
    }
}
