import Foundation
import Resilience
import ResilienceSimulation
import ResilienceSync

extension LabScenario {
    /// The storm of a mobile app whose users come back from a flight.
    static let phones = LabScenario(
        "phones", "Thousands of phones come back online",
        """
        Each phone has changes to send, and the server takes a limited rate and answers 429 beyond it. Phones that \
        try each change five times, a second apart, lose many of their changes and keep the server busy with 429s. \
        Phones that hold all calls after a 429, for as long as the server says, lose none. Sync queues need \
        the fewest requests: each looks for the rate that the server has left for it, which takes longer.
        """,
        [
            Setting("phones", 1000, 1...100_000, "how many phones"),
            Setting("changes", 10, 1...1000, "changes of each phone"),
            Setting("rate", 200, 1...100_000, "requests a second that the server admits"),
        ]
    ) { seed, values in
        let clients: [(String, SendingStorm.Client)] = [
            ("five tries each", .fiveTries), ("a shared hold", .sharedHold), ("sync queues", .syncQueue),
        ]
        let outcomes = try clients.map { name, client in
            let storm = SendingStorm(
                clients: values.whole("phones"), changes: values.whole("changes"), rate: values["rate"],
                client: client, seed: seed)
            return (name, try storm.run())
        }
        let all = Double(values.whole("phones") * values.whole("changes"))
        return LabReport(
            figures: outcomes.flatMap { name, outcome in
                [
                    ("\(name): delivered", Optional(Double(outcome.delivered) / all)),
                    ("\(name): requests per change", Double(outcome.requests) / all),
                    ("\(name): seconds", outcome.length / .seconds(1)),
                ]
            },
            page: ReportPage(sections: [
                ReportPage.Section(
                    title: "Changes",
                    tables: [
                        ReportPage.Table(
                            head: ["", "delivered", "requests per change", "answered with 429", "took"],
                            rows: outcomes.map { name, outcome in
                                [
                                    name, Optional(Double(outcome.delivered) / all).percent,
                                    (Double(outcome.requests) / all).text(2), "\(outcome.throttled)",
                                    outcome.length.text,
                                ]
                            })
                    ],
                    charts: [
                        ReportPage.Chart(
                            title: "Requests", unit: "a second",
                            series: outcomes.map { name, outcome in
                                ReportPage.Series(
                                    name: name,
                                    points: outcome.perSecond.enumerated().map { (Double($0), Double($1)) })
                            })
                    ])
            ]))
    }

    static let queues = LabScenario(
        "queues", "One server's limit, shared by many sync queues",
        """
        A backlog is split among queues, in as many processes, that know nothing of each other. Each looks for a rate \
        at which the server no longer answers 429. All changes arrive; more queues need more requests and more time.
        """,
        [
            Setting("changes", 2000, 1...1_000_000, "changes of all queues"),
            Setting("rate", 20, 1...100_000, "requests a second that the server admits"),
            Setting("most", 32, 1...1000, "the most queues"),
        ]
    ) { seed, values in
        let counts = sequence(first: 1) { $0 * 2 }.prefix { $0 <= min(values.whole("most"), values.whole("changes")) }
        let rows = try counts.map { count in
            let share = values.whole("changes") / count
            let outcome = try SendingStorm(
                clients: count, changes: share, rate: values["rate"], client: .syncQueue, seed: seed
            ).run()
            let all = Double(share * count)
            // Each queue has four requests at a time, which take 100 ms.
            let best = max((all - values["rate"]) / values["rate"], Double(share) / 40, 0.1)
            return (
                Double(count),
                [
                    Double(outcome.delivered) / all, Double(outcome.requests) / all,
                    outcome.length / .seconds(1) / best,
                ] as [Double?]
            )
        }
        return LabReport(
            "Sync queues on one limit", by: "queues",
            head: ["delivered", "requests per change", "time, of the best possible"], rows: rows, unit: "")
    }
}

/// Clients that all have changes to send to one server with a limit.
struct SendingStorm {
    enum Client {
        /// Each change is tried five times, a second apart.
        case fiveTries
        /// After a 429 all changes of a client wait for as long as the server says.
        case sharedHold
        case syncQueue
    }

