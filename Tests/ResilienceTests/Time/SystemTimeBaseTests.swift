import Foundation
import TestSupport
import Testing

@testable import Resilience

@Suite struct SystemTimeBaseTests {
    let base = SystemTimeBase()

    /// Waits for an alarm, and returns when it fired.
    private func firing(at deadline: MonotonicInstant) async -> MonotonicInstant {
        await withCheckedContinuation { continuation in
            _ = base.schedule(at: deadline) { continuation.resume(returning: base.now) }
        }
    }

    @Test("an alarm never fires before its deadline", arguments: [0, 1, 2, 5])
    func notEarly(milliseconds: Int) async {
        let deadline = base.now + .milliseconds(milliseconds)
        #expect(await firing(at: deadline) >= deadline)
    }

    @Test(
        "an alarm whose deadline has passed fires as soon as possible",
        arguments: [MonotonicInstant.distantPast, .second(0)])
    func past(deadline: MonotonicInstant) async {
        #expect(await firing(at: deadline) > deadline)
    }

    @Test("alarms due in one wake fire in the order of their deadlines, whatever the order in which they were set")
    func order() async {
        // Without help: on two threads two alarms could run at the same time.
        let base = SystemTimeBase(elsewhere: { _ in })
        var (distance, wasSetInTime) = (Duration.milliseconds(10), false)
        while !wasSetInTime {
            let (start, fired) = (base.now + distance, Journal())
            await withCheckedContinuation { continuation in
                for nanosecond in [4, 1, 3, 2, 5] {
                    _ = base.schedule(at: start + .nanoseconds(nanosecond)) {
                        fired.note("\(nanosecond)")
                        if nanosecond == 5 { continuation.resume() }
                    }
                }
                wasSetInTime = base.now < start
            }
            #expect(!wasSetInTime || fired.lines == ["1", "2", "3", "4", "5"])
            distance *= 2
        }
    }

    @Test("an alarm cancelled in time does not fire, and does not delay a later alarm")
    func cancelled() async {
        let (deadline, fired) = (base.now + .milliseconds(5), Journal())
        let early = base.schedule(at: deadline) { fired.note("early") }
        base.cancel(early)
        let takenBackInTime = base.now < deadline
        _ = await firing(at: deadline + .milliseconds(2))
        #expect(!takenBackInTime || fired.lines.isEmpty)
    }

    @Test("an alarm set for much later, or for the end of time, does not delay an earlier alarm")
    func earlierAfterLater() async {
        for later in [base.now + .seconds(3600), MonotonicInstant(nanoseconds: .max - 1), .distantFuture] {
            let alarm = base.schedule(at: later) {}
            let deadline = base.now + .milliseconds(1)
            #expect(await firing(at: deadline) >= deadline)
            base.cancel(alarm)
        }
    }

    @Test("an alarm set afterwards for much later does not delay an earlier alarm", .timeLimit(.minutes(20)))
    func laterAfterEarlier() async {
        let (deadline, fired) = (base.now + .milliseconds(5), PolicyWaiter())
        _ = base.schedule(at: deadline) { fired.resume() }
        let later = base.schedule(at: deadline + .seconds(3600)) {}
        #expect(await fired.wait(until: .distantFuture, on: base) == .resumed)
        base.cancel(later)
    }

    @Test(
        "one timer sleeps until the first of all alarms, and is replaced only for an earlier alarm",
        .timeLimit(.minutes(20)))
    func oneTimer() async {
        let sleeps = Locked<[Duration]>([])
        let hasSlept = (0..<3).map { _ in PolicyWaiter() }
        let base = SystemTimeBase(sleep: { duration in
            // Replaced timers may all begin at the same time.
            let count = sleeps.withLock { sleeps in
                sleeps.append(duration)
                return sleeps.count
            }
            guard count <= 3 else { return }
            hasSlept[count - 1].resume()
            // Sleeps as long as the test, unless it is replaced.
            _ = await PolicyWaiter().wait(until: .distantFuture, on: SystemTimeBase.shared)
        })
        let start = base.now
        let alarms = [500, 100, 700, 100, 60].map { base.schedule(at: start + .seconds($0)) {} }
        for waiter in hasSlept { _ = await waiter.wait(until: .distantFuture, on: base) }
        let length = start.duration(to: base.now)
        let slept = sleeps.withLock { $0 }
        #expect(slept.count == 3)
        for (sleep, seconds) in zip(slept.sorted(by: >), [500, 100, 60]) {
            #expect((.seconds(seconds) - length ... .seconds(seconds)).contains(sleep))
        }
        for alarm in alarms { base.cancel(alarm) }
        _ = base.schedule(at: .distantPast) {}
    }

