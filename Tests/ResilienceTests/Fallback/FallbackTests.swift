import Resilience
import ResilienceTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(20))) struct FallbackTests {
    let clock = ManualClock()
    let recorder = EventRecorder()

    private func pipeline(@PipelineBuilder _ elements: () -> [Pipeline.Element] = { [] }) -> Pipeline {
        Pipeline("activities", timeBase: clock, observers: PolicyObservers(recorder), elements)
    }

    @Test("degraded mode: a failure returns a constant, and a success its own result (A10)")
    func degradedMode() async throws {
        let fallback = pipeline().withFallback(to: "degraded")
        #expect(try await fallback.run { throw Outage() } == "degraded")
        #expect(try await fallback.run { "fresh" } == "fresh")
    }

    @Test("cached data: the last good result is returned while the service is down (A10)")
    func cachedData() async throws {
        let lastPage = LastGood<String>(timeBase: clock)
        let fallback = pipeline().withFallback(toLastGood: lastPage)
        #expect(try await fallback.run { "first" } == "first")
        #expect(try await fallback.run { "second" } == "second")
        #expect(try await fallback.run { throw Outage() } == "second")
    }

    enum Answer: CaseIterable { case value, nothing, mistake }
    struct Mistake: Error, Equatable {}

    private static let verdicts: [Verdict] = [
        .success, .transient, .throttled(retryAfter: .seconds(1)), .uncertain, .permanent, .rejected, .cancelled,
    ]

    @Test(
        "a call gets a substitute only if the fallback covers its verdict, and its task was not cancelled",
        arguments: verdicts, [VerdictSet.outages, .permanent, []])
    func everyEnd(verdict: Verdict, verdicts: VerdictSet) async throws {
        for (answer, throwing, cancelled) in Answer.allCases.flatMap({ answer in
            [false, true].flatMap { throwing in [false, true].map { (answer, throwing, $0) } }
        }) {
            let recorder = EventRecorder()
            let asked = Journal()
            let pipeline = Pipeline(timeBase: clock, observers: PolicyObservers(recorder)) {}
            let fallback: Fallback<String> = pipeline.withFallback(on: verdicts) { failure in
                asked.note("\(failure.verdict) \(failure.error != nil)")
                #expect(failure.verdict == verdict)
                switch answer {
                case .value: return "substitute"
                case .nothing: return nil
                case .mistake: throw Mistake()
                }
            }
            let original: Result<String, any Error> =
                throwing ? .failure(Judged(verdict: verdict)) : .success("original")
            let end = await Task {
                await result {
                    try await fallback.run(judging: { _ in verdict }) { _ in
                        if cancelled { cancelCurrentTask() }
                        return try original.get()
                    }
                }
            }.value

            let isAsked = !cancelled && verdicts.contains(verdict)
            #expect(asked.lines.count == (isAsked ? 1 : 0))
            switch isAsked ? answer : .nothing {
            case .value:
                #expect(try end.get() == "substitute")
                #expect(recorder.events() == [FallbackEvent.fellBack(verdict)])
            case .nothing:
                #expect("\(end)" == "\(original)")
                #expect(recorder.events(of: FallbackEvent.self).isEmpty)
            case .mistake:
                #expect(throws: Mistake.self) { try end.get() }
                #expect(recorder.events() == [FallbackEvent.failed(verdict, error: "Mistake")])
            }
        }
    }

    @Test("an error that a classifier treats as success is thrown, never replaced or kept")
    func errorAsSuccess() async {
        let lastGood = LastGood<Int>(timeBase: clock)
        let pipeline = Pipeline(timeBase: clock, classifier: Classifier { _ in .success }) {}
        await #expect(throws: Outage.self) {
            try await pipeline.withFallback(toLastGood: lastGood).run { throw Outage() }
        }
        #expect(lastGood.value == nil)
    }

    @Test("a policy's verdict on an error has precedence over the classifier")
    func settled() async throws {
        let rejecting = pipeline { ScriptedPolicy("shut", in: [.reject(Outage())]) }
        #expect(try await rejecting.withFallback(to: 7, on: .rejected).run { 1 } == 7)
        let replacing = pipeline { ScriptedPolicy("strict", out: [.replace(Outage(), .permanent)]) }
        await #expect(throws: Outage.self) { try await replacing.withFallback(to: 7).run { throw Outage() } }
    }

    @Test("an around policy's error is classified, so the call gets a substitute")
    func around() async throws {
        let pipeline = pipeline { PlainAround(rejection: Outage()) }
        #expect(try await pipeline.withFallback(to: 7).run { 1 } == 7)
    }

    @Test("a timed-out call gets the substitute")
    func timedOut() throws {
        let fallback = pipeline { Timeout(limit: .seconds(5)) }.withFallback(to: "degraded")
        let fetch = ScriptedOperation<Void, String>([.success("late")])
        fetch.hold()
        let end = try clock.run { try await fallback.run { try await fetch() } }
        #expect(end == "degraded")
        #expect(recorder.contains(inOrder: [FallbackEvent.fellBack(.uncertain)]))
    }

    @Test("the substitute is requested once, after the last attempt, with the last error")
    func afterRetries() throws {
        let fetch = ScriptedOperation<Void, Int>([1, 2, 3].map { .failure(Outage(number: $0)) })
        let asked = Journal()
        let fallback: Fallback<Int> = pipeline { Retry(maxRetries: 2, backoff: .constant(.seconds(1))) }.withFallback {
            failure in
            asked.note("\((failure.error as? Outage)?.number ?? 0)")
            return 7
        }
        #expect(try clock.run { try await fallback.run { try await fetch() } } == 7)
        #expect(fetch.callCount == 3 && asked.lines == ["3"])
    }

    @Test("a substitute hides no failure from the breaker, and also replaces the breaker's rejections")
    func breaker() async throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(2), timeBase: clock)
        let fallback = pipeline { breaker }.withFallback(to: 7)
        let fetch = ScriptedOperation<Void, Int>(fallback: .failure(Outage()))
        for _ in 0..<4 { #expect(try await fallback.run { try await fetch() } == 7) }
        #expect(breaker.state == .open && fetch.callCount == 2)
        #expect(recorder.contains(allOf: [FallbackEvent.fellBack(.transient), .fellBack(.transient)]))
        #expect(recorder.contains(allOf: [FallbackEvent.fellBack(.rejected), .fellBack(.rejected)]))
    }

    @Test("the substitute gets the result that was judged a failure; without a substitute that result is returned")
    func judgedResult() async throws {
        let fallback: Fallback<Int> = pipeline().withFallback { failure in
            #expect(failure.error == nil)
            return try failure.outcome.get() == 503 ? 200 : nil
        }
        #expect(try await fallback.run(judging: { _ in .transient }) { _ in 503 } == 200)
        #expect(try await fallback.run(judging: { _ in .transient }) { _ in 504 } == 504)
    }

    @Test("the operation gets its attempt and deadline, and the policies get the options")
    func attempt() async throws {
        let fallback = pipeline().withFallback(to: CallAttempt(number: 99))
        let options = RunOptions(deadline: clock.now + .seconds(9), firstAttempt: 3)
        let attempt = try await fallback.run(options: options) { attempt in attempt }
        #expect(attempt == CallAttempt(number: 3, deadline: clock.now + .seconds(9)))
    }

    @Test("a caller cancelled while the substitute is fetched gets the substitute's error, without a failure event")
    func cancelledInSubstitute() async {
        let fallback: Fallback<Int> = pipeline().withFallback { _ in
            cancelCurrentTask()
            throw CancellationError()
        }
        let end = await Task { await result { try await fallback.run { throw Outage() } } }.value
        #expect(throws: CancellationError.self) { try end.get() }
        #expect(recorder.events(of: FallbackEvent.self).isEmpty)
    }

    @Test("a fallback's event has its name, the pipeline's name and its time, and reads as a log line")
    func events() throws {
        let start = clock.now
        let slow: Fallback<Int> = pipeline().withFallback("cache") { [clock] failure in
            let permit = Throttle(limit: .perSecond(1), maxWait: .seconds(1), timeBase: clock)
            try permit.tryAcquire().complete(.success)
            return try await permit.run { failure.verdict == .permanent ? nil : 7 }
        }
        _ = try clock.run { try await slow.run { throw Outage() } }
        let events = recorder.events.filter { $0.detail is FallbackEvent }
        #expect(events.map(\.time) == [start + .seconds(1)])
        #expect("\(events[0])" == "[activities/cache] transient, handing back a substitute: Outage")
        #expect("\(FallbackEvent.failed(.rejected, error: "empty"))" == "rejected, and no substitute: empty")
    }

    @Test("the substitute is returned even without observers")
    func unobserved() async throws {
        #expect(try await Pipeline {}.withFallback(to: 7).run { throw Outage() } == 7)
    }

    @Test("a fallback's description has the verdicts it replaces, and the pipeline")
    func description() {
        let fallback = pipeline { Retry("retry", maxRetries: 0) }.withFallback(
            "cache", to: 7, on: [.rejected, .transient])
        #expect("\(fallback)".hasPrefix("cache: on transient+rejected\nactivities\n  retry"))
    }

    @Test("a last good result with another time base traps, with a message")
    func otherTimeBase() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = Pipeline("activities") {}.withFallback(toLastGood: LastGood<Int>(timeBase: ManualClock()))
        }
        #expect(errorText(result).contains("lastGood has another time base than the pipeline \"activities\""))
    }
}

/// The result of `body`.
private nonisolated(nonsending) func result<R>(
    _ body: nonisolated(nonsending) () async throws -> R
) async -> Result<R, any Error> {
    do { return .success(try await body()) } catch { return .failure(error) }
}
