import Resilience

extension PolicyContract {
    /// Trials of what can come between a call's rounds and waits.
    static var interruptions: [ContractTrial<Subject>] {
        [
            ContractTrial(name: "cancelled between two attempts, on and on") { stage in
                let traces = Traces()
                let rounds = 50
                func cancelledCalls() async {
                    for _ in 0..<rounds {
                        for verdict in everyFailure {
                            await stage.inTask { task in
                                _ = await stage.call { _ in
                                    task.cancel(after: .nanoseconds(1))
                                    throw traces.failure(verdict)
                                }
                            }
                        }
                        // Time for a policy that lets no call through after so many failures.
                        await stage.sleep(.seconds(3_600))
                    }
                }
                await cancelledCalls()
                let before = traces.count
                await cancelledCalls()
                // The policy may keep some errors, but not one more for every round.
                stage.require(
                    traces.count < before + rounds,
                    "the errors of calls that were cancelled between two attempts are never let go of")
            },
            ContractTrial(name: "an hour passes at once while calls wait") { stage in
                let gate = Gate()
                let calls = (0..<50).map { number in
                    Caller(on: stage.clock) { _ in
                        var attempts = 0
                        return await stage.call { _ in
                            attempts += 1
                            // Half of the calls wait for another attempt too, if they get one.
                            if attempts == 1, number.isMultiple(of: 2) {
                                throw Failure(verdict: everyFailure[number % everyFailure.count])
                            }
                            await gate.pass()
                        }
                    }
                }
                // Calls that continue after the first hour may have to wait again.
                for _ in 0..<3 {
                    await stage.clock.runUntilIdle()
                    stage.clock.jump(by: .seconds(3_600))
                }
                await stage.clock.runUntilIdle()
                gate.open()
                for call in calls { _ = await call.end() }
            },
        ]
    }

    /// Plays the same history several times, with and without an observer.
    ///
    /// - Returns: The stage of an observed history, with a complaint about what it did differently.
    func compareObserved(seed: UInt64, _ permitsOut: (@Sendable (Subject) -> Int)?) -> ContractStage<Subject> {
        func played(observed: Bool) -> ContractStage<Subject> {
            let stage = ContractStage(self, permitsOut)
            if observed { stage.pipeline.observers.add { _ in } }
            // A call that does not end is found by the trials.
            try? stage.clock.run(seed: seed, maxSteps: 50_000) {
                for round in 0..<UInt64(3) {
                    await stage.crowd(calls: 60, seed: seed &+ round)
                    await stage.sleep(.seconds(60))
                }
            }
            return stage
        }
        let unobserved = (0..<3).map { _ in played(observed: false).tally.happenings }
        let observed = (0..<2).map { _ in played(observed: true) }
        let (first, second) = (observed[0].tally.happenings, observed[1].tally.happenings)
        // A policy with random numbers of its own never repeats a history, and can't be compared.
        guard unobserved.allSatisfy({ $0 == unobserved[0] }), first == second, first != unobserved[0] else {
            return observed[0]
        }
        let index = zip(first, unobserved[0]).prefix { $0 == $1 }.underestimatedCount
        let (with, without) = (first.dropFirst(index).first, unobserved[0].dropFirst(index).first)
        observed[0].complain(
            "observed it decides differently: \(with.map { "\($0)" } ?? "the end"), "
                + "and unobserved \(without.map { "\($0)" } ?? "the end")")
        return observed[0]
    }
}
