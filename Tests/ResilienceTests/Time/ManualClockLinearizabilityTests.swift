import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

extension Linearizability {
    @Suite(.heavy) struct ManualClockLinearizabilityTests {
        private enum Input: Sendable {
            /// One step of a move: fires the next alarm on the way, or arrives.
            case step(to: Int)
            case advance(by: Int)
            case schedule(Int)
            case cancel(Int)
            case now
            case sleepers
        }

        private enum Answer: Equatable, Sendable {
            case fired(Int)
            case arrived
            case done
            case now(MonotonicInstant)
            case sleepers([MonotonicInstant])
        }

        /// An alarm is identified by its second.
        private struct Model: SequentialModel {
            var now = 0
            var alarms: Set<Int> = []

            mutating func apply(_ input: Input) -> Answer {
                switch input {
                case .step(let target):
                    guard let next = alarms.min(), next <= max(target, now) else {
                        now = max(now, target)
                        return .arrived
                    }
                    alarms.remove(next)
                    now = max(now, next)
                    return .fired(next)
                case .advance(let seconds): now += seconds
                case .schedule(let second): alarms.insert(second)
                case .cancel(let second): alarms.remove(second)
                case .now: return .now(.second(Int64(now)))
                case .sleepers: return .sleepers(alarms.sorted().map { .second(Int64($0)) })
                }
                return .done
            }
        }

        private struct Subject: Sendable {
            static let alarms = 1...100

            /// Called when an alarm fires on this thread.
            @TaskLocal static var fired: @Sendable (Int) -> Void = { _ in }

            let clock = ManualClock(startingAt: .second(0))
            let receipts: [TimeBaseAlarm]

            init() {
                receipts = Self.alarms.map { [clock] second in
                    clock.schedule(at: .second(Int64(second))) { Self.fired(second) }
                }
            }
        }

        @Test("an alarm either fires once, on one thread, in order and on time, or was cancelled before")
        func alarms() async {
            await expectLinearizable(Model(alarms: Set(Subject.alarms))) {
                Subject()
            } play: { subject, thread, random, history in
                let clock = subject.clock
                var own: [(second: Int, alarm: TimeBaseAlarm)] = []
                for step in 0..<100 {
                    switch random.below(10) {
                    case 0..<3:
                        let target = step + random.below(6)
                        history.begin(.step(to: target), onThread: thread)
                        Subject.$fired.withValue({ second in
                            history.end(.fired(second), onThread: thread)
                            history.begin(.step(to: target), onThread: thread)
                        }) {
                            clock.advance(to: .second(Int64(target)))
                        }
                        history.end(.arrived, onThread: thread)
                    case 3..<6:
                        let second = min(step + random.below(12) + 1, 100)
                        history.record(.cancel(second), onThread: thread) {
                            clock.cancel(subject.receipts[second - 1])
                            return .done
                        }
                    case 6:
                        // Never due, and in the slot of a fired alarm, whose late cancellation must not hit it.
                        let second = 1_000 * (thread + 1) + step
                        history.record(.schedule(second), onThread: thread) {
                            own.append((second, clock.schedule(at: .second(Int64(second))) {}))
                            return .done
                        }
                    case 7 where !own.isEmpty:
                        let (second, alarm) = own.removeFirst()
                        history.record(.cancel(second), onThread: thread) {
                            clock.cancel(alarm)
                            return .done
                        }
                    case 8: history.record(.now, onThread: thread) { .now(clock.now) }
                    default: history.record(.sleepers, onThread: thread) { .sleepers(clock.sleepers) }
                    }
                }
            }
        }

        @Test("moves by many concurrent threads add up")
        func moves() async {
            await expectLinearizable(Model()) {
                ManualClock(startingAt: .second(0))
            } play: { clock, thread, random, history in
                for _ in 0..<stepsEach {
                    if random.below(2) == 0 {
                        history.record(.now, onThread: thread) { .now(clock.now) }
                    } else {
                        history.record(.advance(by: 1), onThread: thread) {
                            clock.advance(by: .seconds(1))
                            return .done
                        }
                    }
                }
            }
        }
    }
}
