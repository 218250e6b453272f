import Resilience
import TestSupport
import Testing

@testable import ResilienceTesting

/// What a manual clock does after a run, whatever became of it.
@Suite(.timeLimit(.minutes(20))) struct ManualClockSecondUseTests {
    let clock = ManualClock()

    @Test("after a run that failed, in whichever way, the clock has no sleeper, no executor and nobody who waits")
    func afterFailure() throws {
        let never = ScriptedOperation<Void, Int>()
        never.hold()
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: .max, backoff: .constant(.seconds(1)))
            Timeout(limit: .seconds(5))
        }
        #expect(throws: Outage.self) { try clock.run { throw Outage() } }
        #expect(throws: ManualClock.RunFailure.everybodyWaits) { try clock.run { try await never() } }
        #expect(throws: ManualClock.RunFailure.noEnd(steps: 1_000)) {
            try clock.run(maxSteps: 1_000) { try await pipeline.run { throw Outage() } }
        }
        #expect(clock.sleepers.isEmpty && clock.taskExecutor == nil)
        let start = clock.now
        #expect(try clock.run { try await pipeline.run { 7 } } == 7)
        #expect(clock.now == start && never.running == 0)
    }

    @Test("tasks of a run that is given up and heed their cancellation are over when it returns")
    func heeding() {
        let ended = Notes<PolicyWaiter.Wake>()
        #expect(throws: ManualClock.RunFailure.everybodyWaits) {
            try clock.run { [clock] in ended.note(await PolicyWaiter().wait(until: .distantFuture, on: clock)) }
        }
        #expect(ended.all == [.cancelled])
    }

    @Test("a task of a run that is given up and goes on for ever gets no further step")
    func abandoned() {
        let steps = Notes<Int>()
        #expect(throws: ManualClock.RunFailure.noEnd(steps: 100)) {
            try clock.run(maxSteps: 100) {
                while true {
                    steps.note(1)
                    await withCheckedContinuation { $0.resume() }
                    await Task.detached {}.value
                }
            }
        }
        let count = steps.all.count
        #expect(count > 0)
        clock.advance(by: .seconds(1))
        #expect(steps.all.count == count)
    }

    @Test("a run within a run of the same clock traps, and says why")
    func nested() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let clock = ManualClock()
            try clock.run { try clock.run {} }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("ManualClock: one run at a time"))
    }

    @Test("who waited until all others wait, in a run without an end, is not left for the next run")
    func idlers() throws {
        // Given up, the run lets the task go on as any other: it must have an end.
        let isOver = Notes<Bool>()
        #expect(throws: ManualClock.RunFailure.noEnd(steps: 100)) {
            try clock.run(maxSteps: 100) { [clock] in
                _ = Task { while isOver.all.isEmpty { await Task {}.value } }
                await clock.runUntilIdle()
            }
        }
        isOver.note(true)
        #expect(clock.state.withLock { $0.idlers.isEmpty })
    }

    @Test("runs one after the other are alike, and time goes on from where it was")
    func again() throws {
        let start = clock.now
        let orders = try (1...3).map { round in
            let order = Notes<Int>()
            try clock.run(seed: 5) { [clock] in
                for number in 0..<10 { _ = Task { order.note(number) } }
                try await clock.sleep(for: .seconds(1))
            }
            #expect(start.duration(to: clock.now) == .seconds(round))
            return order.all
        }
        #expect(orders[0].sorted() == Array(0..<10) && Set(orders).count == 1)
    }

    @Test("a sleeper left by one run is woken in the next, in its turn")
    func leftSleeper() throws {
        let order = Notes<String>()
        try clock.run { [clock] in
            _ = Task {
                try await clock.sleep(for: .seconds(2))
                order.note("left")
            }
            await clock.runUntilIdle()
        }
        #expect(clock.sleepers.count == 1)
        try clock.run { [clock] in
            for _ in 0..<3 {
                try await clock.sleep(for: .seconds(1))
                await clock.runUntilIdle()
                order.note("second")
            }
        }
        #expect(order.all == ["second", "left", "second", "second"])
    }

    @Test("a slot that is used again is not cancelled by the receipt of the alarm before")
    func staleAlarm() {
        let fired = Notes<String>()
        let first = clock.schedule(at: clock.now + .seconds(1)) { fired.note("first") }
        clock.advance(by: .seconds(1))
        _ = clock.schedule(at: clock.now + .seconds(1)) { fired.note("second") }
        clock.cancel(first)
        clock.advance(by: .seconds(1))
        #expect(fired.all == ["first", "second"])
    }

    @Test("an alarm that moves time itself fires what falls due on its way, and time does not go back")
    func movingAlarm() {
        let (start, fired) = (clock.now, Notes<String>())
        _ = clock.schedule(at: start + .seconds(1)) { [clock] in
            fired.note("first")
            clock.advance(by: .seconds(5))
        }
        _ = clock.schedule(at: start + .seconds(4)) { fired.note("second") }
        clock.advance(by: .seconds(2))
        #expect(fired.all == ["first", "second"])
        #expect(clock.now == start + .seconds(6) && clock.sleepers.isEmpty)
    }
}