    struct Outcome {
        var (delivered, requests, throttled) = (0, 0, 0)
        var length = Duration.zero
        var perSecond: [Int] = []
    }

    let clients: Int
    let changes: Int
    let rate: Double
    let client: Client
    let seed: UInt64

    func run() throws -> Outcome {
        let all = Double(clients * changes)
        guard all <= 1_000_000, all / rate <= 20_000 else {
            throw LabProblem(
                "that many changes would take too long: at most 1000000, and 20000 for each request a second")
        }
        let run = Run(self)
        for _ in 0..<clients { try run.add(client) }
        run.simulation.run(until: .distantFuture)
        run.outcome.throttled = run.service.throttledRequests
        return run.outcome
    }

    private final class Run {
        let simulation: Simulation
        let service: SimulatedService
        var outcome = Outcome()
        private let changes: Int
        private let began: MonotonicInstant

        init(_ storm: SendingStorm) {
            simulation = Simulation(seed: storm.seed)
            service = SimulatedService(
                ServiceModel(
                    serviceTime: .exponential(mean: .milliseconds(20)), network: .constant(.milliseconds(80)),
                    rateLimit: .init(perSecond: storm.rate, burst: Int(storm.rate.rounded(.up)))), in: simulation)
            changes = storm.changes
            began = simulation.now
        }

        /// Adds a client, which begins within a second.
        func add(_ client: Client) throws {
            let pipeline = try SimulatedPipeline(in: simulation) { timeBase in
                Pipeline("changes", timeBase: timeBase) {
                    switch client {
                    case .fiveTries: Retry(maxRetries: 4, throttledBackoff: .constant(.seconds(1)))
                    case .sharedHold:
                        Retry(maxRetries: 1000, throttledBackoff: .exponential(from: .seconds(1), cap: .seconds(60)))
                        Throttle(
                            limit: .unlimited, maxWait: .seconds(3600), holdOnThrottled: true, timeBase: timeBase)
                    case .syncQueue: [Pipeline.Element]()
                    }
                }
            }
            let start = LatencyModel.uniform(.zero...(.seconds(1))).draw(using: simulation.generator)
            guard client == .syncQueue else {
                simulation.after(start) { self.send(self.changes, through: pipeline) }
                return
            }
            let mutations = (0..<changes).map { Mutation(entity: "\($0)", kind: "change", payload: Data()) }
            let queue = try simulation.prepare {
                let queue = SteppedQueue()
                try queue.enqueue(mutations, at: simulation.now)
                return queue
            }
            var wake: Simulation.Event?
            func follow() {
                if let wake = wake.take() { simulation.cancel(wake) }
                let (requests, next) = queue.goOn(at: simulation.now)
                for request in requests {
                    pipeline.call(operation: serve) { end in
                        self.note(end)
                        queue.ended(
                            request, end.verdict, rejectedFor: (end.error as? any Rejection)?.retryAfter,
                            at: self.simulation.now)
                        // When all that ends now has ended.
                        if let wake { self.simulation.cancel(wake) }
                        wake = self.simulation.after(.zero, follow)
                    }
                }
                if next != .distantFuture { wake = simulation.at(next, follow) }
            }
            simulation.after(start, follow)
        }

        /// One after the other.
        private func send(_ left: Int, through pipeline: SimulatedPipeline) {
            guard left > 0 else { return }
            pipeline.call(operation: serve) { end in
                self.note(end)
                self.send(left - 1, through: pipeline)
            }
        }

        private func serve(_ attempt: SimulatedAttempt) {
            outcome.requests += 1
            let second = Int(began.duration(to: simulation.now) / .seconds(1))
            if outcome.perSecond.count <= second {
                outcome.perSecond += Array(repeating: 0, count: second + 1 - outcome.perSecond.count)
            }
            outcome.perSecond[second] += 1
            service.serve(attempt)
        }

        private func note(_ end: SimulatedEnd) {
            if end.verdict.kind == .success { outcome.delivered += 1 }
            outcome.length = began.duration(to: simulation.now)
        }
    }
}
