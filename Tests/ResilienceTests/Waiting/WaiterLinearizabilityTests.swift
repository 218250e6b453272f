import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

extension Linearizability {
    @Suite(.heavy) struct WaiterLinearizabilityTests {
        private enum Input: Sendable {
            case end(Int, PolicyWaiter.Wake)
            case wait(Int)
        }

        private struct Model: SequentialModel {
            var wakes: [Int: PolicyWaiter.Wake] = [:]

            mutating func apply(_ input: Input) -> PolicyWaiter.Wake? {
                switch input {
                case .end(let number, let wake):
                    if wakes[number] == nil { wakes[number] = wake }
                    return nil
                case .wait(let number): return wakes[number]
                }
            }
        }

        private struct Waits: Sendable {
            let waiters: OneAfterAnother<PolicyWaiter>
            /// Half of the waiters are awaited from the start, the other half only at the end.
            let tasks: [Int: Task<PolicyWaiter.Wake, Never>]

            init() {
                let waiters = OneAfterAnother(12) { PolicyWaiter() }
                self.waiters = waiters
                tasks = Dictionary(
                    uniqueKeysWithValues: stride(from: 0, to: 12, by: 2).map { number in
                        (number, Task { await Self.wait(for: waiters.all[number]) })
                    })
            }

            func wake(of number: Int) async -> PolicyWaiter.Wake {
                if let task = tasks[number] { return await task.value }
                return await Self.wait(for: waiters.all[number])
            }

            private static func wait(for waiter: PolicyWaiter) async -> PolicyWaiter.Wake {
                await waiter.wait(until: .distantFuture, on: .system)
            }
        }

        @Test("of many concurrent ends of a wait only the first counts")
        func linearizable() async {
            let threads = 3
            await expectLinearizable(Model(), threads: threads, lanes: threads + 1, histories: 200) {
                Waits()
            } play: { waits, thread, random, history in
                for _ in 0..<10 {
                    let (number, waiter) = waits.waiters.present(movingOn: random.below(3) == 0)
                    let wake = random.pick([PolicyWaiter.Wake.resumed, .expired, .cancelled])
                    history.record(.end(number, wake), onThread: thread) {
                        waiter.end(wake)
                        return nil
                    }
                }
            } afterwards: { waits, history in
                for (number, waiter) in waits.waiters.all.enumerated() {
                    history.record(.end(number, .resumed), onThread: threads) {
                        waiter.end(.resumed)
                        return nil
                    }
                    history.begin(.wait(number), onThread: threads)
                    history.end(await waits.wake(of: number), onThread: threads)
                }
            }
        }
    }
}
