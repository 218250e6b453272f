import Resilience
import ResilienceSimulation

extension LabScenario {
    /// M. Brooker, Exponential Backoff And Jitter, AWS Architecture Blog, 2015, and its simulator
    /// (aws-samples/aws-arch-backoff-simulator).
    static let jitter = LabScenario(
        "jitter", "Clients that contend for one row, with each kind of jitter",
        """
        All clients read one row and write it back at once; a write succeeds if nobody else has written since. \
        Without jitter, clients that collided collide again. Full jitter needs the fewest calls.
        """,
        [Setting("clients", 100, 1...1000, "how many clients"), Setting("runs", 10, 1...100, "runs of each kind")]
    ) { seed, values in
        let counts = Set([0.1, 0.25, 0.5, 1].map { max(1, (values["clients"] * $0).rounded()) }).sorted()
        let kinds = Contention.kinds
        let rows = try counts.map { clients in
            let runs = try kinds.map { _, backoff in
                try (0..<values.whole("runs")).map {
                    try Contention(clients: Int(clients), backoff: backoff, seed: seed &+ UInt64($0)).run()
                }
            }
            return (
                clients,
                runs.map { Optional($0.map { Double($0.calls) }.mean) }
                    + runs.map { Optional($0.map { $0.length / .milliseconds(1) }.mean) }
            )
        }
        return LabReport(
            "Calls until all have written, and the time that it took", by: "clients",
            head: kinds.map { "\($0.0), calls" } + kinds.map { "\($0.0), ms" }, rows: rows, unit: "calls, ms",
            isLogarithmic: true)
    }

    /// B. Beyer and others, Site Reliability Engineering, 2016, chapter 22: three layers with three retries make 64
    /// attempts of one.
    static let layers = LabScenario(
        "layers", "Retries in three layers, while the service below is down",
        """
        A page calls a shop, the shop calls its stock, and the stock's database is down. Each layer retries three \
        times, so one page makes 64 attempts at the database. With a budget, each layer adds a tenth.
        """,
        [
            Setting("retries", 3, 0...10, "retries of each layer"),
            Setting("budget", 0.1, 0...1, "retries of a layer, as a share of its calls"),
            Setting("rate", 20, 1...1000, "pages a second"),
        ]
    ) { seed, values in
        func run(hasBudget: Bool) throws -> (SimulationResult, Double) {
            try Layers(
                retries: values.whole("retries"), budget: hasBudget ? values["budget"] : nil, rate: values["rate"],
                seed: seed
            ).run()
        }
        let (without, with) = (try run(hasBudget: false), try run(hasBudget: true))
        return LabReport(
            figures: [
                ("attempts per page without budgets", without.1), ("attempts per page with budgets", with.1),
            ],
            page: LabReport([("without budgets", without.0), ("with budgets", with.0)]).page)
    }

    /// L. Huang and others, Metastable Failures in the Wild, OSDI 2022: a trigger starts an overload that retries keep
    /// up after the trigger is gone.
    static let metastable = LabScenario(
        "metastable", "An overload that outlives its cause",
        """
        The service loses half of its workers for ten seconds. Clients that get no answer within their limit try \
        again, and the service still works for those that have given up. With plain retries, the load stays above the \
        capacity after all workers are back. A budget, or a circuit breaker, lets the service recover.
        """,
        [
            Setting("load", 0.8, 0.1...1, "calls, as a share of the capacity"),
            Setting("retries", 3, 0...10, "retries of a call"),
            Setting("trigger", 10, 0...60, "how many seconds the workers are lost"),
            Setting("left", 0.5, 0...1, "the share of the workers that stay"),
        ]
    ) { seed, values in
        let service = ServiceModel(serviceTime: .exponential(mean: .milliseconds(50)), workers: 20, queue: 2000)
        let scenario = Scenario(
            service: service, load: .open(perSecond: values["load"] * service.capacity), clients: 20,
            troubles: [Trouble(.capacity(share: values["left"]), at: .seconds(30), for: values.seconds("trigger"))],
            length: .seconds(150))
        func run(
            _ name: String, hasBudget: Bool = false, hasBreaker: Bool = false
        ) throws -> (String, SimulationResult) {
            let result = try scenario.run(seed: seed) { timeBase in
                Pipeline("calls", timeBase: timeBase, isIdempotent: true) {
                    Retry(
                        maxRetries: values.whole("retries"), backoff: .exponential(from: .milliseconds(100)),
                        budget: hasBudget ? .ratio(0.1, reserve: 0, timeBase: timeBase) : nil)
                    if hasBreaker { CircuitBreaker(timeBase: timeBase) }
                    Timeout(limit: .seconds(1))
                }
            }
            return (name, result)
        }
        return LabReport([
            try run("plain retries"), try run("with a budget", hasBudget: true),
            try run("with a circuit breaker", hasBreaker: true),
        ])
    }
}

