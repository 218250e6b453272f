import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience
@testable import ResilienceTraffic

extension Linearizability {
    @Suite(.heavy) struct ChaosLinearizabilityTests {
        private enum Input: Sendable {
            case call
            case turnOn
            case turnOff
            case play
            case scriptLeft
        }

        private enum Answer: Equatable, Sendable {
            case proceeds
            case fails(Verdict)
            case ends
            case done
            case left(Int)
        }

        private static let script: [ChaosInjection?] = [.fault(.transient), nil, .fault(.permanent), .cancellation()]

        private struct Model: SequentialModel {
            var isOn = false
            var steps = Array(ChaosLinearizabilityTests.script.indices)
            var length = ChaosLinearizabilityTests.script.count

            mutating func apply(_ input: Input) -> Answer {
                switch input {
                case .call:
                    guard isOn, !steps.isEmpty else { return .proceeds }
                    let injection = ChaosLinearizabilityTests.script[steps.removeFirst()]
                    switch injection?.kind {
                    case .fault: return .fails(injection?.verdict ?? .transient)
                    case .cancellation: return .ends
                    default: return .proceeds
                    }
                case .turnOn:
                    if !isOn { steps = Array(ChaosLinearizabilityTests.script.indices) }
                    isOn = true
                case .turnOff: isOn = false
                case .play: steps = Array(ChaosLinearizabilityTests.script.indices)
                case .scriptLeft: return .left(steps.count)
                }
                return .done
            }
        }

        @Test(
            "calls take a script's steps in one order, while others turn the policy on and off and restart the script"
        )
        func linearizable() async {
            await expectLinearizable(Model()) {
                Chaos(script: Self.script)
            } play: { chaos, thread, random, history in
                let core = PipelineCore.bare(on: nil)
                for _ in 0..<stepsEach {
                    switch random.below(12) {
                    case 0:
                        history.record(.turnOn, onThread: thread) {
                            chaos.turnOn(for: .seconds(3_600))
                            return .done
                        }
                    case 1:
                        history.record(.turnOff, onThread: thread) {
                            chaos.turnOff()
                            return .done
                        }
                    case 2:
                        history.record(.play, onThread: thread) {
                            chaos.play(Self.script)
                            return .done
                        }
                    case 3: history.record(.scriptLeft, onThread: thread) { .left(chaos.status.scriptLeft) }
                    default:
                        history.record(.call, onThread: thread) {
                            var call = PolicyCall(core)
                            var slot = PolicySlot()
                            switch chaos.enter(&call, &slot) {
                            case .proceed:
                                _ = chaos.exit(&call, &slot, .success)
                                return .proceeds
                            case .fail(let error): return .fails((error as? InjectedFault)?.verdict ?? .success)
                            case .cancel: return .ends
                            case .reject, .sleep, .park: return .done
                            }
                        }
                    }
                }
            }
        }
    }
}
