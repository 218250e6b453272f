import Foundation
import Resilience
import ResilienceTraffic
import ResilienceTesting
import Testing

/// The share, with calls, time and events.
@Suite(.timeLimit(.minutes(20))) struct AdaptiveThrottleTests {
    let clock = ManualClock()
    let recorder = EventRecorder()

    /// Rejects everything once no call is accepted: only the generator's draw limits the share.
    private func throttle(
        multiplier: Double = 2, minimumCalls: Int = 4, maxRejection: Double = 1,
        failing: VerdictSet = [.throttled, .transient, .uncertain]
    ) -> AdaptiveThrottle {
        AdaptiveThrottle(
            "search", multiplier: multiplier, over: .seconds(100), minimumCalls: minimumCalls,
            maxRejection: maxRejection, failing: failing, generator: SplitMix64(seed: 1), timeBase: clock,
            observers: PolicyObservers(recorder))
    }

    private func call(_ throttle: AdaptiveThrottle, _ verdict: Verdict, times: Int = 1) async {
        for _ in 0..<times { _ = try? await throttle.run(judging: { _ in verdict }) {} }
    }

    @Test("a service that accepts nothing gets ever fewer calls, and each rejection is reported")
    func outage() async {
        let throttle = throttle()
        let reached = Reached()
        for _ in 0..<200 {
            do {
                try await throttle.run {
                    reached.count()
                    throw TooMany()
                }
            } catch let error as AdaptiveThrottleExceeded {
                #expect(error.policy == "search" && error.rejection >= 0.8 && error.retryAfter == nil)
                #expect(CallFailure(error).reachedService == false)
            } catch {}
        }
        // Σ 1 ÷ (n + 1): about five of 200 calls beyond the first four, by chance.
        #expect(reached.value >= 4 && reached.value <= 14)
        #expect(throttle.status == AdaptiveThrottleStatus(calls: 200, accepted: 0, rejection: 200.0 / 201))
        let rejected = recorder.count(AdaptiveThrottle.Event.self) { $0.kind == "rejected" }
        #expect(rejected == 200 - reached.value)
    }

    @Test("a recovered service gets all calls again")
    func recovery() async {
        let throttle = throttle(maxRejection: 0.9)
        await call(throttle, .transient, times: 100)
        #expect(!throttle.status.isAllowed && throttle.status.rejection == 0.9)
        // Admitted calls find out that the service has recovered.
        var rounds = 0
        while throttle.status.rejection > 0, rounds < 10_000 {
            await call(throttle, .success)
            rounds += 1
        }
        #expect(rounds < 2_000 && throttle.status.isAllowed)
        let changes = recorder.events(of: AdaptiveThrottle.Event.self).filter { $0.kind != "rejected" }.map(\.kind)
        #expect(changes == ["began", "ended"])
    }

    @Test("calls that have left the window do not count")
    func window() async {
        let throttle = throttle()
        await call(throttle, .transient, times: 10)
        #expect(throttle.status.rejection > 0)
        clock.advance(by: .seconds(110))
        #expect(throttle.status == AdaptiveThrottleStatus(calls: 0, accepted: 0, rejection: 0))
        #expect(throttle.isAtRest)
    }

    @Test(
        "a call counts as accepted, as failed, or not, depending on its verdict",
        arguments: [
            (Verdict.success, calls: 1, accepted: 1), (.permanent, 1, 1), (.transient, 1, 0), (.throttled, 1, 0),
            (.uncertain, 1, 0), (.throttled(retryAfter: .seconds(3)), 1, 0), (.cancelled, 0, 0), (.rejected, 0, 0),
        ] as [(Verdict, calls: Int, accepted: Int)])
    func verdicts(_ verdict: Verdict, calls: Int, accepted: Int) async {
        let throttle = throttle()
        await call(throttle, verdict)
        #expect(throttle.status == AdaptiveThrottleStatus(calls: calls, accepted: accepted, rejection: 0))
    }

    @Test("after each outage, the first call after a quiet time reports that rejecting has ended")
    func quiet() async {
        let throttle = throttle()
        for _ in 0..<2 {
            await call(throttle, .transient, times: 10)
            clock.advance(by: .seconds(110))
            await call(throttle, .success)
        }
        let changes = recorder.events(of: AdaptiveThrottle.Event.self).filter { $0.kind != "rejected" }.map(\.kind)
        #expect(changes == ["began", "ended", "began", "ended"])
    }

    @Test("with `failing: .throttled` all other failures count as accepted")
    func onlyThrottled() async {
        let throttle = throttle(failing: .throttled)
        await call(throttle, .transient, times: 10)
        #expect(throttle.status.accepted == 10)
        await call(throttle, .throttled)
        #expect(throttle.status.accepted == 10 && throttle.status.calls == 11)
    }

    @Test("a call that is cancelled inside does not count")
    func cancelled() async {
        let throttle = throttle()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await throttle.run { try Task.checkCancellation() }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(throttle.status.calls == 0)
    }

    @Test("in a retry each attempt counts")
    func retried() async {
        let throttle = throttle()
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            Retry(maxRetries: 2, backoff: .none)
            throttle
        }
        await #expect(throws: HTTPFailure.self) { try await pipeline.run { throw HTTPFailure() } }
        #expect(throttle.status.calls == 3)
    }

    @Test("a permit that is taken by hand counts if it is completed, and does not count if it is dropped")
    func byHand() throws {
        let throttle = throttle()
        do { _ = try throttle.tryAcquire() }
        #expect(throttle.status.calls == 0)
        try throttle.tryAcquire().complete(.success)
        #expect(throttle.status == AdaptiveThrottleStatus(calls: 1, accepted: 1, rejection: 0))
    }

    @Test("events have readable texts and their severity")
    func texts() {
        let events: [(AdaptiveThrottle.Event, String, PolicyEventSeverity)] = [
            (.began(0.004), "too few calls are accepted, rejecting 1 % of calls", .warning),
            (.rejected(0.25), "rejecting call, as 25 % of calls", .debug),
            (.ended, "enough calls are accepted, rejecting none", .notice),
        ]
        for (event, text, severity) in events { #expect("\(event)" == text && event.severity == severity) }
        let error = AdaptiveThrottleExceeded(policy: "search", rejection: 0.5)
        #expect("\(error)".hasPrefix("The service accepts too few calls (search)."))
        #expect("\(throttle(multiplier: 1.5))" == "search: admits 1.5 × the calls accepted in the last 100 s")
    }

    // MARK: In a registry

    @Test("new settings keep the counts, and another window restarts them")
    func reconfigured() async throws {
        let throttle = throttle()
        await call(throttle, .transient, times: 4)
        let other = AdaptiveThrottle(over: .seconds(100), minimumCalls: 1, maxRejection: 0.25, timeBase: clock)
        #expect(throttle.canBeReconfigured(like: other) && throttle.reconfigured(like: other) === throttle)
        #expect(throttle.status.calls >= 4 && throttle.status.rejection == 0.25)
        #expect(throttle.reconfigured(like: throttle) === throttle)
        let longer = AdaptiveThrottle(over: .seconds(200), timeBase: clock)
        #expect(throttle.reconfigured(like: longer) != nil && throttle.status.calls == 0)
        let kept = #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked {
                #expect(throttle.reconfigured(like: AdaptiveThrottle(minimumCalls: 0, timeBase: clock)) == nil)
            }
        }
        #expect(kept?.problems.map(\.parameter) == ["minimumCalls"])
        #expect("\(throttle)".contains("in the last 200 s"))
    }

    @Test("a key is evicted when none of its counts matters any more")
    func evicted() async {
        let throttle = throttle()
        #expect(throttle.isAtRest && throttle.canBeEvicted(unusedFor: .zero))
        await call(throttle, .success)
        #expect(!throttle.isAtRest && !throttle.canBeEvicted(unusedFor: .seconds(99)))
        #expect(throttle.canBeEvicted(unusedFor: .seconds(100)))
        throttle.reset()
        #expect(throttle.isAtRest)
    }

    @Test("with one throttle per backend, a throttle that rejects does not affect the other throttle")
    func perKey() async {
        let throttles = AdaptiveThrottleRegistry<String>(capacity: 10, timeBase: clock) { name in
            AdaptiveThrottle(name, minimumCalls: 1, timeBase: clock)
        }
        await call(throttles["a"], .transient, times: 5)
        await call(throttles["b"], .success, times: 5)
        #expect(throttles["a"].status.rejection > 0 && throttles["b"].status.rejection == 0)
    }

    // MARK: From outside

    @Test("invalid settings are rejected by name")
    func invalid() {
        func problems(_ make: @autoclosure () -> AdaptiveThrottle) -> [String] {
            do {
                _ = try PolicySettings.checked(make)
                return []
            } catch {
                return (error as? InvalidSettings)?.problems.map(\.parameter) ?? ["\(error)"]
            }
        }
        for value in [0, 1, 1.09, -1, 100.5, .infinity, .nan] {
            #expect(problems(AdaptiveThrottle(multiplier: value)) == ["multiplier"])
        }
        for value in [Duration.zero, .seconds(-1)] { #expect(problems(AdaptiveThrottle(over: value)) == ["window"]) }
        for value in [0, -1, .min] { #expect(problems(AdaptiveThrottle(minimumCalls: value)) == ["minimumCalls"]) }
        for value in [-0.1, 1.1, .infinity, .nan] {
            #expect(problems(AdaptiveThrottle(maxRejection: value)) == ["maxRejection"])
        }
        for value in [VerdictSet.success, .cancelled] {
            #expect(problems(AdaptiveThrottle(failing: value)) == ["failing"])
        }
        #expect(problems(AdaptiveThrottle(over: .seconds(Int64.max), minimumCalls: .max)) == [])
    }

    @Test("the configuration is read and written, with defaults for missing values")
    func configuration() throws {
        let json =
            #"{"multiplier": 1.5, "windowSeconds": 30, "minimumCalls": 3, "maxRejection": 0.5, "failing": ["throttled"]}"#
        let read = try JSONDecoder().decode(AdaptiveThrottle.Settings.self, from: Data(json.utf8))
        let made = AdaptiveThrottle.Settings(
            multiplier: 1.5, over: .seconds(30), minimumCalls: 3, maxRejection: 0.5, failing: .throttled)
        #expect(read == made)
        let again = try JSONDecoder().decode(
            AdaptiveThrottle.Settings.self, from: JSONEncoder().encode(read))
        #expect(again == read)
        let standard = try JSONDecoder().decode(AdaptiveThrottle.Settings.self, from: Data("{}".utf8))
        #expect(standard.multiplier == 2 && standard.window == .seconds(120) && standard.minimumCalls == 10)
        #expect(standard.maxRejection == 0.9 && standard.failing == [.throttled, .transient, .uncertain])
        let bad = Data(#"{"multiplier": 0.5, "windowSeconds": 0, "minimumCalls": "x", "more": 1}"#.utf8)
        let error = #expect(throws: InvalidSettings.self) {
            try JSONDecoder().decode(AdaptiveThrottle.Settings.self, from: bad)
        }
        #expect(
            error?.problems.map(\.parameter).sorted() == ["minimumCalls", "more", "multiplier", "windowSeconds"])
    }

    @Test("concurrent calls on many threads are all counted")
    func concurrent() async {
        let throttle = AdaptiveThrottle(over: .seconds(100_000), maxRejection: 0.5)
        await withTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    for turn in 0..<1_000 {
                        _ = try? await throttle.run(judging: { _ in (turn + number) % 3 == 0 ? .success : .transient })
                        {}
                    }
                }
            }
        }
        #expect(throttle.status.calls == 8_000 && throttle.status.accepted > 0)
    }
}

private struct HTTPFailure: Error {}

private struct TooMany: Error, VerdictConvertible {
    var verdict: Verdict { .throttled }
}

private final class Reached: Sendable {
    private let calls = Locked(0)

    var value: Int { calls.withLock { $0 } }

    func count() { calls.withLock { $0 += 1 } }
}
