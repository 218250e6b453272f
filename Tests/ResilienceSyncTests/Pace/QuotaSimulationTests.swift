import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

/// A pace, and a server that reports a quota in each answer, in simulated time.
private struct QuotedSimulation {
    struct Figures {
        var requests = 0
        var throttled = 0
        var time = Duration.zero
    }

    private struct Flight {
        let number: Int
        let sentAt: MonotonicInstant
        let arrivesAt: MonotonicInstant
        let endsAt: MonotonicInstant
        /// nil until it arrives.
        var answer: (isAdmitted: Bool, quota: ServerQuota)?

        var next: MonotonicInstant { answer == nil ? arrivesAt : endsAt }
    }

    let test: QuotaSimulationTests.Case
    let mutations: Int

    func run(seed: UInt64) throws -> Figures {
        var (server, pace) = (test.server as any QuotingServer, SendPace(maxInFlight: 8))
        var random = SeededGenerator(seed: seed)
        var (now, wake) = (MonotonicInstant(nanoseconds: 0), MonotonicInstant(nanoseconds: 0))
        var (flights, figures, left) = ([Flight](), Figures(), mutations)
        while left > 0 {
            if wake <= now {
                wake = .distantFuture
                sending: while flights.count < left {
                    switch pace.answer(at: now, inFlight: flights.count) {
                    case .now: break
                    case .afterAnEnd:
                        try #require(!flights.isEmpty)
                        break sending
                    case .notBefore(let instant):
                        try #require(instant > now)
                        wake = instant
                        break sending
                    }
                    pace.sent(at: now, beside: flights.count)
                    figures.requests += 1
                    try #require(figures.requests < 5 * mutations)
                    let there = Duration.milliseconds(Int64.random(in: 10...40, using: &random))
                    let back = Duration.milliseconds(Int64.random(in: 10...40, using: &random))
                    flights.append(
                        Flight(
                            number: figures.requests, sentAt: now, arrivesAt: now + there, endsAt: now + there + back))
                }
            }
            now = flights.reduce(wake) { min($0, $1.next) }
            for index in flights.indices where flights[index].answer == nil && flights[index].arrivesAt <= now {
                let isAdmitted = server.admits(at: now)
                flights[index].answer = (isAdmitted, test.form.told(server.quota(at: now)))
            }
            let ends = flights.filter { $0.answer != nil && $0.endsAt <= now }
            flights.removeAll { $0.answer != nil && $0.endsAt <= now }
            for flight in ends {
                wake = now
                guard let answer = flight.answer else { continue }
                if flight.number.isMultiple(of: test.tellsOneIn) {
                    let number = test.isAttributed ? flight.number : nil
                    pace.note(answer.quota, from: number, of: figures.requests, at: now)
                } else {
                    pace.endedUntold(at: now)
                }
                if answer.isAdmitted {
                    left -= 1
                    pace.acknowledged(sentAt: flight.sentAt, at: now)
                } else {
                    figures.throttled += 1
                    _ = pace.throttled(sentAt: flight.sentAt, retryAfter: .seconds(1), backoff: .seconds(1), at: now)
                }
            }
        }
        figures.time = MonotonicInstant(nanoseconds: 0).duration(to: now)
        return figures
    }
}

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
        Case(testDescription: "10 in each second", server: window(10, 1), most: (0, 1.18)),
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
    func bounds(_ test: Case) throws {
        let best = test.server.best(for: test.mutations)
        for seed in 1...UInt64(10 * Effort.level) {
            let figures = try QuotedSimulation(test: test, mutations: test.mutations).run(seed: seed)
            let time = figures.time / best
            if Effort.level > 1 { print(test.testDescription, seed, figures.throttled, time) }
            #expect(
                figures.throttled <= test.most.throttled && time <= test.most.time, "seed \(seed): \(figures), \(time)")
        }
    }

    @Test("a backlog smaller than the window's quota is sent at once, and not spread over the hour")
    func burst() throws {
        let test = Case(testDescription: "", server: Self.window(5000, 3600))
        let figures = try QuotedSimulation(test: test, mutations: 1000).run(seed: 1)
        #expect(figures.throttled == 0 && figures.time < .seconds(10))
    }
}
