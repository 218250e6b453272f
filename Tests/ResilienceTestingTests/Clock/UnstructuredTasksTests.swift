import Foundation
import Resilience
import ResilienceTesting
import TestSupport
import Testing

/// Tasks that the code under test starts without saying where they run.
// C4
@Suite(.timeLimit(.minutes(20))) struct UnstructuredTasksTests {
    let clock = ManualClock()

    @Test("a Task that the code under test starts belongs to the run, even after each of its waits", arguments: 0..<100)
    func task(round: Int) throws {
        let fetch = ScriptedOperation<Void, Int>([.failure(Outage()), .failure(Outage())], fallback: .success(7))
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 2, backoff: .constant(.seconds(30)))
            Timeout(limit: .seconds(5))
        }
        let start = clock.now
        let result = try clock.run { try await Task { try await pipeline.run { try await fetch() } }.value }
        #expect(result == 7)
        #expect(start.duration(to: clock.now) == .seconds(60))
    }

    @Test("a detached task belongs to the run, and so do the tasks that tasks of the run start")
    func detached() throws {
        let start = clock.now
        let woken = try clock.run { [clock] in
            await Task.detached {
                await withTaskGroup(of: MonotonicInstant.self) { group in
                    for seconds in [20, 10] {
                        group.addTask { await Task { await pause(.seconds(seconds), on: clock) }.value }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
            }.value
        }
        #expect(woken == [start + .seconds(10), start + .seconds(20)])
    }

    @Test("when the run is over, a task that nobody waits for has taken all steps that it could")
    func nobodyWaits() throws {
        let steps = ScriptedOperation<Int, Void>(fallback: .success(()))
        try clock.run {
            _ = Task {
                for number in 0..<10 {
                    await hop()
                    try await steps(number)
                }
            }
        }
        #expect(steps.inputs == Array(0..<10))
    }

    @Test("a seed also orders the steps of unstructured tasks")
    func seeds() throws {
        let orders = try (0..<200).map { try order(of: 4, seed: $0) }
        #expect(Set(orders).count == 24)
        #expect(try (0..<20).map { try order(of: 4, seed: $0) } == Array(orders[..<20]))
    }

    @Test("concurrent runs on several threads take only their own tasks")
    func parallel() async throws {
        let alone = try (0..<20).map { try order(of: 6, seed: $0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let together = try (0..<20).map { try order(of: 6, seed: $0) }
                    #expect(together == alone)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("a task started on another thread meanwhile does not belong to the run")
    func otherThread() async throws {
        let ranOn = Notes<ObjectIdentifier>()
        let tasks = Notes<Task<Void, Never>>()
        let ranInRun = try clock.run { [clock] in
            let isStarted = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                tasks.note(Task { ranOn.note(thisThread()) })
                isStarted.signal()
            }
            block(until: isStarted)
            // If the task belonged to the run, this would run it.
            await clock.runUntilIdle()
            return ranOn.all == [thisThread()]
        }
        #expect(!ranInRun)
        for task in tasks.all { await task.value }
        #expect(ranOn.all.count == 1)
    }

    @Test("a run within a run takes the tasks that start in it, and returns the thread to the outer run")
    func nested() throws {
        let inner = ManualClock()
        let (start, innerStart) = (clock.now, inner.now)
        try clock.run { [clock] in
            try inner.run { await Task { _ = await pause(.seconds(1), on: inner) }.value }
            await Task { _ = await pause(.seconds(2), on: clock) }.value
        }
        #expect(start.duration(to: clock.now) == .seconds(2))
        #expect(innerStart.duration(to: inner.now) == .seconds(1))
    }

    @Test("an unstructured task that outlives the run continues like any other when it is woken")
    func leftover() async throws {
        let held = ScriptedOperation<Void, Int>(fallback: .success(5))
        held.hold()
        let task = try clock.run { [clock] in
            let task = Task { try await held() }
            await clock.runUntilIdle()
            return task
        }
        #expect(held.running == 1)
        held.release()
        #expect(try await task.value == 5)
    }

    @Test("an unstructured task that is ready when a run fails continues like any other: others may need it")
    func abandoned() async throws {
        let tasks = Notes<Task<Int, Never>>()
        let hops = Locked(0)
        #expect(throws: ManualClock.RunFailure.noEnd(steps: 100)) {
            try clock.run(maxSteps: 100) {
                tasks.note(
                    Task {
                        for _ in 0..<20_000 { await hop() }
                        return 7
                    })
                while true {
                    hops.withLock { $0 += 1 }
                    await hop()
                }
            }
        }
        // A task that ignores its cancellation stays where it is.
        let before = hops.withLock { $0 }
        #expect(await tasks.all.first?.value == 7)
        #expect(hops.withLock { $0 } == before)
    }

    @Test("tasks that obey their cancellation end after a run has failed, even if that takes a while")
    func heeds() {
        let isOver = Locked(false)
        #expect(throws: ManualClock.RunFailure.noEnd(steps: 100)) {
            try clock.run(maxSteps: 100) {
                while !Task.isCancelled { await hop() }
                for _ in 0..<1_000 { await hop() }
                isOver.withLock { $0 = true }
            }
        }
        #expect(isOver.withLock { $0 })
    }

    @Test("a task that waited when a run failed stays where it is, even if its wait ends later")
    func staysAway() async {
        let continuation = Notes<CheckedContinuation<Void, Never>>()
        let isOver = Locked(false)
        #expect(throws: ManualClock.RunFailure.self) {
            try clock.run {
                await withCheckedContinuation { continuation.note($0) }
                isOver.withLock { $0 = true }
            }
        }
        continuation.all.first?.resume()
        for _ in 0..<1_000 { await hop() }
        #expect(!isOver.withLock { $0 })
    }

    /// The order in which this many tasks take their first step.
    private func order(of count: Int, seed: UInt64) throws -> [Int] {
        let steps = ScriptedOperation<Int, Void>(fallback: .success(()))
        try ManualClock().run(seed: seed) {
            for number in 0..<count { _ = Task { try await steps(number) } }
        }
        return steps.inputs
    }
}

private func pause(_ duration: Duration, on clock: ManualClock) async -> MonotonicInstant {
    _ = await PolicyWaiter().wait(until: clock.now + duration, on: clock)
    return clock.now
}

private func thisThread() -> ObjectIdentifier { ObjectIdentifier(Thread.current) }

/// Suspends, and continues after another task's step.
private func hop() async { await Task {}.value }
