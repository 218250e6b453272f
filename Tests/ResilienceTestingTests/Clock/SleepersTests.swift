import Resilience
import TestSupport
import Testing

@testable import ResilienceTesting

/// Waiting for a certain sleeper, and the clock's description of its sleepers.
// C4
@Suite(.timeLimit(.minutes(20))) struct SleepersTests {
    let clock = ManualClock()

    @Test("a test can wait for the pause before a retry, and ignore the earlier timeout")
    func pause() async throws {
        let fetch = ScriptedOperation<Void, Int>([.failure(Outage())], fallback: .success(7))
        let pipeline = Pipeline(timeBase: clock) {
            Retry(maxRetries: 1, backoff: .constant(.seconds(1)))
            Timeout(limit: .seconds(5))
        }
        fetch.hold()
        let page = Task { try await pipeline.run { try await fetch() } }
        let start = clock.now
        #expect(try await clock.waitForSleeper(dueIn: .seconds(5)) == start + .seconds(5))
        async let pause = clock.waitForSleeper(dueIn: .seconds(1))
        fetch.release()
        #expect(try await pause == start + .seconds(1))
        #expect(clock.now == start && fetch.callCount == 1)
        clock.advance(by: .seconds(1))
        #expect(try await page.value == 7)
    }

    @Test("a wait for a sleeper finds the earliest one with a matching due time, at once if it already exists")
    func predicate() async throws {
        let start = clock.now
        for seconds in [9, 4, 7, 2] { _ = clock.schedule(at: start + .seconds(seconds)) {} }
        #expect(try await clock.waitForSleeper { $0 > start + .seconds(3) } == start + .seconds(4))
        #expect(try await clock.waitForSleeper(dueIn: .seconds(9)) == start + .seconds(9))
    }

    @Test("a sleeper's distance to its due time can match when it is set, or after time has moved")
    func moved() throws {
        try clock.run { [clock] in
            let due = clock.now + .seconds(10)
            async let near = clock.waitForSleeper(dueIn: .seconds(3))
            await clock.runUntilIdle()
            let alarm = clock.schedule(at: due) {}
            await clock.runUntilIdle()
            clock.advance(by: .seconds(7))
            let found = try await near
            #expect(found == due)
            clock.cancel(alarm)
        }
    }

    @Test("several tasks wait, each for its own sleeper, and none for a cancelled sleeper")
    func several() async throws {
        let start = clock.now
        clock.cancel(clock.schedule(at: start + .seconds(2)) {})
        try await withThrowingTaskGroup(of: MonotonicInstant.self) { group in
            for seconds in 1...20 { group.addTask { try await clock.waitForSleeper(dueIn: .seconds(seconds)) } }
            for seconds in (1...20).reversed() { _ = clock.schedule(at: start + .seconds(seconds)) {} }
            let found = try await group.reduce(into: Set()) { $0.insert($1) }
            #expect(found == Set((1...20).map { start + .seconds($0) }))
        }
    }

    @Test("a sleeper can also be waited for in a run")
    func inRun() throws {
        let start = clock.now
        try clock.run { [clock] in
            async let slept: Void = clock.sleep(for: .seconds(30))
            try await clock.waitForSleeper(dueIn: .seconds(30))
            #expect(clock.now == start)
            try await slept
        }
        #expect(clock.now == start + .seconds(30))
    }

    @Test("a test that is cancelled while it waits is told what it waited for, and which sleepers exist")
    func missing() async throws {
        _ = clock.schedule(at: clock.now + .seconds(30)) {}
        _ = clock.schedule(at: clock.now + .milliseconds(500)) {}
        let waiting = Task { [clock] in try await clock.waitForSleeper(dueIn: .seconds(1)) }
        waiting.cancel()
        let error = await #expect(throws: ManualClock.NoSuchSleeper.self) { try await waiting.value }
        #expect(
            error?.description
                == "No sleeper due in 1.0 seconds came. The clock is at 3600.0 seconds, with sleepers due in 0.5 seconds, 30.0 seconds."
        )
        let other = Task { [clock] in try await clock.waitForSleeper { _ in false } }
        other.cancel()
        let otherError = await #expect(throws: ManualClock.NoSuchSleeper.self) { try await other.value }
        #expect(otherError?.description.hasPrefix("No sleeper that fits came.") == true)
        #expect(clock.state.withLock { $0.changeWatchers.count } == 0)
    }

    @Test("the clock's description has its time and at most 20 of its sleepers")
    func description() {
        #expect("\(clock)" == "3600.0 seconds, with no sleeper")
        for seconds in 1...25 {
            _ = clock.schedule(at: clock.now + .seconds(seconds)) {}
            if seconds == 20 { #expect("\(clock)".hasSuffix("19.0 seconds, 20.0 seconds")) }
            if seconds == 21 { #expect("\(clock)".hasSuffix("19.0 seconds, 20.0 seconds and 1 later ones")) }
        }
        #expect("\(clock)".hasSuffix("19.0 seconds, 20.0 seconds and 5 later ones"))
    }
}
