import Resilience
import ResilienceSimulation
import ResilienceTraffic

/// A pipeline's settings, tried against the troubles of one service.
struct Trial: Sendable {
    /// One kind of trouble.
    struct Case: Sendable {
        let name: String
        let length: Duration
        let run: @Sendable (UInt64, Scenario.Make) throws -> SimulationResult
    }

    /// What happened in one case.
    struct Outcome: Sendable {
        let name: String
        let result: SimulationResult
        let length: Duration

        /// How bad it was: lower is better. The percentage of failed calls, plus the seconds until calls succeed again,
        /// plus 20 times the share by which the busiest second exceeds the capacity.
        var cost: Double {
            let recovery = result.timeToRecover ?? (length - (result.troubles.map(\.ends).max() ?? .zero))
            return 100 * (1 - result.success) + recovery / .seconds(1) + 20 * max(0, result.peakLoad - 1)
        }
    }

    let name: String
    let settings: Pipeline.AllSettings
    let service: ServiceModel
    /// In calls a second.
    let load: Double
    let clients: Int
    let length: Duration
    let isIdempotent: Bool?
    let seed: UInt64
    /// Played back in place of the troubles.
    var recording: RecordedTraffic?

    var cases: [Case] {
        if let recording {
            let last = recording.calls.map(\.begins).max() ?? .zero
            return [
                Case(name: "the recording", length: last) { [clients] seed, make in
                    try recording.run(seed: seed, clients: clients, make)
                }
            ]
        }
        let capacity = service.capacity
        let troubles: [(String, Trouble.Kind)] = [
            ("outage", .outage), ("no answers", .partition()), ("brown-out: 5 times as slow", .brownOut(slower: 5)),
            ("half of all requests fail", .errors(share: 0.5)),
            ("429 above half of the load", .rateLimit(perSecond: load / 2, burst: max(1, Int(load / 2)))),
            ("5 % stragglers, 20 times as slow", .stragglers(share: 0.05, slower: 20)),
            ("a zone of three lost", .capacity(share: 2.0 / 3)),
            ("twice the capacity in calls", .surge(2 * (capacity.isFinite ? capacity : load) / load)),
        ]
        return troubles.map { name, kind in
            let scenario = Scenario(
                service: service, load: .open(perSecond: load), clients: clients,
                troubles: [Trouble(kind, at: .seconds(30), for: length)], length: .seconds(90) + length)
            return Case(name: name, length: scenario.length) { try scenario.run(seed: $0, $1) }
        }
    }

    /// Runs all cases.
    func run() throws -> [Outcome] { try cases.map { try outcome(of: $0, settings) } }

    private func outcome(of one: Case, _ settings: Pipeline.AllSettings) throws -> Outcome {
        var settings = settings
        if let isIdempotent { settings.isIdempotent = isIdempotent }
        let result = try one.run(seed) { timeBase in
            Pipeline(name, settings: settings, timeBase: timeBase)
        }
        return Outcome(name: one.name, result: result, length: one.length)
    }

    // MARK: Other settings

    /// A change of settings, and what it does.
    struct Alternative: Sendable {
        let change: String
        let outcomes: [Outcome]

        var cost: Double { outcomes.reduce(0) { $0 + $1.cost } }
    }

    /// Returns the best other settings that it tried, the best first; none of them costs as much as these settings.
    func alternatives(to own: [Outcome], atMost count: Int = 2) throws -> [Alternative] {
        let cost = own.reduce(0) { $0 + $1.cost }
        var tried: [Alternative] = []
        for (change, settings) in changes {
            let alternative = Alternative(change: change, outcomes: try cases.map { try outcome(of: $0, settings) })
            if alternative.cost < cost { tried.append(alternative) }
        }
        return Array(tried.sorted { $0.cost < $1.cost }.prefix(count))
    }

    /// One change each.
    private var changes: [(String, Pipeline.AllSettings)] {
        var changes: [(String, Pipeline.AllSettings)] = []
        func change(_ text: String, _ body: (inout Pipeline.AllSettings) -> Void) {
            var changed = settings
            body(&changed)
            if changed != settings { changes.append((text, changed)) }
        }
        for retries in [0, 1, 2, 4] {
            change("retry.maxRetries: \(retries)") { settings in
                if settings.retry == nil { settings.retry = Retry.Settings() }
                settings.retry?.maxRetries = retries
            }
        }
        if settings.retry != nil { change("without a retry") { $0.retry = nil } }
        if settings.circuitBreaker == nil {
            change("with a circuit breaker") { $0.circuitBreaker = CircuitBreaker.Settings() }
        } else {
            change("without the circuit breaker") { $0.circuitBreaker = nil }
            change("the circuit breaker's defaults") { $0.circuitBreaker = CircuitBreaker.Settings() }
        }
        if settings.adaptiveThrottle == nil {
            change("with an adaptive throttle") { $0.adaptiveThrottle = AdaptiveThrottle.Settings() }
        }
        if settings.throttle == nil {
            change("with a throttle that holds calls after a 429") {
                $0.throttle = Throttle.Settings(limit: .unlimited, holdOnThrottled: true)
            }
        }
        let usual = service.serviceTime.mean + service.network.mean
        for factor in [5, 10, 20] {
            let limit = Duration.milliseconds(Int((usual * factor) / .milliseconds(1)) + 1)
            change("attemptTimeout.limitSeconds: \(limit / .seconds(1))") { settings in
                settings.attemptTimeout = Timeout.Settings(limit: limit)
            }
        }
        if let workers = service.workers {
            let limit = max(1, (workers + clients - 1) / clients)
            for (limit, queue) in [(limit, 4 * limit), (2 * limit, 8 * limit)] {
                change("bulkhead.limit: \(limit), queue: \(queue)") {
                    $0.bulkhead = Bulkhead.Settings(limit: limit, queue: queue)
                }
            }
        }
        return changes
    }
}
