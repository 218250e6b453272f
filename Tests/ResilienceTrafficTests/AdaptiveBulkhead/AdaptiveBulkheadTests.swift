import Foundation
import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

@Suite(.timeLimit(.minutes(20))) struct AdaptiveBulkheadTests {
    private let clock = ManualClock()
    private let recorder = EventRecorder()

    private func bulkhead(_ limit: AdaptiveLimit, queue: Int = 0) -> AdaptiveBulkhead {
        let bulkhead = AdaptiveBulkhead("search", limit: limit, queue: queue, timeBase: clock)
        bulkhead.observers.add(recorder)
        return bulkhead
    }

    /// This many calls of 100 ms, all at the same time.
    private func volley(_ bulkhead: AdaptiveBulkhead, _ count: Int, _ length: Duration = .milliseconds(100))
        async throws
    {
        let clock = clock
        try await withThrowingTaskGroup { group in
            for _ in 0..<count { group.addTask { try await bulkhead.run { try await clock.sleep(for: length) } } }
            try await group.waitForAll()
        }
    }

    @Test("the limit rises while it limits calls, and waiting calls get the new permits")
    func rises() throws {
        let bulkhead = bulkhead(.aimd(initial: 4, in: 1...64), queue: 1000)
        let start = clock.now
        let end = try clock.run {
            try await volley(bulkhead, 400)
            return clock.now
        }
        let limits = recorder.events(of: AdaptiveBulkhead.Event.self).compactMap { event -> Int? in
            if case .limitAdapted(_, let limit) = event { limit } else { nil }
        }
        #expect(limits == [8, 16, 32, 64])
        #expect(
            bulkhead.status.bulkhead.limit == 64 && bulkhead.status.bulkhead.inUse == 0
                && bulkhead.status.bulkhead.queued == 0)
        #expect(start.duration(to: end) < .seconds(3))
    }

    @Test("a burst of 429s lowers the limit once, immediately, and the next burst lowers it again (P46, P57)")
    func throttled() async throws {
        let bulkhead = bulkhead(.gradient(initial: 20))
        let clock = clock
        try clock.run {
            await withTaskGroup { group in
                for _ in 0..<20 {
                    group.addTask {
                        try? await bulkhead.run {
                            try await clock.sleep(for: .seconds(1))
                            throw Failure()
                        }
                    }
                }
            }
        }
        #expect(bulkhead.status.bulkhead.limit == 18)
        clock.advance(by: .seconds(1))
        for _ in 0..<2 {
            await #expect(throws: Failure.self) { try await bulkhead.run { throw Failure() } }
            clock.advance(by: .seconds(1))
        }
        #expect(bulkhead.status.bulkhead.limit == 14)
        #expect(
            recorder.events(of: AdaptiveBulkhead.Event.self) == [
                .limitAdapted(from: 20, to: 18), .limitAdapted(from: 18, to: 16), .limitAdapted(from: 16, to: 14),
            ])
    }

    private struct Failure: Error, VerdictConvertible { let verdict = Verdict.throttled }

    @Test(
        "failures, rejections and cancellations do not change the limit",
        arguments: [Verdict.transient, .permanent, .uncertain, .rejected, .cancelled])
    func ignored(verdict: Verdict) throws {
        let bulkhead = bulkhead(.gradient(initial: 4))
        for _ in 0..<1000 {
            let permit = try bulkhead.tryAcquire()
            clock.advance(by: .seconds(1))
            permit.complete(verdict)
        }
        #expect(bulkhead.status.bulkhead.limit == 4 && bulkhead.status.adaptive.latency == nil)
    }

    @Test(
        "a bulkhead with a learned limit is kept until it is unused for a minute; with a limit set by hand it always stays"
    )
    func eviction() throws {
        let learned = bulkhead(.aimd(initial: 10))
        #expect(learned.isAtRest && learned.canBeEvicted(unusedFor: .zero))
        try learned.tryAcquire().complete(.throttled)
        #expect(!learned.isAtRest && !learned.canBeEvicted(unusedFor: .seconds(59)))
        #expect(learned.canBeEvicted(unusedFor: .seconds(60)))
        let byHand = bulkhead(.aimd(initial: 10))
        byHand.setLimit(10)
        #expect(!byHand.isAtRest && !byHand.canBeEvicted(unusedFor: .infinite))
        #expect(byHand.reconfigured(like: bulkhead(.aimd(initial: 10))) === byHand && byHand.isAtRest)
    }

    @Test("a change of the initial limit keeps the learned limit; a change of the bounds needs a new bulkhead")
    func reconfigured() throws {
        let bulkhead = bulkhead(.aimd(initial: 10))
        try bulkhead.tryAcquire().complete(.throttled)
        #expect(bulkhead.reconfigured(like: self.bulkhead(.aimd(initial: 50))) === bulkhead)
        #expect(bulkhead.status.bulkhead.limit == 9)
        #expect(bulkhead.reconfigured(like: self.bulkhead(.aimd(initial: 10, in: 1...30))) == nil)
    }

    @Test("a setting chooses which failures count as overload")
    func verdicts() throws {
        let bulkhead = bulkhead(.aimd(initial: 10, on: .transient))
        try bulkhead.tryAcquire().complete(.throttled)
        #expect(bulkhead.status.bulkhead.limit == 10)
        try bulkhead.tryAcquire().complete(.transient)
        #expect(bulkhead.status.bulkhead.limit == 9)
    }

    @Test(
        "calls that a timeout ends lower the limit, wherever the timeout is in the pipeline", arguments: [true, false])
    func timeouts(isOutside: Bool) throws {
        let bulkhead = bulkhead(.gradient(initial: 8, in: 1...8))
        let timeout = Timeout(limit: .milliseconds(400))
        let pipeline = Pipeline(timeBase: clock) {
            if isOutside { timeout }
            bulkhead
            if !isOutside { timeout }
        }
        let clock = clock
        try clock.run {
            for round in 0..<80 {
                await withTaskGroup { group in
                    for _ in 0..<8 {
                        group.addTask {
                            try? await pipeline.run {
                                try await clock.sleep(for: round < 20 ? .milliseconds(100) : .seconds(60))
                            }
                        }
                    }
                }
                if round == 19 { #expect(bulkhead.status.adaptive.latency == .milliseconds(100)) }
            }
        }
        #expect(bulkhead.status.bulkhead.limit == 1 && bulkhead.status.adaptive.latency == .milliseconds(100))
    }

    /// Twenty rounds of eight successful calls, then sixty that fail with an error.
    private func limit(after error: any Error, within retry: Retry? = nil) throws -> Int {
        let bulkhead = bulkhead(.gradient(initial: 8, in: 1...8))
        let pipeline = Pipeline(timeBase: clock) {
            bulkhead
            if let retry { retry }
        }
        let clock = clock
        try clock.run {
            for round in 0..<80 {
                await withTaskGroup { group in
                    for _ in 0..<8 {
                        group.addTask {
                            try? await pipeline.run {
                                try await clock.sleep(for: .milliseconds(round < 20 ? 100 : 400))
                                if round >= 20 { throw error }
                            }
                        }
                    }
                }
            }
        }
        return bulkhead.status.bulkhead.limit
    }

    @Test("a call that a timeout ends counts as cut off, even if an inner retry has wrapped the timeout's error")
    func wrappedTimeouts() throws {
        let error = TimedOut(policy: "attempt", limit: .milliseconds(400), underlying: CancellationError())
        let retry = Retry(maxRetries: 0, on: [.transient, .uncertain], wrapsLastError: true)
        #expect(try limit(after: error, within: retry) == 1)
    }

    @Test("a timeout before the call reached the service shows nothing about the service")
    func timeoutsBefore() throws {
        let error = TimedOut(
            policy: "attempt", limit: .milliseconds(400),
            underlying: NoEndpoint(policy: "pool", count: 0, retryAfter: nil))
        #expect(error.reachedService == false)
        #expect(try limit(after: error) == 8)
    }

    @Test("a caller whose time is too short for the call does not lower the limit for all")
    func impatient() throws {
        let bulkhead = bulkhead(.gradient(initial: 8, in: 1...8), queue: 8)
        let pipeline = Pipeline(timeBase: clock) { bulkhead }
        let clock = clock
        try clock.run { for _ in 0..<10 { try await volley(bulkhead, 8) } }
        let before = bulkhead.status
        try clock.run {
            for _ in 0..<200 {
                let options = RunOptions(deadline: clock.now.advanced(by: .milliseconds(50)))
                try? await pipeline.run(options: options) {
                    try await clock.sleep(for: .milliseconds(50))
                    throw CancellationError()
                }
            }
        }
        #expect(bulkhead.status == before)
    }

    @Test("the status contains the bounds, the latency and the baseline, and can be written and read")
    func status() throws {
        let bulkhead = bulkhead(.gradient(initial: 10, in: 2...50), queue: 3)
        #expect(bulkhead.status.adaptive == AdaptiveLimitStatus(range: 2...50))
        #expect(bulkhead.description == "search: 10 at a time, 3 queued, adapted within 2–50")
        try clock.run { for _ in 0..<4 { try await volley(bulkhead, 5) } }
        let status = bulkhead.status
        #expect(
            status.adaptive
                == AdaptiveLimitStatus(
                    range: 2...50, latency: .milliseconds(100), baseline: .milliseconds(100), isSearching: true))
        #expect(status.bulkhead.limit == 2)
        let json = try JSONEncoder().encode(status)
        #expect(try JSONDecoder().decode(AdaptiveBulkheadStatus.self, from: json) == status)
        #expect(String(decoding: json, as: UTF8.self).contains(#""baselineSeconds":0.1"#))
        #expect(bulkhead.settings.limit == .gradient(initial: 10, in: 2...50))
    }

    @Test("a limit set by hand is the new starting point, within its bounds")
    func setByHand() {
        let bulkhead = bulkhead(.gradient(initial: 10, in: 2...50))
        bulkhead.setLimit(30)
        bulkhead.setLimit(1)
        bulkhead.setLimit(.max)
        #expect(bulkhead.status.bulkhead.limit == 50)
        #expect(
            recorder.events(of: Bulkhead.Event.self) == [
                .limitChanged(from: 10, to: 30), .limitChanged(from: 30, to: 2), .limitChanged(from: 2, to: 50),
            ])
    }

    @Test("an adaptive limit's starting point is not a setting: a change of other settings keeps it")
    func registry() {
        let bulkhead = bulkhead(.gradient(initial: 10), queue: 1)
        bulkhead.setLimit(30)
        let other = AdaptiveBulkhead("search", limit: .gradient(initial: 10), queue: 5, timeBase: clock)
        #expect(bulkhead.canBeReconfigured(like: other) && bulkhead.reconfigured(like: other) === bulkhead)
        #expect(bulkhead.status.bulkhead.limit == 30 && bulkhead.status.bulkhead.queueLimit == 5)
        #expect(!bulkhead.canBeReconfigured(like: AdaptiveBulkhead("search", limit: .vegas(initial: 10))))
        bulkhead.setQueue(7)
        #expect(!bulkhead.isAtRest)
    }

    @Test(
        "invalid settings are reported, with the valid values",
        arguments: [
            (AdaptiveLimitInput.range(0...5), "lowest must lie in 1...1000000000"),
            (.range(1...1_000_000_001), "highest must lie in 1...1000000000"),
            (.initial(201), "initial must lie in 1...200"),
            (.initial(0), "initial must lie in 1...200"), (.window(.zero), "window must be above zero"),
            (.slowAfter(.zero), "slowAfter must be above zero"), (.tolerance(0), "tolerance must lie in 0.01...10.0"),
            (.tolerance(.nan), "tolerance must lie in 0.01...10.0"),
            (.increase(0), "increase must be above 0 and finite"),
            (.increase(.infinity), "increase must be above 0 and finite"),
            (.decrease(1), "decrease must be above 0 and below 1"),
            (.decrease(.nan), "decrease must be above 0 and below 1"),
            (.queue(0...0.5), "leastQueue must lie in 0.01...0.9"),
            (.queue(0.5...1), "mostQueue must lie in 0.01...0.9"),
            (.verdicts(.success), "verdicts must have neither success nor cancelled among them"),
        ])
    func invalid(input: AdaptiveLimitInput, text: String) throws {
        let error = #expect(throws: InvalidSettings.self) { try PolicySettings.checked { input.limit } }
        let problem = try #require(error?.problems.first)
        #expect("\(problem.parameter) \(problem.requirement)" == text && problem.subject == "AdaptiveLimit")
        #expect(error?.problems.count == 1)
    }
}

/// One setting that is not the default.
enum AdaptiveLimitInput: Sendable {
    case range(ClosedRange<Int>), initial(Int), window(Duration), slowAfter(Duration), tolerance(Double)
    case increase(Double), decrease(Double), queue(ClosedRange<Double>), verdicts(VerdictSet)

    var limit: AdaptiveLimit {
        switch self {
        case .range(let range): .gradient(initial: 2, in: range)
        case .initial(let initial): .gradient(initial: initial)
        case .window(let window): .aimd(window: window)
        case .slowAfter(let slowAfter): .vegas(slowAfter: slowAfter)
        case .tolerance(let tolerance): .gradient(tolerance: tolerance)
        case .increase(let increase): .aimd(increase: increase)
        case .decrease(let decrease): .aimd(decrease: decrease)
        case .queue(let queue): .vegas(queue: queue)
        case .verdicts(let verdicts): .gradient(on: verdicts)
        }
    }
}
