import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

extension Linearizability {
    @Suite(.heavy) struct ThrottleLinearizabilityTests {
        private enum Input: Sendable {
            /// One thread has one call; this is the call's next step.
            case enter(thread: Int, cost: Int, at: Int)
            case exit(thread: Int, Verdict, at: Int)
            case hold(for: Int, at: Int)
            case endHold(at: Int)
            case setRate(ThrottleRate, burst: Int, at: Int)
            case reset(at: Int)
            case heldUntil
            case waiting
        }

        private enum Answer: Equatable, Sendable {
            case proceed
            case rejected(retryAfter: Duration?)
            case park(until: MonotonicInstant)
            case done
            case heldUntil(MonotonicInstant?)
            case waiting(Int)
        }

        private struct Model: SequentialModel {
            enum Call: Hashable {
                case admitted(generation: UInt64, receipt: [UInt64], cost: Int)
                case probe(generation: UInt64)
                case waiting(ticket: UInt64, latest: MonotonicInstant)
            }

            var machine: Dumped<ThrottleStateMachine>
            let maxWait: Duration
            let queue: Int
            /// How long a 429 without a wait holds; nil if 429s do not hold.
            let hold: Duration?
            var calls: [Int: Call] = [:]

            mutating func apply(_ input: Input) -> Answer {
                switch input {
                case .enter(let thread, let cost, let now): return enter(thread, cost, at: .second(Int64(now)))
                case .exit(let thread, let verdict, let now): exit(thread, verdict, at: .second(Int64(now)))
                case .hold(let length, let now):
                    machine.value.hold(until: .second(Int64(now + length)), counts: false)
                case .endHold(let now): machine.value.endHold(at: .second(Int64(now)))
                case .setRate(let rate, let burst, let now):
                    machine.value.setRate(rate, burst: burst, at: .second(Int64(now)))
                case .reset(let now): machine.value.reset(at: .second(Int64(now)))
                case .heldUntil:
                    switch machine.value.gate {
                    case .open: return .heldUntil(nil)
                    case .held(let until): return .heldUntil(until)
                    case .probing(let leaseEnds): return .heldUntil(leaseEnds)
                    }
                case .waiting: return .waiting(machine.value.line.count)
                }
                return .done
            }

            private mutating func enter(_ thread: Int, _ cost: Int, at now: MonotonicInstant) -> Answer {
                var latest = now + maxWait
                var waiting: UInt64?
                if case .waiting(let ticket, let first) = calls.removeValue(forKey: thread) {
                    (latest, waiting) = (first, ticket)
                }
                let answer =
                    waiting.map { machine.value.askAgain($0, at: now) } ?? machine.value.ask(cost: cost, at: now)
                switch answer {
                case .go, .pace:
                    let receipt = machine.value.receipt
                    calls[thread] = .admitted(
                        generation: machine.value.generation, receipt: [receipt.first, receipt.second], cost: cost)
                    return .proceed
                case .probe:
                    calls[thread] = .probe(generation: machine.value.generation)
                    return .proceed
                case .never:
                    return .rejected(retryAfter: nil)
                case .notBefore, .held, .probing:
                    let isFull = waiting == nil && machine.value.line.count >= queue
                    guard mayWait(for: answer, at: now, latest), !isFull else {
                        if let waiting { _ = machine.value.leave(waiting) }
                        return .rejected(
                            retryAfter: now.duration(to: max(now, machine.value.comesAgain(answer, cost: cost))))
                    }
                }
                let ticket = waiting ?? machine.value.join(cost: cost, at: now)
                calls[thread] = .waiting(ticket: ticket, latest: latest)
                return .park(until: min(machine.value.asksAgain(ticket, told: answer), latest))
            }

            private func mayWait(
                for answer: ThrottleStateMachine.Answer, at now: MonotonicInstant, _ latest: MonotonicInstant
            ) -> Bool {
                guard now < latest else { return false }
                return switch answer {
                case .notBefore(let turn), .held(let turn): turn <= latest
                case .probing: true
                case .go, .pace, .probe, .never: false
                }
            }

            private mutating func exit(_ thread: Int, _ verdict: Verdict, at now: MonotonicInstant) {
                switch calls.removeValue(forKey: thread) {
                case .waiting(let ticket, _): _ = machine.value.leave(ticket)
                case .admitted(let generation, let receipt, let cost):
                    ended(verdict, generation, wasProbe: false, at: now)
                    if verdict == .rejected, cost > 0 {
                        let receipt = ShareReceipt(first: receipt[0], second: receipt[1])
                        machine.value.giveBack(cost, receipt, inGeneration: generation, at: now)
                    }
                case .probe(let generation): ended(verdict, generation, wasProbe: true, at: now)
                case nil: break
                }
            }

            private mutating func ended(
                _ verdict: Verdict, _ generation: UInt64, wasProbe: Bool, at now: MonotonicInstant
            ) {
                if wasProbe, !verdict.saysNothing {
                    machine.value.noteTime(ofProbeIn: generation, endedAt: now)
                }
                if verdict.kind == .throttled, let hold {
                    if machine.value.minds(throttledInGeneration: generation, wasProbe: wasProbe) {
                        let probe: Duration = verdict.retryAfter == nil ? .zero : .seconds(300)
                        machine.value.hold(until: now + (verdict.retryAfter ?? hold), probingAfter: probe, at: now)
                    }
                } else if wasProbe {
                    machine.value.probeEnded(decided: !verdict.saysNothing, inGeneration: generation, at: now)
                }
            }
        }

