import Foundation
import Resilience
import ResilienceSimulation

// How fast calls are simulated: `Simulated [CALLS]`. Through a pipeline of four policies, alone and in a service with
// workers; and ten thousand clients for ten minutes.

let calls = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 2_000_000

@Sendable func four(_ timeBase: SimulatedTimeBase) -> Pipeline {
    Pipeline(timeBase: timeBase) {
        Retry(maxRetries: 2)
        CircuitBreaker(timeBase: timeBase)
        Throttle(limit: .perSecond(1_000_000, burst: 1_000_000), timeBase: timeBase)
        Bulkhead(limit: 1000, timeBase: timeBase)
    }
}

func measure(_ name: String, _ body: () throws -> Int) rethrows {
    let began = ContinuousClock.now
    let count = try body()
    let seconds = began.duration(to: .now) / .seconds(1)
    print(
        name.padding(toLength: 52, withPad: " ", startingAt: 0)
            + String(format: "%10d calls %8.2f s %12.0f calls/s", count, seconds, Double(count) / seconds))
}

/// A hundred clients call again at once; each call takes 20 ms.
func loop(_ make: (SimulatedTimeBase) -> Pipeline) throws -> Int {
    let simulation = Simulation(seed: 1)
    var left = calls
    for _ in 0..<100 {
        let pipeline = try SimulatedPipeline(in: simulation, make)
        func again() {
            left -= 1
            if left < 0 { return }
            pipeline.call { attempt in
                simulation.after(.milliseconds(20)) { attempt.end(.success) }
            } completion: { _ in
                again()
            }
        }
        again()
    }
    simulation.run(until: .distantFuture)
    return calls
}

try measure("four policies, each call an event") { try loop(four) }
try measure("the same, and a timeout") {
    try loop { timeBase in
        Pipeline(timeBase: timeBase) {
            four(timeBase)
            Timeout(limit: .seconds(1))
        }
    }
}
try measure("four policies, a service with 100 workers") {
    let service = ServiceModel(serviceTime: .exponential(mean: .milliseconds(20)), workers: 100)
    let scenario = Scenario(
        service: service, load: .open(perSecond: 4000), clients: 10, length: .seconds(calls / 4000))
    return try scenario.run(four).calls
}
try measure("10 000 clients for ten minutes") {
    let scenario = Scenario(
        service: ServiceModel(serviceTime: .exponential(mean: .milliseconds(20)), workers: 300),
        load: .closed(thinking: .exponential(mean: .seconds(1))), clients: 10_000,
        troubles: [Trouble(.outage, at: .seconds(120), for: .seconds(60))], length: .seconds(600))
    return try scenario.run(four).calls
}
