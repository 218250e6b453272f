import Foundation
import Resilience
import ResilienceTesting
import TestSupport
import Testing

/// A service that answers after 10 ms and an exponential time of 5 ms on average; one answer in a hundred takes a second
/// more. A copy is as likely to be slow as any other.
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

/// How long calls took, one after another.
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

@Suite(.heavy) struct HedgeSimulationTests {
    @Test(
        "with one straggler in a hundred, p99.9 falls to a twentieth for a load of 1.05", arguments: UInt64(1)...3)
    func stragglers(seed: UInt64) throws {
        let clock = ManualClock()
        let without = try Measured(nil, calls: 20_000, seed: seed, clock)
        let hedge = Hedge(after: .percentile(0.95), timeBase: clock)
        let with = try Measured(hedge, calls: 20_000, seed: seed, clock)
        print("without: \(without)\nwith: \(with)")
        #expect(without.percentile(0.999) > .seconds(1) && without.load == 1)
        #expect(with.percentile(0.999) < .milliseconds(70))
        #expect((1.04...1.07).contains(with.load), "\(with)")
        // What was fast stays as it was.
        #expect(abs(with.percentile(0.5) / without.percentile(0.5) - 1) < 0.02)
    }

    @Test("each hedge that wins leaves the percentile where it was: it does not sink until every call has one")
    func stable() throws {
        let clock = ManualClock()
        let hedge = Hedge(after: .percentile(0.8), budget: .ratio(1000, timeBase: clock), timeBase: clock)
        let measured = try Measured(hedge, calls: 20_000, seed: 7, clock)
        #expect((1.17...1.24).contains(measured.load), "\(measured)")
    }
}
