import Resilience
import ResilienceTesting
import Testing

// C2
@Suite(.timeLimit(.minutes(20))) struct EventRecorderTests {
    let recorder = EventRecorder()

    enum Knock: PolicyEventDetail, Equatable {
        case once
        case times(Int)

        var description: String { "knock" }
    }

    struct Ring: PolicyEventDetail, Equatable {
        var description: String { "ring" }
    }

    @Test("every event is recorded, in order, with its source")
    func order() {
        send(.once, from: "a")
        recorder.receive(event(Ring(), from: "b"))
        send(.times(2), from: "c")
        #expect(recorder.events.map(\.policy) == ["a", "b", "c"])
        #expect(recorder.events(of: Knock.self) == [.once, .times(2)])
        #expect(recorder.events(of: Ring.self) == [Ring()])
    }

    @Test("one event can be found, and matching events can be counted")
    func finding() {
        for number in 1...4 { send(.times(number)) }
        #expect(recorder.first(Knock.self) == .times(1))
        #expect(recorder.first { $0 == Knock.times(3) } == .times(3))
        #expect(recorder.first(Ring.self) == nil)
        #expect(recorder.count(Knock.self) == 4)
        #expect(recorder.count { $0 != Knock.times(1) } == 3)
    }

    @Test("events listed in any order must all occur, each as often as it is listed")
    func allOf() {
        send(.times(1))
        send(.once)
        send(.times(1))
        #expect(recorder.contains(allOf: [Knock.once, .times(1), .times(1)]))
        #expect(recorder.contains(allOf: [Knock]()))
        #expect(!recorder.contains(allOf: [Knock.once, .once]))
        #expect(!recorder.contains(allOf: [Knock.times(2)]))
    }

    @Test("events that are listed in order must occur in that order, perhaps with other events between them")
    func inOrder() {
        for number in 1...4 { send(.times(number)) }
        #expect(recorder.contains(inOrder: [Knock.times(1), .times(3), .times(4)]))
        #expect(!recorder.contains(inOrder: [Knock.times(3), .times(1)]))
        #expect(!recorder.contains(inOrder: [Knock.times(4), .times(4)]))
    }

    @Test("waiting for events returns when enough have come, or at once if they already have")
    func waiting() async {
        async let waited: Void = recorder.waitForEvents(2)
        send(.once)
        send(.once)
        await waited
        await recorder.waitForEvents(1)
    }

    @Test("reset removes everything")
    func reset() {
        send(.once)
        recorder.reset()
        #expect(recorder.events.isEmpty)
        send(.times(1))
        #expect(recorder.events(of: Knock.self) == [.times(1)])
    }

    @Test("the recorder observes policies and pipelines")
    func observing() async throws {
        let throttle = Throttle(limit: .perSecond(1), timeBase: ManualClock(), observers: PolicyObservers(recorder))
        let ofPipeline = EventRecorder()
        let pipeline = Pipeline("p", observers: PolicyObservers(ofPipeline)) { throttle }
        try await pipeline.run {}
        await #expect(throws: ThrottleExceeded.self) { try await pipeline.run {} }
        #expect(recorder.events(of: Throttle.Event.self) == [.rejected(retryAfter: .seconds(1))])
        #expect(
            ofPipeline.events.map(\.description) == [
                "[p/call] attempt 1 succeeded after 0 s", "[p/call] succeeded after 0 s, 1 attempt",
                "[p/throttle] rejecting call (retry in 1 s)",
                "[p/call] rejected after 0 s, 0 attempts: ThrottleExceeded (throttle)",
            ])
    }

    private func event(_ detail: some PolicyEventDetail, from policy: String) -> PolicyEvent {
        PolicyEvent(policy: policy, pipeline: nil, time: MonotonicInstant(nanoseconds: 0), detail: detail)
    }

    private func send(_ knock: Knock, from policy: String = "door") { recorder.receive(event(knock, from: policy)) }
}
