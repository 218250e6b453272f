import Resilience
@testable import ResilienceTesting
import TestSupport
import Testing

/// The contract, applied to policies that each break it in one way.
// C8
@Suite(.timeLimit(.minutes(20)), .heavy) struct PolicyContractTests {
    @Test("a policy that does nothing keeps the contract, and the report counts the trials")
    func nothing() async {
        struct Nothing: Policy {}
        let report = await PolicyContract { _ in Nothing() }.check(calls: 500)
        #expect(report.violations == [])
        #expect(report.calls > 4_500 && report.operations > 4_000 && report.cancelled > 500)
        #expect("\(report)".hasSuffix("cancelled") && !"\(report)".contains("\n"))
    }

    @Test(
        "the contract finds a policy that does not return a permit on one of the ways out",
        arguments: Leak.Way.allCases)
    func leaks(way: Leak.Way) async {
        let report = await PolicyContract { _ in Leak(way) }.check(calls: 100, permitsOut: { $0.inside })
        #expect(report.violations.contains { $0.problem.hasSuffix("never returned") })
    }

    @Test("the contract finds a lost permit without a count of permits: in the end no call gets through")
    func exhausted() async {
        let report = await PolicyContract { _ in Leak(.cancelled, limit: 60) }.check(calls: 100)
        #expect(report.violations.contains { $0.problem == "an hour later it lets no call through" })
    }

    @Test("the contract finds a policy that parks a call and forgets it, without waiting for it")
    func forgotten() async {
        struct Forgetful: Policy {
            func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
                .park(PolicyWaiter(), until: .distantFuture)
            }
        }
        let report = await PolicyContract { _ in Forgetful() }.check(calls: 0)
        #expect(report.violations.contains { $0.problem == "\(ManualClock.RunFailure.everybodyWaits)" })
    }

    @Test("the contract finds a policy that loops for ever, without waiting for it")
    func endless() async {
        struct Endless: Policy {
            func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
                outcome.verdict == .transient ? .again(at: call.now) : .pass
            }
        }
        let report = await PolicyContract { _ in Endless() }.check(calls: 0)
        #expect(report.violations.contains { $0.problem == "\(ManualClock.RunFailure.noEnd(steps: 50_000))" })
    }

    @Test("the contract finds a wait past the call's deadline")
    func deadline() async {
        struct Patient: Policy {
            func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
                slot.first += 1
                return slot.first == 2 ? .proceed : .sleep(until: call.now + .seconds(10))
            }
        }
        await expect(
            PolicyContract { _ in Patient() }, "a call waits past its deadline", in: "a deadline")
    }

    @Test("the contract finds a wait past the call's deadline after a failure")
    func deadlineAfterFailure() async {
        struct Stubborn: Policy {
            func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
                guard outcome.verdict == .uncertain, slot.first == 0 else { return .pass }
                slot.first = 1
                return .again(at: call.now + .seconds(10))
            }
        }
        await expect(
            PolicyContract { _ in Stubborn() }, "after uncertain a call waits past its deadline", in: "a deadline")
    }

    @Test("the contract finds an around policy that runs an operation after its call was cancelled in a wait")
    func deaf() async {
        struct Deaf: AroundPolicy {
            func around(
                _ call: inout PolicyCall, isolation: isolated (any Actor)?,
                _ inside: nonisolated(nonsending) (MonotonicInstant) async throws -> Verdict
            ) async throws -> Verdict {
                let (timeBase, ends) = (call.timeBase, call.now + .milliseconds(1))
                await withCheckedContinuation { continuation in
                    _ = timeBase.schedule(at: ends) { continuation.resume() }
                }
                return try await inside(call.deadline)
            }
        }
        for problem in ["a call cancelled in its wait runs its operation", "a call cancelled in its wait returns"] {
            await expect(PolicyContract { _ in Deaf() }, problem, in: "cancelled in the policy's own wait")
        }
    }

    @Test("a contract can be checked again, with the same result")
    func again() async {
        let contract = PolicyContract { _ in Leak(.failed) }
        let reports = [
            await contract.check(calls: 0, permitsOut: { $0.inside }),
            await contract.check(calls: 0, permitsOut: { $0.inside }),
        ]
        #expect(reports[0].violations == reports[1].violations && !reports[0].violations.isEmpty)
        #expect(reports[0].calls == reports[1].calls && reports[0].operations == reports[1].operations)
    }

    @Test("the contract finds a policy that never admits calls again")
    func shut() async {
        final class Fuse: Policy {
            let blown = Locked(false)

            func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
                blown.withLock { $0 } ? .reject(Blown()) : .proceed
            }

            func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
                if outcome.verdict == .transient { blown.withLock { $0 = true } }
                return .pass
            }
        }
        struct Blown: Rejection {
            var retryAfter: Duration? { nil }
            var description: String { "Blown." }
        }
        await expect(PolicyContract { _ in Fuse() }, "an hour later it lets no call through", in: "calls that throw")
    }

    @Test("the contract finds a policy that is made on the wrong time base")
    func otherBase() async {
        let report = await PolicyContract { _ in CircuitBreaker() }.check()
        #expect(
            report.violations == [
                ContractViolation(trial: "made on a clock", problem: "it lives on another time base")
            ])
        #expect(report.calls == 0)
    }

    @Test("the contract finds an around policy whose task loses its caller's cancellation, task-local values or actor")
    func adrift() async {
        let cancellation = "the operation does not see its caller's cancellation"
        let locals = "the operation does not see its caller's task-local values"
        let actor = "the operation does not run on its caller's actor"
        let task = await PolicyContract { _ in Adrift(from: .cancellation) }.check(calls: 0)
        for (trial, problem) in [
            ("cancelled in the operation", cancellation), ("cancelled while the operation waits", cancellation),
            ("cancelled while a policy further in waits", "a call cancelled further in returns"),
        ] { #expect(task.violations.contains(ContractViolation(trial: trial, problem: problem)), "\(trial)") }
        #expect(!task.violations.contains { $0.problem == locals || $0.problem == actor })
        let detached = await PolicyContract { _ in Adrift(from: .locals) }.check(calls: 0)
        #expect(detached.violations.contains { $0.problem == locals })
        let elsewhere = await PolicyContract { _ in Adrift(from: .actor) }.check(calls: 0)
        #expect(elsewhere.violations.contains { $0.problem == actor })
    }

    @Test("the contract's calling actor notices whether its operation runs on it")
    func isolation() throws {
        let clock = ManualClock()
        let (stayed, left) = try clock.run {
            let actor = ContractActor(clock)
            await actor.look()
            let stayed = !actor.wasLeft
            actor.lookFromHere()
            return (stayed, actor.wasLeft)
        }
        #expect(stayed && left)
    }

    @Test("the contract finds an around policy that gives the operation more time than the caller has")
    func laterDeadline() async {
        struct Generous: AroundPolicy {
            func around(
                _ call: inout PolicyCall, isolation: isolated (any Actor)?,
                _ inside: nonisolated(nonsending) (MonotonicInstant) async throws -> Verdict
            ) async throws -> Verdict { try await inside(.distantFuture) }
        }
        await expect(
            PolicyContract { _ in Generous() }, "the operation's deadline is later than its caller's",
            in: "a deadline")
    }

    @Test("the contract finds an around policy that runs the inside again after a success")
    func twice() async {
        struct Twice: AroundPolicy {
            func around(
                _ call: inout PolicyCall, isolation: isolated (any Actor)?,
                _ inside: nonisolated(nonsending) (MonotonicInstant) async throws -> Verdict
            ) async throws -> Verdict {
                _ = try await inside(call.deadline)
                return try await inside(call.deadline)
            }
        }
        await expect(PolicyContract { _ in Twice() }, "the operation runs 2 times", in: "a call that succeeds")
    }

    @Test("the contract finds an around policy that runs the inside twice concurrently")
    func atOnce() async {
        struct AtOnce: AroundPolicy {
            func around(
                _ call: inout PolicyCall, isolation: isolated (any Actor)?,
                _ inside: nonisolated(nonsending) (MonotonicInstant) async throws -> Verdict
            ) async throws -> Verdict {
                let deadline = call.deadline
                let executor = call.timeBase.taskExecutor
                return try await withoutActuallyEscaping(inside) { inside in
                    // Safe: both run on one thread, the clock's, and the caller waits for both.
                    nonisolated(unsafe) let inside = inside
                    let tasks = (0..<2).map { _ in
                        Task(executorPreference: executor) {
                            _ = isolation
                            return try await inside(deadline)
                        }
                    }
                    _ = await tasks[0].result
                    return try await tasks[1].value
                }
            }
        }
        await expect(
            PolicyContract { _ in AtOnce() }, "runs the operation of one call twice at the same time",
            in: "a call that succeeds after a while")
    }

    @Test("the contract finds a policy that turns a failure into a success")
    func spoiled() async {
        struct Spoiler: Policy {
            func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
                outcome.error == nil ? .replace(Failure(verdict: .permanent), as: .permanent) : .pass
            }
        }
        for (trial, problem) in [
            ("a call that succeeds", "it fails"), ("a call that succeeds after a while", "it fails"),
            ("calls within a call", "the outer call fails"),
        ] { await expect(PolicyContract { _ in Spoiler() }, problem, in: trial) }
    }

    @Test("the contract finds a policy that counts inner rejections as failures")
    func touchy() async {
        final class Touchy: Policy {
            let rejections = Locked(0)

            func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
                rejections.withLock { $0 } > 5 ? .reject(Failure(verdict: .rejected)) : .proceed
            }

            func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
                if outcome.verdict == .rejected { rejections.withLock { $0 += 1 } }
                return .pass
            }
        }
        await expect(
            PolicyContract { _ in Touchy() }, "after rejections further in, it lets no call through",
            in: "a rejection further in")
    }

    @Test("the contract finds a policy that gives no permit by hand")
    func noPermits() async {
        struct Slow: Policy {
            func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
                if slot.first == 1 { return .proceed }
                slot.first = 1
                return .sleep(until: call.now)
            }
        }
        await expect(
            PolicyContract { _ in Slow() }, "it gives out none", in: "permits by hand, as many as there are, dropped")
    }

    @Test("the contract finds an alarm that is left behind")
    func alarm() async {
        struct Alarming: AroundPolicy {
            func around(
                _ call: inout PolicyCall, isolation: isolated (any Actor)?,
                _ inside: nonisolated(nonsending) (MonotonicInstant) async throws -> Verdict
            ) async throws -> Verdict {
                _ = call.timeBase.schedule(at: call.now + .seconds(600)) {}
                return try await inside(call.deadline)
            }
        }
        await expect(
            PolicyContract { _ in Alarming() }, "1 alarms are set when nobody waits", in: "a call that succeeds")
    }

    @Test("the contract finds a policy that throws a result away")
    func thrownAway() async {
        struct Ungrateful: Policy {
            func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
                Task.isCancelled && outcome.error == nil ? .replace(CancellationError(), as: .cancelled) : .pass
            }
        }
        await expect(PolicyContract { _ in Ungrateful() }, "a result is thrown away", in: "cancelled in the operation")
    }

    private func expect<Subject>(
        _ contract: PolicyContract<Subject>, _ problem: String, in trial: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let report = await contract.check(calls: 0)
        #expect(
            report.violations.contains(ContractViolation(trial: trial, problem: problem)), "\(report)",
            sourceLocation: sourceLocation)
    }
}

