import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

extension Linearizability {
    @Suite(.heavy) struct TimeoutRaceLinearizabilityTests {
        private static let clock = ManualClock()
        /// Two timeouts. The inner timeout has expired.
        private static let limits = NestedLimits(inner: clock.now, outer: clock.now + .seconds(1))

        private struct Model: SequentialModel {
            enum Event: Sendable { case insideEnded, insideThrew, limitPassed, callerCancelled, state }

            struct Input: Sendable {
                let event: Event
                let race: Int
            }

            enum Answer: Equatable, Sendable {
                case done
                case cancelsInside(Bool)
                case state(NestedTimeoutsStateMachine)
            }

            var machines: [Int: NestedTimeoutsStateMachine] = [:]

            mutating func apply(_ input: Input) -> Answer {
                let (limits, now) = (TimeoutRaceLinearizabilityTests.limits, TimeoutRaceLinearizabilityTests.clock.now)
                var machine = machines[input.race] ?? NestedTimeoutsStateMachine()
                defer { machines[input.race] = machine }
                switch input.event {
                case .insideEnded:
                    machine.insideEnded()
                    return .done
                case .insideThrew:
                    machine.insideThrew(at: now, limits)
                    return .done
                case .limitPassed: return .cancelsInside(machine.limitPassed(of: limits) == .cancelInside)
                case .callerCancelled:
                    return .cancelsInside(
                        machine.callerCancelled(at: now, limits) == .cancelInside)
                case .state: return .state(machine)
                }
            }
        }

        @Test("concurrent ends, limits and cancellations of a call have one consistent order")
        func linearizable() async {
            let (limits, clock) = (Self.limits, Self.clock)
            await expectLinearizable(Model()) {
                OneAfterAnother(100) { TimeoutRace(limits, on: clock) }
            } play: { races, thread, random, history in
                for _ in 0..<stepsEach {
                    let (number, race) = races.present(movingOn: random.below(4) == 0)
                    let event = random.pick([
                        Model.Event.insideEnded, .insideThrew, .limitPassed, .callerCancelled, .state,
                    ])
                    history.record(Model.Input(event: event, race: number), onThread: thread) {
                        switch event {
                        case .insideEnded:
                            race.insideEnded()
                            return .done
                        case .insideThrew:
                            race.insideThrew()
                            return .done
                        case .limitPassed: return .cancelsInside(race.limitPassed())
                        case .callerCancelled: return .cancelsInside(race.callerCancelled())
                        case .state: return .state(race.machine)
                        }
                    }
                }
            }
        }
    }
}