extension [Double] {
    var mean: Double { isEmpty ? .nan : reduce(0, +) / Double(count) }
}

/// Optimistic writes of one row, as in Brooker's simulator: each client reads the row, and writes it back; each of the
/// four messages takes 10 ms, with a standard deviation of 2 ms; only writes are counted.
struct Contention {
    /// The simulator's first delay is twice its base of 5 ms; decorrelated delays begin with the base.
    static let kinds: [(String, Backoff)] = [
        ("no jitter", .exponential(from: .milliseconds(10), cap: .seconds(2), jitter: .none)),
        ("equal jitter", .exponential(from: .milliseconds(10), cap: .seconds(2), jitter: .equal)),
        ("full jitter", .exponential(from: .milliseconds(10), cap: .seconds(2), jitter: .full)),
        ("decorrelated", .exponential(from: .milliseconds(5), cap: .seconds(2), jitter: .decorrelated)),
        ("no backoff", .constant(.zero)),
    ]

    let clients: Int
    let backoff: Backoff
    let seed: UInt64

    /// The writes that all clients sent, and the time until the last one has succeeded.
    func run() throws -> (calls: Int, length: Duration) {
        let simulation = Simulation(seed: seed)
        let network = LatencyModel.normal(mean: .milliseconds(10), deviation: .milliseconds(2))
        func message(_ action: @escaping () -> Void) {
            simulation.after(network.draw(using: simulation.generator), action)
        }
        var (version, calls) = (0, 0)
        let began = simulation.now
        var end = began
        for _ in 0..<clients {
            let pipeline = try SimulatedPipeline(in: simulation) { timeBase in
                Pipeline("writes", timeBase: timeBase) { Retry(maxRetries: 100_000, backoff: backoff) }
            }
            pipeline.call { attempt in
                message {
                    let read = version
                    message {
                        message {
                            calls += 1
                            let succeeds = read == version
                            if succeeds { version += 1 }
                            message { attempt.end(succeeds ? .success : .transient) }
                        }
                    }
                }
            } completion: { _ in
                end = simulation.now
            }
        }
        simulation.run(until: .distantFuture)
        return (calls, began.duration(to: end))
    }
}

/// Three services that call one another, and a database.
struct Layers {
    let retries: Int
    /// nil for no budget.
    let budget: Double?
    let rate: Double
    let seed: UInt64

    /// The database's load, and its requests for each page while it is down.
    func run() throws -> (SimulationResult, Double) {
        let outage = Trouble(.outage, at: .seconds(60), for: .seconds(60))
        let scenario = Scenario(
            service: ServiceModel(serviceTime: .exponential(mean: .milliseconds(5))), load: .open(perSecond: rate),
            clients: 1, troubles: [outage], length: .seconds(180))
        let layer: Scenario.Make = { timeBase in
            Pipeline("layer", timeBase: timeBase, isIdempotent: true) {
                Retry(
                    maxRetries: retries, backoff: .exponential(from: .milliseconds(20), cap: .milliseconds(200)),
                    budget: budget.map { .ratio($0, reserve: 0, timeBase: timeBase) })
            }
        }
        let result = try scenario.run(seed: seed, through: [layer, layer, layer])
        let during = result.intervals.filter { $0.begins >= outage.begins + .seconds(20) && $0.begins < outage.ends }
        let (pages, requests) = during.reduce((0, 0)) { ($0.0 + $1.offered, $0.1 + $1.requests) }
        return (result, pages == 0 ? .nan : Double(requests) / Double(pages))
    }
}
