import Resilience
import ResilienceSimulation
import ResilienceTraffic
import TestSupport
import Testing

@testable import ResilienceLab

/// Figures that others published, or that their own programs print, and the same runs here.
@Suite(.heavy) struct PublishedResultsTests {
    /// M. Brooker, Exponential Backoff And Jitter, AWS Architecture Blog, 2015. The figures are those of its simulator
    /// (aws-samples/aws-arch-backoff-simulator, 66cb169) for 100 clients, as means of 1000 runs; the tolerance is four
    /// standard errors of both means.
    @Test(
        "writes and times of 100 clients that contend for one row are those of Brooker's simulator",
        arguments: [
            ("no jitter", 1856.2, 60.2, 63_469.0, 3724.0), ("equal jitter", 812.5, 7.7, 6621, 649),
            ("full jitter", 795.7, 6.9, 4942, 541), ("decorrelated", 1002.1, 29.9, 4594, 679),
            ("no backoff", 2422.7, 30.8, 2027, 43),
        ])
    func jitter(kind: String, calls: Double, callsDeviation: Double, time: Double, timeDeviation: Double) throws {
        let backoff = try #require(Contention.kinds.first { $0.0 == kind }?.1)
        let runs = try (0..<12).map { try Contention(clients: 100, backoff: backoff, seed: $0).run() }
        let error = 4 * (1.0 / 12 + 1.0 / 1000).squareRoot()
        let measured = runs.map { Double($0.calls) }.mean
        #expect(abs(measured - calls) < error * callsDeviation, "\(measured) instead of \(calls)")
        let took = runs.map { $0.length / .milliseconds(1) }.mean
        #expect(abs(took - time) < error * timeDeviation, "\(took) ms instead of \(time) ms")
    }

    /// J. Dean, L. A. Barroso, The Tail at Scale, 2013, p. 76: with 100 servers of which each is slow once in 100
    /// times, 63 % of all requests are slow. A hedge's second copy is slow as rarely: 1 − (1 − 0.0001)¹⁰⁰ = 1 %.
    @Test("of 100 parts with one slow answer in a hundred, 63 % of pages are slow, and with a hedge 1 %")
    func tail() throws {
        let latency = LatencyModel.constant(.milliseconds(8)).mixed(with: 0.01, of: .constant(.seconds(1)))
        func run(_ delay: Duration?, pages: Int) throws -> FanOut.Outcome {
            try FanOut(parts: 100, pages: pages, latency: latency, hedgeAfter: delay, seed: 1).run()
        }
        let plain = try run(nil, pages: 1000)
        #expect(abs(plain.share(above: .milliseconds(500)) - 0.634) < 0.061)
        #expect(plain.extraRequests == 0)
        let hedged = try run(.milliseconds(10), pages: 2000)
        #expect(abs(hedged.share(above: .milliseconds(500)) - 0.00995) < 0.0089)
        #expect(abs(hedged.extraRequests - 0.01) < 0.001)
    }

    /// The same, p. 77: a hedge at the 95th percentile adds about 5 % of requests.
    @Test("a hedge at the 95th percentile adds 5 % of requests")
    func hedgeAtP95() throws {
        // The 95th percentile of the standard normal distribution is 1.6449, the 99th 2.3263.
        let latency = LatencyModel.logNormal(p50: .milliseconds(10), p99: .milliseconds(100))
        let p95 = Duration.milliseconds(50.93)
        let outcome = try FanOut(parts: 100, pages: 500, latency: latency, hedgeAfter: p95, seed: 1).run()
        #expect(abs(outcome.extraRequests - 0.05) < 0.004)
    }

    /// B. Beyer and others, Site Reliability Engineering, 2016, chapter 22: three layers with three retries make 64
    /// attempts; chapter 21: a budget of 10 % keeps the load at 1.1 times. Three such layers make 1.1³ = 1.33.
    @Test("three layers with three retries make 64 attempts of one; with budgets of a tenth, 1.33")
    func layers() throws {
        let plain = try Layers(retries: 3, budget: nil, rate: 20, seed: 1).run().1
        #expect(abs(plain - 64) < 2)
        let budgeted = try Layers(retries: 3, budget: 0.1, rate: 200, seed: 1).run().1
        #expect(abs(budgeted - 1.331) < 0.05)
    }

