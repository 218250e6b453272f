import Resilience
import ResilienceTesting
import TestSupport
import Testing

@testable import ResilienceSync

/// The whole queue, and a server that closed twice.
@Suite(.timeLimit(.minutes(20))) struct ResumeTests {
    private static let length = Duration.seconds(3600)

    private final class ClosedTwice: Sendable {
        private let state = Locked((server: ClosedTwiceServer(for: length, andOpenFor: 2), admitted: 0))

        var admitted: Int { state.withLock { $0.admitted } }

        func admits(at now: MonotonicInstant) -> Bool {
            state.withLock { state in
                guard state.server.admits(at: now) else { return false }
                state.admitted += 1
                return true
            }
        }
    }

    private let clock = ManualClock()
    private let server = ClosedTwice()

    private func queue() -> SyncQueue {
        let start = clock.now
        return SyncQueue(store: MemoryStore(), pipeline: Pipeline(timeBase: clock) {}) { [clock, server] _ in
            _ = await PolicyWaiter().wait(until: clock.now + .milliseconds(20), on: clock)
            let now = MonotonicInstant(nanoseconds: 0) + start.duration(to: clock.now)
            guard server.admits(at: now) else { throw Refusal.throttled(retryAfter: Self.length) }
        }
    }

    @Test(
        "after two waits of an hour with two requests between, a resume by hand sends all the rest",
        arguments: [false, true])
    func resumed(keepingGrowth: Bool) throws {
        let queue = queue()
        try clock.run {
            try await queue.enqueue(Mutation.many(100))
            queue.trigger()
            _ = await PolicyWaiter().wait(until: clock.now + .seconds(7300), on: clock)
            let before = server.admitted
            #expect(before < 10 && queue.rate != nil)
            try await queue.resume(keepingGrowth: keepingGrowth)
            _ = await PolicyWaiter().wait(until: clock.now + .seconds(10), on: clock)
            // A resume that keeps the found rate still sends one.
            #expect(server.admitted == (keepingGrowth ? before + 1 : 100))
            #expect((queue.rate == nil) == !keepingGrowth)
            await queue.stop()
        }
    }

    @Test("without a resume, 500 mutations take six hours, not seventeen")
    func byItself() throws {
        let queue = queue()
        let start = clock.now
        try clock.run {
            try await queue.enqueue(Mutation.many(500))
            let report = try await queue.drain()
            #expect(report.delivered == 500)
        }
        #expect(start.duration(to: clock.now) <= Self.length * 6)
    }
}
