import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

@Suite(.timeLimit(.minutes(20))) struct CallDeadlineTests {
    let clock = ManualClock()
    let operation = ScriptedOperation<Int, Int>(fallback: .success(7))

    private func pipeline(_ name: String = "calls", @PipelineBuilder _ elements: () -> [Pipeline.Element] = { [] })
        -> Pipeline
    {
        Pipeline(name, timeBase: clock, elements)
    }

    @Test("a deadline reaches every pipeline below, even in child tasks, and cancels running operations")
    func reaches() throws {
        let (first, second) = (pipeline("first"), pipeline("second") { Retry() })
        operation.hold()
        let start = clock.now
        let errors = try clock.run { [clock, operation] in
            await CallDeadline(after: .seconds(2), on: clock).run {
                async let one = first.run { try await operation(1) }
                async let two = second.run { try await operation(2) }
                var errors: [any Error] = []
                do { _ = try await one } catch { errors.append(error) }
                do { _ = try await two } catch { errors.append(error) }
                return errors
            }
        }
        #expect(errors.compactMap { ($0 as? TimedOut)?.policy } == ["deadline", "deadline"])
        #expect(start.duration(to: clock.now) == .seconds(2) && operation.running == 0)
    }

    @Test("a deadline also applies to a single policy and to work admitted by hand")
    func alone() throws {
        let breaker = CircuitBreaker(timeBase: clock)
        operation.hold()
        let error = #expect(throws: TimedOut.self) {
            try clock.run { [clock, operation] in
                try await CallDeadline(after: .seconds(2), on: clock).run {
                    try await breaker.run { try await operation(1) }
                }
            }
        }
        #expect(error?.limit == .seconds(2))
        let pipeline = pipeline { breaker }
        let (deadline, end) = try clock.run { [clock] in
            let end = clock.now + .seconds(2)
            let deadline = try await CallDeadline(at: end, on: clock).run {
                let permit = try await pipeline.acquire()
                let deadline = permit.deadline
                permit.complete(.success)
                return deadline
            }
            return (deadline, end)
        }
        #expect(deadline == end)
    }

    @Test(
        "a call whose deadline has passed is rejected before any work, with an event",
        arguments: [0, -1, -1_000_000])
    func over(seconds: Int) async throws {
        let recorder = EventRecorder()
        let breaker = CircuitBreaker(timeBase: clock)
        let pipeline = Pipeline("calls", observers: PolicyObservers(recorder)) { breaker }
        await #expect(throws: DeadlinePassed.self) {
            try await CallDeadline(after: .seconds(seconds), on: clock).run {
                try await pipeline.run { try await operation(1) }
            }
        }
        await #expect(throws: DeadlinePassed.self) {
            try await CallDeadline(after: .seconds(seconds), on: clock).run {
                try await pipeline.acquire().complete(.success)
            }
        }
        #expect(operation.callCount == 0)
        let rejected = Pipeline.Event.rejected(took: .zero, attempts: 0)
        #expect(recorder.events(of: Pipeline.Event.self) == [rejected, rejected])
    }

    @Test("of nested deadlines and the caller's own deadline, the earliest counts")
    func earlier() throws {
        let (clock, pipeline) = (clock, pipeline())
        let seen = try clock.run {
            var seen: [Duration?] = []
            try await CallDeadline(after: .seconds(5), on: clock).run {
                try await CallDeadline(after: .seconds(9), on: clock).run {
                    seen.append(CallDeadline.current?.remaining)
                    try await pipeline.run(options: RunOptions(deadline: clock.now + .seconds(3))) { attempt in
                        seen.append(attempt.remaining(on: clock))
                    }
                    try await pipeline.run(options: RunOptions(deadline: clock.now + .seconds(30))) { attempt in
                        seen.append(attempt.remaining(on: clock))
                    }
                }
                try await CallDeadline(after: .seconds(1), on: clock).run {
                    try await pipeline.run { seen.append($0.remaining(on: clock)) }
                }
                seen.append(CallDeadline.current?.remaining)
            }
            seen.append(CallDeadline.current?.remaining)
            return seen
        }
        #expect(seen == [.seconds(5), .seconds(3), .seconds(5), .seconds(1), .seconds(5), nil])
    }

    @Test("a timeout or a call's own deadline makes the deadline earlier for pipelines inside the operation")
    func narrowed() throws {
        let (clock, inner) = (clock, pipeline("inner"))
        let outer = pipeline("outer") { Timeout(limit: .seconds(2)) }
        let seen = try clock.run {
            var seen: [Duration] = []
            try await CallDeadline(after: .seconds(5), on: clock).run {
                try await outer.run { try await inner.run { seen.append($0.remaining(on: clock)) } }
                try await inner.run(options: RunOptions(deadline: clock.now + .seconds(3))) {
                    try await inner.run { seen.append($0.remaining(on: clock)) }
                }
                try await inner.run { seen.append($0.remaining(on: clock)) }
            }
            return seen
        }
        #expect(seen == [.seconds(2), .seconds(3), .seconds(5)])
    }

    @Test("a timeout does not start a travelling deadline, so pipelines inside need no task of their own")
    func none() throws {
        let (clock, inner) = (clock, pipeline("inner"))
        let outer = pipeline("outer") { Timeout(limit: .seconds(2)) }
        let seen = try clock.run {
            try await outer.run { try await inner.run { ($0.deadline, CallDeadline.current == nil) } }
        }
        #expect(seen.0 == .distantFuture && seen.1)
    }

    @Test("for a deadline on another time base, the remaining time counts, not the clock reading")
    func otherBase() throws {
        let (clock, other) = (clock, ManualClock())
        other.advance(by: .seconds(1_000))
        let pipeline = pipeline()
        let left = try clock.run {
            try await CallDeadline(after: .seconds(2), on: other).run {
                try await pipeline.run { $0.remaining(on: clock) }
            }
        }
        #expect(left == .seconds(2))
    }

    @Test("a deadline beyond 292 years does not limit a call, and no extreme value traps")
    func ends() async throws {
        for duration in [Duration.infinite, .seconds(Int64.max), .nanoseconds(Int64.max)] {
            let deadline = CallDeadline(after: duration, on: clock)
            #expect(deadline.remaining == .infinite)
            let seen = try await deadline.run { try await pipeline().run { $0.deadline } }
            #expect(seen == .distantFuture)
        }
        for duration in [Duration.seconds(Int64.min), .nanoseconds(Int64.min), .zero] {
            #expect(CallDeadline(after: duration, on: clock).remaining == .zero)
        }
    }

    @Test("the work runs in its caller's isolation, and may return a non-Sendable value")
    @MainActor func isolation() async throws {
        final class Page {}
        var visits = 0
        let page = try await CallDeadline(after: .seconds(2), on: clock).run {
            visits += 1
            return try await pipeline().run {
                visits += 1
                return Page()
            }
        }
        #expect(visits == 2 && type(of: page) == Page.self)
    }

    @Test("a call leaves a bulkhead's queue at the deadline, and a retry does not sleep beyond it")
    func waits() throws {
        let bulkhead = Bulkhead(limit: 1, queue: 4, timeBase: clock)
        let permit = try bulkhead.tryAcquire()
        let start = clock.now
        let waiting = pipeline { bulkhead }
        #expect(throws: DeadlinePassed.self) {
            try clock.run { [clock] in
                try await CallDeadline(after: .seconds(2), on: clock).run { try await waiting.run {} }
            }
        }
        permit.complete(.success)
        #expect(bulkhead.queued == 0 && bulkhead.inUse == 0 && start.duration(to: clock.now) == .seconds(2))
        let retrying = pipeline { Retry(maxRetries: 3, backoff: .constant(.seconds(10))) }
        let again = clock.now
        #expect(throws: Outage.self) {
            try clock.run { [clock] in
                try await CallDeadline(after: .seconds(2), on: clock).run { try await retrying.run { throw Outage() } }
            }
        }
        #expect(again.duration(to: clock.now) == .zero)
    }
}
