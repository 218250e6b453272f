import Resilience

extension ContractStage {
    /// Many concurrent calls with random actions.
    func crowd(calls: Int, seed: UInt64) async {
        let actor = Elsewhere()
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<calls {
                group.addTask { [self] in
                    var random = SeededGenerator(seed: seed &+ UInt64(index))
                    // Some calls are cancelled from outside, sooner or later.
                    let cancelsAfter =
                        UInt8.random(in: 0..<4, using: &random) == 0 ? Int.random(in: 0...3, using: &random) : nil
                    let habit = Habit(&random)
                    await withTaskGroup(of: Void.self) { group in
                        group.addTask { _ = await self.call { _ in try await self.act(habit, actor) } }
                        guard let cancelsAfter else { return }
                        for _ in 0..<cancelsAfter { await actor.visit() }
                        group.cancelAll()
                    }
                }
            }
        }
    }

    private nonisolated(nonsending) func act(_ habit: Habit, _ actor: Elsewhere) async throws {
        for _ in 0..<habit.visits { await actor.visit() }
        if let wait = habit.wait { await sleep(wait) }
        if habit.cancelsItself { withUnsafeCurrentTask { $0?.cancel() } }
        if let failure = habit.failure { throw failure }
    }

    private struct Habit: Sendable {
        let visits: Int
        let wait: Duration?
        let cancelsItself: Bool
        let failure: Failure?

        init(_ random: inout SeededGenerator) {
            visits = Int.random(in: 0...2, using: &random)
            wait =
                UInt8.random(in: 0..<4, using: &random) == 0
                ? .milliseconds(Int.random(in: 1...100, using: &random)) : nil
            cancelsItself = UInt8.random(in: 0..<8, using: &random) == 0
            let verdicts: [Verdict] = [.transient, .throttled, .permanent, .uncertain, .rejected]
            failure =
                UInt8.random(in: 0..<4, using: &random) == 0
                ? Failure(verdict: verdicts.randomElement(using: &random) ?? .transient) : nil
        }
    }

    /// A crowd on all threads. Time moves as soon as any task waits for it.
    func storm(calls: Int, seed: UInt64) async {
        let isOver = Flag()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                while true {
                    await clock.waitForSleepers(1)
                    if isOver.isSet { return }
                    clock.advanceToNextSleeper()
                }
            }
            await crowd(calls: calls, seed: seed)
            isOver.set()
            let alarm = clock.schedule(at: .distantFuture) {}
            await group.waitForAll()
            clock.cancel(alarm)
        }
    }
}
