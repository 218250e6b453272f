import Foundation
import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// A service that answers after 10 ms plus an exponential time of 5 ms on average; one answer in a hundred takes a
/// second more. Every copy is equally likely to be slow.
private final class Stragglers: Sendable {
    private let clock: ManualClock
    private let generator: Locked<SeededGenerator>
    private let count = Locked(0)

    init(_ clock: ManualClock, seed: UInt64) {
        self.clock = clock
        generator = Locked(SeededGenerator(seed: seed))
    }

    var calls: Int { count.withLock { $0 } }

    func call() async throws {
        count.withLock { $0 += 1 }
        let seconds = generator.withLock { generator in
            let exponential = -0.005 * log(Double.random(in: 0.000_001..<1, using: &generator))
            return 0.010 + exponential + (Int.random(in: 0..<100, using: &generator) == 0 ? 1 : 0)
        }
        try await clock.sleep(for: .seconds(seconds))
    }
}

/// The lengths of consecutive calls.
private struct Measured: CustomStringConvertible {
    private let sorted: [Duration]
    let load: Double

    init(_ hedge: Hedge?, calls: Int, seed: UInt64, _ clock: ManualClock) throws {
        let service = Stragglers(clock, seed: seed)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) { if let hedge { hedge } }
        let times = try clock.run {
            var times: [Duration] = []
            for _ in 0..<calls {
                let start = clock.now
                try await pipeline.runHedged { try await service.call() }
                times.append(start.duration(to: clock.now))
            }
            return times
        }
        sorted = times.sorted()
        load = Double(service.calls) / Double(calls)
    }

    func percentile(_ share: Double) -> Duration { sorted[Int(Double(sorted.count) * share)] }

    var description: String {
        let percentiles = [0.5, 0.95, 0.99, 0.999].map { share in
            String(format: "p%g %.1f ms", share * 100, (percentile(share) / .milliseconds(1)))
        }
        return percentiles.joined(separator: ", ") + String(format: ", load %.3f", load)
    }
}

/// Hours of calls with a lasting share of bad ones, and the percentile that a hedge learns from them.
private struct LastingTrouble: CustomStringConvertible {
    enum Bad: String, Sendable, CaseIterable {
        /// The copy never answers: a timeout of a second ends it.
        case hang
        /// The copy takes about as long as the timeout.
        case slow
    }

    private(set) var longestDelay = 0.0
    private(set) var delay = 0.0
    private var due = 0
    private var rescued = 0
    private var bad = 0
    private let calls: Int

    /// The share of the calls that took longer than the delay.
    var dueShare: Double { Double(due) / Double(calls) }
    /// The share of bad calls that ended in time.
    var rescuedShare: Double { Double(rescued) / Double(max(1, bad)) }

    var description: String {
        String(
            format: "delay %.0f ms, at most %.0f ms, %.1f %% due, %.0f %% rescued", delay, longestDelay, dueShare * 100,
            rescuedShare * 100)
    }

    /// - Parameters:
    ///   - share: The share of bad copies, including hedges.
    ///   - usual: How long other copies take, in milliseconds.
    init(
        _ share: Double, _ kind: Bad = .hang, perSecond rate: Int, hours: Double, seed: UInt64,
        usual: (inout SeededGenerator) -> Double
    ) {
        var generator = SeededGenerator(seed: seed)
        var window = LatencyWindow(percentile: 0.95)
        var budget = RatioBudget(share: 0.1, reserve: 100, window: 10_000_000_000)
        calls = Int(hours * 3600) * rate
        func copy() -> (time: Double, isBad: Bool) {
            guard Double.random(in: 0..<1, using: &generator) < share else { return (usual(&generator), false) }
            return (kind == .hang ? .infinity : Double.random(in: 900...1100, using: &generator), true)
        }
        func note(_ milliseconds: Double, isLost: Bool = false) {
            if milliseconds <= 1000 { window.add(Int64(milliseconds * 1e6), isLost: isLost) }
        }
        for number in 0..<calls {
            let now = MonotonicInstant(nanoseconds: Int64(number) * 1_000_000_000 / Int64(rate))
            let first = copy()
            budget.succeeded(after: .none, at: now)
            if first.isBad { bad += 1 }
            delay = window.count < 100 ? .infinity : max(1, Double(window.delay ?? .max) / 1e6)
            if number > calls / 10 { longestDelay = max(longestDelay, delay) }
            guard first.time > delay else {
                note(first.time)
                continue
            }
            due += 1
            let hedge = budget.withdraw(.usual, at: now) ? delay + copy().time : .infinity
            note(min(first.time, hedge), isLost: hedge < first.time)
            if first.isBad, hedge < 500 { rescued += 1 }
        }
    }
}

/// One of twelve endpoints never answers.
private struct OneHangs {
    let clock = ManualClock()
    let hedge: Hedge

    init() { hedge = Hedge(timeBase: clock) }

