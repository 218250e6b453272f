import Resilience

/// A client's pipelines.
private final class Client {
    /// All layers but the last, the outermost first.
    let layers: [SimulatedPipeline]
    /// The last layer, for each zone.
    let zones: [SimulatedPipeline]
    private var turn = 0

    init(_ layers: [SimulatedPipeline], _ zones: [SimulatedPipeline]) { (self.layers, self.zones) = (layers, zones) }

    func nextZone() -> Int {
        defer { turn = (turn + 1) % zones.count }
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
    /// In nanoseconds.
    private let interval: Int64
    private var result: SimulationResult
    private var requests = 0

    init(_ scenario: Scenario, seed: UInt64, _ layers: [Scenario.Make]) throws {
        self.scenario = scenario
        simulation = Simulation(seed: seed)
        let simulation = simulation
        services = (0..<scenario.zones).map { zone in
            SimulatedService(scenario.service, troubles: zone == 0 ? scenario.troubles : [], in: simulation)
        }
        clients = try (0..<scenario.clients).map { _ in
            Client(
                try layers.dropLast().map { try SimulatedPipeline(in: simulation, $0) },
                try (0..<scenario.zones).map { _ in try SimulatedPipeline(in: simulation, layers[layers.count - 1]) })
        }
        var seen: Set<ObjectIdentifier> = []
        breakers = clients.flatMap { $0.layers + $0.zones }.flatMap { $0.pipeline.policies(of: CircuitBreaker.self) }
            .filter { seen.insert(ObjectIdentifier($0)).inserted }
        began = simulation.now
        interval = scenario.interval.saturatedNanoseconds
        let count = Int((scenario.length / scenario.interval).rounded(.up))
        result = SimulationResult(
            intervals: (0..<count).map { SimulationResult.Interval(begins: scenario.interval * $0) },
            interval: scenario.interval, troubles: scenario.troubles,
            capacity: Double(scenario.zones) * scenario.service.capacity)
    }

    func finish() -> SimulationResult {
        switch scenario.load {
        case .open(let rate): comeAgain(at: rate, from: 0)
        case .closed(let thinking):
            for client in clients { callAfterThinking(client, thinking) }
        }
        for index in result.intervals.indices {
            simulation.run(until: began + min(scenario.length, scenario.interval * (index + 1)))
            note(in: &result.intervals[index])
        }
        result.wasted = sum(\.wasted)
        return result
    }

    private func note(in interval: inout SimulationResult.Interval) {
        let all = sum(\.requests)
        interval.requests = all - requests
        requests = all
        interval.queued = sum(\.queued)
        let open = breakers.reduce(0) { $0 + ($1.status.state == .open ? 1 : 0) }
        interval.openCircuits = breakers.isEmpty ? 0 : Double(open) / Double(breakers.count)
    }

    private func sum(_ path: KeyPath<SimulatedService, Int>) -> Int { services.reduce(0) { $0 + $1[keyPath: path] } }

    // MARK: Load

    private func comeAgain(at rate: Double, from client: Int) {
        var surge = 1.0
        for trouble in scenario.troubles where trouble.begins <= elapsed && elapsed < trouble.ends {
            if case .surge(let factor) = trouble.kind { surge *= factor }
        }
        let next = LatencyModel.exponential(mean: .seconds(1 / (rate * surge)))
        simulation.after(next.draw(using: simulation.generator)) { [self] in
            call(by: clients[client]) {}
            comeAgain(at: rate, from: (client + 1) % clients.count)
        }
    }

    private func callAfterThinking(_ client: Client, _ thinking: LatencyModel) {
        // At least a nanosecond: a client that neither thinks nor waits would never let time go on.
        let time = max(.nanoseconds(1), thinking.draw(using: simulation.generator))
        simulation.after(time) { [self] in
            call(by: client) { [self] in callAfterThinking(client, thinking) }
        }
    }

    private func call(by client: Client, then next: @escaping () -> Void) {
        result.intervals[present].offered += 1
        let deadline = scenario.deadline.map { simulation.now + $0 } ?? .distantFuture
        call(by: client, layer: 0, RunOptions(deadline: deadline)) { [self] end in
            note(end)
            next()
        }
    }

    private func call(
        by client: Client, layer: Int, _ options: RunOptions = RunOptions(),
        _ completion: @escaping (SimulatedEnd) -> Void
    ) {
        guard layer == client.layers.count else {
            return client.layers[layer].call(
                options: options,
                operation: { [self] attempt in
                    call(by: client, layer: layer + 1) { end in
                        if let error = end.error { attempt.fail(error) } else { attempt.end(end.verdict) }
                    }
                }, completion: completion)
        }
        let zone = client.nextZone()
        client.zones[zone].call(
            options: options,
            operation: { [self] attempt in
                result.intervals[present].attempts += 1
                services[zone].serve(attempt)
            }, completion: completion)
    }

    private func note(_ end: SimulatedEnd) {
        let outcome = end.attempts == 0 ? .rejected : CallOutcome(ofOperation: end.verdict)
        result.outcomes[outcome, default: 0] += 1
        result.latencyOfAll.add(end.latency)
        let index = present
        guard outcome == .success else {
            result.intervals[index].failed += 1
            if outcome == .rejected { result.intervals[index].rejected += 1 }
            return
        }
        result.latency.add(end.latency)
        result.intervals[index].succeeded += 1
        result.intervals[index].latency.add(end.latency)
    }

    private var elapsed: Duration { began.duration(to: simulation.now) }

    private var present: Int {
        min(Int(elapsed.saturatedNanoseconds / interval), result.intervals.count - 1)
    }
}
