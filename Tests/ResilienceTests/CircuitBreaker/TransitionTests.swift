import ResilienceTesting
import Testing

@testable import Resilience

@Suite(.timeLimit(.minutes(5))) struct TransitionTests {
    let clock = ManualClock()
    let breaker: CircuitBreaker

    init() { breaker = CircuitBreaker(tripping: .consecutiveFailures(1), timeBase: clock) }

    private func end(_ verdict: Verdict) { try? breaker.acquire().complete(verdict) }

    @Test("a stream tells of every change of state, in order and with its time, and of nothing else")
    func stream() async {
        let start = clock.now
        let transitions = breaker.transitions()
        end(.success)
        end(.transient)
        clock.advance(by: .seconds(60))
        end(.transient)
        clock.advance(by: .seconds(60))
        end(.success)
        breaker.reset()
        end(.transient)
        breaker.reset()
        var seen: [CircuitTransition] = []
        for await transition in transitions {
            seen.append(transition)
            if seen.count == 7 { break }
        }
        let times = [0, 60, 60, 120, 120, 120, 120].map { start + .seconds($0) }
        let states: [CircuitState] = [.closed, .open, .halfOpen, .open, .halfOpen, .closed, .open, .closed]
        #expect(
            seen
                == zip(zip(states, states.dropFirst()), times).map { CircuitTransition(from: $0.0, to: $0.1, time: $1) }
        )
    }

    @Test(
        "each reader has its own stream, a reader that lags loses the oldest, and one that ends leaves nothing behind")
    func readers() async {
        let (all, two) = (breaker.transitions(), breaker.transitions(bufferingNewest: 2))
        for _ in 0..<3 {
            end(.transient)
            breaker.reset()
        }
        func take(_ count: Int, from stream: AsyncStream<CircuitTransition>) async -> [CircuitState] {
            var states: [CircuitState] = []
            for await transition in stream {
                states.append(transition.to)
                if states.count == count { break }
            }
            return states
        }
        #expect(await take(6, from: all) == [.open, .closed, .open, .closed, .open, .closed])
        #expect(await take(2, from: two) == [.open, .closed])
        let task = Task { [breaker] in
            for await _ in breaker.transitions() {}
        }
        task.cancel()
        await task.value
        #expect(breaker.inner.withLock { $0.watchers.count } == 2)
        _ = (all, two)
    }

    @Test("a watcher may ask the breaker, change it, and add another watcher, without deadlock, and the order holds")
    func reentrant() {
        let seen = Locked<[String]>([])
        let added = Locked(false)
        breaker.watch(CircuitBreaker.nextWatcherID()) { [breaker] transition in
            seen.withLock { $0.append("1: \(transition.to)") }
            if transition.to == .open { breaker.reset() }
            if !added.withLock({ isAdded in
                defer { isAdded = true }
                return isAdded
            }) {
                breaker.watch(CircuitBreaker.nextWatcherID()) { transition in
                    seen.withLock { $0.append("2: \(transition.to)") }
                }
            }
        }
        end(.transient)
        #expect(seen.withLock { $0 } == ["1: open", "1: closed", "2: closed"])
    }

    @Test("changes made by many threads at once are told in the order in which they happened")
    func manyThreads() async {
        let seen = Locked<[CircuitTransition]>([])
        breaker.watch(CircuitBreaker.nextWatcherID()) { transition in seen.withLock { $0.append(transition) } }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { [breaker] in
                    for _ in 0..<500 {
                        try? breaker.acquire().complete(.transient)
                        breaker.reset()
                    }
                }
            }
        }
        let all = seen.withLock { $0 }
        #expect(all.count >= 2 && zip(all, all.dropFirst()).allSatisfy { $0.to == $1.from })
    }
}
