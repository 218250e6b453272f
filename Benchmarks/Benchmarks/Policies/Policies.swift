import Benchmark
import Calls

/// Nanoseconds per call, and the same as a percentage of a bare call timed right before it: machines drift, a ratio of
/// neighbours does not.
let nanoseconds = BenchmarkMetric.custom("ns a call", polarity: .prefersSmaller, useScalingFactor: false)
let percentOfBare = BenchmarkMetric.custom("% of a bare call", polarity: .prefersSmaller, useScalingFactor: false)

let callsAnIteration = 20_000

let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = Benchmark.Configuration(
        metrics: [nanoseconds, percentOfBare], warmupIterations: 3, maxDuration: .seconds(1), maxIterations: 400)

    for calls in Calls.all + Calls.delays {
        Benchmark(calls.name) { benchmark in
            let floor = try await nanosecondsPerCall(of: .bare)
            let subject = try await nanosecondsPerCall(of: calls)
            benchmark.measurement(nanoseconds, Int(subject.rounded()))
            benchmark.measurement(percentOfBare, Int((100 * subject / floor).rounded()))
        }
    }
}

func nanosecondsPerCall(of calls: Calls) async throws -> Double {
    let start = ContinuousClock.now
    try await calls.make(callsAnIteration)
    return start.duration(to: .now) / .nanoseconds(1) / Double(callsAnIteration)
}
