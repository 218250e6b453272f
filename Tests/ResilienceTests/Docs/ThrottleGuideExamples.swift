import Resilience
import TestSupport
import Testing

/// The code of Sources/Resilience/Resilience.docc/ThrottleGuide.md, as it stands there.
@Suite struct ThrottleGuideExamples {
    private struct Client: Sendable {
        func activities() async throws {}
        func export() async throws {}
    }

    private let client = Client()

    @Test("the throttle guide's example")
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
            Throttle(limit: .slidingWindow(100, per: .seconds(60))),  // never more than 100 in any minute
            Throttle(limit: .fixedWindow(100, per: .seconds(60))),  // as a server counts that starts anew each minute
            Throttle(limit: .unlimited, holdOnThrottled: true),  // a gate: no rate of its own; a 429 holds everybody
        ]
        #expect(others.map(\.status.available) == [100, 100, .max])

        throttle.setRate(.perSecond(5), burst: 10)  // those who wait keep their places, their turns move
        throttle.hold(for: .seconds(30))  // everybody waits, then one probes
        throttle.endHold()  // the next call probes, now
        throttle.reset()  // as new; those who wait go on
        let status = throttle.status  // what is free, when the next may go, who waits
        #expect(status.available == 10)
    }
}
