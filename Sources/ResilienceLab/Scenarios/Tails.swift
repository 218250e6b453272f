import Resilience
import ResilienceSimulation
import ResilienceTraffic

extension LabScenario {
    /// J. Dean, L. A. Barroso, The Tail at Scale, Communications of the ACM, 2013.
    static let stragglers = LabScenario(
        "stragglers", "A page of a hundred parts, and one slow answer in a hundred",
        """
        A page needs the answers of many services. One answer in a hundred takes a second, so more than half of all \
        pages do. A hedge sends a copy of a request that has no answer after a moment: for one request more in a \
        hundred, slow pages become rare.
        """,
        [
            Setting("parts", 100, 1...2000, "the services that a page asks"),
            Setting("slow", 0.01, 0...1, "the share of slow answers"),
            Setting("delay", 10, 1...10_000, "the milliseconds before a copy is sent"),
            Setting("pages", 2000, 1...100_000, "how many pages"),
        ]
    ) { seed, values in
        func run(_ delay: Duration?) throws -> FanOut.Outcome {
            try FanOut(
                parts: values.whole("parts"), pages: values.whole("pages"),
                latency: LatencyModel.constant(.milliseconds(8)).mixed(
                    with: values["slow"], of: .constant(.seconds(1))),
                hedgeAfter: delay, seed: seed
            ).run()
        }
        let outcomes = [("without", try run(nil)), ("with a hedge", try run(values.milliseconds("delay")))]
        let rows = outcomes.map { name, outcome in
            [
                name, Optional(outcome.share(above: .milliseconds(500))).percent,
                outcome.latency.quantile(0.5)?.text ?? "–", outcome.latency.quantile(0.999)?.text ?? "–",
                Optional(outcome.extraRequests).percent,
            ]
        }
        return LabReport(
            figures: outcomes.flatMap { name, outcome in
                [
                    ("\(name): slow pages", Optional(outcome.share(above: .milliseconds(500)))),
                    ("\(name): p999 ms", outcome.latency.quantile(0.999).map { $0 / .milliseconds(1) }),
                    ("\(name): requests more", outcome.extraRequests),
                ]
            },
            page: ReportPage(sections: [
                ReportPage.Section(
                    title: "Pages",
                    tables: [
                        ReportPage.Table(
                            head: ["hedge", "pages above 0.5 s", "p50", "p99.9", "requests more"], rows: rows)
                    ],
                    charts: [
                        ReportPage.Chart(
                            title: "Share of pages that take longer", unit: "% of pages",
                            series: outcomes.map { name, outcome in
                                ReportPage.Series(name: name, points: outcome.tail)
                            }, isLogarithmic: true, xUnit: "ms")
                    ])
            ]))
    }

    static let zone = LabScenario(
        "zone", "One of three zones is lost",
        """
        Calls go to three zones in turn, and for half a minute one of them does not answer. Each attempt waits half a \
        second for it, and a retry goes to the next zone. With a circuit breaker for each zone, calls go around the \
        lost zone after a few failures.
        """,
        [
            Setting("rate", 100, 1...10_000, "calls a second"),
            Setting("limit", 500, 1...60_000, "the milliseconds that an attempt waits"),
            Setting("lost", 30, 1...600, "how many seconds the zone is lost"),
        ]
    ) { seed, values in
        func run(hasBreakers: Bool) throws -> SimulationResult {
            let healthy = ServiceModel(serviceTime: .logNormal(p50: .milliseconds(20), p99: .milliseconds(100)))
            let scenario = Scenario(
                service: healthy, load: .open(perSecond: values["rate"]), clients: 1, zones: 3,
                troubles: [Trouble(.partition(), at: .seconds(30), for: values.seconds("lost"))],
                length: .seconds(60) + values.seconds("lost"))
            return try scenario.run(
                seed: seed,
                through: [
                    { timeBase in
                        Pipeline("calls", timeBase: timeBase, isIdempotent: true) {
                            Retry(maxRetries: 2, backoff: .constant(.zero))
                        }
                    },
                    { timeBase in
                        Pipeline("zone", timeBase: timeBase) {
                            if hasBreakers { CircuitBreaker(tripping: .consecutiveFailures(5), timeBase: timeBase) }
                            Timeout(limit: values.milliseconds("limit"))
                        }
                    },
                ])
        }
        return LabReport([
            ("retries", try run(hasBreakers: false)), ("a circuit breaker for each zone", try run(hasBreakers: true)),
        ])
    }
}

/// Pages that need the answers of many services.
struct FanOut {
    struct Outcome {
        var latency = LatencyHistogram()
        var requests = 0
        let calls: Int

        var extraRequests: Double { Double(requests - calls) / Double(calls) }

        /// The share of pages that take longer than a time, to the width of a histogram's bucket.
        func share(above time: Duration) -> Double {
            var (low, high) = (0.0, 1.0)
            for _ in 0..<40 {
                let middle = (low + high) / 2
                if latency.quantile(middle).map({ $0 > time }) == true { high = middle } else { low = middle }
            }
            return 1 - low
        }

        /// The share in percent that exceeds each quantile's time in milliseconds.
        var tail: [(x: Double, y: Double?)] {
            stride(from: 0.0, to: 0.9999, by: 0.001).compactMap { share in
                latency.quantile(share).map { ($0 / .milliseconds(1), 100 * (1 - share)) }
            }
        }
    }

    let parts: Int
    let pages: Int
    let latency: LatencyModel
    let hedgeAfter: Duration?
    let seed: UInt64

    func run() throws -> Outcome {
        let simulation = Simulation(seed: seed)
        let calls = try SimulatedPipeline(in: simulation) { timeBase in
            Pipeline("parts", timeBase: timeBase, isIdempotent: true) {
                if let hedgeAfter {
                    Hedge(
                        after: .constant(hedgeAfter), budget: .ratio(1, reserve: 1_000_000, timeBase: timeBase),
                        timeBase: timeBase)
                }
            }
        }
        var outcome = Outcome(calls: parts * pages)
        for page in 0..<pages {
            // One page after the other.
            simulation.after(.seconds(5) * page) {
                let began = simulation.now
                var left = parts
                for _ in 0..<parts {
                    calls.call { attempt in
                        outcome.requests += 1
                        simulation.after(latency.draw(using: simulation.generator)) { attempt.end(.success) }
                    } completion: { _ in
                        left -= 1
                        if left == 0 { outcome.latency.add(began.duration(to: simulation.now)) }
                    }
                }
            }
        }
        simulation.run(until: .distantFuture)
        return outcome
    }
}
