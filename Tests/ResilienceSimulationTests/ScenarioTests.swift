import Foundation
import Resilience
import ResilienceSimulation
import TestSupport
import Testing

@Suite(.heavy) struct ScenarioTests {
    private static func guarded(_ timeBase: SimulatedTimeBase) -> Pipeline {
        Pipeline("orders", timeBase: timeBase, isIdempotent: true) {
            Retry(maxRetries: 2, budget: .ratio(0.1, timeBase: timeBase))
            CircuitBreaker(timeBase: timeBase)
            Throttle(limit: .perSecond(50, burst: 50), timeBase: timeBase)
            Timeout(limit: .seconds(1))
        }
    }

    @Test("a run gives the same result for the same seed, on any thread, and another for another seed")
    func deterministic() async throws {
        let scenario = Scenario.outage(for: .seconds(30))
        let first = try scenario.run(seed: 7, Self.guarded)
        let others = try await withThrowingTaskGroup(of: SimulationResult.self) { group in
            for _ in 0..<2 { group.addTask { try scenario.run(seed: 7, Self.guarded) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(others == [first, first])
        #expect(try scenario.run(seed: 8, Self.guarded) != first)
    }

    @Test("a resilience budget as a unit test: with a budget and a breaker, an outage adds few attempts")
    func budget() throws {
        let guarded = try Scenario.outage(for: .seconds(30)).run(Self.guarded)
        #expect(guarded.amplification < 1)
        #expect(guarded.peakAmplification < 1.5)
        let plain = try Scenario.outage(for: .seconds(30)).run { timeBase in
            Pipeline(timeBase: timeBase) { Retry(maxRetries: 3, backoff: .constant(.milliseconds(100))) }
        }
        #expect(plain.peakAmplification > 3.5)
        #expect(plain.timeToRecover == .zero)
        #expect(plain.successDuring.map { $0 < 0.05 } == true)
        #expect(plain.successBefore == 1)
    }

    @Test("calls, attempts and requests add up, in intervals and in the sum")
    func sums() throws {
        let result = try Scenario.trouble(.errors(share: 0.3)).run(seed: 3, Self.guarded)
        #expect(result.calls == result.intervals.reduce(0) { $0 + $1.succeeded + $1.failed })
        #expect(result.succeeded == result.intervals.reduce(0) { $0 + $1.succeeded })
        #expect(result.outcomes[.rejected, default: 0] == result.intervals.reduce(0) { $0 + $1.rejected })
        #expect(result.latency.count == result.succeeded)
        #expect(result.attempts == result.requests)
        #expect(result.calls + result.unfinished == result.intervals.reduce(0) { $0 + $1.offered })
        #expect(result.unfinished < 20)
        #expect(result.intervals.count == 120)
        // About 100 calls a second.
        #expect((11_500...12_500).contains(result.intervals.reduce(0) { $0 + $1.offered }))
    }

    @Test(
        "each kind of trouble is felt while it lasts, and not before",
        arguments: [
            (Trouble.Kind.outage, 0.0), (.partition(), 0), (.partition(clients: 0.5), 0.5), (.errors(share: 0.5), 0.5),
            (.rateLimit(perSecond: 50, burst: 1), 0.5),
            (.brownOut(slower: 100), 0.3), (.capacity(share: 0), 0.1), (.slowStart(share: 0), 0.95), (.surge(10), 0.3),
            (.stragglers(share: 0.5, slower: 100), 0.7),
        ])
    func troubles(kind: Trouble.Kind, most: Double) throws {
        let result = try Scenario.trouble(kind).run { timeBase in
            Pipeline(timeBase: timeBase) { Timeout(limit: .milliseconds(500)) }
        }
        #expect(result.successBefore.map { $0 > 0.99 } == true)
        #expect(result.successDuring.map { $0 <= most + 0.05 } == true, "\(String(describing: result.successDuring))")
    }

    @Test("of a closed load, each client makes its next call after the last one and its thinking")
    func closed() throws {
        let scenario = Scenario(
            service: ServiceModel(serviceTime: .constant(.milliseconds(100))),
            load: .closed(thinking: .constant(.milliseconds(900))), clients: 5, length: .milliseconds(10_500))
        let result = try scenario.run { Pipeline(timeBase: $0) { Retry() } }
        #expect(result.intervals.count == 11)
        #expect(result.calls == 50)
        #expect(result.latency.quantile(1).map { $0 > .milliseconds(96) && $0 < .milliseconds(104) } == true)
    }

    @Test("of several zones the first has the troubles, and attempts go past an open circuit")
    func zones() throws {
        let scenario = Scenario(
            service: ServiceModel(serviceTime: .constant(.milliseconds(10)), workers: 1), load: .open(perSecond: 30),
            clients: 1, zones: 3, troubles: [Trouble(.outage, at: .seconds(10), for: .seconds(20))],
            length: .seconds(40))
        let plain = try scenario.run { Pipeline(timeBase: $0) { Retry(maxRetries: 0) } }
        #expect(plain.capacity == 300)
        #expect(plain.successDuring.map { abs($0 - 2.0 / 3) < 0.03 } == true)
        let guarded = try scenario.run { timeBase in
            Pipeline(timeBase: timeBase) { CircuitBreaker(tripping: .consecutiveFailures(3), timeBase: timeBase) }
        }
        #expect(guarded.successDuring.map { $0 > 0.99 } == true)
        #expect(guarded.outcomes[.rejected] == nil)
    }

    @Test("a partition cuts six of ten clients off from two of three zones: two of five calls fail")
    func partition() throws {
        let scenario = Scenario(
            service: ServiceModel(serviceTime: .constant(.milliseconds(10))), load: .open(perSecond: 100), clients: 10,
            zones: 3, troubles: [Trouble(.partition(clients: 0.6), at: .zero, for: .seconds(60), zones: [0, 2])],
            length: .seconds(60))
        let result = try scenario.run { timeBase in Pipeline(timeBase: timeBase) { Timeout(limit: .seconds(1)) } }
        #expect(abs(result.success - 0.6) < 0.02, "\(result.success)")
    }

    @Test("a worker whose answer is cut off is free once, though the caller gives up later")
    func cutOffAnswer() throws {
        let simulation = Simulation()
        let service = SimulatedService(
            ServiceModel(serviceTime: .constant(.milliseconds(100)), workers: 1, noticesCancellation: true),
            troubles: [Trouble(.partition(), at: .milliseconds(50), for: .seconds(1))], in: simulation)
        let pipeline = try SimulatedPipeline(in: simulation) { timeBase in
            Pipeline(timeBase: timeBase) { Timeout(limit: .milliseconds(200)) }
        }
        var end: SimulatedEnd?
        pipeline.call(operation: { service.serve($0) }) { end = $0 }
        #expect(service.busy == 1)
        simulation.run(for: .seconds(2))
        #expect(service.busy == 0 && end?.verdict.kind != .success)
    }

    @Test(
        "a service that answers nobody any more does not recover, and neither does one whose trouble ends with the run")
    func neverAgain() throws {
        let service = ServiceModel(serviceTime: .constant(.milliseconds(10)), workers: 1)
        let stuck = Scenario(
            service: service, load: .closed(thinking: .constant(.seconds(1))), clients: 3,
            troubles: [Trouble(.partition(), at: .seconds(5), for: .seconds(5))], length: .seconds(60))
        #expect(try stuck.run { Pipeline(timeBase: $0) { Retry(maxRetries: 0) } }.timeToRecover == nil)
        let last = Scenario(
            service: service, load: .open(perSecond: 10),
            troubles: [Trouble(.outage, at: .seconds(5), for: .seconds(55))], length: .seconds(60))
        #expect(try last.run { Pipeline(timeBase: $0) { Retry(maxRetries: 0) } }.timeToRecover == nil)
    }

    @Test("no interval has more attempts per call than a call can make, and failures before a trouble are not its own")
    func perCall() throws {
        let few = Scenario(
            service: ServiceModel(serviceTime: .constant(.milliseconds(10))), load: .open(perSecond: 2),
            troubles: [Trouble(.outage, at: .seconds(30), for: .seconds(30))], length: .seconds(90))
        let result = try few.run { Pipeline(timeBase: $0) { Retry(maxRetries: 2, backoff: .constant(.seconds(1))) } }
        #expect(result.peakAmplification == 3)
        let failing = Scenario(
            service: ServiceModel(serviceTime: .constant(.milliseconds(10)), failureShare: 0.05),
            load: .open(perSecond: 100),
            troubles: [Trouble(.brownOut(slower: 1.01), at: .seconds(60), for: .seconds(5))], length: .seconds(100))
        let recovery = try failing.run { Pipeline(timeBase: $0) { Retry(maxRetries: 0) } }.timeToRecover
        #expect(recovery.map { $0 <= .seconds(20) } == true)
    }

    @Test("a failure in many intervals, of which there was none before by chance, does not delay the recovery")
    func rareFailures() throws {
        let scenario = Scenario(
            service: ServiceModel(serviceTime: .constant(.milliseconds(10)), failureShare: 0.0005),
            load: .open(perSecond: 100),
            troubles: [Trouble(.brownOut(slower: 1.01), at: .seconds(30), for: .seconds(5))], length: .seconds(100))
        let lucky = try (0..<60).map { try scenario.run(seed: $0) { Pipeline(timeBase: $0) { Retry(maxRetries: 0) } } }
            .filter { $0.successBefore == 1 && $0.success < 1 && $0.intervals.allSatisfy { $0.failed < 2 } }
        #expect(lucky.count > 3 && lucky.allSatisfy { $0.timeToRecover == .zero })
    }

    @Test("fewer calls for a time are fewer calls for that time only")
    func calm() throws {
        let scenario = Scenario(
            service: ServiceModel(serviceTime: .none), load: .open(perSecond: 100),
            troubles: [Trouble(.surge(0.001), at: .seconds(10), for: .seconds(5))], length: .seconds(30))
        let result = try scenario.run { Pipeline(timeBase: $0) { Retry(maxRetries: 0) } }
        #expect(result.intervals[11..<15].allSatisfy { $0.offered < 5 })
        #expect(result.intervals[16...].allSatisfy { $0.offered > 50 })
    }

    @Test("in several layers, the attempts of a call multiply, and a caller that leaves ends nothing below it")
    func layers() throws {
        let scenario = Scenario(
            service: ServiceModel(serviceTime: .none), load: .open(perSecond: 10), clients: 2,
            troubles: [Trouble(.outage, at: .zero, for: .seconds(60))], length: .seconds(60))
        let layer: Scenario.Make = { timeBase in
            Pipeline(timeBase: timeBase) { Retry(maxRetries: 3, backoff: .constant(.milliseconds(1))) }
        }
        let result = try scenario.run(through: [layer, layer, layer])
        #expect((63.5...64.5).contains(result.amplification))
        #expect(result.success == 0)

        let slow = Scenario(
            service: ServiceModel(serviceTime: .constant(.seconds(1)), workers: 100), load: .open(perSecond: 10),
            length: .seconds(60))
        let abandoned = try slow.run(through: [
            { Pipeline(timeBase: $0) { Timeout(limit: .milliseconds(100)) } }, { Pipeline(timeBase: $0) { Retry() } },
        ])
        #expect(abandoned.success == 0)
        #expect(abandoned.outcomes[.uncertain] == abandoned.calls)
        // The lower layer's attempts have not been cancelled, so nothing was wasted in the service's eyes.
        #expect(abandoned.wasted == 0)
    }

    /// A. K. Erlang, 1917: in a queue with Poisson arrivals, exponential service times and c workers, the mean wait is
    /// C(c, a) · s / (c − a), where C is the share of requests that wait.
    @Test("the waits in a service are those of Erlang's formula, within 8 %", arguments: [0.5, 0.8, 0.9])
    func erlang(utilisation: Double) throws {
        let (workers, mean) = (10, 0.05)
        let offered = utilisation * Double(workers)
        var (term, sum) = (1.0, 1.0)
        for count in 1..<workers {
            term *= offered / Double(count)
            sum += term
        }
        let last = term * offered / Double(workers) / (1 - utilisation)
        let wait = last / (sum + last) * mean / (Double(workers) - offered)
        let scenario = Scenario(
            service: ServiceModel(serviceTime: .exponential(mean: .milliseconds(50)), workers: workers),
            load: .open(perSecond: offered / mean), clients: 1, length: .seconds(1000))
        var total = Duration.zero
        let result = try scenario.run(seed: 1) { Pipeline(timeBase: $0) { Retry(maxRetries: 0) } }
        for share in stride(from: 0.0005, to: 1, by: 0.001) { total += try #require(result.latency.quantile(share)) }
        let measured = total / .seconds(1) / 1000
        #expect(abs(measured - (wait + mean)) < 0.08 * (wait + mean), "\(measured) instead of \(wait + mean)")
    }
}
