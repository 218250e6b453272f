import ResilienceTesting
import Testing

@testable import Resilience
@testable import ResilienceTraffic

/// After each change from outside, new calls stay within the bounds that the current settings promise (P60). For
/// ``EndpointPool`` see `EndpointPoolBoundsTests`.
// P60
@Suite struct BoundsAfterChangesTests {
    private final class Held: Sendable {
        let permit: PolicyPermit

        init(_ permit: consuming PolicyPermit) { self.permit = permit }
    }

    let clock = ManualClock()

    private func acquire(_ policy: some Policy, cost: Int = 1) -> Held? {
        do {
            return Held(try policy.tryAcquire(options: RunOptions(cost: cost)))
        } catch {
            return nil
        }
    }

    @Test("a bulkhead with a fixed limit admits no call above its current limit", arguments: UInt64(1)...10)
    func bulkhead(seed: UInt64) {
        bulkhead(
            seed, { Bulkhead(limit: $0, timeBase: clock) }, setLimit: { $0.setLimit($1) }, setQueue: { $0.setQueue($1) }
        ) {
            $0.status
        }
    }

    @Test("a bulkhead with an adaptive limit admits no call above its current limit", arguments: UInt64(1)...10)
    func adaptiveBulkhead(seed: UInt64) {
        bulkhead(
            seed, { AdaptiveBulkhead(limit: .aimd(initial: $0, in: 1...8), timeBase: clock) },
            setLimit: { $0.setLimit($1) }, setQueue: { $0.setQueue($1) }, most: 8
        ) { $0.status.bulkhead }
    }

    private func bulkhead<Own: ConfigurablePolicy>(
        _ seed: UInt64, _ make: (Int) -> Own, setLimit: (Own, Int) -> Void, setQueue: (Own, Int) -> Void,
        most: Int = .max, status: (Own) -> BulkheadStatus
    ) {
        var chance = SeededGenerator(seed: seed)
        func made() -> Own { make(Int.random(in: 1...8, using: &chance)) }
        let bulkhead = made()
        var held: [Held] = []
        for _ in 0..<2_000 {
            switch Int.random(in: 0..<10, using: &chance) {
            case 0: setLimit(bulkhead, Int.random(in: 1...20, using: &chance))
            case 1: setQueue(bulkhead, Int.random(in: 0...3, using: &chance))
            case 2: bulkhead.reset()
            case 3: _ = bulkhead.reconfigured(like: made())
            case 4: clock.advance(by: .milliseconds(50))
            case 5..<8:
                let before = status(bulkhead)
                let permit = acquire(bulkhead)
                #expect((permit != nil) == (before.inUse < before.limit), "\(before)")
                if let permit { held.append(permit) }
            default: if !held.isEmpty { held.remove(at: Int.random(in: held.indices, using: &chance)) }
            }
            #expect(status(bulkhead).inUse == held.count && (1...most).contains(status(bulkhead).limit))
        }
    }

    @Test(
        "after a change a throttle admits at most burst and rate, plus a probe after each hold; no call during a hold",
        arguments: UInt64(1)...10)
    func throttle(seed: UInt64) {
        var chance = SeededGenerator(seed: seed)
        var (rate, burst) = (5, 3)
        let throttle = Throttle(
            limit: .perSecond(rate, burst: burst), holdOnThrottled: true, ramp: .zero, timeBase: clock)
        var (changed, admitted, heldUntil) = (clock.now, 0, MonotonicInstant.distantPast)
        var isProbe = false
        for _ in 0..<3_000 {
            switch Int.random(in: 0..<20, using: &chance) {
            case 0:
                (rate, burst) = (Int.random(in: 1...20, using: &chance), Int.random(in: 1...10, using: &chance))
                throttle.setRate(.perSecond(rate), burst: burst)
                (changed, admitted) = (clock.now, 0)
            case 1:
                throttle.reset()
                (changed, admitted, heldUntil, isProbe) = (clock.now, 0, .distantPast, false)
            case 2:
                let length = Duration.milliseconds(Int.random(in: 0...300, using: &chance))
                throttle.hold(for: length)
                (heldUntil, isProbe) = (max(heldUntil, clock.now + length), true)
            case 3:
                throttle.endHold()
                heldUntil = .distantPast
            case 4:
                let (newRate, newBurst) = (
                    Int.random(in: 1...20, using: &chance), Int.random(in: 1...10, using: &chance)
                )
                let other = Throttle(
                    limit: .perSecond(newRate, burst: newBurst), holdOnThrottled: true, ramp: .zero, timeBase: clock)
                guard throttle.reconfigured(like: other) != nil else { continue }
                (rate, burst, changed, admitted) = (newRate, newBurst, clock.now, 0)
            case 5..<8: clock.advance(by: .milliseconds(Int.random(in: 0...200, using: &chance)))
            default:
                // A dropped permit would be refunded.
                guard (try? throttle.tryAcquire().complete(.success)) != nil else { continue }
                if !isProbe { admitted += 1 }
                isProbe = false
                #expect(clock.now >= heldUntil)
            }
            let elapsed = changed.duration(to: clock.now) / .seconds(1)
            #expect(Double(admitted) <= Double(burst) + elapsed * Double(rate) + 1e-6, "\(throttle)")
        }
    }

