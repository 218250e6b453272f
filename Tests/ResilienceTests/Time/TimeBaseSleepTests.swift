import Resilience
import Testing

/// Sleeps on the real time base. Tests of longer times use a manual clock.
@Suite(.timeLimit(.minutes(20))) struct TimeBaseSleepTests {
    let base: any TimeBase = .system

    @Test("a sleep on the system's time base never ends before its deadline")
    func real() async throws {
        let deadline = base.now + .milliseconds(2)
        try await base.sleep(until: deadline)
        #expect(base.now >= deadline)
        let later = base.now + .milliseconds(1)
        try await base.sleep(for: .milliseconds(1))
        #expect(base.now >= later)
    }

    @Test(
        "a sleep into the past ends at once",
        arguments: [MonotonicInstant.distantPast, MonotonicInstant(nanoseconds: 0)])
    func past(deadline: MonotonicInstant) async throws {
        try await base.sleep(until: deadline)
        try await base.sleep(for: .seconds(-3))
    }

    @Test("cancelling a very long sleep ends it with a CancellationError")
    func cancelled() async {
        for duration in [Duration.seconds(3_600), .seconds(Int64.max), Duration(attoseconds: .max)] {
            let sleeping = Task { [base] in try await base.sleep(for: duration) }
            sleeping.cancel()
            await #expect(throws: CancellationError.self) { try await sleeping.value }
        }
    }

    @Test("the system's time base can be used as any clock")
    func anyClock() async throws {
        func measured(on clock: any Clock<Duration>) async throws -> Duration {
            try await clock.measure { try await clock.sleep(for: .milliseconds(1)) }
        }
        #expect(try await measured(on: SystemTimeBase.shared) >= .milliseconds(1))
    }
}