    @Test("a bell replaces the timer task: it is told when to ring, and it runs alarms elsewhere (P74)")
    func bell() {
        let sleeps = Box(0)
        let base = SystemTimeBase(sleep: { _ in
            sleeps.value += 1
            _ = await PolicyWaiter().wait(until: .distantFuture, on: .system)
        })
        let elsewhere = Box(0)
        let told = Locked<[MonotonicInstant]>([])
        let fired = Box(0)
        let later = base.now + .seconds(500)
        let alarm = base.schedule(at: later) {}
        base.ring(
            by: SystemTimeBase.Bell(
                ring: { deadline in told.withLock { $0.append(deadline) } },
                elsewhere: { body in
                    elsewhere.value += 1
                    body()
                }))
        let due = base.now
        for _ in 0..<2 { _ = base.schedule(at: due) { fired.value += 1 } }
        base.fireDue()
        #expect(fired.value == 2 && elsewhere.value == 2 && told.withLock { $0 } == [later, due, due, later])
        // No task sleeps for alarms set after the bell.
        #expect(sleeps.value <= 1)
        base.cancel(alarm)
    }

    @Test("an action that is handed to `elsewhere` runs", .timeLimit(.minutes(20)))
    func elsewhere() async {
        let ran = PolicyWaiter()
        base.elsewhere { ran.resume() }
        #expect(await ran.wait(until: .distantFuture, on: base) == .resumed)
    }

    @Test("after the last alarm has fired, a later alarm also fires", .timeLimit(.minutes(20)))
    func again() async {
        for _ in 0..<3 {
            let fired = PolicyWaiter()
            _ = base.schedule(at: base.now + .milliseconds(1)) { fired.resume() }
            #expect(await fired.wait(until: .distantFuture, on: base) == .resumed)
        }
    }

    @Test("an action that blocks does not delay another that is due in the same wake", .timeLimit(.minutes(20)))
    func blocking() async {
        let base = SystemTimeBase(elsewhere: { body in Thread.detachNewThread(body) })
        var distance = Duration.milliseconds(10)
        var ends: [PolicyWaiter.Wake] = []
        // Repeats until both were set in time, and so are due in one wake.
        while ends.isEmpty {
            let (areSet, other, blocked, unblocked) = (
                Box(false), DispatchSemaphore(value: 0), Box(false), PolicyWaiter()
            )
            let deadline = base.now + distance
            _ = base.schedule(at: deadline) {
                blocked.value = areSet.value
                if blocked.value { other.wait() }
                unblocked.resume()
            }
            _ = base.schedule(at: deadline) { other.signal() }
            areSet.value = base.now < deadline
            let end = await unblocked.wait(until: .distantFuture, on: base)
            if blocked.value { ends.append(end) }
            distance *= 2
        }
        #expect(ends == [.resumed])
    }

    @Test("a firing action may set and cancel alarms")
    func reentrant() async {
        await withCheckedContinuation { continuation in
            let later = base.schedule(at: base.now + .seconds(3600)) {}
            _ = base.schedule(at: base.now) {
                base.cancel(later)
                _ = base.schedule(at: base.now + .milliseconds(1)) { continuation.resume() }
            }
        }
    }

    @Test("a thousand alarms set by many tasks all fire, each once and none early")
    func many() async {
        let early = Journal()
        let fired = await withTaskGroup(of: Void.self) { group in
            for index in 0..<1000 {
                group.addTask {
                    let deadline = base.now + .microseconds(index * 10)
                    if await firing(at: deadline) < deadline { early.note("early") }
                }
            }
            return await group.reduce(0) { count, _ in count + 1 }
        }
        #expect(fired == 1000)
        #expect(early.lines.isEmpty)
    }

    @Test("clock readings never go back")
    func monotonic() throws {
        var last = base.now
        for _ in 0..<100_000 {
            let now = base.now
            try #require(now >= last)
            last = now
        }
    }

    @Test("clock readings follow the continuous clock since the machine's start, not the wall clock (P8)")
    func notTheWallClock() async {
        let clock = ContinuousClock()
        let outerStart = clock.now
        let start = base.now
        let innerStart = clock.now
        _ = await firing(at: start + .milliseconds(2))
        let inner = innerStart.duration(to: clock.now)
        let elapsed = start.duration(to: base.now)
        #expect(inner <= elapsed && elapsed <= outerStart.duration(to: clock.now))
        // The wall clock shows more than fifty years; no machine has been up for twenty.
        #expect(start < .second(20 * 365 * 86_400))
    }
}