    /// The same, chapter 21: with a multiplier of 2, the backend rejects about one request for each that it accepts.
    @Test("of an adaptive throttle with a multiplier of 2, a service gets twice what it accepts")
    func adaptiveThrottle() throws {
        let scenario = Scenario(
            service: ServiceModel(serviceTime: .none, rateLimit: .init(perSecond: 20, burst: 10)),
            load: .open(perSecond: 200), clients: 1, length: .seconds(600))
        let result = try scenario.run(seed: 1) { timeBase in
            Pipeline(timeBase: timeBase) { AdaptiveThrottle(multiplier: 2, over: .seconds(120), timeBase: timeBase) }
        }
        let last = result.intervals.suffix(200)
        let (sent, accepted) = last.reduce((0, 0)) { ($0.0 + $1.requests, $0.1 + $1.succeeded) }
        #expect(abs(Double(sent) / Double(accepted) - 2) < 0.06, "\(sent) for \(accepted)")
    }

    /// The same, chapter 22: 1000 threads, 1000 requests a second of 100 ms, of which 5 % hang for 100 s: 19.6 % are
    /// handled. The share depends on the mean of the times only (Erlang's loss formula), so they are exponential here,
    /// and the share is steady sooner.
    /// With a tenth of the threads and requests, Erlang's formula also gives 19.6 %.
    @Test("of 100 requests a second for 100 threads, of which 5 % hang for 100 s, a fifth is accepted")
    func bimodal() throws {
        let scenario = Scenario(
            service: ServiceModel(
                serviceTime: LatencyModel.constant(.milliseconds(100)).mixed(
                    with: 0.05, of: .exponential(mean: .seconds(100))),
                workers: 100, queue: 0),
            load: .open(perSecond: 100), clients: 1, length: .seconds(3000))
        let result = try scenario.run(seed: 1) { Pipeline(timeBase: $0) { Retry(maxRetries: 0) } }
        let last = result.intervals.suffix(2500)
        let (ended, accepted) = last.reduce((0, 0)) { ($0.0 + $1.succeeded + $1.failed, $0.1 + $1.succeeded) }
        #expect(abs(Double(accepted) / Double(ended) - 0.196) < 0.012, "\(Double(accepted) / Double(ended))")
    }

    /// N. Bronson and others, Metastable Failures in Distributed Systems, HotOS 2021, section 2.1: a database of 300
    /// queries a second, one retry after 1 s, and 10 s without a connection. Below 150 queries a second it recovers;
    /// at 280 it does only if fewer than 20 retries a second are allowed.
    @Test(
        "after ten seconds' pause, a database of 300 queries a second recovers below 150, or with few retries",
        arguments: [
            (280.0, 1.0, 120, false), (160, 1, 200, false), (140, 1, 250, true), (280, 0, 250, true),
            (280, 0.05, 550, true), (280, 0.1, 250, false),
        ])
    func metastable(load: Double, budget: Double, length: Int, recovers: Bool) throws {
        let scenario = Scenario(
            service: ServiceModel(
                serviceTime: .constant(.nanoseconds(1_000_000_000 / 300)), workers: 1, queue: 1_000_000),
            load: .open(perSecond: load), clients: 1,
            troubles: [Trouble(.capacity(share: 0), at: .seconds(30), for: .seconds(10))], length: .seconds(length))
        let result = try scenario.run(seed: 1) { timeBase in
            Pipeline(timeBase: timeBase, isIdempotent: true) {
                Retry(
                    maxRetries: 1, backoff: .constant(.zero),
                    budget: budget < 1 ? .ratio(budget, reserve: 0, timeBase: timeBase) : nil)
                Timeout(limit: .seconds(1))
            }
        }
        let success = result.intervals.suffix(20).reduce(0) { $0 + $1.succeeded }
        #expect(recovers ? Double(success) > 19 * load : Double(success) < 0.2 * load, "\(success) in 20 s")
    }

    /// M. Brooker, Fixing retries with token buckets and circuit breakers, 2022: of a service that fails with
    /// probability p, three retries make 1 + p + p² + p³ attempts, and 1 − p⁴ of all calls succeed.
    @Test(
        "three retries make 1 + p + p² + p³ attempts, and all but p⁴ of the calls succeed",
        arguments: [0.1, 0.5, 0.75, 1])
    func retries(p: Double) throws {
        let scenario = Scenario(
            service: ServiceModel(serviceTime: .exponential(mean: .milliseconds(10)), failureShare: p),
            load: .open(perSecond: 100), length: .seconds(200))
        let result = try scenario.run(seed: 1) { timeBase in
            Pipeline(timeBase: timeBase, isIdempotent: true) { Retry(maxRetries: 3, backoff: .constant(.zero)) }
        }
        let load = 1 + p + p * p + p * p * p
        #expect(abs(result.amplification - load) < 0.025 * load)
        #expect(abs(result.success - (1 - p * p * p * p)) < 0.012)
    }
}
