import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// The tests run every other action inside the user's code that the registry calls, so one thread produces each
/// order.
@Suite struct RegistryRaceTests {
    let clock = ManualClock()

    private func breaker(_ limit: Int) -> CircuitBreaker {
        CircuitBreaker(tripping: .consecutiveFailures(limit), timeBase: clock)
    }

    /// Runs its action once, at its first call.
    private final class Hook: Sendable {
        private let action = Box<(@Sendable () -> Void)?>(nil)

        func set(_ action: @escaping @Sendable () -> Void) { self.action.value = action }
        func run() { action.exchange(nil)?() }
    }

    /// A registry whose values have a limit of 2, and the hook that runs while a value is made.
    private func registry(capacity: Int = 10) -> (CircuitBreakerRegistry<String>, Hook) {
        let hook = Hook()
        let breakers = CircuitBreakerRegistry<String>(capacity: capacity, timeBase: clock) { [clock] _ in
            defer { hook.run() }
            return CircuitBreaker(tripping: .consecutiveFailures(2), timeBase: clock)
        }
        return (breakers, hook)
    }

    // MARK: Settings that change

    @Test("a key that is being made during a reconfigure gets the new settings (P37)")
    func reconfiguredWhileMade() {
        let (breakers, hook) = registry()
        hook.set { #expect(breakers.reconfigure { _ in breaker(7) } == []) }
        #expect(breakers["/a"].status.failureLimit == 7)
        #expect(breakers["/a"].status.failureLimit == 7 && breakers.count == 1)
    }

    @Test("if another key gets an override while a value is made, the value is not made twice")
    func othersOverride() {
        let (breakers, hook) = registry()
        let made = Journal()
        hook.set {
            made.note("made")
            breakers.setOverride("/b") { breaker(9) }
            hook.set { made.note("made again") }
        }
        _ = breakers["/a"]
        #expect(made.lines == ["made"])
    }

    @Test("of two concurrent changes for all keys the later change applies to every key (P37)")
    func twoAtOnce() {
        let (breakers, hook) = registry()
        let keys = (0..<10).map { "\($0)" }
        for key in keys { _ = breakers[key] }
        hook.set { #expect(breakers.reconfigure { _ in breaker(7) } == []) }
        let kept = breakers.reconfigure { _ in
            defer { hook.run() }
            return breaker(5)
        }
        #expect(kept == [] && breakers.statuses.values.allSatisfy { $0.failureLimit == 7 })
        #expect(breakers["/new"].status.failureLimit == 7)
    }

    @Test("a pipeline that is reconfigured again during a reconfigure has the later settings (P37)")
    func twoAtOncePipelines() {
        let hook = Hook()
        let made: @Sendable (Int, Int) -> Pipeline = { [clock] retries, limit in
            defer { hook.run() }
            return Pipeline {
                Retry(maxRetries: retries)
                Bulkhead(limit: limit, timeBase: clock)
            }
        }
        let pipelines = PipelineRegistry<String> { _ in made(1, 1) }
        for key in ["/a", "/b", "/c"] { _ = pipelines[key] }
        hook.set { #expect(pipelines.reconfigure { _ in made(3, 3) } == []) }
        #expect(pipelines.reconfigure { _ in made(2, 2) } == [])
        for (_, pipeline) in pipelines.values {
            let (retry, bulkhead) = ("\(pipeline.elements[0])", "\(pipeline.elements[1])")
            #expect(retry.contains("3 retries") && bulkhead.contains("3 at a time"), "\(retry), \(bulkhead)")
        }
    }

    @Test("reconfigure does not return a key that rejected its settings, but then took newer settings set meanwhile")
    func rejectedMeanwhile() {
        let (breakers, hook) = registry()
        _ = breakers["/a"]
        hook.set { #expect(breakers.reconfigure { _ in breaker(7) } == []) }
        let kept = breakers.reconfigure { [clock] _ in
            defer { hook.run() }
            return CircuitBreaker(tripping: .anyOf(.consecutiveFailures(3)), timeBase: clock)
        }
        #expect(kept == [] && breakers["/a"].status.failureLimit == 7)
    }

    // MARK: Evicted keys

    /// A value that may be evicted while a copy exists; a change to the copy is then not stored.
    private struct Plain: RegistryEntry {
        var limit: Int
        let origin: String
        let hook: Hook

        static func isUniquelyHeld(_ entry: inout Plain) -> Bool { true }
        var isAtRest: Bool { true }
        func reset() {}
        func canBeReconfigured(like other: Plain) -> Bool { true }

        func reconfigured(like other: Plain) -> Plain? {
            hook.run()
            return Plain(limit: other.limit, origin: origin, hook: hook)
        }
    }

    @Test("a value evicted during its change is not put back, and does not replace a new value")
    func evictedWhileChanged() {
        let hook = Hook()
        let values = PolicyRegistry<String, Plain>(capacity: 1) { _ in Plain(limit: 1, origin: "first", hook: hook) }
        _ = values["/a"]
        hook.set { _ = values["/b"] }
        #expect(values.setOverride("/a") { Plain(limit: 2, origin: "second", hook: hook) })
        #expect(values.existing("/a") == nil && values.count == 1)
        _ = values["/a"]
        hook.set {
            _ = values["/b"]
            values.setOverride("/a") { Plain(limit: 4, origin: "third", hook: hook) }
            _ = values["/a"]
        }
        values.setOverride("/a") { Plain(limit: 3, origin: "never", hook: hook) }
        #expect(values["/a"].limit == 4 && values["/a"].origin == "third")
    }

    @Test("an entry that is looked up while the registry asks whether the entry may be evicted is not evicted")
    func gotWhileAsked() {
        final class Asked: Policy, RegistryEntry {
            let hook: Hook
            let isBusy = Box(false)
            let keptByItself = Box<Asked?>(nil)
            let keepsItself = Box(false)
            let timesAsked = Box(0)
            init(_ hook: Hook) { self.hook = hook }
            var isAtRest: Bool {
                defer { hook.run() }
                timesAsked.value += 1
                if keepsItself.value { keptByItself.value = self }
                return !isBusy.value
            }
            func canBeReconfigured(like other: Asked) -> Bool { true }
            func reconfigured(like other: Asked) -> Asked? { other }
        }
        let hook = Hook()
        let values = PolicyRegistry<Int, Asked>(capacity: 1) { _ in Asked(hook) }
        // It was idle when asked, but has state when it is to be evicted.
        _ = values[1]
        hook.set { values[1].isBusy.value = true }
        _ = values[2]
        #expect(values.existing(1)?.isBusy.value == true)
        _ = values[3]
        hook.set { for (_, value) in values.values { value.isBusy.value = true } }
        _ = values[4]
        #expect(values.existing(3)?.isBusy.value == true)
        // No caller got the entry from the registry, but something holds it.
        values[5].keepsItself.value = true
        _ = values[6]
        #expect(values.existing(5)?.keptByItself.exchange(nil) != nil)
        // A held entry is not asked.
        let held = values[7]
        _ = values[8]
        #expect(held.timesAsked.value == 0 && values[7] === held)
    }

    // MARK: No user's code runs under the lock

    /// Uses the registry when it is asked, and when it is released.
    private final class Meddler: Policy {
        let meddle: @Sendable () -> Void
        init(_ meddle: @escaping @Sendable () -> Void) { self.meddle = meddle }
        deinit { meddle() }
        var isAtRest: Bool {
            meddle()
            return true
        }
        var traits: PolicyTraits {
            meddle()
            return PolicyTraits()
        }
    }

    /// Contains the policy twice, so that the pipeline reads its traits.
    private static func meddling(_ meddle: @escaping @Sendable () -> Void) -> Pipeline {
        let meddler = Meddler(meddle)
        return Pipeline {
            meddler
            meddler
        }
    }

    @Test("a user's policy may use the registry when asked whether it is at rest, and when released (P38)")
    func restAsked() {
        let registry = Box<PipelineRegistry<Int>?>(nil)
        let meddled = Journal()
        let pipelines = PipelineRegistry<Int>(capacity: 2) { _ in
            Self.meddling { if let count = registry.value?.count { meddled.note("\(count)") } }
        }
        registry.value = pipelines
        for key in 0..<10 { _ = pipelines[key] }
        #expect(pipelines.count == 2 && meddled.lines.count > 20)
        #expect(pipelines.reconfigure { _ in Self.meddling { _ = registry.value?.count } } == [])
        pipelines.resetAll()
        registry.value = nil
    }

    @Test("the closures that make values may use the registry when released (P38)")
    func oldMakes() {
        final class Captured: Sendable {
            let letGo: @Sendable () -> Void
            init(_ letGo: @escaping @Sendable () -> Void) { self.letGo = letGo }
            deinit { letGo() }
        }
        let registry = Box<CircuitBreakerRegistry<String>?>(nil)
        let seen = Journal()
        let making: @Sendable (String) -> @Sendable () -> CircuitBreaker = { [clock] name in
            let captured = Captured { seen.note("\(name): \(registry.value?.count ?? -1)") }
            return { withExtendedLifetime(captured) { CircuitBreaker(timeBase: clock) } }
        }
        do {
            let make = making("first")
            registry.value = CircuitBreakerRegistry { _ in make() }
        }
        _ = registry.value?["/a"]
        registry.value?.setOverride("/a", make: making("override"))
        registry.value?.setOverride("/a", make: making("other"))
        registry.value?.setOverride("/a", make: nil)
        registry.value?.reconfigure { _ in breaker(3) }
        #expect(seen.lines == ["override: 1", "other: 1", "first: 1"])
        registry.value = nil
    }

    @Test("a key may use the registry when it is released (P38)")
    func keys() {
        final class Name: Hashable, Sendable {
            let number: Int
            let letGo: @Sendable () -> Void
            init(_ number: Int, _ letGo: @escaping @Sendable () -> Void) { (self.number, self.letGo) = (number, letGo) }
            deinit { letGo() }
            static func == (left: Name, right: Name) -> Bool { left.number == right.number }
            func hash(into hasher: inout Hasher) { hasher.combine(number) }
        }
        let registry = Box<CircuitBreakerRegistry<Name>?>(nil)
        let seen = Journal()
        let name: @Sendable (Int) -> Name = { number in Name(number) { seen.note("\(registry.value?.count ?? -1)") } }
        let breakers = CircuitBreakerRegistry<Name>(capacity: 2) { _ in breaker(2) }
        registry.value = breakers
        for number in 0..<5 { _ = breakers[name(number)] }
        breakers.setOverride(name(7)) { breaker(2) }
        breakers.setOverride(name(7), make: nil)
        #expect(breakers.count == 2 && seen.lines.count >= 5)
        registry.value = nil
    }

    @Test("a time base may use the registry when an alarm for a watcher is set or cancelled (P38)")
    func timeBase() {
        final class Base: TimeBase {
            let asked = Hook()
            let count: @Sendable () -> Int?
            let seen = Journal()
            init(_ count: @escaping @Sendable () -> Int?) { self.count = count }
            var now: MonotonicInstant {
                seen.note("\(count() ?? -1)")
                return .second(0)
            }
            func schedule(at deadline: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> TimeBaseAlarm {
                seen.note("alarm: \(count() ?? -1)")
                return TimeBaseAlarm(id: 0)
            }
            func cancel(_ alarm: TimeBaseAlarm) { _ = count() }
        }
        let registry = Box<CircuitBreakerRegistry<Int>?>(nil)
        let base = Base { registry.value?.count }
        let breakers = CircuitBreakerRegistry<Int>(capacity: 3) { number in
            let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: base)
            // It is open from the start, so watching it sets an alarm for its break's end.
            if number == 2 { breaker.trip() }
            return breaker
        }
        registry.value = breakers
        breakers[1].trip()
        let transitions = breakers.transitions()
        _ = breakers[2]
        #expect(base.seen.lines.filter { $0.hasPrefix("alarm") } == ["alarm: 1", "alarm: 1"])
        for number in 3..<9 { _ = breakers[number] }
        _ = transitions
        registry.value = nil
    }
}

@Suite(.timeLimit(.minutes(20))) struct RegistryWatcherTests {
    let clock = ManualClock()

    @Test("a key that is being made when a watcher begins is watched from its first change")
    func watchedWhileMade() async {
        let registry = Box<CircuitBreakerRegistry<String>?>(nil)
        let streams = Box<[AsyncStream<KeyedTransition<String>>]>([])
        let breakers = CircuitBreakerRegistry<String> { [clock] _ in
            if streams.value.isEmpty, let registry = registry.value { streams.value = [registry.transitions()] }
            return CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        }
        registry.value = breakers
        breakers["/a"].trip()
        for await change in streams.value[0] {
            #expect(change.key == "/a" && change.transition.to == .open)
            break
        }
        registry.value = nil
    }

    @Test("a breaker that several keys share is watched once per key, and not for evicted keys")
    func shared() {
        let breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock)
        let pipelines = PipelineRegistry<Int>(capacity: 2) { _ in Pipeline { breaker } }
        var streams = [pipelines.transitions(), pipelines.transitions()]
        for key in 0..<10 { _ = pipelines[key] }
        #expect(breaker.inner.withLock { $0.extras?.watchers.all.count ?? 0 } == 4)
        streams.removeLast()
        #expect(breaker.inner.withLock { $0.extras?.watchers.all.count ?? 0 } == 2)
        streams.removeLast()
        #expect(breaker.inner.withLock { $0.extras?.watchers.isEmpty != false })
    }
}
