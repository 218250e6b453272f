import Testing

@testable import Resilience
@testable import ResilienceTraffic

@Suite struct LimitAlgorithmTests {
    private func window(_ limit: Double, _ latency: Double, isBusy: Bool = true) -> LimitWindow {
        LimitWindow(limit: limit, latency: .seconds(latency), baseline: .seconds(1), isBusy: isBusy)
    }

    @Test("AIMD doubles the limit until the first overload, then adds to it")
    func aimd() {
        var limit = AIMDLimit(increase: 2, decrease: 0.5)
        #expect(!limit.usesBaseline)
        #expect(limit.limit(after: window(10, 1)) == 20)
        #expect(limit.limit(after: window(10, 5)) == 20)
        #expect(limit.limit(after: window(10, 1, isBusy: false)) == 10)
        #expect(limit.limitAfterOverload(20) == 10)
        #expect(limit.limit(after: window(10, 1)) == 12)
    }

    @Test("a gradient lowers the limit until no queue forms, by at most half at a time")
    func gradientFalls() {
        var limit = GradientLimit(tolerance: 0.1)
        #expect(limit.usesBaseline)
        #expect(limit.limit(after: window(30, 1.5)) == 20)
        #expect(limit.limit(after: window(30, 1.5, isBusy: false)) == 20)
        #expect(limit.limit(after: window(30, 10)) == 15)
        #expect(limit.limitAfterOverload(30) == 27)
    }

    @Test("a gradient's limit grows faster and faster, but near the last queue only by a twentieth")
    func gradientGrows() {
        var limit = GradientLimit(tolerance: 0.1)
        #expect(limit.limit(after: window(10, 1)) == 20)
        #expect(limit.limit(after: window(10, 1)) == 20)
        #expect(limit.limit(after: window(10, 1, isBusy: false)) == 10)
        // A queue at 100.
        #expect(limit.limit(after: window(100, 2)) == 50)
        #expect(limit.limit(after: window(40, 1.09)) == 42)
        #expect(limit.limit(after: window(40, 1)) == 44)
        #expect(limit.limit(after: window(40, 1)) == 48)
        #expect(limit.limit(after: window(80, 1)) == 84)
        #expect(limit.limit(after: window(120, 1)) == 126)
        // Beyond the queue.
        #expect(limit.limit(after: window(200, 1)) == 220)
        #expect(limit.limit(after: window(200, 1)) == 240)
        // A small limit grows by one.
        #expect(limit.limit(after: window(100, 2)) == 50)
        #expect(limit.limit(after: window(2, 1)) == 3)
        // An overload counts like a queue.
        #expect(limit.limitAfterOverload(100) == 90)
        #expect(limit.limit(after: window(40, 1)) == 42)
    }

    @Test(
        "Vegas doubles the limit until a queue shows, then moves it in steps of a twentieth to where a few calls wait")
    func vegas() {
        var limit = VegasLimit(queue: 0.05...0.1)
        #expect(limit.usesBaseline)
        #expect(limit.limit(after: window(50, 1)) == 100)
        #expect(limit.limit(after: window(100, 1.08)) == 100)
        // Half of 100 wait.
        #expect(limit.limit(after: window(100, 2)) == 50)
        #expect(limit.limit(after: window(100, 2)) == 95)
        #expect(limit.limit(after: window(100, 1)) == 105)
        #expect(limit.limit(after: window(100, 1, isBusy: false)) == 100)
        #expect(limit.limit(after: window(100, 1.08)) == 100)
        #expect(limit.limit(after: window(4, 1)) == 5)
        // One waiting call is not a queue.
        #expect(limit.limit(after: window(2, 1.9)) == 2)
        #expect(limit.limit(after: window(2, 2.1)) == 1)
        #expect(limit.limitAfterOverload(100) == 90)
    }

    @Test("Vegas stops doubling the limit after an overload")
    func vegasOverload() {
        var limit = VegasLimit(queue: 0.05...0.1)
        #expect(limit.limitAfterOverload(100) == 90)
        #expect(limit.limit(after: window(100, 1)) == 105)
    }

    @Test("two limits are equal if all of their settings are equal")
    func equality() {
        let limits: [AdaptiveLimit] = [
            .gradient(), .vegas(), .aimd(), .gradient(tolerance: 0.2), .gradient(initial: 21), .gradient(in: 1...201),
            .gradient(window: .seconds(1)), .gradient(slowAfter: .seconds(1)), .gradient(on: [.throttled, .transient]),
            .aimd(increase: 2), .aimd(decrease: 0.8), .vegas(queue: 0.05...0.2),
            .custom(AIMDLimit(increase: 3, decrease: 0.9)),
        ]
        for (index, one) in limits.enumerated() {
            for (place, other) in limits.enumerated() { #expect((one == other) == (index == place)) }
        }
        #expect(Set(limits).count == limits.count)
        #expect(AdaptiveLimit.aimd() == .custom(AIMDLimit(increase: 1, decrease: 0.9)))
    }
}
