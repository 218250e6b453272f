import Resilience

/// One trial's policy and clock, and the actions of its calls.
final class ContractStage<Subject: Sendable>: Sendable {
    struct Tally {
        var calls = 0
        var operations = 0
        var rejected = 0
        var cancelled = 0
        var problems: [String] = []
        /// The events of the calls, with their times, in order.
        var happenings: [Happening] = []
    }

    struct Happening: Equatable, CustomStringConvertible {
        let call: Int
        let what: String
        let time: MonotonicInstant

        var description: String {
            "call \(call) \(what) at \(MonotonicInstant(nanoseconds: 0).duration(to: time))"
        }
    }

    let clock = ManualClock()
    let subject: Subject
    /// The policy alone.
    let pipeline: Pipeline
    let acquire: (@Sendable (Subject) throws -> PermitBox)?
    private let permitsOut: (@Sendable (Subject) -> Int)?
    private let state = Locked(Tally())

    init(_ contract: PolicyContract<Subject>, _ permitsOut: (@Sendable (Subject) -> Int)?) {
        subject = contract.make(clock)
        pipeline = contract.guarding(subject, clock)
        acquire = contract.acquire
        self.permitsOut = permitsOut
    }

    var tally: Tally { state.withLock { $0 } }

    func complain(_ problem: String) { state.withLock { $0.problems.append(problem) } }

    func require(_ condition: Bool, _ problem: @autoclosure () -> String) {
        if !condition { complain(problem()) }
    }

    /// The policy between others.
    func pipeline(outside: [any Policy] = [], inside: [any Policy] = []) -> Pipeline {
        let inner = pipeline
        return Pipeline("contract", timeBase: clock) {
            for policy in outside { policy }
            inner
            for policy in inside { policy }
        }
    }

    // MARK: Calls

    enum End {
        case returned, threw

        var failed: Bool { self == .threw }
    }

    /// Makes a call, and checks the rules for every call: it runs the operation once at a time, and returns the
    /// operation's result.
    nonisolated(nonsending) func call(
        through pipeline: Pipeline? = nil, returning verdict: Verdict = .success,
        _ operation: nonisolated(nonsending) (CallAttempt) async throws -> Void = { _ in }
    ) async -> End {
        let number = state.withLock { tally in
            tally.calls += 1
            return tally.calls
        }
        var running = 0
        var last = 0
        let end: End
        do {
            let returned = try await (pipeline ?? self.pipeline).run(judging: { _ in verdict }) { attempt in
                require(running == 0, "runs the operation of one call twice at the same time")
                running += 1
                begin(number)
                defer { running -= 1 }
                try await operation(attempt)
                last += 1
                return last
            }
            // No policy can break this, or make a call outlive its operation: the driver guarantees both.
            require(returned == last, "does not return the last attempt's result")
            note(number, "returns")
            end = .returned
        } catch {
            if error is any Rejection { state.withLock { $0.rejected += 1 } }
            note(number, "throws \(type(of: error))")
            end = .threw
        }
        require(running == 0, "the call ends while its operation runs")
        if Task.isCancelled { state.withLock { $0.cancelled += 1 } }
        return end
    }

    private func begin(_ number: Int) {
        note(number, "begins its operation")
        state.withLock { $0.operations += 1 }
    }

    private func note(_ number: Int, _ what: String) {
        let happening = Happening(call: number, what: what, time: clock.now)
        state.withLock { $0.happenings.append(happening) }
    }

    nonisolated(nonsending) func sleep(_ duration: Duration) async {
        _ = await PolicyWaiter().wait(until: clock.now + duration, on: clock)
    }

    /// Runs `body` in a task of its own, which it may cancel.
    nonisolated(nonsending) func inTask(_ body: @escaping @Sendable (Canceller) async -> Void) async {
        let canceller = Canceller(clock)
        let task = Task(executorPreference: clock.taskExecutor) { await body(canceller) }
        canceller.setTask(task)
        await task.value
        canceller.end()
    }

    /// Reads the policy as an observer might.
    func look() { _ = permitsOut?(subject) }

    // MARK: Afterwards

    /// Checks that no call is inside any more, and that the policy admits a call an hour later.
    func finish() {
        requireEmpty()
        do {
            let passed = try clock.run { [self] in
                // Time moves within the run, so that a task that an alarm wakes also continues in the run.
                clock.advance(by: .seconds(3_600))
                return !(await call()).failed
            }
            require(passed, "an hour later it lets no call through")
        } catch {
            complain("an hour later a call does not end: \(error)")
        }
        requireEmpty()
    }

    func requireEmpty() {
        let permits = permitsOut?(subject) ?? 0
        require(permits == 0, "\(permits) permit\(permits == 1 ? " was" : "s were") never returned")
        let sleepers = clock.sleepers.count
        require(sleepers == 0, "\(sleepers) alarms are set when nobody waits")
    }
}