    @Test(
        "a breaker admits no call while open or isolated, and at most its current number of probes",
        arguments: UInt64(1)...10)
    func breaker(seed: UInt64) {
        var chance = SeededGenerator(seed: seed)
        func circuit(_ probes: Int) -> ThreeStateCircuit {
            ThreeStateCircuit(
                tripping: .consecutiveFailures(2), openFor: .constant(.seconds(1)), probes: probes,
                closing: .successes(5), probeLease: .seconds(1_000_000))
        }
        var probes = 2
        let breaker = CircuitBreaker(circuit: circuit(probes), timeBase: clock)
        for _ in 0..<1_000 {
            switch Int.random(in: 0..<9, using: &chance) {
            case 0: breaker.trip()
            case 1: breaker.reset()
            case 2:
                breaker.setMode(
                    [.automatic, .automatic, .isolated, .disabled, .observing].randomElement(using: &chance)!)
            case 3:
                let more = Int.random(in: 1...4, using: &chance)
                if breaker.reconfigure(circuit: circuit(more)) { probes = more }
            case 4, 5: clock.advance(by: .milliseconds(600))
            default:
                try? breaker.tryAcquire().complete(Bool.random(using: &chance) ? .success : .transient)
            }
            let (state, mode) = (breaker.state, breaker.mode)
            // Calls that begin at the same time, as many as are admitted.
            var held: [Held] = []
            while held.count < 20, let permit = acquire(breaker) { held.append(permit) }
            switch mode {
            case .isolated: #expect(held.isEmpty)
            case .disabled, .observing: #expect(held.count == 20)
            case .automatic:
                switch state {
                case .open: #expect(held.isEmpty)
                case .halfOpen: #expect(held.count <= probes)
                case .closed: #expect(held.count == 20)
                }
            }
        }
    }

    @Test("an adaptive throttle rejects within its current bounds", arguments: UInt64(1)...10)
    func adaptiveThrottle(seed: UInt64) {
        var chance = SeededGenerator(seed: seed)
        func made() -> AdaptiveThrottle {
            AdaptiveThrottle(
                multiplier: Double.random(in: 1.1...4, using: &chance),
                over: .seconds(Int.random(in: 1...2, using: &chance) * 10),
                minimumCalls: Int.random(in: 1...30, using: &chance),
                maxRejection: Double.random(in: 0...1, using: &chance), generator: SplitMix64(seed: seed),
                timeBase: clock)
        }
        let throttle = made()
        for _ in 0..<2_000 {
            switch Int.random(in: 0..<20, using: &chance) {
            case 0: _ = throttle.reconfigured(like: made())
            case 1: if Bool.random(using: &chance) { throttle.reset() }
            case 2..<5: clock.advance(by: .milliseconds(500))
            default:
                try? throttle.tryAcquire().complete(
                    [.success, .transient, .throttled, .cancelled].randomElement(using: &chance)!)
            }
            let (status, settings) = (throttle.status, throttle.settings)
            #expect(status.rejection >= 0 && status.rejection <= settings.maxRejection)
            #expect(status.calls >= settings.minimumCalls || status.rejection == 0)
            #expect(status.accepted >= 0 && status.accepted <= status.calls)
        }
    }

    @Test("a hedge's delay is within its current bounds", arguments: UInt64(1)...5)
    func hedge(seed: UInt64) {
        var chance = SeededGenerator(seed: seed)
        var (least, samples) = (Duration.milliseconds(1), 100)
        let hedge = Hedge(after: .percentile(0.9, atLeast: least, minimumSamples: samples), timeBase: clock)
        for _ in 0..<3_000 {
            switch Int.random(in: 0..<30, using: &chance) {
            case 0:
                let share = Double.random(in: 0.01...0.999, using: &chance)
                (least, samples) = (
                    .milliseconds(Int.random(in: 1...50, using: &chance)), Int.random(in: 1...1000, using: &chance)
                )
                let other = Hedge(after: .percentile(share, atLeast: least, minimumSamples: samples), timeBase: clock)
                #expect(hedge.reconfigured(like: other) != nil)
            case 1: if Int.random(in: 0..<9, using: &chance) == 0 { hedge.reset() }
            default:
                hedge.note(.milliseconds(Int.random(in: 0...90, using: &chance)), isLost: Bool.random(using: &chance))
            }
            let status = hedge.status
            #expect(status.samples <= 1000 && (status.delay == nil) == (status.samples < samples))
            // The longest recorded latency, rounded up to its bucket.
            #expect(status.delay.map { $0 >= least && $0 <= max(least, .milliseconds(97)) } ?? true)
        }
    }
}
