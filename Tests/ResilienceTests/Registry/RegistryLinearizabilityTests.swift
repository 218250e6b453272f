import Foundation
import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

extension Linearizability {
    @Suite(.heavy) struct RegistryLinearizabilityTests {
        private enum Input: Sendable {
            /// Asks for the key's breaker, and names it `offer` if it must be made.
            case get(Int, offer: String)
            case count
        }

        private enum Answer: Equatable, Sendable {
            case breaker(String)
            case count(Int)
        }

        private struct Model: SequentialModel {
            var entries: [Int: String] = [:]

            mutating func apply(_ input: Input) -> Answer {
                switch input {
                case .get(let key, let offer):
                    if entries[key] == nil { entries[key] = offer }
                    return .breaker(entries[key]!)
                case .count:
                    return .count(entries.count)
                }
            }
        }

        /// The name of a breaker made now.
        @TaskLocal private static var offer = ""

        @Test("each key has one breaker, however many threads ask concurrently")
        func linearizable() async {
            await expectLinearizable(Model()) {
                CircuitBreakerRegistry<Int> { _ in
                    // Between the two lookups in the table.
                    sched_yield()
                    return CircuitBreaker(Self.offer, timeBase: ToldTime())
                }
            } play: { registry, thread, random, history in
                for step in 0..<stepsEach {
                    if random.below(3) == 0 {
                        history.record(.count, onThread: thread) { .count(registry.count) }
                    } else {
                        let (key, offer) = (random.below(4 * stepsEach), "\(thread).\(step)")
                        history.record(.get(key, offer: offer), onThread: thread) {
                            Self.$offer.withValue(offer) { .breaker(registry[key].name) }
                        }
                    }
                }
            }
        }
    }
}

@Suite struct RegistryHoldersTests {
    private final class Table: Sendable {
        let holders = Locked(Holders())
    }

    /// The present holders of each breaker.
    private struct Holders {
        var of: [Int: (breaker: CircuitBreaker, count: Int)] = [:]
        var disagreements = 0
        var mostKept = 0

        mutating func add(_ key: Int, _ breaker: CircuitBreaker) {
            let others = of[key]
            if let others, others.breaker !== breaker { disagreements += 1 }
            of[key] = (breaker, (others?.count ?? 0) + 1)
        }

        mutating func remove(_ key: Int) {
            guard let count = of[key]?.count else { return }
            if count == 1 { of[key] = nil } else { of[key]?.count = count - 1 }
        }
    }

    @Test(
        "while a key's breaker is held, all callers get it, even if endless new keys evict idle breakers (P29)")
    func agree() async {
        let registry = CircuitBreakerRegistry<Int>(capacity: 4) { CircuitBreaker("\($0)", timeBase: ToldTime()) }
        let table = Table()
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<4 {
                group.addTask {
                    var random = SeededNumbers(seed: UInt64(thread))
                    for _ in 0..<5_000 {
                        let key = random.below(8)
                        let breaker = registry[key]
                        table.holders.withLock { holders in
                            holders.add(key, breaker)
                            holders.mostKept = max(holders.mostKept, registry.count)
                        }
                        sched_yield()
                        table.holders.withLock { $0.remove(key) }
                    }
                }
            }
        }
        table.holders.withLock { holders in
            #expect(holders.disagreements == 0 && holders.of.isEmpty)
            // Four breakers are kept, plus the breakers that the four tasks held when room was needed.
            #expect(holders.mostKept >= 4 && holders.mostKept <= 9)
        }
    }
}

@Suite struct RegistrySettingsConcurrencyTests {
    /// Has one setting and no checks, so that most of the time goes to the registry. Some entries pause, so that other
    /// threads interleave; if all paused, threads in step would make each other restart for seconds.
    private final class Entry: RegistryEntry {
        private let setting: Locked<Int>

        init(limit: Int) {
            setting = Locked(limit)
            Self.pause(limit)
        }

        var limit: Int { setting.withLock { $0 } }
        var isAtRest: Bool { true }
        func reset() {}
        func canBeReconfigured(like other: Entry) -> Bool { true }

        func reconfigured(like other: Entry) -> Entry? {
            let limit = other.limit
            setting.withLock { $0 = limit }
            Self.pause(limit)
            return self
        }

        private static func pause(_ limit: Int) { if limit.isMultiple(of: 4) { sched_yield() } }
    }

    @Test("however many threads look up keys and change settings, every key finally has its last settings")
    func agree() async {
        for round in 0..<20 {
            let registry = PolicyRegistry<Int, Entry>(capacity: 8) { _ in Entry(limit: 1) }
            await withTaskGroup(of: Void.self) { group in
                for thread in 0..<4 {
                    group.addTask {
                        var random = SeededNumbers(seed: UInt64(4 * round + thread))
                        for _ in 0..<100 {
                            let (key, limit) = (random.below(12), 1 + random.below(100))
                            switch random.below(8) {
                            case 0: registry.reconfigure { _ in Entry(limit: limit) }
                            case 1: registry.setOverride(key) { Entry(limit: limit) }
                            case 2: registry.setOverride(key, make: nil)
                            default: _ = registry[key]
                            }
                        }
                    }
                }
            }
            // What the registry would make now for each key.
            for (key, entry) in registry.values {
                let made = registry.table.withLock { $0.order(for: key) }.make()
                #expect(entry.limit == made.limit, "round \(round), key \(key)")
            }
        }
    }
}
