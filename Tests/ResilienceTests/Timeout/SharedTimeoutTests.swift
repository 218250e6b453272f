import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

extension PipelineCore {
    /// Whether any timeout has no task of its own.
    fileprivate var sharesTimeLimits: Bool {
        sequence(first: outermost, next: \.inner).contains { $0.sharesTimeLimit }
    }
}

/// Two timeouts that share a task behave exactly like two timeouts with a task each.
@Suite(.heavy) struct SharedTimeoutTests {
    /// Does nothing. But because this policy is unknown, the timeout around it has its own task.
    private struct Apart: AroundPolicy {
        func around(
            _ call: inout PolicyCall, isolation: isolated (any Actor)?,
            _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
        ) async throws -> Verdict { try await inside(call.deadline) }
    }

    /// Likewise, a deadline around this unknown policy has its own task.
    private struct Unknown: Policy {
        let name = "unknown"
        func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry { .proceed }
        func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit { .pass }
    }

    /// The number of the task's call.
    @TaskLocal private static var number = 0

    /// The lines of all calls, each with its call's number.
    private final class CallJournal: Sendable {
        let journal = Locked<[[String]]>([])

        init(calls: Int) { journal.withLock { $0 = Array(repeating: [], count: calls) } }

        func note(_ line: String) {
            let number = SharedTimeoutTests.number
            journal.withLock { $0[number].append("\(number): \(line)") }
        }

        /// Call by call, because the order of two calls at one instant does not matter.
        var lines: [String] { journal.withLock { $0.flatMap(\.self) } }
    }

    /// Records how calls end at its place.
    private struct Probe: Policy, DeadlineBound {
        let name: String
        let journal: CallJournal

        func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
            journal.note("\(name) in \(call.attempt), until \(call.deadline), at \(call.now)")
            return .proceed
        }

