import Resilience
import ResilienceSimulation
import ResilienceTesting
import ResilienceTraffic
import TestSupport
import Testing

/// A simulated call takes the same steps as a call in a task, at the same instants.
@Suite(.heavy) struct SimulatedPipelineTests {
    private struct Attempt: Sendable {
        enum End: CaseIterable, Sendable { case success, outage, permanent, throttled, badResult }

        var length = Duration.zero
        var end = End.success
    }

    private struct Script: Sendable {
        var start = Duration.zero
        var deadline: Duration?
        var isIdempotent: Bool?
        var attempts: [Attempt] = []
    }

    private struct Plan: Sendable {
        var outer: Duration?
        var middle: Duration?
        var inner: Duration?
        var client: Duration?
        var isByAttempt = false
        var backoff = Duration.zero
        var policies: [Bool] = []
        var idlePolicies = 0
        var hedge: Duration?
        var calls: [Script] = []
    }

    /// Without a random number: there are few ties, of which the order would differ.
    private static func plan(_ random: inout SeededGenerator) -> Plan {
        func time(_ most: Int) -> Duration { .nanoseconds(Int.random(in: 1...most * 1_000_000, using: &random)) }
        func maybe(_ most: Int) -> Duration? { Bool.random(using: &random) ? time(most) : nil }
        var plan = Plan()
        (plan.outer, plan.middle, plan.inner) = (maybe(20), maybe(15), maybe(12))
        if Int.random(in: 0..<4, using: &random) == 0 { plan.client = time(15) }
        plan.isByAttempt = Bool.random(using: &random)
        plan.backoff = time(6)
        plan.policies = (0..<5).map { _ in Bool.random(using: &random) }
        if Int.random(in: 0..<4, using: &random) == 0 { plan.idlePolicies = 9 }
        // In a bulkhead, a copy would begin at the instant at which the other one leaves it and ends the call.
        if Int.random(in: 0..<2, using: &random) == 0, !plan.policies[4] { plan.hedge = time(8) }
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            plan.calls.append(
                Script(
                    start: time(10), deadline: maybe(25), isIdempotent: Bool.random(using: &random) ? true : nil,
                    attempts: (0..<4).map { _ in
                        Attempt(length: time(10), end: Attempt.End.allCases.randomElement(using: &random)!)
                    }))
        }
        return plan
    }

    private struct Idle: Policy {
        let name = "idle"
        func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry { .proceed }
        func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit { .pass }
    }

    /// The pipeline of a plan, and what can be seen of a run.
    private struct Run: Sendable {
        let pipeline: Pipeline
        let recorder = EventRecorder()
        let statuses: @Sendable () -> String

        init(_ plan: Plan, _ timeBase: any TimeBase) {
            let breaker = CircuitBreaker(
                tripping: .consecutiveFailures(2), openFor: .constant(.milliseconds(4)), timeBase: timeBase)
            let throttle = Throttle(limit: .perSecond(500, burst: 1), timeBase: timeBase)
            let bulkhead = Bulkhead(limit: 1, queue: 2, timeBase: timeBase)
            pipeline = Pipeline("calls", timeBase: timeBase, observers: PolicyObservers(recorder)) {
                if plan.policies[0] { Retry("again", maxRetries: 1, backoff: .constant(.milliseconds(2))) }
                if let outer = plan.outer { Timeout("outer", limit: outer) }
                for _ in 0..<plan.idlePolicies { Idle() }
                if plan.policies[1] {
                    Retry(
                        maxRetries: 2, backoff: .exponential(from: plan.backoff),
                        throttledBackoff: .constant(plan.backoff),
                        on: [.transient, .throttled, .uncertain])
                }
                if let delay = plan.hedge {
                    Hedge(
                        after: .constant(delay), maxHedges: 2, budget: .ratio(0.5, timeBase: timeBase),
                        timeBase: timeBase)
                }
                if let middle = plan.middle { Timeout("middle", limit: middle) }
                if plan.policies[2] { breaker }
                if plan.policies[3] { throttle }
                if plan.policies[4] { bulkhead }
                if let client = plan.client { ClientTimeout("client", limit: client) }
                if let inner = plan.inner {
                    if plan.isByAttempt { Timeout("inner") { inner * $0 } } else { Timeout("inner", limit: inner) }
                }
            }
            statuses = { "\(breaker.status), \(throttle.status), \(bulkhead.status)" }
        }

        func lines(_ ends: [[String]]) -> [String] {
            let events = recorder.events.map {
                "\($0.time) \($0.policy) \($0.detail) \($0.failure.map { "\($0)" } ?? "")"
            }
            return ends.flatMap(\.self) + events.sorted() + [statuses()]
        }
    }

    /// All calls have ended before it.
    private static let last = MonotonicInstant(nanoseconds: 3_610_000_000_000)

    private static func text(_ error: any Error) -> String {
        switch error {
        case let error as TimedOut: "\(error) of \(error.underlying.map { text($0) } ?? "nothing")"
        case let error as CancelledWhileWaiting: "\(error) (\(error.lastVerdict))"
        default: "\(error)"
        }
    }

    private static func end(_ attempt: Attempt) throws -> Verdict {
        switch attempt.end {
        case .success: return .success
        case .badResult: return .transient
        case .outage: throw Outage()
        case .permanent: throw Judged(verdict: .permanent)
        case .throttled: throw Judged(verdict: .throttled(retryAfter: .milliseconds(3)))
        }
    }

    private static func options(_ script: Script, at now: MonotonicInstant) -> RunOptions {
        RunOptions(deadline: script.deadline.map { now + $0 } ?? .distantFuture, isIdempotent: script.isIdempotent)
    }

    private static func inTasks(_ plan: Plan, seed: UInt64) throws -> [String] {
        let clock = ManualClock()
        let generator = SplitMix64(seed: seed)
        let run = SplitMix64.withShared(generator) { Run(plan, clock) }
        let ends = plan.calls.map { _ in Journal() }
        try SplitMix64.withShared(generator) {
            try clock.run {
                await withTaskGroup(of: Void.self) { group in
                    for (number, script) in plan.calls.enumerated() {
                        group.addTask {
                            await call(run.pipeline, script, clock) {
                                ends[number].note("\(number): \($0) at \(clock.now)")
                            }
                        }
                    }
                }
            }
        }
        clock.advance(to: last)
        return run.lines(ends.map(\.lines))
    }

    private static func call(
        _ pipeline: Pipeline, _ script: Script, _ clock: ManualClock, _ note: @escaping @Sendable (String) -> Void
    ) async {
        try? await clock.sleep(for: script.start)
        let count = Box(0)
        do {
            let verdict = try await pipeline.runHedged(options: options(script, at: clock.now), judging: { $0 }) {
                (attempt: CallAttempt) in
                note("attempt \(attempt)")
                let told = script.attempts[count.value % script.attempts.count]
                count.value += 1
                let ends = clock.now + told.length
                try await clock.sleep(until: min(ends, attempt.deadline))
                if ends >= attempt.deadline { throw CancellationError() }
                return try end(told)
            }
            note("returned \(verdict)")
        } catch {
            note("threw \(text(error))")
        }
    }

    private static func simulated(_ plan: Plan, seed: UInt64) throws -> [String] {
        let simulation = Simulation(seed: seed)
        var run: Run?
        let calls = try SimulatedPipeline(in: simulation) { timeBase in
            let made = Run(plan, timeBase)
            run = made
            return made.pipeline
        }
        var ends = Array(repeating: [String](), count: plan.calls.count)
        for (number, script) in plan.calls.enumerated() {
            func note(_ line: String) { ends[number].append("\(number): \(line) at \(simulation.now)") }
            simulation.after(script.start) {
                var count = 0
                calls.call(options: options(script, at: simulation.now)) { attempt in
                    note("attempt \(attempt.attempt)")
                    let told = script.attempts[count % script.attempts.count]
                    count += 1
                    simulation.after(told.length) {
                        do { attempt.end(try end(told)) } catch { attempt.fail(error) }
                    }
                } completion: { end in
                    note(end.error.map { "threw \(text($0))" } ?? "returned \(end.verdict)")
                }
            }
        }
        simulation.run(until: last)
        return try #require(run).lines(ends)
    }

    @Test("a simulated call and a call in a task have the same events, errors, times and statuses", arguments: 0..<20)
    func sameAsInTasks(block: UInt64) throws {
        for seed in block * 100..<(block + 1) * 100 {
            var random = SeededGenerator(seed: seed)
            let plan = Self.plan(&random)
            let tasks = try Self.inTasks(plan, seed: seed)
            let simulated = try Self.simulated(plan, seed: seed)
            guard tasks != simulated else { continue }
            let index =
                zip(tasks, simulated).enumerated().first { $1.0 != $1.1 }?.offset ?? min(tasks.count, simulated.count)
            Issue.record(
                """
                seed \(seed), line \(index), \(plan)
                tasks:     \(tasks.dropFirst(max(0, index - 4)).prefix(7).joined(separator: "\n           "))
                simulated: \(simulated.dropFirst(max(0, index - 4)).prefix(7).joined(separator: "\n           "))
                """)
        }
    }
}
