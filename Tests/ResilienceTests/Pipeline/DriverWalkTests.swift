import Resilience
import ResilienceTesting
import TestSupport
import Testing

@Suite(.heavy) struct DriverWalkTests {
    @Test("10 000 random calls through random stacks: every entered policy gets exactly one exit", arguments: 0..<4)
    func walk(seed: Int) async {
        var random = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<2_500 {
            let policies = (0..<Int.random(in: 0...20, using: &random)).map { randomPolicy("\($0)", &random) }
            let arounds = Int.random(in: 0...12, using: &random)
            let pipeline = Pipeline(timeBase: RushingClock()) {
                for (index, policy) in policies.enumerated() {
                    policy
                    if arounds == index % 13 { PlainAround() }
                }
            }
            let fails = Int.random(in: 0...3, using: &random)
            let cancels = Int.random(in: 0...5, using: &random) == 0
            let task = Task {
                var rounds = 0
                return try await pipeline.run {
                    rounds += 1
                    if cancels { cancelCurrentTask() }
                    if rounds <= fails { throw Outage() }
                }
            }
            _ = await task.result
            #expect(policies.allSatisfy { $0.owed == 0 && $0.mistakes.isEmpty })
        }
    }

    private func randomPolicy(_ name: String, _ random: inout SeededGenerator) -> ScriptedPolicy {
        let inward = (0..<Int.random(in: 0...3, using: &random)).map { _ -> ScriptedPolicy.Inward in
            switch Int.random(in: 0..<12, using: &random) {
            case 0: return .reject(Outage())
            case 1, 2: return .sleep(.seconds(1))
            case 3, 4:
                let waiter = PolicyWaiter()
                waiter.resume()
                return .park(waiter)
            default: return .proceed
            }
        }
        let outward = (0..<Int.random(in: 0...2, using: &random)).map { _ -> ScriptedPolicy.Outward in
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1: .again(.seconds(1))
            case 2: .replace(Outage(number: 2), .transient)
            default: .pass
            }
        }
        return ScriptedPolicy(name, in: inward, out: outward)
    }
}