/// Gives out permits, and keeps them on one of the ways out.
final class Leak: Policy {
    enum Way: String, CaseIterable {
        case cancelled, rejected, failed, throttled, parked, secondRound, abandoned
    }

    struct Full: Rejection {
        var retryAfter: Duration? { nil }
        var description: String { "Full." }
    }

    private struct State {
        var inside = 0
        var parks = 0
    }

    private let way: Way
    private let limit: Int
    private let state = Locked(State())

    init(_ way: Way, limit: Int = .max) {
        self.way = way
        self.limit = limit
    }

    var inside: Int { state.withLock { $0.inside } }

    // The slot's words: whether the call holds a permit, whether it was parked, and the number of rounds.
    func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let isFull = state.withLock { state in
            if slot.first == 1 { return false }
            if state.inside >= limit { return true }
            state.inside += 1
            return false
        }
        if isFull { return .reject(Full()) }
        slot.first = 1
        if way == .parked, slot.second == 0 {
            slot.second = 1
            return .park(PolicyWaiter(), until: min(call.now + .seconds(1), call.deadline))
        }
        slot.third += 1
        return .proceed
    }

    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        let leaks =
            switch way {
            case .cancelled: outcome.verdict == .cancelled
            case .rejected: outcome.verdict == .rejected
            case .failed: outcome.verdict == .permanent
            case .throttled: outcome.verdict.retryAfter.map { $0 < .zero } ?? false
            case .parked: slot.third == 0
            case .secondRound: slot.third == 2
            case .abandoned: outcome.verdict == .transient && slot.third == 1
            }
        // Keeps the permit for the next round, which may not come.
        if leaks, way == .abandoned, call.now < call.deadline { return .again(at: call.now + .nanoseconds(2)) }
        if !leaks { state.withLock { $0.inside -= 1 } }
        slot.first = 0
        return .pass
    }
}

/// Runs the inside in a task without one of its caller's properties.
private struct Adrift: AroundPolicy {
    enum Loss {
        case cancellation, locals, actor
    }

    let loss: Loss

    init(from loss: Loss) { self.loss = loss }

    func around(
        _ call: inout PolicyCall, isolation: isolated (any Actor)?,
        _ inside: nonisolated(nonsending) (MonotonicInstant) async throws -> Verdict
    ) async throws -> Verdict {
        let deadline = call.deadline
        let executor = call.timeBase.taskExecutor
        return try await withoutActuallyEscaping(inside) { inside in
            // Safe: the caller waits for the task, and does nothing meanwhile.
            nonisolated(unsafe) let inside = inside
            let task =
                switch loss {
                case .cancellation:
                    Task {
                        _ = isolation
                        return try await inside(deadline)
                    }
                case .locals:
                    Task.detached { try await inside(deadline) }
                case .actor:
                    // The task captures the isolation, but does not inherit it.
                    Task(executorPreference: executor) {
                        _ = isolation
                        return try await inside(deadline)
                    }
                }
            return try await task.value
        }
    }
}