        func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
            let error = outcome.error.map { SharedTimeoutTests.text($0) } ?? ""
            journal.note("\(name) out \(outcome.verdict) \(error) at \(call.now), over \(call.isOver)")
            return .pass
        }
    }

    /// The behaviour of one call, and its options.
    private struct Script: Sendable {
        enum End: CaseIterable, Sendable { case success, outage, permanent, throttled, badResult, nested }

        var start = Duration.zero
        var attempts: [(length: Duration, ignoresCancellation: Bool, end: End)] = []
        var deadline: Duration?
        var travels = false
        var cancelledAfter: Duration?
        var isIdempotent: Bool?
    }

    /// The settings of one pipeline.
    private struct Plan: Sendable {
        var hasOuter = true
        var outer = Duration.zero
        var inner = Duration.zero
        var byAttempt = false
        var backoff = Duration.zero
        var policies: [Int] = []
        var hasRetryOutside = false
        var hasClientTimeout = Duration?.none
        var calls: [Script] = []
    }

    static func text(_ error: any Error) -> String {
        switch error {
        case let error as TimedOut: "\(error) of \(error.underlying.map { text($0) } ?? "nothing")"
        case let error as CancelledWhileWaiting: "\(error) (\(error.lastVerdict))"
        default: "\(error)"
        }
    }

    @Test("single calls behave the same with a shared task, even if instants coincide", arguments: 0..<40)
    func alone(block: UInt64) throws {
        for seed in block * 50..<(block + 1) * 50 {
            var random = SeededGenerator(seed: seed)
            // There are few instants, so limits, waits and cancellations often coincide.
            try compare(Self.plan(&random, calls: 1) { .milliseconds(Int.random(in: 1...$0, using: &$1)) }, seed)
        }
    }

    @Test("several calls that wait for each other behave the same with a shared task", arguments: 0..<40)
    func together(block: UInt64) throws {
        for seed in block * 25..<(block + 1) * 25 {
            var random = SeededGenerator(seed: seed)
            let plan = Self.plan(&random, calls: 5) { .nanoseconds(Int.random(in: 1...$0 * 1_000_000, using: &$1)) }
            try compare(plan, seed)
        }
    }

    private static func plan(
        _ random: inout SeededGenerator, calls: Int, _ time: (Int, inout SeededGenerator) -> Duration
    ) -> Plan {
        var plan = Plan()
        plan.hasOuter = Int.random(in: 0..<4, using: &random) > 0
        plan.outer = time(20, &random)
        plan.inner = time(12, &random)
        plan.byAttempt = Int.random(in: 0..<4, using: &random) == 0
        plan.backoff = time(6, &random)
        plan.policies = [0, 1, 2, 3].filter { _ in Bool.random(using: &random) }
        plan.hasRetryOutside = Int.random(in: 0..<3, using: &random) == 0
        if Int.random(in: 0..<4, using: &random) == 0 { plan.hasClientTimeout = time(15, &random) }
        for _ in 0..<calls {
            var script = Script()
            script.start = time(10, &random)
            for _ in 0..<4 {
                script.attempts.append(
                    (
                        time(10, &random), Int.random(in: 0..<4, using: &random) == 0,
                        Script.End.allCases.randomElement(using: &random)!
                    ))
            }
            if !plan.hasOuter || Int.random(in: 0..<3, using: &random) == 0 { script.deadline = time(25, &random) }
            script.travels = Bool.random(using: &random)
            if Int.random(in: 0..<3, using: &random) == 0 { script.cancelledAfter = time(25, &random) }
            script.isIdempotent = Bool.random(using: &random) ? true : nil
            plan.calls.append(script)
        }
        return plan
    }

    private func compare(_ plan: Plan, _ seed: UInt64) throws {
        let (shared, apart) = (try Self.lines(of: plan, apart: false), try Self.lines(of: plan, apart: true))
        guard shared != apart else { return }
        let index = zip(shared, apart).enumerated().first { $1.0 != $1.1 }?.offset ?? min(shared.count, apart.count)
        Issue.record(
            """
            seed \(seed), line \(index), \(plan)
            shared: \(shared.dropFirst(max(0, index - 4)).prefix(7).joined(separator: "\n        "))
            apart:  \(apart.dropFirst(max(0, index - 4)).prefix(7).joined(separator: "\n        "))
            """)
    }

    /// All observable results of a run.
    private static func lines(of plan: Plan, apart: Bool) throws -> [String] {
        let clock = ManualClock(startingAt: MonotonicInstant(nanoseconds: 0))
        let (journal, recorder) = (CallJournal(calls: plan.calls.count), EventRecorder())
        let breaker = CircuitBreaker(
            tripping: .consecutiveFailures(2), openFor: .constant(.milliseconds(4)), timeBase: clock)
        let throttle = Throttle(limit: .perSecond(500, burst: 1), timeBase: clock)
        let bulkhead = Bulkhead(limit: 1, queue: 2, timeBase: clock)
        let pipeline = Pipeline("calls", timeBase: clock, observers: PolicyObservers(recorder)) {
            if plan.hasRetryOutside {
                Retry(
                    "again", maxRetries: 1, backoff: .constant(.milliseconds(2)),
                    throttledBackoff: .constant(.milliseconds(2)))
            }
            if apart { Unknown() }
            Probe(name: "outside", journal: journal)
            if plan.hasOuter { Timeout("outer", limit: plan.outer) }
            if apart, plan.hasOuter { Apart() }
            Probe(name: "between", journal: journal)
            if plan.policies.contains(0) {
                Retry(
                    maxRetries: 2, backoff: .constant(plan.backoff), throttledBackoff: .constant(plan.backoff),
                    on: [.transient, .throttled, .uncertain])
            }
            if plan.policies.contains(1) { breaker }
            if plan.policies.contains(2) { throttle }
            if plan.policies.contains(3) { bulkhead }
            if let limit = plan.hasClientTimeout { ClientTimeout("client", limit: limit) }
            Probe(name: "attempt", journal: journal)
            if plan.byAttempt {
                Timeout("inner") { plan.inner * $0 }
            } else {
                Timeout("inner", limit: plan.inner)
            }
        }
        #expect(pipeline.core.sharesTimeLimits == (plan.hasOuter && !apart))
        let nested = Pipeline("nested", timeBase: clock) { Timeout("nested", limit: .milliseconds(5)) }
        try clock.run {
            await withTaskGroup(of: Void.self) { group in
                for (number, script) in plan.calls.enumerated() {
                    group.addTask {
                        await $number.withValue(number) {
                            await run(script, number, pipeline, nested, clock, journal)
                        }
                    }
                }
            }
        }
        let events = recorder.events.map { "\($0.time) \($0.policy) \($0.detail) \($0.failure.map { "\($0)" } ?? "")" }
        return journal.lines + events.sorted()
            + ["\(clock.now), \(breaker.status), \(throttle.status), \(bulkhead.status), \(clock.sleepers.count)"]
    }

    private static func run(
        _ script: Script, _ number: Int, _ pipeline: Pipeline, _ nested: Pipeline, _ clock: ManualClock,
        _ journal: CallJournal
    ) async {
        try? await clock.sleep(for: script.start)
        let options = RunOptions(
            deadline: script.travels ? .distantFuture : script.deadline.map { clock.now + $0 } ?? .distantFuture,
            isIdempotent: script.isIdempotent)
        let call = Task {
            do {
                let count = Locked(0)
                let run = { () async throws -> Int in
                    try await pipeline.run(options: options, judging: { $0 == 13 ? .transient : .success }) {
                        (attempt: CallAttempt) in
                        let index = count.withLock { count in
                            defer { count += 1 }
                            return count
                        }
                        return try await operation(
                            script.attempts[index % script.attempts.count], "\(number).\(index)", attempt, nested,
                            clock, journal)
                    }
                }
                let result =
                    if let deadline = script.deadline, script.travels {
                        try await CallDeadline(after: deadline, on: clock).run(run)
                    } else {
                        try await run()
                    }
                journal.note("\(number) returned \(result) at \(clock.now)")
            } catch {
                journal.note("\(number) threw \(text(error)) at \(clock.now)")
            }
        }
        if let time = script.cancelledAfter {
            try? await clock.sleep(for: time)
            call.cancel()
        }
        await call.value
    }

    private static func operation(
        _ attempt: (length: Duration, ignoresCancellation: Bool, end: Script.End), _ name: String, _ told: CallAttempt,
        _ nested: Pipeline, _ clock: ManualClock, _ journal: CallJournal
    ) async throws -> Int {
        journal.note("\(name) begins, \(told.number) until \(told.deadline), at \(clock.now)")
        defer { journal.note("\(name) ends at \(clock.now), cancelled \(Task.isCancelled)") }
        let end = clock.now + attempt.length
        if attempt.end == .nested {
            return try await nested.run {
                try await clock.sleep(until: end); return 4
            }
        }
        if attempt.ignoresCancellation {
            await withCheckedContinuation { continuation in
                _ = clock.schedule(at: end) { continuation.resume() }
            }
        } else {
            try await clock.sleep(until: end)
        }
        switch attempt.end {
        case .success, .nested: return 7
        case .badResult: return 13
        case .outage: throw Outage()
        case .permanent: throw Judged(verdict: .permanent)
        case .throttled: throw Judged(verdict: .throttled(retryAfter: .milliseconds(3)))
        }
    }

    /// The result of a call, and the events of its timeouts.
    private func run(
        @PipelineBuilder _ elements: () -> [Pipeline.Element], on clock: ManualClock,
        _ body: @escaping @Sendable (Pipeline) async throws -> Void
    ) throws -> [String] {
        let recorder = EventRecorder()
        let pipeline = Pipeline("calls", timeBase: clock, observers: PolicyObservers(recorder), elements)
        let ends = Locked<[String]>([])
        try clock.run {
            do { try await body(pipeline) } catch { ends.withLock { $0.append(Self.text(error)) } }
        }
        return ends.withLock { $0 } + recorder.events.filter { $0.detail is Timeout.Event }.map { "\($0.policy)" }
    }

    @Test("if another pipeline's timeout cancels at the limit's instant, the call is cancelled, not timed out")
    func cancelledAtLimit() throws {
        let clock = ManualClock()
        let lines = try run({ Timeout("whole", limit: .seconds(2)) }, on: clock) { outer in
            let inner = Pipeline("inner", timeBase: clock) {
                Retry()
                Timeout("attempt", limit: .seconds(5))
            }
            try await CallDeadline(after: .seconds(60), on: clock).run {
                try await outer.run { try await inner.run { try await clock.sleep(for: .seconds(9)) } }
            }
        }
        #expect(lines == ["Timed out after 2 s (whole) of CancellationError()", "whole"])
    }

    @Test("of two timeouts with one limit, the outer timeout expires, whatever policies are in between")
    func oneLimit() throws {
        let clock = ManualClock()
        let lines = try run(
            {
                Timeout("outer", limit: .seconds(2))
                ClientTimeout("client", limit: .seconds(1))
                Timeout("middle", limit: .seconds(2))
                Timeout("inner", limit: .seconds(4))
            }, on: clock
        ) { try await $0.run { try await clock.sleep(for: .seconds(9)) } }
        #expect(lines == ["Timed out after 2 s (outer) of CancellationError()", "outer"])
    }

    @Test("a caller that is cancelled in a wait, and continues late, counts as cancelled")
    func cancelledThenLate() throws {
        for hasDeadline in [false, true] {
            let clock = ManualClock()
            let lines = try run(
                {
                    if !hasDeadline { Timeout("outer", limit: .seconds(30)) }
                    Retry(maxRetries: 3, backoff: .constant(.seconds(10)))
                    Timeout("inner", limit: .seconds(5))
                }, on: clock
            ) { pipeline in
                let options = RunOptions(deadline: hasDeadline ? clock.now + .seconds(30) : .distantFuture)
                let call = Task {
                    try await pipeline.run(options: options) { throw Judged(verdict: .transient) }
                }
                try await clock.sleep(for: .seconds(3))
                call.cancel()
                clock.jump(by: .seconds(60))
                try await call.value
            }
            #expect(lines.count == 1 && lines[0].hasSuffix("(transient)"), "\(lines)")
        }
    }

    @Test("two timeouts share a task only if every policy between them is known")
    func whoShares() {
        func shares(@PipelineBuilder _ elements: () -> [Pipeline.Element]) -> Bool {
            Pipeline("calls", elements).core.sharesTimeLimits
        }
        let (one, two) = (Timeout("one", limit: .seconds(9)), Timeout("two", limit: .seconds(5)))
        #expect(
            shares {
                one; Retry(); CircuitBreaker(); Throttle(limit: .unlimited); Bulkhead(limit: 1); two
            })
        #expect(
            shares {
                one; two
            })
        #expect(
            shares {
                Retry(); one; ClientTimeout(limit: .seconds(1)); two; Retry()
            })
        #expect(
            !shares {
                one; Retry()
            })
        #expect(
            !shares {
                one; ScriptedPolicy("user's"); two
            })
        #expect(
            !shares {
                one; Apart(); two
            })
        let three = Pipeline {
            one; Retry(); two; Retry(); Timeout("three", limit: .seconds(1))
        }
        #expect(three.core.outermost.sharesTimeLimit && three.core.outermost.inner?.sharesTimeLimit == true)
    }
}
