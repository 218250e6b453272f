import Foundation
import Resilience
import ResilienceBlocking
import ResilienceTesting
import TestSupport
import Testing

/// Runs work on a thread outside the concurrency pool.
@Sendable private func onThread<R: Sendable>(_ work: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}

@Suite(.timeLimit(.minutes(20)), .responsive) struct BlockingTests {
    let clock = ManualClock()
    let recorder = EventRecorder()

    private func pipeline(@PipelineBuilder _ elements: () -> [Pipeline.Element]) -> Pipeline {
        Pipeline("calls", timeBase: clock, observers: PolicyObservers(recorder), elements)
    }

    @Test("an operation runs on the calling thread, and its result, which need not be Sendable, is returned")
    func thread() async throws {
        final class Page {
            var visits = 0
        }
        let pipeline = pipeline {
            Retry()
            CircuitBreaker(timeBase: clock)
            Timeout(limit: .seconds(1))
            Bulkhead(limit: 1, timeBase: clock)
        }
        let isSame = try await onThread {
            let caller = Thread.current
            let page = Page()
            let result = try pipeline.runBlocking {
                page.visits += 1
                return (page, Thread.current === caller)
            }
            return result.0 === page && page.visits == 1 && result.1
        }
        #expect(isSame)
    }

    @Test("in a task, a blocking call throws and runs nothing: a task's thread must not be blocked")
    func task() async {
        let notes = Journal()
        #expect(throws: BlockingInTask()) { try pipeline { Retry() }.runBlocking { notes.note("ran") } }
        await Task.detached { [clock] in
            _ = #expect(throws: BlockingInTask.self) {
                try Pipeline(timeBase: clock) {}.runBlocking { notes.note("ran") }
            }
        }.value
        #expect(notes.lines.isEmpty && "\(BlockingInTask())".contains("use run there"))
    }

    @Test("a backoff blocks the thread until its end, and the next attempt uses the same thread")
    func backoff() async throws {
        let pipeline = pipeline { Retry(maxRetries: 2, backoff: .constant(.seconds(5))) }
        let notes = Journal()
        async let result = onThread {
            let caller = Thread.current
            return try pipeline.runBlocking { attempt in
                notes.note("\(attempt.number) \(Thread.current === caller)")
                if attempt.number < 3 { throw Outage() }
                return attempt.number
            }
        }
        for _ in 0..<2 {
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(5))
        }
        #expect(try await result == 3)
        #expect(notes.lines == ["1 true", "2 true", "3 true"])
    }

    @Test("the operation's errors and rejections are thrown, and a result may mean failure")
    func failures() async throws {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(2), timeBase: clock)
        let pipeline = pipeline { breaker }
        try await onThread {
            #expect(throws: Outage()) { try pipeline.runBlocking { throw Outage() } }
            let status = try pipeline.runBlocking(judging: { $0 < 500 ? .success : .transient }) { _ in 503 }
            #expect(status == 503 && breaker.status.isTripped)
            #expect(throws: CircuitOpen.self) { try pipeline.runBlocking { Issue.record("ran") } }
        }
    }

    @Test("a call waits for a permit that another thread or a task holds")
    func permits() async throws {
        let bulkhead = Bulkhead(limit: 1, queue: 9, timeBase: clock, observers: PolicyObservers(recorder))
        let pipeline = Pipeline(timeBase: clock) { bulkhead }
        let inside = try bulkhead.tryAcquire()
        let notes = Journal()
        async let first: Void = onThread { try pipeline.runBlocking { notes.note("first") } }
        await recorder.waitForEvents(1)
        async let second: Void = pipeline.run { notes.note("second") }
        await recorder.waitForEvents(2)
        async let third: Void = onThread { try pipeline.runBlocking { notes.note("third") } }
        await recorder.waitForEvents(3)
        inside.complete(.success)
        _ = try await (first, second, third)
        #expect(notes.lines == ["first", "second", "third"] && bulkhead.status.inUse == 0)
    }

    @Test("a deadline ends a wait; an operation that blocks beyond a timeout continues, and its result counts")
    func deadlines() async throws {
        let bulkhead = Bulkhead(limit: 1, queue: 9, timeBase: clock)
        let waiting = Pipeline(timeBase: clock) { bulkhead }
        let inside = try bulkhead.tryAcquire()
        async let ended: Void = onThread { [clock] in
            #expect(throws: DeadlinePassed.self) {
                try waiting.runBlocking(options: RunOptions(deadline: clock.now + .seconds(3))) { Issue.record("ran") }
            }
        }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(3))
        try await ended
        inside.complete(.success)
        let limited = pipeline { Timeout(limit: .seconds(1)) }
        try await onThread { [clock] in
            let late = try limited.runBlocking {
                clock.advance(by: .seconds(2))
                return 7
            }
            #expect(late == 7)
            let left = try limited.runBlocking { attempt in attempt.remaining(on: clock) }
            #expect(left == .seconds(1))
        }
    }

    @Test("an operation may make another blocking call, but a task made there may not")
    func nested() async throws {
        let pipeline = pipeline { Retry(maxRetries: 1, backoff: .constant(.seconds(1))) }
        let notes = Journal()
        async let outer: Task<Void, Never> = onThread {
            try pipeline.runBlocking {
                let count = try pipeline.runBlocking { attempt in
                    if attempt.number == 1 { throw Outage() }
                    return attempt.number
                }
                notes.note("inner \(count)")
                return Task {
                    do {
                        try pipeline.runBlocking { notes.note("in a task") }
                    } catch {
                        notes.note("\(type(of: error))")
                    }
                }
            }
        }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        await (try outer).value
        #expect(notes.lines == ["inner 2", "BlockingInTask"])
    }

    @Test("a call nested in another call's operation ends with that call: it stops waiting, and does not retry")
    func nestedCancellation() async throws {
        let outer = pipeline { Timeout(limit: .seconds(1)) }
        let inner = pipeline { Retry(backoff: .constant(.seconds(10))) }
        let notes = Journal()
        async let ended: Void = onThread {
            _ = #expect(throws: TimedOut.self) {
                try outer.runBlocking {
                    _ = try? inner.runBlocking {
                        notes.note("attempt")
                        throw Outage()
                    }
                    // This call is already cancelled when it begins.
                    try inner.runBlocking { notes.note("another") }
                }
            }
        }
        await clock.waitForSleepers(2)
        clock.advance(by: .seconds(1))
        try await ended
        #expect(notes.lines == ["attempt"])
    }

    @Test("the operation sees the task's local values, and obeys CallDeadline")
    func travelling() async throws {
        let pipeline = pipeline { Retry() }
        try await onThread { [clock] in
            let left = try Journal.$label.withValue("here") {
                try pipeline.runBlocking { attempt in (Journal.label, attempt.remaining(on: clock)) }
            }
            #expect(left.0 == "here" && left.1 > .seconds(1_000_000))
        }
    }

    @Test("calls of many threads and tasks share one pipeline, and every permit is returned")
    func many() async throws {
        let bulkhead = Bulkhead(limit: 3, queue: 1_000)
        let pipeline = Pipeline {
            Retry(maxRetries: 1, backoff: .none)
            bulkhead
        }
        let results = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<60 {
                group.addTask {
                    if number % 2 == 0 { return try await pipeline.run { number } }
                    return try await onThread {
                        try pipeline.runBlocking { attempt in
                            if attempt.number == 1, number % 3 == 0 { throw Outage() }
                            return number
                        }
                    }
                }
            }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        #expect(results.count == 60 && bulkhead.status.inUse == 0 && bulkhead.status.queued == 0)
    }

    @Test("each call frees the thread at once: a thousand calls run in a row")
    func thousand() async throws {
        let pipeline = pipeline { CircuitBreaker(timeBase: clock) }
        let sum = try await onThread {
            try (1...1_000).reduce(0) { sum, number in try pipeline.runBlocking { sum + number } }
        }
        #expect(sum == 500_500)
    }
}

extension Journal {
    @TaskLocal static var label = "nowhere"
}
