import ResilienceTesting
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// Successes counted outside the lock.
@Suite struct CalmPassTests {
    @Test("a throttle that counts successes outside the lock answers like a machine that gets every call")
    func likeTheMachine() throws {
        var rejected = 0
        for seed in 0..<40 as Range<UInt64> {
            let clock = ManualClock()
            let settings = AdaptiveThrottle.Settings(multiplier: 1.5, over: .seconds(10), minimumCalls: 5)
            let throttle = AdaptiveThrottle(
                settings: settings, generator: SplitMix64(seed: seed), timeBase: clock)
            var machine = AdaptiveThrottleStateMachine(settings)
            var generator = SplitMix64(seed: seed)
            var random = SplitMix64(seed: seed &+ 1_000)
            // After every 50 steps, the share of failures changes.
            var failures = 0
            for step in 0..<500 {
                if step % 50 == 0 { failures = Int.random(in: 0..<8, using: &random) }
                clock.advance(by: .milliseconds(Int.random(in: 0..<300, using: &random)))
                let isAdmitted = machine.admits(at: clock.now, using: &generator).isAdmitted
                do {
                    let permit = try throttle.tryAcquire()
                    #expect(isAdmitted, "seed \(seed), step \(step)")
                    let verdict: Verdict =
                        switch Int.random(in: 0..<10, using: &random) {
                        case ..<failures: .throttled
                        case 8: .transient
                        case 9: .cancelled
                        default: .success
                        }
                    _ = machine.ended(verdict, at: clock.now)
                    permit.complete(verdict)
                } catch {
                    rejected += 1
                    #expect(!isAdmitted, "seed \(seed), step \(step)")
                }
                if step % 7 == 0 {
                    #expect(throttle.status.rejection == machine.rejection(at: clock.now), "seed \(seed), step \(step)")
                    #expect(throttle.status.calls == machine.counts(at: clock.now).calls)
                }
            }
        }
        #expect(rejected > 500)
    }

    @Test("concurrent calls of many tasks are all counted", .timeLimit(.minutes(20)))
    func concurrent() async {
        let throttle = AdaptiveThrottle(over: .seconds(100_000))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for number in 0..<2_000 {
                        _ = try? await throttle.run(judging: { _ in number % 200 == 0 ? .transient : .success }) {}
                    }
                }
            }
        }
        #expect(throttle.status.calls == 8_000 && throttle.status.accepted == 7_960)
    }
}
