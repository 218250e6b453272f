import Resilience
import ResilienceTesting
import TestSupport
import Testing

// C4
@Suite struct ManualClockRunTests {
    let clock = ManualClock()

    @Test("a run returns its body's result, and throws its error")
    func result() throws {
        #expect(try clock.run { 7 } == 7)
        #expect(throws: Outage.self) { try clock.run { throw Outage() } }
    }

    @Test("an hour of retries takes no time, and the clock stops where the last wait ended")
    func retries() throws {
        let start = clock.now
        let fetch = ScriptedOperation<Void, Int>(
            Array(repeating: .failure(Outage()), count: 6), fallback: .success(3))
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 6, backoff: .constant(.seconds(600)))
        }
        #expect(try clock.run { try await pipeline.run { try await fetch() } } == 3)
        #expect(start.duration(to: clock.now) == .seconds(3_600))
        #expect(fetch.callCount == 7)
    }

    @Test("time moves only when every task waits, and never past a sleeper")
    func order() throws {
        let log = Notes<String>()
        try clock.run { [clock] in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for seconds in [3, 1, 2] {
                    group.addTask {
                        let pipeline = Pipeline(timeBase: clock) {
                            Retry(maxRetries: 1, backoff: .constant(.seconds(seconds)))
                        }
                        try? await pipeline.run {
                            log.note("\(seconds)")
                            throw Outage()
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(log.all == ["3", "1", "2", "1", "2", "3"])
    }

    @Test("a timeout's task is part of the run, and so is the sleep it cuts short")
    func timeout() throws {
        let never = ScriptedOperation<Void, Int>()
        never.hold()
        let start = clock.now
        let pipeline = Pipeline(timeBase: clock) { Timeout(limit: .seconds(5)) }
        #expect(throws: TimedOut.self) { try clock.run { try await pipeline.run { try await never() } } }
        #expect(start.duration(to: clock.now) == .seconds(5))
        #expect(clock.sleepers.isEmpty)
    }

    @Test("an actor, a group and async let are part of the run")
    func structured() throws {
        actor Counter {
            var count = 0
            func add() { count += 1 }
        }
        let counter = Counter()
        let count = try clock.run {
            async let first: Void = counter.add()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<10 { group.addTask { await counter.add() } }
            }
            await first
            return await counter.count
        }
        #expect(count == 11)
    }

    @Test("runUntilIdle returns when every other task waits, without moving time (C4)")
    func idle() throws {
        let start = clock.now
        let fetch = ScriptedOperation<Void, Int>([.failure(Outage())], fallback: .success(1))
        try clock.run { [clock] in
            let pipeline = Pipeline(timeBase: clock) { Retry(maxRetries: 1, backoff: .constant(.seconds(2))) }
            async let result = pipeline.run { try await fetch() }
            await clock.runUntilIdle()
            #expect(clock.now == start)
            #expect(clock.sleepers == [start + .seconds(2)])
            #expect(fetch.callCount == 1)
            clock.advance(by: .seconds(1))
            await clock.runUntilIdle()
            #expect(fetch.callCount == 1)
            let value = try await result
            #expect(value == 1)
        }
        #expect(start.duration(to: clock.now) == .seconds(2))
    }

    @Test(
        "if all tasks of a run wait for something that never comes, the run fails with that reason and cancels its tasks"
    )
    func stuck() async throws {
        let never = ScriptedOperation<Void, Int>()
        never.hold()
        #expect(throws: ManualClock.RunFailure.everybodyWaits) { try clock.run { try await never() } }
        // The clock is free for another run.
        #expect(try clock.run { 1 } == 1)
    }

    @Test("the error of a stuck run lists the waits that may be the cause")
    func stuckSays() {
        let text = "\(ManualClock.RunFailure.everybodyWaits)"
        for wait in [
            "continuation", "ScriptedOperation", "network", "ContinuousClock", "`timeBase: clock`",
            "main actor", "GRDB", "DispatchQueue", "Docs/TestingCodeThatUsesPolicies.md",
        ] { #expect(text.contains(wait), "\(wait)") }
        #expect(!text.contains("\n"))
    }

    @Test("an endless run fails")
    func endless() {
        let pipeline = Pipeline(timeBase: clock) { Retry(maxRetries: .max, backoff: .constant(.seconds(1))) }
        #expect(throws: ManualClock.RunFailure.noEnd(steps: 1_000)) {
            try clock.run(maxSteps: 1_000) { try await pipeline.run { throw Outage() } }
        }
    }

    @Test("a seed decides the order of steps: the same seed repeats it, other seeds change it (C5)")
    func seeds() throws {
        func order(_ seed: UInt64?) throws -> [String] {
            let log = Notes<String>()
            try ManualClock().run(seed: seed) {
                await withTaskGroup(of: Void.self) { group in
                    for task in 0..<4 { group.addTask { log.note("\(task)") } }
                }
            }
            return log.all
        }
        #expect(try order(nil) == ["0", "1", "2", "3"])
        let orders = try Set((0..<200).map { try order($0) })
        #expect(orders.count == 24)
        #expect(try (0..<20).allSatisfy { try order($0) == order($0) })
    }

    @Test("a task that outlives the run continues like any other when it is woken")
    func leftover() async throws {
        let held = ScriptedOperation<Void, Int>(fallback: .success(5))
        held.hold()
        let task = try clock.run { [clock] in
            let task = Task(executorPreference: clock.taskExecutor) { try await held() }
            await clock.runUntilIdle()
            return task
        }
        held.release()
        #expect(try await task.value == 5)
    }

    @Test("a task that is ready when the run ends continues like any other")
    func readyAtTheEnd() async throws {
        let task = try clock.run { [clock] in Task(executorPreference: clock.taskExecutor) { 5 } }
        #expect(await task.value == 5)
    }

    @Test("a run in a task sees its task-local values")
    func taskLocals() throws {
        let seen = try Marker.$value.withValue(4) { try clock.run { Marker.value } }
        #expect(seen == 4)
    }
}

private enum Marker {
    @TaskLocal static var value = 0
}