        @Test(
            "concurrent calls that go, wait, are rejected, probe or hold other calls have one consistent order",
            arguments: [
                (rate: ThrottleRate(1, per: .seconds(3)), maxWait: 0, hold: nil as Int?),
                (ThrottleRate(1, per: .seconds(3)), 12, nil),
                (ThrottleRate(1, per: .seconds(2)), 12, 10),
            ])
        func linearizable(rate: ThrottleRate, maxWait: Int, hold: Int?) async {
            let model = Model(
                machine: Dumped(ThrottleStateMachine(rate: rate, burst: 2)), maxWait: .seconds(maxWait), queue: 2,
                hold: hold.map { .seconds($0) })
            await expectLinearizable(model, seed: UInt64(maxWait)) {
                Throttle(
                    limit: .rate(rate.calls, per: rate.period, burst: 2), maxWait: .seconds(maxWait), queue: 2,
                    holdOnThrottled: hold != nil,
                    holdBackoff: .constant(.seconds(hold ?? 0)), timeBase: ToldTime())
            } play: { throttle, thread, random, history in
                Self.play(throttle, thread, &random, history, changesRate: true)
            } afterwards: { throttle, _ in
                #expect(throttle.queued == 0)
            }
        }

        @Test("concurrent calls have one consistent order at a gate without a rate")
        func gate() async {
            let model = Model(
                machine: Dumped(ThrottleStateMachine(rate: nil, burst: 1)), maxWait: .seconds(20), queue: 2,
                hold: .seconds(10))
            await expectLinearizable(model) {
                Throttle(
                    "gate", limit: .unlimited,
                    maxWait: .seconds(20), queue: 2, holdOnThrottled: true, holdBackoff: .constant(.seconds(10)),
                    timeBase: ToldTime())
            } play: { throttle, thread, random, history in
                Self.play(throttle, thread, &random, history)
            } afterwards: { throttle, _ in
                #expect(throttle.queued == 0)
            }
        }

        private static func play(
            _ throttle: Throttle, _ thread: Int, _ random: inout SeededNumbers, _ history: History<Input, Answer>,
            changesRate: Bool = false
        ) {
            let verdicts: [Verdict] = [
                .success, .success, .transient, .throttled, .throttled(retryAfter: .seconds(5)), .cancelled,
                .rejected,
            ]
            let core = PipelineCore.bare(on: throttle.timeBase)
            var slot = PolicySlot()
            var isInside = false
            var waits = false
            var cost = 1
            func exit(_ verdict: Verdict) {
                history.record(.exit(thread: thread, verdict, at: ToldTime.seconds), onThread: thread) {
                    var call = PolicyCall(core, RunOptions(cost: cost))
                    _ = throttle.exit(&call, &slot, PolicyOutcome(verdict))
                    return .done
                }
                (isInside, waits) = (false, false)
            }
            func enter() {
                // A waiting call keeps its cost.
                if !waits { cost = random.below(4) }
                history.record(.enter(thread: thread, cost: cost, at: ToldTime.seconds), onThread: thread) {
                    var call = PolicyCall(core, RunOptions(cost: cost))
                    switch throttle.enter(&call, &slot) {
                    case .proceed:
                        (isInside, waits) = (true, false)
                        return .proceed
                    case .reject(let error):
                        (isInside, waits) = (false, false)
                        return .rejected(retryAfter: (error as? ThrottleExceeded)?.retryAfter)
                    case .sleep, .fail, .cancel:
                        return .done
                    case .park(_, let instant):
                        (isInside, waits) = (true, true)
                        return .park(until: instant)
                    }
                }
            }
            for step in 0..<stepsEach {
                let now = 2 * step + random.below(8)
                ToldTime.$seconds.withValue(now) {
                    switch random.below(20) {
                    case 0:
                        let length = random.below(15)
                        history.record(.hold(for: length, at: now), onThread: thread) {
                            throttle.hold(for: .seconds(length))
                            return .done
                        }
                    case 1:
                        history.record(.endHold(at: now), onThread: thread) {
                            throttle.endHold()
                            return .done
                        }
                    case 2 where changesRate:
                        let (rate, burst) = (ThrottleRate(1, per: .seconds(1 + random.below(4))), 1 + random.below(3))
                        history.record(.setRate(rate, burst: burst, at: now), onThread: thread) {
                            throttle.setRate(rate, burst: burst)
                            return .done
                        }
                    case 3 where random.below(3) == 0:
                        history.record(.reset(at: now), onThread: thread) {
                            throttle.reset()
                            return .done
                        }
                    case 2..<4:
                        history.record(.heldUntil, onThread: thread) { .heldUntil(throttle.heldUntil) }
                    case 4..<6:
                        history.record(.waiting, onThread: thread) { .waiting(throttle.queued) }
                    case 6..<13 where waits: enter()
                    case _ where isInside: exit(waits ? .cancelled : random.pick(verdicts))
                    default: enter()
                    }
                }
            }
            if isInside { exit(.cancelled) }
        }
    }
}
