import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// A bulkhead's calls step by step: a slot keeps no old state, and a cancelled call is not measured.
@Suite struct BulkheadStepsTests {
    let clock: ManualClock
    private let core: PipelineCore

    init() {
        clock = ManualClock()
        core = PipelineCore.bare(on: clock)
    }

    /// - Returns: Whether the call is admitted; false if it waits.
    /// - Throws: The error that the call is rejected with.
    private func enter(
        _ bulkhead: Bulkhead, _ slot: inout PolicySlot, deadline: MonotonicInstant = .distantFuture
    ) throws -> Bool {
        var call = PolicyCall(core, RunOptions(deadline: deadline))
        switch bulkhead.enter(&call, &slot) {
        case .proceed: return true
        case .park: return false
        case .reject(let error): throw error
        case .sleep, .fail, .cancel: throw Outage()
        }
    }

    private func exit(_ bulkhead: Bulkhead, _ slot: inout PolicySlot, _ verdict: Verdict = .success) {
        var call = PolicyCall(core)
        _ = bulkhead.exit(&call, &slot, PolicyOutcome(verdict))
    }

    @Test("a call that timed out in the queue and is tried again waits again, and needs a permit (P4)")
    func comesAgain() throws {
        let bulkhead = Bulkhead(limit: 1, queue: 1, maxWait: .seconds(1), timeBase: clock)
        var (inside, waiting) = (PolicySlot(), PolicySlot())
        #expect(try enter(bulkhead, &inside) && !enter(bulkhead, &waiting))
        clock.advance(by: .seconds(1))
        #expect(throws: BulkheadFull.self) { try enter(bulkhead, &waiting) }
        #expect(try !enter(bulkhead, &waiting))
        #expect(bulkhead.inUse == 1 && bulkhead.queued == 1)
        exit(bulkhead, &inside)
        #expect(try enter(bulkhead, &waiting))
        exit(bulkhead, &waiting)
        #expect(bulkhead.inUse == 0)
    }

    @Test("a call cancelled as it gets a permit is not measured")
    func cancelledWithAPermit() throws {
        let bulkhead = Bulkhead(limit: 1, queue: 5, predictsWait: true, timeBase: clock)
        var (inside, waiting) = (PolicySlot(), PolicySlot())
        #expect(try enter(bulkhead, &inside) && !enter(bulkhead, &waiting))
        exit(bulkhead, &inside)
        exit(bulkhead, &waiting, .cancelled)
        #expect(bulkhead.status.estimatedWait == nil && bulkhead.inUse == 0)
    }

    @Test("a call whose deadline is the distant past is rejected, not queued")
    func longOver() throws {
        let bulkhead = Bulkhead(limit: 1, queue: 1, timeBase: clock)
        var (inside, late) = (PolicySlot(), PolicySlot())
        #expect(try enter(bulkhead, &inside))
        let error = #expect(throws: BulkheadFull.self) { try enter(bulkhead, &late, deadline: .distantPast) }
        #expect(error?.reason == .turnTooLate)
    }

    @Test(
        "a failing settings check changes no limits; a bulkhead given its own settings keeps changes made by hand"
    )
    func stays() {
        let recorder = EventRecorder()
        let bulkhead = Bulkhead(limit: 2, queue: 3, timeBase: clock, observers: PolicyObservers(recorder))
        #expect(throws: InvalidSettings.self) {
            try PolicySettings.checked {
                _ = Bulkhead(limit: 0)
                bulkhead.setLimit(7)
                bulkhead.setQueue(7)
                #expect(bulkhead.reconfigured(like: Bulkhead(limit: 9, timeBase: clock)) == nil)
            }
        }
        #expect(bulkhead.status.limit == 2 && bulkhead.status.queueLimit == 3)
        bulkhead.setLimit(7)
        #expect(bulkhead.reconfigured(like: bulkhead) === bulkhead && bulkhead.status.limit == 7)
        recorder.reset()
        _ = bulkhead.reconfigured(like: Bulkhead(limit: 5, queue: 6, timeBase: clock))
        #expect(recorder.events() == [Bulkhead.Event.limitChanged(from: 7, to: 5), .queueChanged(from: 3, to: 6)])
    }
}
