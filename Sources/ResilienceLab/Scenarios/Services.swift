import Resilience
import ResilienceSimulation
import ResilienceTraffic

extension LabScenario {
    static let breaker = LabScenario(
        "breaker", "A circuit breaker against error rates",
        """
        A share of all requests fails, always. Below the breaker's limit it lets all calls through; above it, few \
        requests reach the service, and most calls fail at once. Between the two, it opens by chance.
        """,
        [
            Setting("rate", 50, 1...10_000, "calls a second"),
            Setting("limit", 0.5, 0.01...1, "the failure rate that opens the circuit"),
            Setting("window", 100, 1...10_000, "the calls that the breaker looks back on"),
            Setting("open", 10, 0.1...600, "how many seconds the circuit stays open"),
        ]
    ) { seed, values in
        let rows = try (0...10).map { step in
            let share = Double(step) / 10
            let scenario = Scenario(
                service: ServiceModel(serviceTime: .exponential(mean: .milliseconds(20)), failureShare: share),
                load: .open(perSecond: values["rate"]), clients: 1, length: .seconds(300))
            let result = try scenario.run(seed: seed) { timeBase in
                Pipeline("calls", timeBase: timeBase) {
                    CircuitBreaker(
                        tripping: .failureRatio(
                            values["limit"], over: .calls(values.whole("window")),
                            minimumCalls: min(10, values.whole("window"))),
                        openFor: .constant(values.seconds("open")), timeBase: timeBase)
                }
            }
            let rejected = Double(result.outcomes[.rejected, default: 0]) / Double(max(1, result.calls))
            return (share, [100 * result.success, 100 * rejected, 100 * result.amplification])
        }
        return LabReport(
            "What becomes of all calls", by: "error rate", head: ["succeed, %", "rejected, %", "sent, %"],
            rows: rows.map { ($0.0, $0.1.map(Optional.some)) }, unit: "% of calls")
    }

    /// B. Maurer, Fail at Scale, ACM Queue, 2015.
    static let shedding = LabScenario(
        "shedding", "Load shedding against a queue, with twice the calls",
        """
        For half a minute, a server gets more calls than it can serve, and callers wait half a second at most. In a \
        queue that is served first in, first out, every call waits so long that its caller has left when its turn \
        comes. With load shedding, waiting calls are rejected early, and the server works for those that are there.
        """,
        [
            Setting("surge", 2, 0.1...100, "calls, as a multiple of the capacity"),
            Setting("patience", 500, 1...60_000, "how many milliseconds callers wait"),
        ]
    ) { seed, values in
        let service = ServiceModel(serviceTime: .exponential(mean: .milliseconds(50)), workers: 10, queue: 0)
        let scenario = Scenario(
            service: service, load: .open(perSecond: 0.8 * service.capacity), clients: 1,
            troubles: [Trouble(.surge(values["surge"] / 0.8), at: .seconds(30), for: .seconds(30))],
            length: .seconds(120))
        func run(_ name: String, _ shedding: LoadShedding?) throws -> (String, SimulationResult) {
            // The server does not learn that its caller has left.
            let result = try scenario.run(
                seed: seed,
                through: [
                    { Pipeline("caller", timeBase: $0) { Timeout(limit: values.milliseconds("patience")) } },
                    { timeBase in
                        Pipeline("server", timeBase: timeBase) {
                            Bulkhead(
                                limit: 10, queue: 1000, predictsWait: false, shedding: shedding, timeBase: timeBase)
                        }
                    },
                ])
            return (name, result)
        }
        return LabReport([
            try run("first in, first out", nil), try run("load shedding", LoadShedding()),
        ])
    }

    static let deploy = LabScenario(
        "deploy", "A deploy with cold caches",
        """
        New processes take over with cold caches, so that the service begins with a part of its capacity, and reaches \
        all of it half a minute later. Callers without a limit of their own keep it busy with work that nobody waits \
        for. An adaptive bulkhead finds how much the service can do, and rejects the rest at once.
        """,
        [
            Setting("load", 0.7, 0.1...1, "calls, as a share of the capacity"),
            Setting("cold", 0.3, 0...1, "the share of the capacity at the start"),
            Setting("warming", 30, 1...600, "how many seconds until it is warm"),
        ]
    ) { seed, values in
        let service = ServiceModel(serviceTime: .exponential(mean: .milliseconds(50)), workers: 20, queue: 2000)
        let scenario = Scenario(
            service: service, load: .open(perSecond: values["load"] * service.capacity), clients: 10,
            troubles: [Trouble(.slowStart(share: values["cold"]), at: .seconds(30), for: values.seconds("warming"))],
            length: .seconds(120) + values.seconds("warming"))
        func run(_ name: String, adapts: Bool) throws -> (String, SimulationResult) {
            let result = try scenario.run(seed: seed) { timeBase in
                Pipeline("calls", timeBase: timeBase, isIdempotent: true) {
                    Retry(maxRetries: 2, budget: .ratio(0.1, timeBase: timeBase))
                    if adapts { AdaptiveBulkhead(timeBase: timeBase) }
                    Timeout(limit: .seconds(1))
                }
            }
            return (name, result)
        }
        return LabReport([
            try run("timeout and retries", adapts: false), try run("with an adaptive bulkhead", adapts: true),
        ])
    }
}
