import Resilience
import ResilienceTesting
import Testing

// C4
@Suite(.timeLimit(.minutes(20))) struct ManualClockTests {
    let clock = ManualClock()
    let fired = Notes<String>()

    @Test("time stands still until it is moved")
    func standsStill() {
        let start = clock.now
        #expect(clock.now == start)
        clock.advance(by: .seconds(5))
        #expect(clock.now == start + .seconds(5))
        clock.advance(by: .seconds(-9))
        clock.advance(to: .distantPast)
        #expect(clock.now == start + .seconds(5))
    }

    @Test("a clock can start at any time")
    func start() {
        #expect(ManualClock(startingAt: MonotonicInstant(nanoseconds: 7)).now == MonotonicInstant(nanoseconds: 7))
    }

    @Test("moving time fires due alarms on the way, in order, each at its own instant")
    func order() {
        let start = clock.now
        for (name, seconds) in [("c", 3), ("a", 1), ("d", 4), ("b", 2)] {
            _ = clock.schedule(at: start + .seconds(seconds)) { fired.note("\(name) \(self.seconds(since: start))") }
        }
        clock.advance(by: .seconds(3))
        #expect(fired.all == ["a 1", "b 2", "c 3"])
        #expect(clock.now == start + .seconds(3) && clock.sleepers == [start + .seconds(4)])
    }

    @Test("alarms of the same instant fire in the order they were set")
    func sameInstant() {
        let instant = clock.now + .seconds(1)
        for number in 0..<50 { _ = clock.schedule(at: instant) { fired.note("\(number)") } }
        clock.advance(to: instant)
        #expect(fired.all == (0..<50).map(String.init))
    }

    @Test("an alarm set by an alarm fires in the same move if it is due within it")
    func chain() {
        let start = clock.now
        _ = clock.schedule(at: start + .seconds(1)) { [clock, fired] in
            _ = clock.schedule(at: start + .seconds(2)) { fired.note("second") }
            _ = clock.schedule(at: start + .seconds(9)) { fired.note("ninth") }
        }
        clock.advance(by: .seconds(5))
        #expect(fired.all == ["second"])
    }

    @Test("an alarm for now or for the past fires at once, once")
    func past() {
        _ = clock.schedule(at: clock.now) { fired.note("now") }
        _ = clock.schedule(at: .distantPast) { fired.note("past") }
        #expect(fired.all == ["now", "past"] && clock.sleepers.isEmpty)
        clock.advance(by: .seconds(1))
        #expect(fired.all.count == 2)
    }

    @Test("a cancelled alarm never fires; cancelling it twice or too late does nothing")
    func takenBack() {
        let alarm = clock.schedule(at: clock.now + .seconds(1)) { fired.note("a") }
        clock.cancel(alarm)
        clock.cancel(alarm)
        let other = clock.schedule(at: clock.now + .seconds(1)) { fired.note("b") }
        clock.cancel(alarm)
        clock.advance(by: .seconds(1))
        clock.cancel(other)
        #expect(fired.all == ["b"])
    }

    @Test("the clock can jump to the next sleeper, or reports that there is none")
    func nextSleeper() {
        let start = clock.now
        #expect(!clock.advanceToNextSleeper())
        _ = clock.schedule(at: start + .seconds(7)) {}
        _ = clock.schedule(at: start + .seconds(3)) {}
        #expect(clock.advanceToNextSleeper() && clock.now == start + .seconds(3))
        #expect(clock.advanceToNextSleeper() && clock.now == start + .seconds(7))
        #expect(!clock.advanceToNextSleeper() && clock.now == start + .seconds(7))
    }

    @Test("waiting for sleepers returns when enough sleepers wait, or at once if they already do")
    func waitForSleepers() async {
        await clock.waitForSleepers(0)
        async let waited: Void = clock.waitForSleepers(3)
        let sleepers = (1...3).map { seconds in
            Task { await PolicyWaiter().wait(until: clock.now + .seconds(seconds), on: clock) }
        }
        await waited
        await clock.waitForSleepers(3)
        #expect(clock.sleepers.count == 3)
        clock.advance(by: .seconds(3))
        for sleeper in sleepers { #expect(await sleeper.value == .expired) }
    }

    @Test("several tasks can wait for sleepers, each for its own number")
    func severalWatchers() async {
        async let one: Void = clock.waitForSleepers(1)
        async let two: Void = clock.waitForSleepers(2)
        _ = clock.schedule(at: clock.now + .seconds(1)) {}
        await one
        _ = clock.schedule(at: clock.now + .seconds(1)) {}
        await two
    }

    @Test("1 000 sleepers with random deadlines wake in order, except those that are cancelled")
    func walk() {
        var random = SeededGenerator(seed: 3)
        let start = clock.now
        var expected: [(deadline: Int, number: Int)] = []
        for number in 0..<1_000 {
            let deadline = Int.random(in: 1...500, using: &random)
            let alarm = clock.schedule(at: start + .seconds(deadline)) { fired.note("\(number)") }
            if Int.random(in: 0..<4, using: &random) == 0 {
                clock.cancel(alarm)
            } else {
                expected.append((deadline, number))
            }
        }
        expected.sort { $0 < $1 }
        while clock.advanceToNextSleeper() {}
        #expect(fired.all == expected.map { "\($0.number)" })
    }

    @Test("a jump moves time in one step, then fires due alarms late, in the order of their times")
    func jump() {
        let (start, fired) = (clock.now, Notes<String>())
        for second in [3, 1, 2, 9] {
            _ = clock.schedule(at: start + .seconds(second)) { [clock] in
                fired.note("\(second) at \(start.duration(to: clock.now).components.seconds)")
            }
        }
        clock.jump(by: .seconds(5))
        #expect(fired.all == ["1 at 5", "2 at 5", "3 at 5"] && clock.now == start + .seconds(5))
        clock.jump(by: .seconds(-3))
        #expect(clock.now == start + .seconds(5))
    }

    @Test("a move to an earlier time moves nothing, and fires due alarms")
    func earlierMove() throws {
        let fired = Notes<String>()
        try clock.run { [clock] in
            let start = clock.now
            _ = clock.schedule(at: start) { fired.note("due") }
            clock.advance(to: start + .seconds(-1))
            #expect(fired.all == ["due"] && clock.now == start)
        }
    }

    private func seconds(since start: MonotonicInstant) -> Int64 { start.duration(to: clock.now).components.seconds }
}

@Suite(.timeLimit(.minutes(20))) struct CancelledWaitsTests {
    @Test("a test that waits in vain can be cancelled, and does not hang")
    func cancelled() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await ManualClock().waitForSleepers(1) }
            group.addTask { await EventRecorder().waitForEvents(1) }
            group.addTask { await ScriptedOperation<Void, Void>().waitForCalls(1) }
            group.cancelAll()
        }
    }
}
