import CoreMetrics
import Foundation
import InMemoryTracing
import Logging
import Resilience
import ResilienceObservability
import Synchronization
import Tracing

// The cost of observers: `Observers CALLS ROUNDS`. Nanoseconds per call of an operation that returns at once, and the
// ratio to the same pipeline without an observer. The variants take turns, and the fastest round counts: rounds are so
// short that some are not interrupted, whatever else the machine does. Without arguments: the names of the variants
// around four policies; `Observers NAME COUNT` makes calls of one, for a tool that counts.

/// Writes nothing, so only the cost of making the line remains.
struct Discarding: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }
    func log(event: LogEvent) {}
}

/// Counts with atomics, as an exporter does.
struct Counting: MetricsFactory {
    final class Handler: CounterHandler, RecorderHandler, TimerHandler {
        let sum = Atomic<Int64>(0)
        let count = Atomic<Int64>(0)

        func increment(by amount: Int64) { sum.add(amount, ordering: .relaxed) }
        func reset() { sum.store(0, ordering: .relaxed) }
        func record(_ value: Int64) { recordNanoseconds(value) }
        func record(_ value: Double) { recordNanoseconds(Int64(value)) }
        func recordNanoseconds(_ duration: Int64) {
            sum.wrappingAdd(duration, ordering: .relaxed)
            count.add(1, ordering: .relaxed)
        }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { Handler() }
    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        Handler()
    }
    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { Handler() }
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}
}

/// A span's policies without the spans.
struct Empty: AroundPolicy {
    func around(
        _ call: inout PolicyCall, isolation: isolated (any Actor)?,
        _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
    ) async throws -> Verdict { try await inside(call.deadline) }
}

struct Variant {
    let name: String
    let pipeline: Pipeline
    var after: () -> Void = {}
    var fastest = Double.infinity
}

func logger(_ level: Logger.Level) -> Logger {
    var logger = Logger(label: "observers") { _ in Discarding() }
    logger.logLevel = level
    return logger
}

let tracer = InMemoryTracer()

func variants(_ policies: @escaping () -> Pipeline) -> [Variant] {
    func observed(_ name: String, _ observer: (any PolicyObserver)?) -> Variant {
        let observers = observer.map { PolicyObservers($0) }
        return Variant(name: name, pipeline: Pipeline("calls", observers: observers) { policies() })
    }
    return [
        observed("no observer", nil),
        Variant(
            name: "a closure that does nothing",
            pipeline: Pipeline("calls", observers: PolicyObservers { _ in }) { policies() }),
        observed("EventCounter", EventCounter()),
        observed("log at info: no line", PolicyLogger(logger(.info))),
        observed("log at trace: 5 lines in 10 s", PolicyLogger(logger(.trace))),
        observed("log at trace: every line", PolicyLogger(logger(.trace), lines: .max)),
        observed("metrics, no backend", ResilienceMetrics()),
        observed("metrics, atomic counters", ResilienceMetrics(factory: Counting())),
        Variant(
            name: "two empty around policies",
            pipeline: Pipeline("calls") {
                Empty()
                policies()
                Empty()
            }),
        Variant(
            name: "log at info, metrics, traced, no tracer",
            pipeline: Pipeline(
                "calls",
                observers: PolicyObservers(PolicyLogger(logger(.info)), ResilienceMetrics(factory: Counting()))
            ) { policies() }.traced()),
        Variant(name: "traced, no tracer", pipeline: Pipeline("calls") { policies() }.traced()),
        Variant(
            name: "traced, in memory", pipeline: Pipeline("calls") { policies() }.traced(by: tracer),
            after: { tracer.clearFinishedSpans() }),
        Variant(
            name: "log at info, metrics, traced",
            pipeline: Pipeline(
                "calls",
                observers: PolicyObservers(PolicyLogger(logger(.info)), ResilienceMetrics(factory: Counting()))
            ) { policies() }.traced(by: tracer),
            after: { tracer.clearFinishedSpans() }),
    ]
}

@inline(never)
func time(_ pipeline: Pipeline, _ calls: Int) async throws -> Double {
    let start = ContinuousClock.now
    for number in 0..<calls { _ = try await pipeline.run { number } }
    return start.duration(to: .now) / .nanoseconds(1) / Double(calls)
}

func measure(_ title: String, _ calls: Int, _ rounds: Int, _ policies: @escaping () -> Pipeline) async throws {
    var all = variants(policies)
    for _ in 0..<rounds {
        for index in all.indices {
            all[index].fastest = min(all[index].fastest, try await time(all[index].pipeline, calls))
            all[index].after()
        }
    }
    print("\n| \(title) | ns per call | ratio |\n|---|---:|---:|")
    for variant in all {
        let ratio = String(format: "%.1f", variant.fastest / all[0].fastest)
        print("| \(variant.name) | \(Int(variant.fastest.rounded())) | \(ratio) |")
    }
}

func four() -> Pipeline {
    Pipeline {
        Retry()
        CircuitBreaker("breaker")
        Throttle(limit: .perSecond(1_000_000_000, burst: 1_000_000_000))
        Bulkhead(limit: 10)
    }
}

// The main thread waits: valgrind fails if it ends into the dispatch main loop.
let done = DispatchSemaphore(value: 0)
Task.detached {
    let arguments = CommandLine.arguments.dropFirst()
    switch (arguments.first, arguments.dropFirst().first.flatMap { Int($0) }) {
    case (let calls?, let rounds?) where Int(calls) != nil:
        print("\(calls) calls in each of \(rounds) rounds")
        try await measure("one breaker", Int(calls)!, rounds) { Pipeline { CircuitBreaker("breaker") } }
        try await measure("retry, breaker, throttle, bulkhead", Int(calls)!, rounds, four)
    case (let name?, let calls?):
        guard let variant = variants(four).first(where: { "four: " + $0.name == name }) else {
            fatalError("none: \(name)")
        }
        _ = try await time(variant.pipeline, calls)
    default:
        for variant in variants(four) { print("four: " + variant.name) }
    }
    done.signal()
}
done.wait()
exit(0)
