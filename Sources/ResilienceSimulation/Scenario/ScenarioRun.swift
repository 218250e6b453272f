import Foundation
import Resilience

/// A client's pipelines.
private final class Client {
    /// All layers but the last, the outermost first.
    let layers: [SimulatedPipeline]
    /// The last layer, for each zone.
    let zones: [SimulatedPipeline]
    /// Of each zone; none if there is only one.
    private let breakers: [[CircuitBreaker]]
    /// Its number as a share of all clients.
    let place: Double
    private var turn = 0

    init(_ layers: [SimulatedPipeline], _ zones: [SimulatedPipeline], place: Double) {
        (self.layers, self.zones, self.place) = (layers, zones, place)
        breakers = zones.count == 1 ? [] : zones.map { $0.pipeline.policies(of: CircuitBreaker.self) }
    }

    /// The next zone without an open circuit; the next one if all are open.
    func nextZone() -> Int {
        if breakers.isEmpty { return 0 }
        for step in 0..<zones.count {
            let zone = (turn + step) % zones.count
            if breakers[zone].allSatisfy(\.status.isAllowed) {
                turn = (zone + 1) % zones.count
                return zone
            }
        }
        turn = (turn + 1) % zones.count
        return turn
    }
}

/// One run of a scenario.
final class ScenarioRun {
    private let scenario: Scenario
    private let simulation: Simulation
    /// One for each zone.
    private let services: [SimulatedService]
    private let clients: [Client]
    private let breakers: [CircuitBreaker]
    private let began: MonotonicInstant
    private let surges: [Trouble]
    private var highestSurge = 1.0
    /// The calls and attempts to play; nil for the scenario's load and service.
    private let recording: RecordedTraffic?
    private var result: SimulationResult
    private var current: SimulationResult.Interval
    private var outcomes: [CallOutcome: Int] = [:]
    private var requests = 0
    private var inFlight = 0
    /// How many requests a recording has answered.
    private var recorded = 0

    init(
        _ scenario: Scenario, seed: UInt64, _ layers: [Scenario.Make], playing recording: RecordedTraffic? = nil
    ) throws {
        self.recording = recording
        self.scenario = scenario
        simulation = Simulation(seed: seed)
        let simulation = simulation
        services = (0..<scenario.zones).map { zone in
            SimulatedService(
                scenario.service, troubles: scenario.troubles.filter { $0.zones.contains(zone) }, in: simulation)
        }
        clients = try (0..<scenario.clients).map { number in
            Client(
                try layers.dropLast().map { try SimulatedPipeline(in: simulation, $0) },
                try (0..<scenario.zones).map { _ in try SimulatedPipeline(in: simulation, layers[layers.count - 1]) },
                place: (Double(number) + 0.5) / Double(scenario.clients))
        }
        var seen: Set<ObjectIdentifier> = []
        breakers = clients.flatMap { $0.layers + $0.zones }.flatMap { $0.pipeline.policies(of: CircuitBreaker.self) }
            .filter { seen.insert(ObjectIdentifier($0)).inserted }
        began = simulation.now
        surges = scenario.troubles.filter { if case .surge = $0.kind { true } else { false } }
        current = SimulationResult.Interval(begins: .zero)
        result = SimulationResult(
            intervals: [], interval: scenario.interval, troubles: scenario.troubles,
            capacity: Double(scenario.zones) * scenario.service.capacity)
    }

    func finish() -> SimulationResult {
        highestSurge = ([.zero] + surges.flatMap { [$0.begins, $0.ends] }).map(surge).max() ?? 1
        begin()
        var ends = Duration.zero
        while ends < scenario.length {
            ends += scenario.interval
            simulation.run(until: began + min(scenario.length, ends))
            finishInterval()
            current = SimulationResult.Interval(begins: ends)
        }
        simulation.clear()
        result.outcomes = outcomes
        for interval in result.intervals { result.latency.add(interval.latency) }
        result.wasted = sum(\.wasted)
        result.unfinished = result.intervals.reduce(0) { $0 + $1.offered } - result.calls
        return result
    }

    private func begin() {
        if let recording {
            for (number, entry) in recording.calls.enumerated() {
                simulation.after(entry.begins) { [self] in call(by: clients[number % clients.count]) {} }
            }
            return
        }
        switch scenario.load {
        case .open(let rate): comeAgain(every: 1e9 / rate, from: 0)
        case .closed(let thinking):
            for client in clients { callAfterThinking(client, thinking) }
        }
    }

