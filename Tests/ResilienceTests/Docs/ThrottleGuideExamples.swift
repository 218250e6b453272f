import Resilience
import TestSupport
import Testing

/// The code of Sources/Resilience/Resilience.docc/ThrottleGuide.md, word for word.
@Suite struct ThrottleGuideExamples {
    private struct Client: Sendable {
        func activities() async throws {}
        func export() async throws {}
    }

    private let client = Client()

    @Test("the throttle guide's throttles are made, run and changed")
    func example() async throws {
        let throttle = Throttle(
            limit: .perSecond(10, burst: 20), maxWait: .seconds(5),
            holdOnThrottled: true, ramp: .seconds(30))
        try await throttle.run { try await client.activities() }
        try await throttle.run(options: RunOptions(cost: 5)) {
            try await client.export()
        }
        #expect(throttle.status.available >= 14)

        let others = [
            Throttle(limit: .slidingWindow(100, per: .seconds(60))),  // at most 100 in any minute
            Throttle(limit: .fixedWindow(100, per: .seconds(60))),  // at most 100 in each window of a minute
            Throttle(limit: .unlimited, holdOnThrottled: true),  // a gate: no rate of its own; a 429 holds all calls
        ]
        #expect(others.map(\.status.available) == [100, 100, .max])

        throttle.setRate(.perSecond(5), burst: 10)  // waiting calls keep their places; their turns move
        throttle.hold(for: .seconds(30))  // all calls wait, then one probes
        throttle.endHold()  // the next call probes, now
        throttle.reset()  // as new; waiting calls go on
        let status = throttle.status  // what is free, when the next call may go, how many wait
        #expect(status.available == 10)
    }
}
