import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

@Suite(.heavy) struct QuotaSimulationTests {
    /// How a server writes its quota.
    enum Form: Sendable {
        case exact
        /// Rounded up to whole seconds.
        case wholeSeconds
        /// In whole seconds, and without the window.
        case withoutWindow

        func told(_ quota: ServerQuota) -> ServerQuota {
            guard self != .exact else { return quota }
            func rounded(_ duration: Duration?) -> Duration? { duration.map { .seconds($0.wholeSecondsRoundedUp) } }
            return ServerQuota(
                name: quota.name, limit: quota.limit, remaining: quota.remaining,
                resetsAfter: rounded(quota.resetsAfter), window: self == .withoutWindow ? nil : rounded(quota.window))
        }
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let server: any QuotingServer
        var mutations = 1000
        var form = Form.wholeSeconds
        /// Whether the pace is told which request a quota belongs to.
        var isAttributed = true
        /// One in this many answers has a quota.
        var tellsOneIn = 1
        /// The most 429s, and the longest time; 1 is the best possible.
        var most: (throttled: Int, time: Double) = (0, 1.05)

        fileprivate var simulation: PaceSimulation {
            PaceSimulation(
                server: server, retryAfter: .always(1),
                quotas: PaceSimulation.Quotas(told: form.told, isAttributed: isAttributed, tellsOneIn: tellsOneIn))
        }
    }

    private static func bucket(_ rate: Int64, _ burst: Int64, untilFull: Bool = false) -> TokenBucketServer {
        var bucket = TokenBucketServer(oneIn: .nanoseconds(1_000_000_000 / rate), burst: burst)
        bucket.tellsWhenFull = untilFull
        return bucket
    }

    private static func window(_ limit: Int, _ seconds: Int64) -> FixedWindowServer {
        FixedWindowServer(limit, per: .seconds(seconds))
    }

    static let cases = [
        Case(testDescription: "10 in each second, exact", server: window(10, 1), form: .exact),
        // A reset in a tenth of a second is written as a whole second.
        Case(testDescription: "10 in each second", server: window(10, 1), most: (0, 1.19)),
        Case(testDescription: "100 in each 10 s", server: window(100, 10)),
        Case(testDescription: "100 in each 10 s, no window", server: window(100, 10), form: .withoutWindow),
        Case(testDescription: "100 in each 10 s, unattributed", server: window(100, 10), isAttributed: false),
        Case(
            testDescription: "100 in each 10 s, quota in one of three", server: window(100, 10), tellsOneIn: 3,
            // An answer without a quota may overtake the previous one, whose quota is then too high.
            most: (2, 1.13)),
        Case(testDescription: "600 in each minute", server: window(600, 60), mutations: 6000),
        Case(testDescription: "5000 in each hour", server: window(5000, 3600), mutations: 12_000, form: .withoutWindow),
        Case(testDescription: "2 in each hour", server: window(2, 3600), mutations: 100),
        // The pace tests, after more and more silences, whether the server means them.
        Case(testDescription: "one in each minute", server: window(1, 60), mutations: 200, most: (5, 1.02)),
        Case(testDescription: "10 a second, burst 10", server: bucket(10, 10), most: (0, 1.09)),
        Case(testDescription: "10 a second, burst 10, exact", server: bucket(10, 10), form: .exact, most: (2, 1.05)),
        Case(
            testDescription: "10 a second, burst 10, exact, until full", server: bucket(10, 10, untilFull: true),
            form: .exact),
        Case(testDescription: "25 a second, burst 25", server: bucket(25, 25)),
        Case(testDescription: "25 a second, burst 25, until full", server: bucket(25, 25, untilFull: true)),
        Case(testDescription: "25 a second, burst 25, no window", server: bucket(25, 25), form: .withoutWindow),
        Case(testDescription: "50 a second, burst 10", server: bucket(50, 10), mutations: 5000),
        Case(testDescription: "50 a second, burst 50", server: bucket(50, 50), mutations: 5000),
        Case(testDescription: "10 a second, burst 100", server: bucket(10, 100), form: .withoutWindow),
        // Whole seconds can't express that the next request may go in a tenth of one.
        Case(testDescription: "10 a second, burst 1", server: bucket(10, 1), mutations: 300, most: (7, 10.6)),
        Case(
            testDescription: "10 a second, burst 1, exact", server: bucket(10, 1), mutations: 500, form: .exact,
            most: (10, 1.8)),
    ]

    @Test(
        "under a reported quota a drain keeps its bounds: by default no 429, and at most 5 % above the best time",
        arguments: cases)
    func bounds(_ test: Case) {
        let best = test.server.best(for: test.mutations)
        for seed in 1...UInt64(10 * Effort.level) {
            let figures = test.simulation.run(test.mutations, seed: seed)
            let time = figures.time / best
            if Effort.level > 1 { print(test.testDescription, seed, figures.throttled, time) }
            #expect(
                figures.throttled <= test.most.throttled && time <= test.most.time, "seed \(seed): \(figures), \(time)")
        }
    }

    @Test("a backlog smaller than the window's quota is sent at once, and not spread over the hour")
    func burst() {
        let test = Case(testDescription: "", server: Self.window(5000, 3600))
        let figures = test.simulation.run(1000, seed: 1)
        #expect(figures.throttled == 0 && figures.time < .seconds(10))
    }
}
