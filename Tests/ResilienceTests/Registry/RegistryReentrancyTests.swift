import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

/// Wherever the registry runs a user's code, that code uses the registry, at random and to some depth. Between two
/// locked steps the registry always runs such code, or could, so one thread produces every order in which other threads
/// could interleave. A step that ran a user's code under the lock would end the process.
@Suite(.heavy) struct RegistryReentrancyTests {
    /// Its `make`, its answers to the registry's questions and its `deinit` all use the registry.
    private final class Probe: RegistryEntry, CircuitBreakerOwner, Sendable {
        struct State {
            var settings: Int
            var failures = 0
        }

        /// An entry's successors under new settings have the same number.
        let lineage: Int
        let state: Locked<State>
        let circuitBreaker: CircuitBreaker
        let world: World

        init(_ lineage: Int, _ state: State, _ circuitBreaker: CircuitBreaker, _ world: World) {
            (self.lineage, self.circuitBreaker, self.world) = (lineage, circuitBreaker, world)
            self.state = Locked(state)
        }

        deinit { world.meddle() }

        var settings: Int { state.withLock { $0.settings } }

        /// Settings that no entry can take.
        static func areRejected(_ settings: Int) -> Bool { settings % 5 == 4 }

        var isAtRest: Bool {
            let isAtRest = state.withLock { $0.failures == 0 }
            world.meddle()
            return isAtRest
        }

        func canBeEvicted(unusedFor time: Duration) -> Bool {
            world.meddle()
            return state.withLock { $0.failures < 2 }
        }

        func reset() {
            world.meddle()
            state.withLock { $0.failures = 0 }
            world.meddle()
        }

        func canBeReconfigured(like other: Probe) -> Bool { !Self.areRejected(other.settings) }

        func reconfigured(like other: Probe) -> Self? {
            world.meddle()
            guard canBeReconfigured(like: other) else { return nil }
            let settings = other.settings
            state.withLock { $0.settings = settings }
            world.meddle()
            return self
        }

        var circuitBreakers: [CircuitBreaker] {
            world.meddle()
            return [circuitBreaker]
        }
    }

    private final class World: Sendable {
        struct State {
            var random: SeededNumbers
            var depth = 0
            var lineages = 0
            var makes = 0
            var overrides: [Int: Int] = [:]
            var lastSettings = 0
            var held: [Int: Probe] = [:]
            var streams: [AsyncStream<KeyedTransition<Int>>] = []
            /// The last lineage of each key, and the lineages that were evicted.
            var seen: [Int: Int] = [:]
            var gone: Set<Int> = []
        }

        let state: Locked<State>
        let clock = ManualClock()
        let shared: CircuitBreaker?
        let registry = Box<PolicyRegistry<Int, Probe>?>(nil)

        init(seed: UInt64) {
            state = Locked(State(random: SeededNumbers(seed: seed)))
            shared = seed.isMultiple(of: 2) ? CircuitBreaker(timeBase: clock) : nil
        }

        /// Sometimes uses the registry from within a user's code.
        func meddle() {
            let mayMeddle = state.withLock { state in
                guard state.depth < 3, state.random.below(4) == 0 else { return false }
                state.depth += 1
                return true
            }
            guard mayMeddle else { return }
            step()
            state.withLock { $0.depth -= 1 }
        }

        func made(_ settings: Int) -> Probe {
            meddle()
            defer { meddle() }
            let lineage = state.withLock { state in
                state.lineages += 1
                return state.lineages
            }
            let breaker = shared ?? CircuitBreaker(timeBase: clock)
            return Probe(lineage, Probe.State(settings: settings), breaker, self)
        }

        private func newSettings() -> Int {
            state.withLock { state in
                state.lastSettings += 1
                return state.lastSettings
            }
        }

