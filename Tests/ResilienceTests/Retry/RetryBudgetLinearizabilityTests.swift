import ResilienceTesting
import TestSupport
import Testing

@testable import Resilience

extension Linearizability {
    @Suite(.heavy) struct RetryBudgetLinearizabilityTests {
        private enum Input: Sendable {
            case succeeded(after: Withdrawal)
            case failed
            case withdraw(Withdrawal)
            case giveBack
            case isExhausted
        }

        private struct Model<Machine: RetryBudgetStateMachine & Hashable>: SequentialModel {
            var machine: Machine

            mutating func apply(_ input: Input) -> Bool {
                switch input {
                case .succeeded(let last): machine.succeeded(after: last, at: .second(0))
                case .failed: machine.failed(after: .none, mayPass: true, at: .second(0))
                case .withdraw(let withdrawal): return machine.withdraw(withdrawal, at: .second(0))
                case .giveBack: machine.giveBack(.usual)
                case .isExhausted: return machine.isExhausted(at: .second(0))
                }
                return true
            }
        }

        @Test(
            "concurrent calls that pay, fail, succeed and return tokens have one order: no token is lost or created"
        )
        func tokens() async {
            await expectLinearizable(Model(machine: TokenBudget(capacity: 30, cost: 14, throttledCost: 5))) {
                RetryBudget.tokens(capacity: 30)
            } play: {
                Self.play($0, $1, &$2, $3)
            }
        }

        @Test("concurrent calls have one consistent order with a budget by ratio")
        func ratio() async {
            await expectLinearizable(Model(machine: RatioBudget(share: 0.3, reserve: 2, window: 10_000_000_000))) {
                RetryBudget.ratio(0.3, reserve: 2, window: .seconds(1), timeBase: ToldTime())
            } play: {
                Self.play($0, $1, &$2, $3)
            }
        }

        @Test("concurrent calls have one consistent order with a throttling budget")
        func throttling() async {
            await expectLinearizable(Model(machine: ThrottlingBudget(maxTokens: 4, ratio: 0.5))) {
                RetryBudget.throttling(maxTokens: 4, ratio: 0.5)
            } play: {
                Self.play($0, $1, &$2, $3)
            }
        }

        private static func play(
            _ budget: RetryBudget, _ thread: Int, _ random: inout SeededNumbers, _ history: History<Input, Bool>
        ) {
            let core = PipelineCore.bare(on: budget.timeBase)
            let inputs: [Input] = [
                .succeeded(after: .none), .succeeded(after: .none), .succeeded(after: .usual), .failed,
                .withdraw(.usual), .withdraw(.throttled), .giveBack, .isExhausted,
            ]
            for _ in 0..<stepsEach {
                let input = random.pick(inputs)
                history.record(input, onThread: thread) {
                    var call = PolicyCall(core)
                    switch input {
                    case .succeeded(let last): budget.succeeded(after: last, &call)
                    case .failed: budget.failed(after: .none, mayPass: true, &call)
                    case .withdraw(let withdrawal): return budget.withdraw(withdrawal, &call)
                    case .giveBack: budget.giveBack(.usual)
                    case .isExhausted: return budget.isExhausted
                    }
                    return true
                }
            }
        }
    }
}