    /// The delay after every thousand calls, and the longest call once the hedge had a delay.
    func run(calls: Int) throws -> (delays: [Duration], longest: Duration) {
        let pool = EndpointPool("search", Array(0..<12), generator: SplitMix64(seed: 1), timeBase: clock)
        let (hedge, clock) = (hedge, clock)
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) { hedge }
        let generator = Locked(SeededGenerator(seed: 2))
        return try clock.run {
            var (delays, longest): ([Duration], Duration) = ([], .zero)
            for number in 1...calls {
                let (began, isKnown) = (clock.now, hedge.status.delay != nil)
                try await pipeline.runHedged(over: pool) { endpoint in
                    let time = generator.withLock { Int.random(in: 5_000...10_000, using: &$0) }
                    try await clock.sleep(for: endpoint == 7 ? .seconds(86_400) : .microseconds(time))
                }
                if isKnown { longest = max(longest, began.duration(to: clock.now)) }
                if number % 1_000 == 0 { delays.append(hedge.status.delay ?? .zero) }
            }
            return (delays, longest)
        }
    }
}

@Suite(.heavy) struct HedgeSimulationTests {
    @Test("while one of twelve endpoints hangs, the delay stays near the usual latency for 30 000 calls (P59)")
    func oneHangs() throws {
        let (delays, longest) = try OneHangs().run(calls: 30_000)
        print("delays: \(delays.map(\.text).joined(separator: ", ")); the longest call: \(longest)")
        #expect(delays.allSatisfy { $0 <= .milliseconds(25) })
        // Before the hedge has enough latencies, a call to that endpoint has no hedge, and takes a day.
        #expect(longest < .milliseconds(50))
    }

    @Test(
        "if x % of all copies are bad for hours, the delay stays bounded, and bad calls get a hedge in time (P59)",
        arguments: [0.01, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.4, 0.5, 0.6], LastingTrouble.Bad.allCases)
    private func lastingTrouble(share: Double, bad: LastingTrouble.Bad) {
        // Few enough calls for the budget's reserve to pay for all hedges, and then so many that it can't.
        for rate in [5, 40] {
            let trouble = LastingTrouble(share, bad, perSecond: rate, hours: rate == 5 ? 3 : 0.5, seed: 3) {
                generator in
                10 - 5 * log(Double.random(in: 0.000_001..<1, using: &generator))
            }
            print("\(share * 100) % \(bad.rawValue), \(rate) a second: \(trouble)")
            #expect(trouble.longestDelay < 350)
            if share <= 0.08 { #expect(trouble.longestDelay < 90) }
            if rate == 5 || share <= 0.08 { #expect(trouble.rescuedShare > 0.95 * (1 - share)) }
        }
    }

    @Test(
        "without bad calls about 5 % of calls get a hedge, however widely the usual latencies vary (P59)",
        arguments: [0.3, 0.6, 1.0])
    func usualTail(sigma: Double) {
        let calm = LastingTrouble(0, perSecond: 20, hours: 1.5, seed: 4) { generator in
            let (first, second) = (
                Double.random(in: 0.000_001..<1, using: &generator), Double.random(in: 0..<1, using: &generator)
            )
            return 10 * exp(sigma * (-2 * log(first)).squareRoot() * cos(2 * .pi * second))
        }
        print("sigma \(sigma): \(calm)")
        #expect((0.045...0.06).contains(calm.dueShare))
    }

    @Test("after a start with only slow calls the delay returns to the usual latency (P59)")
    func coldStart() {
        var window = LatencyWindow(percentile: 0.95)
        for _ in 0..<1_000 { window.add(1_000_000_000) }
        #expect(window.delay.map { $0 >= 1_000_000_000 } == true)
        for number in 0..<1_000 { window.add(number % 12 == 0 ? 1_000_000_000 : 10_000_000) }
        #expect(window.delay.map { $0 < 25_000_000 } == true)
    }

    @Test(
        "if one copy in a hundred is slow, hedges lower p99.9 to a twentieth, and raise the load by a twentieth",
        arguments: UInt64(1)...3)
    func stragglers(seed: UInt64) throws {
        let clock = ManualClock()
        let without = try Measured(nil, calls: 20_000, seed: seed, clock)
        let hedge = Hedge(after: .percentile(0.95), timeBase: clock)
        let with = try Measured(hedge, calls: 20_000, seed: seed, clock)
        print("without: \(without)\nwith: \(with)")
        #expect(without.percentile(0.999) > .seconds(1) && without.load == 1)
        #expect(with.percentile(0.999) < .milliseconds(70))
        #expect((1.04...1.07).contains(with.load), "\(with)")
        // Fast calls are as fast as without a hedge.
        #expect(abs(with.percentile(0.5) / without.percentile(0.5) - 1) < 0.02)
    }

    @Test("a winning hedge leaves the percentile unchanged: otherwise it would fall until every call had a hedge")
    func stable() throws {
        let clock = ManualClock()
        let hedge = Hedge(after: .percentile(0.8), budget: .ratio(1000, timeBase: clock), timeBase: clock)
        let measured = try Measured(hedge, calls: 20_000, seed: 7, clock)
        #expect((1.17...1.24).contains(measured.load), "\(measured)")
    }
}
