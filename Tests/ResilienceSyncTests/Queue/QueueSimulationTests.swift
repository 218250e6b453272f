import Resilience
import ResilienceSimulation
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

/// The whole queue, including its store and its time, against servers with various limits.
@Suite(.timeLimit(.minutes(20)), .heavy) struct QueueSimulationTests {
    typealias Case = SendPaceSimulationTests.Case

    struct Figures: Equatable {
        var requests = 0
        var time = Duration.zero
    }

    private final class Limited: Sendable {
        private let state: Locked<(server: any LimitedServer, random: SeededGenerator, requests: Int)>
        private let latencies: ClosedRange<Int64>

        init(_ server: any LimitedServer, latencies: ClosedRange<Int64>, seed: UInt64) {
            state = Locked((server, SeededGenerator(seed: seed), 0))
            self.latencies = latencies
        }

        var requests: Int { state.withLock { $0.requests } }

        /// The time of the round trip; half of it is the way there.
        func latency() -> Duration { state.withLock { .milliseconds(Int64.random(in: latencies, using: &$0.random)) } }

        /// - Returns: How long until the server admits another request, if it rejects this one.
        func answer(at now: MonotonicInstant) -> Duration? {
            state.withLock { state in
                state.requests += 1
                return state.server.admits(at: now) ? nil : now.duration(to: state.server.nextAdmission(from: now))
            }
        }
    }

    /// - Parameter isGated: Whether a gate shuts for 30 s or longer after three 429s in a row.
    private func drain(_ test: Case, isGated: Bool = false, seed: UInt64) throws -> Figures {
        let clock = ManualClock()
        let start = clock.now
        let server = Limited(test.server, latencies: test.latency, seed: seed)
        let pipeline = Pipeline(timeBase: clock) {
            if isGated { CircuitBreaker(circuit: BackoffGate(), timeBase: clock) }
        }
        // The server's time begins at zero.
        let origin = MonotonicInstant(nanoseconds: 0)
        let queue = SyncQueue(
            store: MemoryStore(), pipeline: pipeline,
            configuration: SyncQueueConfiguration(maxInFlight: test.maxInFlight)
        ) { _ in
            let latency = server.latency()
            _ = await PolicyWaiter().wait(until: clock.now + latency / 2, on: clock)
            let wait = server.answer(at: origin + start.duration(to: clock.now))
            _ = await PolicyWaiter().wait(until: clock.now + latency / 2, on: clock)
            if let wait { throw Refusal.throttled(retryAfter: test.retryAfter.named(for: wait)) }
        }
        let report = try clock.run {
            try await queue.enqueue(Mutation.many(test.mutations))
            return try await queue.drain()
        }
        #expect(report.delivered == test.mutations && report.requests == server.requests && report.failed == 0)
        return Figures(requests: server.requests, time: start.duration(to: clock.now))
    }

    @Test("1000 mutations to a server of 10 per second, burst 10, take at most 1030 requests and 104 s, for 20 seeds")
    func headline() throws {
        let test = try #require(Self.cases.first { $0.testDescription == "10 a second, burst 10" })
        for seed in UInt64(1)...20 {
            let figures = try drain(test, seed: seed)
            if Effort.level > 1 { print("headline", seed, figures.requests, figures.time) }
            #expect(figures.requests <= 1030 && figures.time <= .seconds(104), "seed \(seed): \(figures)")
        }
    }

    /// The pace's own cases whose time depends on the server's limit.
    static let cases = SendPaceSimulationTests.cases.filter { test in
        test.latency == 20...80 && test.maxInFlight == 8 && test.server.best(for: test.mutations) > .seconds(10)
    }

    @Test("the whole queue wastes no more requests and time than the pace alone, under any limit", arguments: cases)
    func bounds(_ test: Case) throws {
        let best = test.server.best(for: test.mutations)
        for seed in 1...UInt64(Effort.level) {
            let figures = try drain(test, seed: seed)
            let ratios = (Double(figures.requests) / Double(test.mutations), figures.time / best)
            if Effort.level > 1 { print(test.testDescription, seed, ratios) }
            #expect(ratios.0 <= test.most.requests && ratios.1 <= test.most.time, "seed \(seed): \(ratios)")
        }
    }

    @Test("a queue without tasks makes as many requests in the same time", arguments: cases)
    func stepped(_ test: Case) throws {
        var test = test
        (test.latency, test.mutations) = (50...50, 200)
        let (stepped, whole) = (try drainStepped(test), try drain(test, seed: 1))
        #expect(stepped == whole)
    }

    private func drainStepped(_ test: Case) throws -> Figures {
        let simulation = Simulation()
        let start = simulation.now
        let server = Limited(test.server, latencies: test.latency, seed: 1)
        let queue = SteppedQueue(SyncQueueConfiguration(maxInFlight: test.maxInFlight))
        try queue.enqueue(Mutation.many(test.mutations), at: start)
        var wake: Simulation.Event?
        func follow() {
            if let wake = wake.take() { simulation.cancel(wake) }
            let (requests, next) = queue.goOn(at: simulation.now)
            for request in requests {
                simulation.after(server.latency() / 2) {
                    let wait = server.answer(at: MonotonicInstant(nanoseconds: 0) + start.duration(to: simulation.now))
                    simulation.after(server.latency() / 2) {
                        queue.ended(
                            request, wait.map { .throttled(retryAfter: test.retryAfter.named(for: $0)) } ?? .success,
                            at: simulation.now)
                        // When all that ends now has ended.
                        if let wake { simulation.cancel(wake) }
                        wake = simulation.after(.zero, follow)
                    }
                }
            }
            if next != .distantFuture { wake = simulation.at(next, follow) }
        }
        follow()
        simulation.run(until: .distantFuture)
        #expect(queue.totals.pending == 0)
        return Figures(requests: server.requests, time: start.duration(to: simulation.now))
    }

    private static let gatedCases: [Case] = [
        gated(10, lanes: 4, 50),
        gated(10, lanes: 8, 50),
        gated(25, lanes: 8, 50),
        gated(10, lanes: 4, 5),
        gated(10, lanes: 8, 5),
        gated(10, lanes: 8, 200),
    ]

    private static func gated(_ rate: Int64, lanes: Int, _ latency: Int64) -> Case {
        Case(
            testDescription: "\(rate) a second, \(lanes) at once, \(latency) ms",
            server: TokenBucketServer(oneIn: .nanoseconds(1_000_000_000 / rate), burst: rate),
            latency: latency...latency,
            maxInFlight: lanes, most: (1.10, 1.25))
    }

    @Test(
        "behind a gate that shuts after three 429s in a row, the queue is as fast, at every latency and width (P46)",
        arguments: gatedCases)
    func behindAGate(_ test: Case) throws {
        let figures = try drain(test, isGated: true, seed: 1)
        let ratios = (Double(figures.requests) / 1000, figures.time / test.server.best(for: 1000))
        #expect(ratios.0 <= test.most.requests && ratios.1 <= test.most.time, "\(ratios)")
    }
}
