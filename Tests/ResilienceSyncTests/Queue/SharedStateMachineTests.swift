import Foundation
import Resilience
import Testing

@testable import ResilienceSync

/// The machine's reaction to other queues that send from the same store at the same time.
@Suite struct SharedStateMachineTests {
    private var talk = SyncConversation(isShared: true)
    private let a = LaneHead(1, "a")

    @Test(
        "a claim rejected because of another queue's pause makes the machine read the pause and end the round with it"
    )
    mutating func otherPause() {
        talk.heads = [a]
        _ = talk.machine.triggered(at: talk.now)
        #expect(talk.next() == .apply([], claiming: [1]))
        talk.machine.otherPause()
        let requests = talk.machine.applied([], at: talk.now)
        #expect(requests.isEmpty)
        #expect(talk.machine.next(at: talk.now) == .readPause)
        talk.machine.pauseRead(left: .seconds(60), at: talk.now)
        let end = talk.finish()?.end
        #expect(end == .paused(until: talk.now + .seconds(60)))
        #expect(talk.events.isEmpty, "the other has told of it")
    }

    @Test("a round ends only after the requests in flight have ended and are settled")
    mutating func inFlight() {
        let request = talk.send(a)[0]
        talk.machine.otherPause()
        #expect(talk.machine.next(at: talk.now) == .readPause)
        talk.machine.pauseRead(left: .seconds(60), at: talk.now)
        #expect(talk.next() == .wait(until: talk.now + .seconds(60)))
        talk.end(request, nil)
        let course = talk.course()
        #expect(course.changes == [.acknowledged(1)])
        #expect(course.last == .end(.paused(until: talk.now + .seconds(60))))
    }

    @Test("a pause that has ended meanwhile stops nothing")
    mutating func gone() {
        talk.heads = [a]
        _ = talk.machine.triggered(at: talk.now)
        #expect(talk.next() == .apply([], claiming: [1]))
        talk.machine.otherPause()
        _ = talk.machine.applied([], at: talk.now)
        #expect(talk.machine.next(at: talk.now) == .readPause)
        talk.machine.pauseRead(left: nil, at: talk.now)
        #expect(talk.next() == .apply([], claiming: [1]))
    }

    @Test("mutations that came after the last look, and that the count finds for this queue, are sent")
    mutating func comesLate() {
        _ = talk.machine.triggered(at: talk.now)
        #expect(talk.next() == .countPending)
        talk.machine.counted(SyncStateMachine.Rest(pending: 1, heads: 1), at: talk.now)
        guard case .look = talk.machine.next(at: talk.now) else {
            Issue.record("it does not look again")
            return
        }
    }

    @Test(
        "if nothing is left for this queue, the round's end depends on whether other queues have the rest",
        arguments: [true, false])
    mutating func others(others: Bool) {
        _ = talk.machine.triggered(at: talk.now)
        #expect(talk.next() == .countPending)
        talk.machine.counted(SyncStateMachine.Rest(othersHaveHeads: others), at: talk.now)
        let end = talk.finish()?.end
        #expect(end == (others ? .lockedOut(retryAt: talk.now + .seconds(1)) : .drained))
    }
}
