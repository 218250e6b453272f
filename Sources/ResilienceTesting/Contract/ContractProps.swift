import Resilience

/// An error that carries its verdict.
struct Failure: Error, VerdictConvertible {
    let verdict: Verdict
}

/// An error that carries its verdict, as an object, so that a test can see when it is released.
final class TracedFailure: Error, VerdictConvertible {
    let verdict: Verdict

    init(_ verdict: Verdict) { self.verdict = verdict }
}

/// The errors that were thrown and have not been released.
final class Traces: Sendable {
    private struct Trace {
        weak var failure: TracedFailure?
    }

    private let traces = Locked<[Trace]>([])

    /// The number of errors that have not been released.
    var count: Int {
        traces.withLock { traces in
            traces.removeAll { $0.failure == nil }
            return traces.count
        }
    }

    func failure(_ verdict: Verdict) -> TracedFailure {
        let failure = TracedFailure(verdict)
        traces.withLock { $0.append(Trace(failure: failure)) }
        return failure
    }
}

/// An actor to visit for a moment: a call to it suspends the caller.
package actor Elsewhere {
    package private(set) var visits = 0

    package init() {}

    package func visit() { visits += 1 }
}

enum ContractMark {
    @TaskLocal static var value = 0
}

/// A gate that is shut until opened. A cancelled task passes it.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [PolicyWaiter] = []
    }

    private let state = Locked(State())

    nonisolated(nonsending) func pass() async {
        let waiter: PolicyWaiter? = state.withLock { state in
            if state.isOpen { return nil }
            let waiter = PolicyWaiter()
            state.waiters.append(waiter)
            return waiter
        }
        _ = await waiter?.wait(until: .distantFuture, on: .system)
    }

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

final class Flag: Sendable {
    private let state = Locked(false)

    var isSet: Bool { state.withLock { $0 } }

    func set() { state.withLock { $0 = true } }
}

/// A call in a task of its own.
struct Caller<End: Sendable>: Sendable {
    private let begun = Flag()
    private let ended = Flag()
    private let task: Task<End, Never>

    init(on clock: ManualClock, _ body: @escaping @Sendable (_ begun: Flag) async -> End) {
        task = Task(executorPreference: clock.taskExecutor) { [begun, ended] in
            defer { ended.set() }
            return await body(begun)
        }
    }

    /// Whether its operation has begun.
    var hasBegun: Bool { begun.isSet }
    var hasEnded: Bool { ended.isSet }

    func cancel() { task.cancel() }

    func end() async -> End { await task.value }
}

/// Cancels a task, from anywhere.
final class Canceller: Sendable {
    private struct State {
        var task: Task<Void, Never>?
        var alarms: [TimeBaseAlarm] = []
    }

    private let clock: ManualClock
    private let state = Locked(State())

    init(_ clock: ManualClock) { self.clock = clock }

    func setTask(_ task: Task<Void, Never>) { state.withLock { $0.task = task } }

    func cancel() { state.withLock { $0.task }?.cancel() }

    func cancel(after delay: Duration) {
        let alarm = clock.schedule(at: clock.now + delay) { self.cancel() }
        state.withLock { $0.alarms.append(alarm) }
    }

    /// Cancels the scheduled cancellations.
    func end() {
        for alarm in state.withLock({ $0.alarms }) { clock.cancel(alarm) }
    }
}

/// A policy that sets a call's deadline and does not enforce it.
struct DeadlineOnly: AroundPolicy {
    let limit: Duration

    init(_ limit: Duration) { self.limit = limit }

    func around(
        _ call: inout PolicyCall, isolation: isolated (any Actor)?,
        _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
    ) async throws -> Verdict {
        try await inside(min(call.deadline, call.now + limit))
    }
}

/// A policy that asks for another round after every failure, up to a number of times.
struct Rounds: Policy {
    let limit: UInt64

    init(_ limit: UInt64) { self.limit = limit }

    func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        guard outcome.error != nil, outcome.verdict.kind != .cancelled, slot.first < limit else { return .pass }
        slot.first += 1
        return .again(at: call.now + .seconds(1))
    }
}

struct Rejecting: Policy {
    struct Rejected: Rejection {
        var retryAfter: Duration? { nil }
        var description: String { "Rejected." }
    }

    func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry { .reject(Rejected()) }
}

/// A policy that makes every call wait once.
struct Sleeping: Policy {
    let length: Duration

    init(_ length: Duration) { self.length = length }

    func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        if slot.first == 1 { return .proceed }
        slot.first = 1
        return .sleep(until: call.now + length)
    }
}

/// An actor whose steps are part of a clock's run. It notices if its code runs elsewhere.
actor ContractActor {
    private final class Home: SerialExecutor {
        let clock: ManualClock
        let wasLeft = Flag()

        init(_ clock: ManualClock) { self.clock = clock }

        func enqueue(_ job: consuming ExecutorJob) {
            (clock.taskExecutor as? SteppedExecutor)?.enqueue(UnownedJob(job), home: asUnownedSerialExecutor())
        }

        // Called only when the runtime finds no other proof that the code runs on this executor.
        func checkIsolated() { wasLeft.set() }
    }

    private let home: Home

    init(_ clock: ManualClock) { home = Home(clock) }

    nonisolated var unownedExecutor: UnownedSerialExecutor { home.asUnownedSerialExecutor() }

    nonisolated var wasLeft: Bool { home.wasLeft.isSet }

    /// Makes the actor notice if this runs elsewhere.
    nonisolated func lookFromHere() { preconditionIsolated() }

    func look() { lookFromHere() }

    func call(_ stage: ContractStage<some Sendable>) async { await callFromHere(stage) }

    /// Neither this nor the operation is isolated: the policy decides where the operation runs.
    private nonisolated(nonsending) func callFromHere(_ stage: ContractStage<some Sendable>) async {
        for fails in [false, true] {
            _ = await stage.call { _ in
                lookFromHere()
                await stage.sleep(.milliseconds(1))
                lookFromHere()
                if fails { throw Failure(verdict: .transient) }
            }
            lookFromHere()
        }
    }
}
