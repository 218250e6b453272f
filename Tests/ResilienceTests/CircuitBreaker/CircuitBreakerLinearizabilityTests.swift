import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

extension Linearizability {
    @Suite(.heavy) struct CircuitBreakerLinearizabilityTests {
        private enum Input: Sendable {
            /// One thread has one call at a time.
            case tryAcquire(thread: Int, at: Int)
            case complete(thread: Int, Verdict, at: Int)
            case reset(keepingGrowth: Bool, at: Int)
            case endBreak(at: Int)
            case status(at: Int)
        }

        private enum Answer: Equatable, Sendable {
            case allowed
            case rejected(retryAfter: Duration?)
            case done
            case waits
            case endedBreak(Bool)
            case status(CircuitBreakerStatus)
        }

        private struct Model: SequentialModel {
            private struct Admission: Hashable {
                let generation: UInt64
                let ticket: UInt64
                let began: MonotonicInstant?
            }

            private var circuit: Dumped<Circuit>
            private var admissions: [Int: Admission] = [:]

            init(_ machine: some CircuitStateMachine) { circuit = Dumped(Circuit(machine)) }

            mutating func apply(_ input: Input) -> Answer {
                switch input {
                case .tryAcquire(let thread, let now):
                    switch circuit.value.admit(at: .second(Int64(now))) {
                    case .allow(let generation, let ticket, let began, _, _):
                        admissions[thread] = Admission(generation: generation, ticket: ticket, began: began)
                        return .allowed
                    case .reject(let retryAfter, _):
                        // The wait is computed from the clock, which may be behind the circuit's time.
                        let now = MonotonicInstant.second(Int64(now))
                        return .rejected(
                            retryAfter: retryAfter.map { now.duration(to: max(now, circuit.value.latest) + $0) })
                    case .wait:
                        return .waits
                    }
                case .complete(let thread, let verdict, let now):
                    guard let admission = admissions.removeValue(forKey: thread) else { return .done }
                    // A batched success does not advance the circuit's time.
                    if verdict == .success, admission.ticket == 0, admission.generation == circuit.value.generation,
                        circuit.value.needs == .successes, .second(Int64(now)) < circuit.value.tallyEnds
                    {
                        circuit.value.succeeded(1)
                        return .done
                    }
                    _ = circuit.value.record(
                        verdict, generation: admission.generation, ticket: admission.ticket, began: admission.began,
                        at: .second(Int64(now)))
                    return .done
                case .reset(let keepingGrowth, let now):
                    _ = circuit.value.reset(keepingGrowth: keepingGrowth, at: .second(Int64(now)))
                    return .done
                case .endBreak(let now):
                    return .endedBreak(circuit.value.endBreak(at: .second(Int64(now))).isDone)
                case .status(let now):
                    return .status(circuit.value.status(at: .second(Int64(now))))
                }
            }
        }

        private func expectLinearizable(
            _ machine: some CircuitStateMachine, failure: Verdict
        ) async {
            let verdicts: [Verdict] = [
                .success, .success, failure, failure, failure, .permanent, .cancelled, .rejected,
            ]
            await TestSupport.expectLinearizable(Model(machine)) {
                CircuitBreaker(circuit: machine, timeBase: ToldTime())
            } play: { breaker, thread, random, history in
                var permit: PolicyPermit?
                func complete(at now: Int) {
                    let verdict = random.pick(verdicts)
                    history.record(.complete(thread: thread, verdict, at: now), onThread: thread) {
                        permit.take()?.complete(verdict)
                        return .done
                    }
                }
                for step in 0..<stepsEach {
                    let now = 5 * step + random.below(20)
                    ToldTime.$seconds.withValue(now) {
                        switch random.below(16) {
                        case 0:
                            let keepingGrowth = random.below(2) == 0
                            history.record(.reset(keepingGrowth: keepingGrowth, at: now), onThread: thread) {
                                breaker.reset(keepingGrowth: keepingGrowth)
                                return .done
                            }
                        case 1:
                            history.record(.endBreak(at: now), onThread: thread) { .endedBreak(breaker.endBreak()) }
                        case 2..<5:
                            history.record(.status(at: now), onThread: thread) { .status(breaker.status) }
                        case _ where permit != nil:
                            complete(at: now)
                        default:
                            history.record(.tryAcquire(thread: thread, at: now), onThread: thread) {
                                do {
                                    permit = try breaker.tryAcquire()
                                    return .allowed
                                } catch {
                                    return .rejected(retryAfter: (error as? CircuitOpen)?.retryAfter)
                                }
                            }
                        }
                    }
                }
                if permit != nil { complete(at: ToldTime.seconds) }
            }
        }

        @Test("concurrent calls, probes, resets and status reads of a three-state circuit have one consistent order")
        func threeStates() async {
            await expectLinearizable(
                ThreeStateCircuit(tripping: .consecutiveFailures(2), openFor: .seconds(30)),
                failure: .transient)
        }

        @Test("concurrent inputs have one consistent order with several probes and growing breaks")
        func severalProbes() async {
            await expectLinearizable(
                ThreeStateCircuit(
                    tripping: .consecutiveFailures(1), openFor: .exponential(from: .seconds(10)), probes: 2,
                    closing: .successes(2), probeLease: .seconds(30)),
                failure: .transient)
        }

        @Test(
            "concurrent inputs have one consistent order with windows of calls and of time, whose successes are batched"
        )
        func windows() async {
            let windows: [CallWindow] = [.calls(5), .time(.seconds(40), buckets: 4)]
            for window in windows {
                await expectLinearizable(
                    ThreeStateCircuit(
                        tripping: .failureRatio(0.5, over: window, minimumCalls: 3), openFor: .seconds(30)),
                    failure: .transient)
            }
        }

        @Test("concurrent inputs have one consistent order with slow calls in flight, and a ramp")
        func slowCalls() async {
            await expectLinearizable(
                ThreeStateCircuit(
                    tripping: .slowCalls(0.5, longerThan: .seconds(20), over: .calls(4), minimumCalls: 2),
                    openFor: .seconds(30), ramp: .seconds(60)),
                failure: .transient)
        }

        @Test("concurrent inputs have one consistent order with a gate that shuts for longer each time")
        func gate() async {
            await expectLinearizable(
                BackoffGate(tripping: .consecutiveThrottles(2), openFor: .exponential(from: .seconds(10))),
                failure: .throttled)
        }
    }
}
