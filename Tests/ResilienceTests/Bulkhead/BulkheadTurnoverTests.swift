import ResilienceTesting
import Testing

@testable import Resilience

/// The `retryAfter` of rejected calls if no call waits.
@Suite struct BulkheadTurnoverTests {
    let clock = ManualClock()

    @Test("a bulkhead without a queue reports a wait once a permit has come back after a rejection")
    func rejectionsTellAWait() throws {
        let bulkhead = Bulkhead(limit: 2, timeBase: clock)
        func rejected() -> Duration? {
            let error = #expect(throws: BulkheadFull.self) { _ = try bulkhead.tryAcquire() }
            #expect(bulkhead.forecast().outcome == .isRejected(retryAfter: error?.retryAfter))
            return error?.retryAfter
        }
        let first = try bulkhead.tryAcquire()
        let second = try bulkhead.tryAcquire()
        // Nothing is measured yet.
        #expect(rejected() == nil)
        clock.advance(by: .milliseconds(400))
        first.complete(.success)
        let third = try bulkhead.tryAcquire()
        #expect(rejected() == .milliseconds(400))
        #expect(bulkhead.status.estimatedWait == nil)
        clock.advance(by: .milliseconds(1200))
        second.complete(.success)
        third.complete(.success)
        let fourth = try bulkhead.tryAcquire()
        let fifth = try bulkhead.tryAcquire()
        #expect(rejected() == .milliseconds(500))
        fourth.complete(.success)
        fifth.complete(.success)
    }

    @Test("a bulkhead that does not predict waits gives no retryAfter")
    func predictsNothing() throws {
        let bulkhead = Bulkhead(limit: 1, predictsWait: false, timeBase: clock)
        for _ in 0..<2 {
            let call = try bulkhead.tryAcquire()
            let error = #expect(throws: BulkheadFull.self) { _ = try bulkhead.tryAcquire() }
            #expect(error?.retryAfter == nil)
            clock.advance(by: .seconds(1))
            call.complete(.success)
        }
    }

    @Test(
        "after a call that hung for an hour, the reported wait is much shorter than an hour", arguments: [false, true])
    func hungCall(wasBusy: Bool) throws {
        let bulkhead = Bulkhead(limit: 1, timeBase: clock)
        func told(after time: Duration) throws -> Duration? {
            let permit = try bulkhead.tryAcquire()
            let error = #expect(throws: BulkheadFull.self) { _ = try bulkhead.tryAcquire() }
            clock.advance(by: time)
            permit.complete(.success)
            return error?.retryAfter
        }
        if wasBusy { _ = try told(after: .milliseconds(20)) }
        _ = try told(after: .seconds(3600))
        let next = try #require(try told(after: .milliseconds(20)))
        #expect(next <= (wasBusy ? .milliseconds(60) : .seconds(16)))
        if !wasBusy { #expect(try told(after: .milliseconds(20)) == .milliseconds(20)) }
        // If many calls stay for an hour, the reported wait approaches an hour.
        for _ in 0..<60 { _ = try told(after: .seconds(3600)) }
        #expect(try #require(try told(after: .zero)) > .seconds(3000))
    }
}