    private func finishInterval() {
        let all = sum(\.requests) + recorded
        current.requests = all - requests
        requests = all
        current.queued = sum(\.queued)
        inFlight += current.offered - current.succeeded - current.failed
        current.inFlight = inFlight
        let open = breakers.reduce(0) { $0 + ($1.status.state == .open ? 1 : 0) }
        current.openCircuits = breakers.isEmpty ? 0 : Double(open) / Double(breakers.count)
        result.intervals.append(current)
    }

    private func sum(_ path: KeyPath<SimulatedService, Int>) -> Int { services.reduce(0) { $0 + $1[keyPath: path] } }

    // MARK: Load

    /// How many times as many calls come now.
    private func surge(at elapsed: Duration) -> Double {
        var product = 1.0
        for trouble in surges where trouble.isActive(at: elapsed) {
            if case .surge(let factor) = trouble.kind { product *= factor }
        }
        return product
    }

    /// Draws calls at the highest rate of the run, and leaves out the share that is too many now: a call that was
    /// planned before a surge does not delay it.
    /// - Parameter mean: The mean time between two calls without a surge, in nanoseconds.
    private func comeAgain(every mean: Double, from client: Int) {
        let wait = -log(1 - simulation.generator.unit()) * mean / highestSurge
        simulation.after(nanoseconds: Int64(min(9e18, wait))) { [self] in
            let comes = surges.isEmpty || simulation.generator.unit() * highestSurge < surge(at: elapsed)
            if comes { call(by: clients[client]) {} }
            comeAgain(every: mean, from: comes ? (client + 1) % clients.count : client)
        }
    }

    private func callAfterThinking(_ client: Client, _ thinking: LatencyModel) {
        // At least a nanosecond: a client that neither thinks nor waits would never let time go on.
        let time = max(1, thinking.nanoseconds(using: simulation.generator))
        simulation.after(nanoseconds: time) { [self] in
            call(by: client) { [self] in callAfterThinking(client, thinking) }
        }
    }

    private func call(by client: Client, then next: @escaping () -> Void) {
        current.offered += 1
        let deadline = scenario.deadline.map { simulation.now + $0 } ?? .distantFuture
        call(by: client, layer: 0, RunOptions(deadline: deadline), begunIn: result.intervals.count) { [self] end in
            note(end)
            next()
        }
    }

    private func call(
        by client: Client, layer: Int, _ options: RunOptions = RunOptions(), begunIn interval: Int,
        _ completion: @escaping (SimulatedEnd) -> Void
    ) {
        guard layer == client.layers.count else {
            return client.layers[layer].call(
                options: options,
                operation: { [self] attempt in
                    call(by: client, layer: layer + 1, begunIn: interval) { end in
                        if let error = end.error { attempt.fail(error) } else { attempt.end(end.verdict) }
                    }
                }, completion: completion)
        }
        let zone = client.nextZone()
        client.zones[zone].call(
            options: options,
            operation: { [self] attempt in
                countAttempt(in: interval)
                if let recording { play(recording, attempt) } else { services[zone].serve(attempt, from: client.place) }
            }, completion: completion)
    }

    /// - Parameter interval: The interval in which the attempt's call began.
    private func countAttempt(in interval: Int) {
        if interval < result.intervals.count {
            result.intervals[interval].attempts += 1
        } else {
            current.attempts += 1
        }
    }

    private func play(_ recording: RecordedTraffic, _ attempt: SimulatedAttempt) {
        recorded += 1
        guard let entry = recording.attempt(at: elapsed), let verdict = entry.outcome.verdict else { return }
        simulation.after(entry.took) { attempt.end(verdict) }
    }

    private func note(_ end: SimulatedEnd) {
        let outcome = end.attempts == 0 ? .rejected : CallOutcome(ofOperation: end.verdict)
        outcomes[outcome, default: 0] += 1
        guard outcome == .success else {
            current.failed += 1
            if outcome == .rejected { current.rejected += 1 }
            return
        }
        current.succeeded += 1
        current.latency.add(end.latency)
    }

    private var elapsed: Duration { began.duration(to: simulation.now) }
}