        func step() {
            guard let registry = registry.value else { return }
            let (choice, key) = state.withLock { ($0.random.below(14), $0.random.below(12)) }
            switch choice {
            case 0...3: _ = registry[key]
            case 4:
                let value = registry[key]
                value.state.withLock { $0.failures += 1 }
            case 5:
                let value = registry[key]
                let old = state.withLock { $0.held.updateValue(value, forKey: key) }
                _ = old
            case 6:
                let old = state.withLock { state in
                    state.held.keys.sorted().first.flatMap { state.held.removeValue(forKey: $0) }
                }
                _ = old
            case 7:
                let settings = newSettings()
                state.withLock { $0.makes = settings }
                registry.reconfigure { _ in self.made(settings) }
            case 8:
                let settings = newSettings()
                state.withLock { $0.overrides[key] = settings }
                registry.setOverride(key) { self.made(settings) }
            case 9:
                state.withLock { $0.overrides[key] = nil }
                registry.setOverride(key, make: nil)
            case 10: registry.reset(key)
            case 11: clock.advance(by: .seconds(300))
            case 12:
                let stream = registry.transitions()
                state.withLock { $0.streams.append(stream) }
            default:
                let stream = state.withLock { $0.streams.popLast() }
                _ = stream
            }
        }

        /// Checks the invariants between steps.
        func check(_ what: Comment) throws {
            let registry = try #require(registry.value)
            let values = registry.values
            let ring = registry.table.withLock { $0.entries.map(\.key) }
            try #require(ring.count == values.count && Set(ring) == Set(values.keys), what)
            let (makes, overrides, held, streams) = state.withLock {
                ($0.makes, $0.overrides, $0.held, $0.streams.count)
            }
            for (key, value) in values {
                let settings = overrides[key] ?? makes
                try #require(value.settings == settings || Probe.areRejected(settings), what)
                let watchers = value.circuitBreaker.inner.withLock { $0.extras?.watchers.all.count ?? 0 }
                try #require(watchers == streams * (shared == nil ? 1 : values.count), what)
            }
            for (key, value) in held { try #require(values[key] === value, what) }
            state.withLock { state in
                for (key, lineage) in state.seen where values[key]?.lineage != lineage { state.gone.insert(lineage) }
                state.seen = values.mapValues(\.lineage)
            }
            let gone = state.withLock { $0.gone }
            for value in values.values { try #require(!gone.contains(value.lineage), what) }
        }
    }

    @Test("whatever a user's code does, no settings are lost, no evicted entry returns, and no lock is held")
    func meddling() throws {
        for seed in 0..<100 {
            let world = World(seed: UInt64(seed))
            world.registry.value = PolicyRegistry(capacity: 4, timeBase: world.clock) { _ in world.made(0) }
            for step in 0..<150 {
                world.step()
                try world.check("seed \(seed), step \(step)")
            }
            world.state.withLock { $0.depth = 3 }
            world.registry.value = nil
        }
    }

    /// Runs an action once, while it takes new settings. It can't take settings below zero.
    private final class Interrupted: RegistryEntry {
        let settings: Locked<Int>
        let inTheMiddle = Locked<(@Sendable () -> Void)?>(nil)
        init(_ settings: Int) { self.settings = Locked(settings) }
        var isAtRest: Bool { false }
        func reset() {}
        func canBeReconfigured(like other: Interrupted) -> Bool { other.settings.withLock { $0 } >= 0 }
        func reconfigured(like other: Interrupted) -> Self? {
            guard canBeReconfigured(like: other) else { return nil }
            let new = other.settings.withLock { $0 }
            settings.withLock { $0 = new }
            inTheMiddle.withLock { $0.take() }?()
            return self
        }
    }

    @Test("an entry whose settings change during a change finally has the right settings, even after rejected settings")
    func interrupted() {
        let registry = PolicyRegistry<String, Interrupted> { _ in Interrupted(1) }
        let value = registry["key"]
        value.inTheMiddle.withLock {
            $0 = {
                registry.setOverride("key") { Interrupted(3) }
                registry.setOverride("key") { Interrupted(-1) }
            }
        }
        #expect(registry.reconfigure { _ in Interrupted(2) } == ["key"])
        #expect(value.settings.withLock { $0 } == 3)
        #expect(registry.setOverride("key", make: nil) && value.settings.withLock { $0 } == 2)
    }
}
