import Foundation
import Testing

@testable import Resilience
@testable import ResilienceTraffic

@Suite struct SettingsEdgeTests {
    private func again<Settings: Codable>(_ settings: Settings) throws -> Settings {
        try JSONDecoder().decode(Settings.self, from: JSONEncoder().encode(settings))
    }

    @Test("ejection rules that are off are encoded as rules that never eject, and stay off")
    func ejectionThatIsOff() throws {
        let off = try again(OutlierEjection(afterConsecutive: nil, deviation: nil))
        #expect(off.consecutiveFailures == .max)
        #expect(off.deviation == OutlierEjection.Deviation(factor: 100, minimumGap: 1))
        let pool = try again(EndpointPoolSettings(ejecting: nil, slowStart: nil))
        #expect(pool.ejection?.maxEjected == 0)
        #expect(pool.slowStart?.from == 1)
    }

    @Test("if a throttle makes no holds, a different hold backoff does not prevent a change of settings")
    func backoffOfNoHolds() throws {
        let throttle = Throttle(limit: .perSecond(1))
        #expect(throttle.apply(.init(limit: .perSecond(2), holdBackoff: .none)).isEmpty)
        #expect(throttle.settings.limit == .perSecond(2))
        #expect(throttle.apply(.init(limit: .perSecond(2), holdOnThrottled: true)) == ["holdOnThrottled"])
    }

    @Test("a policy can always take its own settings, whatever their durations")
    func durationsThatNoFileCanHold() {
        let third = Duration.seconds(1) / 3
        for wait in [third, .seconds(Int64.max)] {
            let settings = Bulkhead.Settings(limit: 1, maxWait: wait, shedding: LoadShedding(interval: third))
            let bulkhead = Bulkhead(settings: settings)
            #expect(bulkhead.apply(settings).isEmpty)
            #expect(bulkhead.settings.maxWait == wait.inNanoseconds)
            let held = Throttle.Settings(limit: .perSecond(1), maxWait: wait, ramp: third)
            #expect(Throttle(settings: held).apply(held).isEmpty)
            let adaptive = AdaptiveThrottle.Settings(over: wait)
            let throttle = AdaptiveThrottle(settings: adaptive)
            throttle.apply(adaptive)
            #expect(throttle.settings.window == wait.inNanoseconds)
        }
    }
}
