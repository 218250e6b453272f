import Resilience
import ResilienceTesting
import TestSupport
import Testing

/// The operation runs in the caller's isolation: it uses the caller's actor synchronously, captures a local `var` and
/// non-`Sendable` objects, and returns such an object.
@Suite(.timeLimit(.minutes(20))) struct IsolationTests {
    let clock = ManualClock()

    /// Not `Sendable`.
    final class Notes {
        var lines = 0
    }

    enum Guards: String, CaseIterable, CustomTestStringConvertible {
        case retry, breaker, throttle, bulkhead, timeout, all

        var testDescription: String { rawValue }

        /// A pipeline that retries after five seconds around the policy, so that the call waits.
        func pipeline(on clock: ManualClock) -> Pipeline {
            Pipeline(timeBase: clock) {
                Retry(maxRetries: 1, backoff: .constant(.seconds(5)))
                if self == .breaker || self == .all { CircuitBreaker(timeBase: clock) }
                if self == .throttle || self == .all { Throttle(limit: .perSecond(10), timeBase: clock) }
                if self == .bulkhead || self == .all { Bulkhead(limit: 1, queue: 1, timeBase: clock) }
                if self == .timeout || self == .all { Timeout(limit: .seconds(60)) }
            }
        }
    }

    actor Ledger {
        var total = 0
        let notes = Notes()
        let elsewhere = Elsewhere()

        func add(through pipeline: Pipeline) async throws -> Bool {
            var attempts = 0
            let notes = self.notes
            let result = try await pipeline.run {
                self.assertIsolated()
                attempts += 1
                total += 1
                notes.lines += 1
                if attempts == 1 { throw Outage() }
                await elsewhere.visit()
                self.assertIsolated()
                return notes
            }
            self.assertIsolated()
            return result === notes && notes.lines == 2 && attempts == 2 && total == 2
        }

        func add(through policy: some Policy) async throws -> Bool {
            var attempts = 0
            let notes = self.notes
            let result = try await policy.run {
                self.assertIsolated()
                attempts += 1
                total += 1
                notes.lines += 1
                return notes
            }
            self.assertIsolated()
            return result === notes && attempts == 1 && total == 1
        }
    }

    @Test("called from an actor, the operation runs on it, even after a retry's wait", arguments: Guards.allCases)
    func fromActor(guards: Guards) async throws {
        async let added = Ledger().add(through: guards.pipeline(on: clock))
        try await endRetryWait()
        #expect(try await added)
    }

    @MainActor
    @Test("called from the main actor, the operation runs on it, even after a retry's wait", arguments: Guards.allCases)
    func fromMainActor(guards: Guards) async throws {
        let pipeline = guards.pipeline(on: clock)
        var attempts = 0
        let notes = Notes()
        async let moved: Void = endRetryWait()
        let result = try await pipeline.run {
            MainActor.assertIsolated()
            attempts += 1
            notes.lines += 1
            if attempts == 1 { throw Outage() }
            await Elsewhere().visit()
            MainActor.assertIsolated()
            return notes
        }
        try await moved
        #expect(result === notes && notes.lines == 2 && attempts == 2)
    }

    @Test(
        "called without an actor, the operation captures a var and a non-Sendable object and returns one",
        arguments: Guards.allCases)
    func nonisolated(guards: Guards) async throws {
        let pipeline = guards.pipeline(on: clock)
        var attempts = 0
        let notes = Notes()
        async let moved: Void = endRetryWait()
        let result = try await pipeline.run {
            attempts += 1
            notes.lines += 1
            if attempts == 1 { throw Outage() }
            await Elsewhere().visit()
            return notes
        }
        try await moved
        #expect(result === notes && notes.lines == 2 && attempts == 2)
    }

    @Test("a policy used alone runs the operation on the caller's actor")
    func alone() async throws {
        #expect(try await Ledger().add(through: Retry()))
        #expect(try await Ledger().add(through: CircuitBreaker()))
        #expect(try await Ledger().add(through: Throttle(limit: .perSecond(1))))
        #expect(try await Ledger().add(through: Bulkhead(limit: 1)))
    }

    @Test("a call that was parked in a bulkhead's queue runs its operation on the caller's actor")
    func afterParking() async throws {
        let recorder = EventRecorder()
        let bulkhead = Bulkhead(limit: 1, queue: 1, timeBase: clock, observers: PolicyObservers(recorder))
        let permit = try bulkhead.tryAcquire()
        async let added = Ledger().add(through: bulkhead)
        await recorder.waitForEvents(1)
        permit.complete(.success)
        #expect(try await added)
    }

    @MainActor
    @Test("a call that slept for its turn in a throttle runs its operation on the main actor")
    func afterSleeping() async throws {
        let throttle = Throttle(limit: .perSecond(1), maxWait: .seconds(1), timeBase: clock)
        try throttle.tryAcquire().complete(.success)
        async let moved: Void = endWait(.seconds(1))
        try await throttle.run { MainActor.assertIsolated() }
        try await moved
    }

    @concurrent private func endRetryWait() async throws { try await endWait(.seconds(5)) }

    @concurrent private func endWait(_ wait: Duration) async throws {
        try await clock.waitForSleeper(dueIn: wait)
        clock.advance(by: wait)
    }
}
