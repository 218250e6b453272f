import Dispatch
import Resilience
import ResilienceTraffic
import ResilienceTesting
import TestSupport
import Testing

@Suite struct LazyObserversTests {
    @Test("concurrent readers of a breaker's observers get the same object, which is released with the breaker")
    func race() {
        for _ in 0..<200 {
            weak var left: PolicyObservers?
            do {
                let breaker = CircuitBreaker()
                let found = Locked<Set<ObjectIdentifier>>([])
                DispatchQueue.concurrentPerform(iterations: 4) { _ in
                    let observers = breaker.observers
                    found.withLock { _ = $0.insert(ObjectIdentifier(observers)) }
                }
                left = breaker.observers
                #expect(found.withLock { $0.count } == 1 && left != nil)
            }
            #expect(left == nil)
        }
    }

    @Test("observers passed to a breaker's initializer are its own, and get events")
    func given() throws {
        let kinds = Locked<[String]>([])
        let observers = PolicyObservers()
        observers.add { event in kinds.withLock { $0.append(event.detail.kind) } }
        let breaker = CircuitBreaker(observers: observers)
        #expect(breaker.observers === observers)
        try breaker.tryAcquire().complete(.success)
        #expect(kinds.withLock { $0 } == ["allowed"])
    }

    @Test("the pipeline's observers get changes by hand, with the pipeline's name")
    func byHand() {
        let told = Locked<[String]>([])
        let observers = PolicyObservers { event in told.withLock { $0.append("\(event)") } }
        let breaker = CircuitBreaker("breaker")
        let throttle = Throttle("throttle", limit: .unlimited)
        let bulkhead = Bulkhead("bulkhead", limit: 2)
        let chaos = Chaos("chaos")
        let pipeline = Pipeline("catalog", observers: observers) {
            breaker
            throttle
            bulkhead
            chaos
        }
        // Another pipeline with the same breaker reports nothing, to avoid duplicates.
        let other = Pipeline("other", observers: observers) { breaker }
        breaker.trip(for: .seconds(9))
        breaker.reset(keepingGrowth: false)
        breaker.setMode(.isolated)
        throttle.hold(for: .seconds(9))
        throttle.endHold()
        bulkhead.setLimit(3)
        chaos.turnOn(for: .seconds(9))
        withExtendedLifetime((pipeline, other)) {}
        #expect(
            told.withLock { $0.map { String($0.prefix(40)) } } == [
                "[catalog/breaker] opened by hand for 9 s", "[catalog/breaker] reset → closed",
                "[catalog/breaker] mode set → isolated", "[catalog/throttle] hold ended by hand → ",
                "[catalog/bulkhead] limit 2 → 3", "[catalog/chaos] chaos: on for 9 s",
            ])
    }

    @Test("the pipeline's observers get timed changes, with or without a watcher", arguments: [false, true])
    func byTime(isWatched: Bool) async throws {
        let clock = ManualClock()
        let kinds = Locked<[String]>([])
        let observers = PolicyObservers { event in
            if event.policy == "breaker" { kinds.withLock { $0.append(event.detail.kind) } }
        }
        let circuit = ThreeStateCircuit(openFor: .seconds(5), ramp: .seconds(9))
        let breaker = CircuitBreaker("breaker", circuit: circuit, timeBase: clock)
        let pipeline = Pipeline("catalog", timeBase: clock, observers: observers) { breaker }
        let transitions = isWatched ? breaker.transitions() : nil
        breaker.trip()
        clock.advance(by: .seconds(5))
        try await pipeline.run {}
        clock.advance(by: .seconds(9))
        try await pipeline.run {}
        withExtendedLifetime(transitions) {}
        let told = kinds.withLock { $0 }
        #expect(told == ["tripped", "halfOpened", "allowed", "recovered", "allowed"])
    }

    @Test(
        "observers shared by policy and pipeline get each event once; a policy keeps no pipeline's observers alive"
    )
    func once() {
        let count = Locked(0)
        let breaker: CircuitBreaker
        weak var left: PolicyObservers?
        do {
            let observers = PolicyObservers { _ in count.withLock { $0 += 1 } }
            left = observers
            let own = CircuitBreaker(observers: observers)
            let pipeline = Pipeline(observers: observers) { own }
            own.trip()
            withExtendedLifetime(pipeline) {}
            #expect(count.withLock { $0 } == 1)
            breaker = CircuitBreaker()
            _ = Pipeline(observers: observers) { breaker }
        }
        #expect(left == nil && breaker.trip())
    }
}
