import Foundation
import ResilienceTesting
import Testing

@testable import Resilience

extension Linearizability {
    @Suite struct RegistryLinearizabilityTests {
        private enum Input: Sendable {
            /// Asks for the key's breaker, keeps it, and calls it `offer` if it has to be made.
            case get(Int, thread: Int, offer: String)
            /// The breaker that the thread keeps.
            case fail(thread: Int)
            case succeed(thread: Int)
            case letGo(thread: Int)
            case count
        }

        private enum Answer: Equatable, Sendable {
            case breaker(String)
            case count(Int)
            case done
        }

        private struct Model: SequentialModel {
            struct Entry: Hashable {
                let name: String
                var hasFailed = false
            }

            let capacity: Int
            var entries: [Int: Entry] = [:]
            var kept: [Int: Int] = [:]
            /// The keys as they are looked at for one to forget.
            var ring: [Int] = []
            var hand = 0

            init(capacity: Int) { self.capacity = capacity }

            mutating func apply(_ input: Input) -> Answer {
                switch input {
                case .get(let key, let thread, let offer):
                    if entries[key] == nil {
                        for _ in 0..<8 where entries.count >= capacity { lookAtNext() }
                        entries[key] = Entry(name: offer)
                        ring.append(key)
                    }
                    kept[thread] = key
                    return .breaker(entries[key]!.name)
                case .fail(let thread):
                    entries[kept[thread]!]!.hasFailed = true
                case .succeed(let thread):
                    entries[kept[thread]!]!.hasFailed = false
                case .letGo(let thread):
                    kept[thread] = nil
                case .count:
                    return .count(entries.count)
                }
                return .done
            }

            private mutating func lookAtNext() {
                if hand >= ring.count { hand = 0 }
                let key = ring[hand]
                if !entries[key]!.hasFailed, !kept.values.contains(key) {
                    entries[key] = nil
                    ring[hand] = ring[ring.count - 1]
                    ring.removeLast()
                }
                hand += 1
            }
        }

        /// What a breaker made now is called.
        @TaskLocal private static var offer = ""

        @Test("one breaker a key, and only idle ones forgotten, however many threads ask, keep and let go at once")
        func linearizable() async {
            await expectLinearizable(Model(capacity: 3)) {
                CircuitBreakerRegistry<Int>(capacity: 3) { _ in
                    // Between the two looks at the table.
                    sched_yield()
                    return CircuitBreaker(Self.offer, tripping: .consecutiveFailures(.max), timeBase: ToldTime())
                }
            } play: { registry, thread, random, history in
                var kept: CircuitBreaker?
                for step in 0..<stepsEach {
                    letOthersRun(&random)
                    switch (random.below(6), kept) {
                    case (0, _):
                        history.record(.count, onThread: thread) { .count(registry.count) }
                    case (1, let breaker?):
                        history.record(.fail(thread: thread), onThread: thread) {
                            try? breaker.acquire().complete(.transient)
                            return .done
                        }
                    case (2, let breaker?):
                        history.record(.succeed(thread: thread), onThread: thread) {
                            try? breaker.acquire().complete(.success)
                            return .done
                        }
                    case (_, .some):
                        history.record(.letGo(thread: thread), onThread: thread) {
                            kept = nil
                            return .done
                        }
                    case (_, nil):
                        let (key, offer) = (random.below(6), "\(thread).\(step)")
                        history.record(.get(key, thread: thread, offer: offer), onThread: thread) {
                            let breaker = Self.$offer.withValue(offer) { registry[key] }
                            kept = breaker
                            return .breaker(breaker.name)
                        }
                    }
                }
                if kept != nil {
                    history.record(.letGo(thread: thread), onThread: thread) {
                        kept = nil
                        return .done
                    }
                }
            }
        }
    }
}
