import Foundation
import Resilience
import ResilienceTesting
import TestSupport
import Testing

/// Runs until it is released, ignoring cancellation.
private final class Stubborn: Sendable {
    private let held = Locked<[CheckedContinuation<Void, Never>]>([])

    var running: Int { held.withLock { $0.count } }

    func callAsFunction() async -> Int {
        await withCheckedContinuation { continuation in held.withLock { $0.append(continuation) } }
        return 7
    }

    func release() {
        let released = held.withLock { held in
            defer { held = [] }
            return held
        }
        for continuation in released { continuation.resume() }
    }
}

@Suite(.timeLimit(.minutes(20))) struct AbandoningTimeoutTests {
    let clock = ManualClock()
    let recorder = EventRecorder()
    let operation = ScriptedOperation<Int, Int>(fallback: .success(7))
    private let stubborn = Stubborn()
    let patience: AbandoningTimeout

    init() {
        patience = AbandoningTimeout("slow", limit: .seconds(5), timeBase: clock, observers: PolicyObservers(recorder))
    }

    @Test("a result or error in time is passed on unchanged, and leaves no alarm and no running operation")
    func inTime() async throws {
        #expect(try await patience.run { try await operation(1) } == 7)
        operation.fallback = .failure(Outage())
        await #expect(throws: Outage()) { try await patience.run { try await operation(1) } }
        #expect(patience.abandoned == 0 && recorder.events.isEmpty && clock.sleepers.isEmpty)
    }

    @Test(
        "at the limit the call returns even if the operation ignores cancellation; the operation continues (P26)"
    )
    func abandons() throws {
        try clock.run {
            let start = clock.now
            let error = await #expect(throws: TimedOut.self) { try await patience.run { await stubborn() } }
            #expect(error?.policy == "slow" && error?.limit == .seconds(5) && error?.underlying == nil)
            #expect(clock.now == start + .seconds(5) && stubborn.running == 1 && patience.abandoned == 1)
            stubborn.release()
        }
    }

    @Test("an abandoned operation that ends is reported with its lateness, and its result is dropped (P26)")
    func endsLate() throws {
        try clock.run {
            await #expect(throws: TimedOut.self) { try await patience.run { await stubborn() } }
            _ = await PolicyWaiter().wait(until: clock.now + .seconds(3), on: clock)
            #expect(patience.abandoned == 1)
            stubborn.release()
            await clock.runUntilIdle()
            #expect(patience.abandoned == 0)
        }
        #expect(recorder.events(of: Timeout.Event.self) == [.timedOut(.seconds(5)), .endedLate(by: .seconds(3))])
        #expect(recorder.events.allSatisfy { $0.policy == "slow" && $0.pipeline == nil })
    }

    @Test("at the limit the operation is cancelled, and ends soon if it reacts")
    func heeding() throws {
        try clock.run {
            operation.hold()
            await #expect(throws: TimedOut.self) { try await patience.run { try await operation(1) } }
            await clock.runUntilIdle()
            #expect(operation.running == 0 && patience.abandoned == 0)
        }
        #expect(recorder.events(of: Timeout.Event.self).first == .timedOut(.seconds(5)))
    }

    @Test("an operation that never suspends holds its caller no longer than the limit (P26)")
    func blocking() async {
        // With one processor, the operation would block the only thread.
        let patience = AbandoningTimeout(limit: .seconds(5), timeBase: OwnThreads(clock))
        let released = Locked(false)
        let began = PolicyWaiter()
        let task = Task {
            try await patience.run {
                began.resume()
                while !released.withLock({ $0 }) {}
            }
        }
        _ = await began.wait(until: .distantFuture, on: clock)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        await #expect(throws: TimedOut.self) { try await task.value }
        #expect(patience.abandoned == 1)
        released.withLock { $0 = true }
    }

    @Test("an onCancel handler that blocks delays no caller", arguments: [true, false])
    func blockingHandler(isCancelled: Bool) async throws {
        let patience = AbandoningTimeout(limit: .seconds(5), timeBase: OwnThreads(clock))
        let (began, mayGoOn, wasCancelled) = (PolicyWaiter(), DispatchSemaphore(value: 0), PolicyWaiter())
        let task = Task {
            try await patience.run {
                began.resume()
                return await withTaskCancellationHandler {
                    await stubborn.callAsFunction()
                } onCancel: {
                    mayGoOn.wait()
                    wasCancelled.resume()
                }
            }
        }
        _ = await began.wait(until: .distantFuture, on: clock)
        await clock.waitForSleepers(1)
        if isCancelled { task.cancel() } else { clock.advance(by: .seconds(5)) }
        await #expect(throws: (any Error).self) { try await task.value }
        mayGoOn.signal()
        _ = await wasCancelled.wait(until: .distantFuture, on: clock)
        stubborn.release()
    }

    @Test("if a caller was cancelled and has left, its operation does not begin")
    func gone() throws {
        var leftFirst = 0
        for seed in UInt64(0)..<500 {
            let (clock, log) = (ManualClock(), Journal())
            let patience = AbandoningTimeout(limit: .seconds(30), timeBase: clock)
            try clock.run(seed: seed) {
                let call = Task {
                    do {
                        try await patience.run { log.note("began") }
                    } catch {
                        log.note("\(error)")
                    }
                }
                Task { call.cancel() }
                await call.value
            }
            #expect(log.lines != ["CancellationError()", "began"], "seed \(seed)")
            if log.lines == ["CancellationError()"] { leftFirst += 1 }
        }
        #expect(leftFirst > 0)
    }

    @Test("an operation that got no thread within the limit does not begin (P33)")
    func neverBegan() throws {
        try clock.run {
            let error = await #expect(throws: TimedOut.self) {
                Task(executorPreference: clock.taskExecutor) { clock.advance(by: .seconds(5)) }
                return try await patience.run { try await operation(1) }
            }
            #expect(error?.underlying is DeadlinePassed && operation.callCount == 0 && patience.abandoned == 0)
        }
    }

    @Test("a result that is ready when the caller notices the limit is returned (P25)")
    func boundary() throws {
        let result = try clock.run {
            try await patience.run {
                clock.advance(by: .seconds(5))
                return 7
            }
        }
        #expect(result == 7 && patience.abandoned == 0 && recorder.events.isEmpty)
    }

    @Test("an error that is ready when the caller notices the limit is inside TimedOut")
    func failureAtTheLimit() throws {
        let error = try clock.run {
            await #expect(throws: TimedOut.self) {
                try await patience.run {
                    clock.advance(by: .seconds(5))
                    throw Outage()
                }
            }
        }
        #expect(error?.underlying is Outage && patience.abandoned == 0)
    }

    @Test("a cancelled caller returns at once, without TimedOut, and its abandoned operation is counted (P25)")
    func callerCancels() throws {
        try clock.run {
            await withThrowingTaskGroup { group in
                group.addTask { try await patience.run { await stubborn() } }
                await clock.runUntilIdle()
                group.cancelAll()
                await #expect(throws: CancellationError.self) { try await group.next() }
            }
            #expect(stubborn.running == 1 && patience.abandoned == 1)
            #expect(recorder.events.isEmpty && clock.sleepers.isEmpty)
            stubborn.release()
        }
        #expect(recorder.events(of: Timeout.Event.self) == [.endedLate(by: .zero)])
    }

    @Test("a cancelled caller's operation is cancelled, and ends soon if it reacts")
    func callerCancelsHeeding() throws {
        try clock.run {
            operation.hold()
            await withThrowingTaskGroup { group in
                group.addTask { try await patience.run { try await operation(1) } }
                await clock.runUntilIdle()
                group.cancelAll()
                await #expect(throws: CancellationError.self) { try await group.next() }
            }
            await clock.runUntilIdle()
            #expect(operation.running == 0 && patience.abandoned == 0)
        }
    }

    @Test("if a waiting caller's priority is raised, its operation's priority is also raised")
    func escalation() throws {
        guard #available(macOS 26, macCatalyst 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        let raised = Box<[TaskPriority]>([])
        try clock.run {
            let caller = Task(priority: .low) { [patience, stubborn] in
                try await patience.run {
                    await withTaskPriorityEscalationHandler {
                        _ = await stubborn()
                    } onPriorityEscalated: { _, priority in
                        raised.value.append(priority)
                    }
                    return Task.currentPriority
                }
            }
            await clock.runUntilIdle()
            caller.escalatePriority(to: .high)
            #expect(raised.value == [.high])
            stubborn.release()
            let priority = try await caller.value
            #expect(priority == .high)
        }
    }

    #if compiler(>=6.3)
        @Test("the operation runs on the preferred executor of its caller's task")
        func executor() async throws {
            guard #available(macOS 26.4, macCatalyst 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else {
                return
            }
            let executor = PreferredExecutor()
            let caller = Task(executorPreference: executor) { try await patience.run { executor.isPreferred } }
            #expect(try await caller.value)
        }
    #endif

    @Test("a caller that is already cancelled starts nothing")
    func alreadyCancelled() async {
        let task = Task {
            cancelCurrentTask()
            return try await patience.run { try await operation(1) }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(operation.callCount == 0)
    }

    @Test("inside a retry an abandoning timeout limits each attempt, and abandoned attempts run concurrently")
    func eachAttempt() throws {
        let pipeline = Pipeline(timeBase: clock, isIdempotent: true) {
            Retry(maxRetries: 2, backoff: .constant(.seconds(1)))
        }
        try clock.run {
            let start = clock.now
            await #expect(throws: TimedOut.self) {
                try await pipeline.run { try await patience.run { await stubborn() } }
            }
            #expect(clock.now == start + .seconds(17) && stubborn.running == 3 && patience.abandoned == 3)
            stubborn.release()
        }
        #expect(patience.abandoned == 0)
    }

    @Test("around a pipeline an abandoning timeout limits the whole call; its deadline reaches the policies inside")
    func total() throws {
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 9, backoff: .constant(.seconds(4)))
        }
        operation.fallback = .failure(Outage())
        try clock.run {
            let start = clock.now
            // A third attempt would begin after the deadline.
            await #expect(throws: Outage()) {
                try await patience.run { deadline in
                    try await pipeline.run(options: RunOptions(deadline: deadline)) { try await operation(1) }
                }
            }
            #expect(clock.now == start + .seconds(4) && operation.callCount == 2)
        }
    }

    @Test("a permit of a bulkhead inside stays in use until the abandoned operation ends")
    func permit() throws {
        let bulkhead = Bulkhead(limit: 1, timeBase: clock)
        try clock.run {
            await #expect(throws: TimedOut.self) {
                try await patience.run { try await bulkhead.run { await stubborn() } }
            }
            #expect(bulkhead.inUse == 1)
            await #expect { try await bulkhead.run {} } throws: { $0 is any Rejection }
            stubborn.release()
            await clock.runUntilIdle()
            #expect(bulkhead.inUse == 0)
        }
    }

    @Test("task-local values and priority reach the operation")
    func taskLocals() async throws {
        let seen = try await Self.$label.withValue("mine") { try await patience.run { Self.label } }
        #expect(seen == "mine")
        let priority = try await Task(priority: .high) { try await patience.run { Task.currentPriority } }.value
        #expect(priority == .high)
    }

    @TaskLocal static var label = ""

    @Test("limit, end and cancellation race on real threads: each call ends once, and no operation stays counted")
    func race() async throws {
        operation.hold()
        var abandoned = 0
        for number in 1...300 {
            let task = Task { try await patience.run { try await Task { try await operation(1) }.value } }
            await clock.waitForSleepers(1)
            await operation.waitForCalls(number)
            async let passed: Void = clock.advance(by: .seconds(5))
            async let released: Void = operation.release(1)
            task.cancel()
            _ = await (passed, released)
            // The operation itself never throws.
            if case .failure(let error) = await task.result {
                #expect(error is TimedOut || error is CancellationError)
                abandoned += 1
            }
        }
        // Each operation reports its end on its own thread.
        while recorder.events(of: Timeout.Event.self).count(where: { $0 != .timedOut(.seconds(5)) }) < abandoned {
            _ = try await patience.run {}
        }
        #expect(patience.abandoned == 0)
    }

    @Test("an abandoning timeout's description has its name, its limit and its kind")
    func text() {
        #expect("\(patience)" == "slow: 5 s, abandoning")
    }
}
