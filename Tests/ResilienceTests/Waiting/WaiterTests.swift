import Resilience
import ResilienceTesting
import TestSupport
import Testing

@Suite struct WaiterTests {
    let clock = ManualClock()
    let waiter = PolicyWaiter()

    @Test("a wait ends when it is resumed, and cancels its alarm")
    func resumed() async {
        async let wake = waiter.wait(until: clock.now + .seconds(5), on: clock)
        await clock.waitForSleepers(1)
        waiter.resume()
        #expect(await wake == .resumed)
        #expect(clock.sleepers.isEmpty)
    }

    @Test("a wait ends at its deadline")
    func expired() async {
        async let wake = waiter.wait(until: clock.now + .seconds(5), on: clock)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        #expect(await wake == .expired)
    }

    @Test("a wait ends when its task is cancelled, and cancels its alarm")
    func cancelled() async {
        let task = Task { await waiter.wait(until: clock.now + .seconds(5), on: clock) }
        await clock.waitForSleepers(1)
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(clock.sleepers.isEmpty)
    }

    @Test("a wait whose deadline has passed, or whose task is already cancelled, ends at once")
    func atOnce() async {
        #expect(await waiter.wait(until: .distantPast, on: clock) == .expired)
        let cancelled = Task {
            cancelCurrentTask()
            return await PolicyWaiter().wait(until: .distantFuture, on: clock)
        }
        #expect(await cancelled.value == .cancelled)
        #expect(clock.sleepers.isEmpty)
    }

    @Test("a resume before the wait is not lost")
    func resumedBefore() async {
        waiter.resume()
        #expect(await waiter.wait(until: .distantFuture, on: clock) == .resumed)
    }

    @Test(
        "the first of several ends counts",
        arguments: [PolicyWaiter.Wake.resumed, .expired, .cancelled])
    func firstWins(wake: PolicyWaiter.Wake) async {
        waiter.end(wake)
        waiter.resume()
        waiter.end(.cancelled)
        #expect(await waiter.wait(until: .distantFuture, on: clock) == wake)
    }

    @Test("a wait that many tasks end concurrently ends once")
    func race() async {
        let waiters = (0..<500).map { _ in PolicyWaiter() }
        let ended = await withTaskGroup(of: PolicyWaiter.Wake.self) { group in
            for waiter in waiters {
                group.addTask { await waiter.wait(until: .distantFuture, on: clock) }
                group.addTask {
                    waiter.resume()
                    return await waiter.wait(until: .distantFuture, on: clock)
                }
            }
            return await group.reduce(0) { $0 + ($1 == .resumed ? 1 : 0) }
        }
        #expect(ended == 1000)
    }
}
