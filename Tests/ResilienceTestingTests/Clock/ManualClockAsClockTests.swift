import Resilience
import ResilienceTesting
import TestSupport
import Testing

/// The manual clock in code that does not know this package, but takes a `Clock`.
// C4
@Suite(.timeLimit(.minutes(20))) struct ManualClockAsClockTests {
    let clock = ManualClock()

    /// Asks every ten seconds until the answer is true.
    private static func poll(_ clock: some Clock<Duration>, _ isDone: () async throws -> Bool) async throws {
        while try await !isDone() { try await clock.sleep(for: .seconds(10)) }
    }

    /// The same as above, for an unknown clock type.
    private struct Poller: Sendable {
        let clock: any Clock<Duration>

        func poll(_ isDone: () async throws -> Bool) async throws {
            while try await !isDone() { try await clock.sleep(for: .seconds(10), tolerance: .seconds(5)) }
        }
    }

    @Test("generic code that sleeps on any clock takes no real time in a run, and wakes exactly on time")
    func generic() throws {
        let start = clock.now
        let answers = ScriptedOperation<Void, Bool>([.success(false), .success(false)], fallback: .success(true))
        try clock.run { [clock] in try await Self.poll(clock) { try await answers() } }
        #expect(start.duration(to: clock.now) == .seconds(20))
        answers.enqueue(.success(false))
        let poller = Poller(clock: clock)
        try clock.run { try await poller.poll { try await answers() } }
        #expect(start.duration(to: clock.now) == .seconds(30))
    }

    @Test("a policy and other code share one time, and wake in order")
    func shared() throws {
        let order = Notes<String>()
        let fetch = ScriptedOperation<Void, Void>([.failure(Outage())], fallback: .success(()))
        let pipeline = Pipeline(timeBase: clock) { Retry(maxRetries: 1, backoff: .constant(.seconds(15))) }
        try clock.run { [clock] in
            async let page: Void = pipeline.run {
                order.note("fetch")
                try await fetch()
            }
            for _ in 0..<3 {
                try await clock.sleep(for: .seconds(10))
                order.note("tick")
            }
            try await page
        }
        #expect(order.all == ["fetch", "tick", "fetch", "tick", "tick"])
    }

    @Test("outside a run a sleep ends only when the test moves time")
    func byHand() async throws {
        let end = clock.now + .seconds(10)
        let woken = Task { [clock] in
            try await clock.sleep(until: end)
            return clock.now
        }
        await clock.waitForSleepers(1)
        #expect(clock.sleepers == [end])
        clock.advance(by: .nanoseconds(9_999_999_999))
        #expect(clock.sleepers == [end])
        clock.advance(by: .nanoseconds(1))
        #expect(try await woken.value == end)
    }

    @Test("a sleep to now or to the past ends at once, inside and outside a run, and moves no time")
    func past() async throws {
        let start = clock.now
        let deadlines = [start, start + .nanoseconds(-1), .distantPast]
        for deadline in deadlines {
            try await clock.sleep(until: deadline)
            try await clock.sleep(until: deadline, tolerance: .seconds(1))
        }
        try await clock.sleep(for: .seconds(-1))
        try clock.run { [clock] in
            for deadline in deadlines { try await clock.sleep(until: deadline) }
            try await clock.sleep(for: Duration(attoseconds: .min))
        }
        #expect(clock.now == start && clock.sleepers.isEmpty)
    }

    @Test("in a run a loop that sleeps for zero time lets the other tasks continue")
    func noTime() throws {
        let isDone = Notes<Bool>()
        try clock.run { [clock] in
            async let polled: Void = { while isDone.all.isEmpty { try await clock.sleep(for: .zero) } }()
            _ = Task { isDone.note(true) }
            try await polled
        }
        #expect(isDone.all == [true])
    }

    @Test("a cancelled sleep throws CancellationError and leaves no sleeper behind, whenever it is cancelled")
    func cancelled() async {
        let sleeping = Task { [clock] in try await clock.sleep(for: .seconds(10)) }
        await clock.waitForSleepers(1)
        sleeping.cancel()
        await #expect(throws: CancellationError.self) { try await sleeping.value }
        let deadlines = [MonotonicInstant.distantPast, clock.now, clock.now + .seconds(1), .distantFuture]
        for deadline in deadlines {
            let before = Task { [clock] in
                withUnsafeCurrentTask { $0?.cancel() }
                try await clock.sleep(until: deadline)
            }
            await #expect(throws: CancellationError.self) { try await before.value }
        }
        #expect(clock.sleepers.isEmpty)
    }

    @Test(
        "a sleep beyond the end of time does not trap, and ends only by cancellation",
        arguments: [.seconds(Int64.max), .nanoseconds(Int64.max), Duration(attoseconds: .max)] as [Duration])
    func huge(duration: Duration) async throws {
        let sleeping = Task { [clock] in try await clock.sleep(for: duration) }
        let run = ManualClock()
        #expect(throws: ManualClock.RunFailure.everybodyWaits) { try run.run { try await run.sleep(for: duration) } }
        clock.advance(by: duration)
        sleeping.cancel()
        await #expect(throws: CancellationError.self) { try await sleeping.value }
    }

    @Test("measurements on the clock use its own time")
    func measured() throws {
        let elapsed = try clock.run { [clock] in
            try await clock.measure { try await clock.sleep(for: .milliseconds(1_500)) }
        }
        #expect(elapsed == .milliseconds(1_500))
        #expect(clock.minimumResolution == .nanoseconds(1))
    }

}
