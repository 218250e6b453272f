import Foundation
import Resilience
import TestSupport
import Testing

@testable import ResilienceTesting

private func currentThread() -> ObjectIdentifier { ObjectIdentifier(Thread.current) }

/// A manual clock after a run, whatever its result.
@Suite(.timeLimit(.minutes(20))) struct ManualClockSecondUseTests {
    let clock = ManualClock()

    @Test("after a failed run, whatever the failure, the clock has no sleeper, no executor and no waiter")
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

    @Test("when a failed run returns, its tasks that obey cancellation are over")
    func heeding() {
        let ended = Notes<PolicyWaiter.Wake>()
        #expect(throws: ManualClock.RunFailure.everybodyWaits) {
            try clock.run { [clock] in ended.note(await PolicyWaiter().wait(until: .distantFuture, on: clock)) }
        }
        #expect(ended.all == [.cancelled])
    }

    @Test("an endless task of a failed run gets no further step")
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

    @Test("a run within a run of the same clock traps with a message")
    func nested() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let clock = ManualClock()
            try clock.run { try clock.run {} }
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("ManualClock: one run at a time"))
    }

    @Test("if a run never ends, its waiter for idleness does not stay for the next run")
    func idlers() throws {
        // After failing, the run lets the task continue like any other: it must end.
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

    @Test("consecutive runs are alike, and time continues")
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

    @Test(
        "a sleeper left by one run wakes in the next, in order and on its thread, also if it prefers the first run's executor",
        arguments: [false, true])
    func leftSleeper(prefers: Bool) throws {
        let order = Notes<String>()
        let thread = currentThread()
        try clock.run { [clock] in
            _ = Task.detached(executorPreference: prefers ? clock.taskExecutor : nil) {
                try await clock.sleep(for: .seconds(2))
                order.note(thread == currentThread() ? "left" : "left elsewhere")
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

    @Test("an old alarm's receipt does not cancel the alarm that reuses its slot")
    func staleAlarm() {
        let fired = Notes<String>()
        let first = clock.schedule(at: clock.now + .seconds(1)) { fired.note("first") }
        clock.advance(by: .seconds(1))
        _ = clock.schedule(at: clock.now + .seconds(1)) { fired.note("second") }
        clock.cancel(first)
        clock.advance(by: .seconds(1))
        #expect(fired.all == ["first", "second"])
    }

    @Test("if an alarm moves time, alarms that are due on the way fire, and time does not go back")
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
