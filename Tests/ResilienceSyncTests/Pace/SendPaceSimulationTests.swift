import Foundation
import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

extension PaceSimulation {
    /// Requests per mutation, and the time relative to the best possible.
    fileprivate func ratios(_ mutations: Int, seed: UInt64) -> (requests: Double, time: Double) {
        let figures = run(mutations, seed: seed)
        let width = (server as? ConcurrencyServer)?.limit ?? maxInFlight
        let unlimited = PaceSimulation(
            server: UnlimitedServer(), latency: latency, maxInFlight: width, senders: senders)
        let unpaced = unlimited.run(mutations, seed: seed, isPaced: false).time
        let best = server is ConcurrencyServer ? unpaced : max(server.best(for: mutations), unpaced)
        return (Double(figures.requests) / Double(mutations), figures.time / best)
    }
}

@Suite(.heavy) struct SendPaceSimulationTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let server: any LimitedServer
        var mutations = 1000
        var retryAfter = RetryAfter.wholeSeconds
        var latency = Int64(20)...80
        var maxInFlight = 8
        /// How many independent queues share the server and the mutations.
        var queues = 1
        /// The most requests per mutation, and the longest time; 1 is the best possible.
        let most: (requests: Double, time: Double)

        fileprivate var simulation: PaceSimulation {
            PaceSimulation(
                server: server, retryAfter: retryAfter, latency: latency, maxInFlight: maxInFlight, senders: queues)
        }
    }

    private static let ten = TokenBucketServer(oneIn: .milliseconds(100), burst: 10)
    private static let fifty = TokenBucketServer(oneIn: .milliseconds(20), burst: 10)
    private static let tenInWindow = FixedWindowServer(10, per: .seconds(1))
    private static let hundredInWindow = FixedWindowServer(100, per: .seconds(10))

    @Test("a limit of 3 at once, lifted after 2000 requests: within two minutes all 64 are in flight")
    func wider() {
        let simulation = PaceSimulation(
            server: ConcurrencyServer(3, untilAdmitted: 2000), latency: 100...100, maxInFlight: 64)
        for seed in UInt64(1)...5 {
            // 2000 requests, three at a time, take 67 s; 38 000 requests, 64 at a time, take a minute.
            let figures = simulation.run(40_000, seed: seed)
            #expect(figures.time <= .seconds(67 + 60 + 120) && figures.requests <= 40_020, "seed \(seed): \(figures)")
        }
    }

    static let cases = [
        Case("10 a second, burst 10", ten, most: (1.03, 1.05)),
        Case("2 a second, burst 2", TokenBucketServer(oneIn: .milliseconds(500), burst: 2), 200, most: (1.1, 1.15)),
        Case("2 a second, burst 10", TokenBucketServer(oneIn: .milliseconds(500), burst: 10), 200, most: (1.1, 1.05)),
        Case("50 a second, burst 50", TokenBucketServer(oneIn: .milliseconds(20), burst: 50), 5000, most: (1.02, 1.05)),
        Case("50 a second, burst 10", fifty, 5000, most: (1.02, 1.2)),
        Case("10 in each second", tenInWindow, most: (1.05, 1.3)),
        Case("100 in each 10 s", hundredInWindow, most: (1.05, 1.16)),
        Case("600 in each 60 s", FixedWindowServer(600, per: .seconds(60)), 6000, most: (1.02, 1.1)),
        Case(
            "rejections cost a token", TokenBucketServer(oneIn: .milliseconds(100), burst: 10, rejectionsCost: true),
            most: (1.06, 1.13)),
        Case("a log of 1 s, rejections too", SlidingLogServer(10, per: .seconds(1)), most: (1.05, 1.3)),
        Case("a log of 10 s, rejections too", SlidingLogServer(100, per: .seconds(10)), most: (1.05, 1.3)),
        Case("no Retry-After, 10 a second", ten, retryAfter: .missing, most: (1.03, 1.05)),
        Case("no Retry-After, 50 a second", fifty, 5000, retryAfter: .missing, most: (1.02, 1.22)),
        Case("no Retry-After, 10 in each second", tenInWindow, retryAfter: .missing, most: (1.05, 1.22)),
        Case("no Retry-After, 100 in each 10 s", hundredInWindow, retryAfter: .missing, most: (1.1, 1.25)),
        Case("the limit doubles", changing(by: 2), most: (1.05, 1.3)),
        Case("the limit halves", changing(by: 0.5), most: (1.1, 1.05)),
        Case("exact Retry-After, 10 a second", ten, retryAfter: .exact, most: (1.05, 1.05)),
        Case("exact Retry-After, 50 a second", fifty, 5000, retryAfter: .exact, most: (1.03, 1.15)),
        Case("twice the Retry-After", ten, retryAfter: .twiceTheWholeSeconds, most: (1.05, 1.17)),
        Case("answers at once", ten, latency: 0...0, most: (1.04, 1.05)),
        Case("answers after 500 ms", ten, latency: 500...500, most: (1.04, 1.2)),
        Case("one in flight", ten, maxInFlight: 1, most: (1.03, 1.05)),
        Case("four in flight", ten, maxInFlight: 4, most: (1.03, 1.05)),
        Case("50 a second, burst 1", TokenBucketServer(oneIn: .milliseconds(20), burst: 1), most: (1.04, 4.5)),
        Case("no limit", UnlimitedServer(), 2000, most: (1, 1.01)),
        Case("a million a second", TokenBucketServer(oneIn: .microseconds(1), burst: 1000), 2000, most: (1, 1.01)),
        Case("one an hour", TokenBucketServer(oneIn: .seconds(3600), burst: 1), 30, most: (1.25, 1.02)),
        Case("the limit rises a hundredfold", changing(by: 100), 2000, most: (1.03, 2.4)),
        Case("the limit falls a hundredfold", changing(by: 0.01), 600, most: (1.25, 1.05)),
        Case(
            "no Retry-After, 50 a second, burst 20", bucket(50, burst: 20), 5000, retryAfter: .missing,
            most: (1.03, 1.07)),
        Case(
            "the same, 1000 mutations, answers after 2 to 10 ms", bucket(50, burst: 20), retryAfter: .missing,
            latency: 2...10, most: (1.05, 1.1)),
        Case("no Retry-After, 10 a second, burst 1", bucket(10, burst: 1), retryAfter: .missing, most: (1.03, 1.55)),
        Case(
            "no Retry-After, 10 a second, burst 1, 300 mutations", bucket(10, burst: 1), 300, retryAfter: .missing,
            most: (1.06, 1.9)),
        Case("two queues on 10 a second", ten, queues: 2, most: (1.1, 1.25)),
        Case("five queues on 10 a second", ten, queues: 5, most: (1.1, 1.55)),
        Case("twenty queues on 10 a second", ten, queues: 20, most: (1.3, 1.4)),
        Case("200 queues on 100 a second", bucket(100, burst: 100), 10_000, queues: 200, most: (1.3, 1.4)),
        Case("no Retry-After, five queues on 10 a second", ten, retryAfter: .missing, queues: 5, most: (1.15, 1.5)),
        Case("no Retry-After, twenty queues on 10 a second", ten, retryAfter: .missing, queues: 20, most: (1.3, 1.4)),
        Case("twenty queues with a longer backlog", ten, 10_000, queues: 20, most: (1.2, 1.05)),
        Case("the limit rises tenfold", changing(by: 10), 2000, most: (1.03, 1.5)),
        Case(
            "no Retry-After, the limit rises tenfold", changing(by: 10), 2000, retryAfter: .missing, most: (1.03, 1.4)),
        // Exactly one wait is needed: the rest of the time is the best possible.
        Case("2 at once, 5 s named", ConcurrencyServer(2), 4000, retryAfter: .always(5), most: (1.01, 1.16)),
        Case("2 at once, no Retry-After", ConcurrencyServer(2), 4000, retryAfter: .missing, most: (1.01, 1.05)),
        atOnce(2, 10...10, most: 2.01),
        atOnce(2, 20...20, most: 1.51),
        atOnce(2, 50...50, most: 1.21),
        atOnce(2, 100...100, most: 1.11),
        atOnce(2, 400...400, most: 1.03),
        atOnce(2, 90...110, most: 1.2),
        atOnce(3, 200...200, most: 1.08),
        // Slow servers: they must not be flooded.
        Case("2 an hour, burst 2", TokenBucketServer(oneIn: .seconds(1800), burst: 2), 100, most: (1.15, 1.02)),
        Case(
            "2 an hour, burst 2, 300 mutations", TokenBucketServer(oneIn: .seconds(1800), burst: 2), 300,
            most: (1.1, 1.02)),
        Case("2 in each hour", FixedWindowServer(2, per: .seconds(3600)), 300, most: (1.1, 1.02)),
        Case("one a minute", oneAMinute, 200, most: (1.1, 1.03)),
        Case("one in each minute", oneInEachMinute, 200, most: (1.1, 1.03)),
        Case("5 a minute, burst 5", fiveAMinute, 200, most: (1.15, 1.02)),
        Case("no Retry-After, one a minute", oneAMinute, 200, retryAfter: .missing, most: (1.3, 1.1)),
        Case("no Retry-After, one in each minute", oneInEachMinute, 200, retryAfter: .missing, most: (1.3, 1.05)),
        Case("no Retry-After, 5 a minute, burst 5", fiveAMinute, 200, retryAfter: .missing, most: (1.4, 1.02)),
        // These servers are not slow, but closed twice: the best possible time is two of their waits.
        Case(
            "closed twice for a minute, 2 requests between", closedTwice(60, 2), 500, retryAfter: .always(60),
            most: (1.02, 3.1)),
        Case(
            "closed twice for 10 minutes, 3 requests between", closedTwice(600, 3), 500, retryAfter: .always(600),
            most: (1.02, 2.8)),
        Case(
            "closed twice for an hour, 1 request between", closedTwice(3600, 1), 500, retryAfter: .always(3600),
            most: (1.02, 3.9)),
        Case(
            "closed twice for an hour, 2 requests between", closedTwice(3600, 2), 500, retryAfter: .always(3600),
            most: (1.02, 3.1)),
        Case(
            "closed twice for an hour, 7 requests between", closedTwice(3600, 7), 500, retryAfter: .always(3600),
            most: (1.02, 2)
        ),
        Case(
            "one a minute, then a hundredfold", TokenBucketServer(oneIn: .seconds(60), burst: 1, change: (50, 100)),
            1000,
            most: (1.1, 1.3)),
    ]

    private static let oneAMinute = TokenBucketServer(oneIn: .seconds(60), burst: 1)
    private static let oneInEachMinute = FixedWindowServer(1, per: .seconds(60))
    private static let fiveAMinute = TokenBucketServer(oneIn: .seconds(12), burst: 5)

    private static func atOnce(_ limit: Int, _ latency: ClosedRange<Int64>, most: Double) -> Case {
        let name =
            "\(limit) at once, 5 s named, 1000 mutations, answers after \(latency.lowerBound) to \(latency.upperBound) ms"
        return Case(
            name, ConcurrencyServer(limit), retryAfter: .always(5), latency: latency, most: (1.01, most))
    }

    private static func closedTwice(_ seconds: Int64, _ few: Int) -> ClosedTwiceServer {
        ClosedTwiceServer(for: .seconds(seconds), andOpenFor: few)
    }

    private static func bucket(_ rate: Int64, burst: Int64) -> TokenBucketServer {
        TokenBucketServer(oneIn: .nanoseconds(1_000_000_000 / rate), burst: burst)
    }

    private static func changing(by factor: Double) -> TokenBucketServer {
        TokenBucketServer(oneIn: .milliseconds(100), burst: 10, change: (500, factor))
    }

    @Test("few requests and little time are wasted under any limit", arguments: cases)
    func bounds(_ test: Case) throws {
        let ratios = (1...UInt64(20)).map { test.simulation.ratios(test.mutations, seed: $0) }
        let (requests, times) = (ratios.map(\.requests).sorted(), ratios.map(\.time).sorted())
        #expect(requests[19] <= test.most.requests && times[19] <= test.most.time, "\(ratios)")

        // The figures also match the file exactly, so that nobody changes a number of the pace by accident.
        let figures = [requests[10], requests[19], times[10], times[19]].map { String(format: "%.3f", $0) }
        let row = "| \(test.testDescription) | \(figures.joined(separator: " | ")) |"
        #expect(try lines(of: "Tests/SendPaceFigures.txt").contains(row), "\(row)")
    }

    @Test("these figures include those in Docs/Benchmarks.md")
    func page() throws {
        let page = try lines(of: "Docs/Benchmarks.md")
        let figures = try lines(of: "Tests/SendPaceFigures.txt")
        let heading = try #require(page.firstIndex(of: figures[0]))
        let table = page[heading...].prefix { $0.hasPrefix("|") }.dropFirst(2)
        #expect(table.count > 5 && table.allSatisfy(figures.contains))
    }
}

extension SendPaceSimulationTests.Case {
    fileprivate init(
        _ description: String, _ server: any LimitedServer, _ mutations: Int = 1000,
        retryAfter: RetryAfter = .wholeSeconds, latency: ClosedRange<Int64> = 20...80, maxInFlight: Int = 8,
        queues: Int = 1, most: (requests: Double, time: Double)
    ) {
        self.init(
            testDescription: description, server: server, mutations: mutations, retryAfter: retryAfter,
            latency: latency, maxInFlight: maxInFlight, queues: queues, most: most)
    }
}
