import Resilience

extension PolicyContract {
    /// Trials of interruptions between a call's rounds and waits.
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
                        // After these failures, a policy may reject all calls. This wait gives it time to admit calls
                        // again.
                        await stage.sleep(.seconds(3_600))
                    }
                }
                await cancelledCalls()
                let before = traces.count
                await cancelledCalls()
                // The policy may keep some errors, but not one more error for every round.
                stage.require(
                    traces.count < before + rounds,
                    "the errors of calls that were cancelled between two attempts are never released")
            },
            ContractTrial(name: "an hour passes at once while calls wait") { stage in
                let gate = Gate()
                let calls = (0..<50).map { number in
                    Caller(on: stage.clock) { _ in
                        var attempts = 0
                        return await stage.call { _ in
                            attempts += 1
                            // Half of the calls also wait for another attempt, if they get one.
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

    /// Plays the same history without an observer, with an observer, and with an observer that asks for forecasts.
    ///
    /// - Returns: A stage for each of two comparisons, with complaints about the differences.
    func compareObserved(
        seed: UInt64, _ permitsOut: (@Sendable (Subject) -> Int)?
    ) -> [(trial: String, stage: ContractStage<Subject>)] {
        func played(_ observe: (@Sendable (Pipeline) -> Void)?) -> ContractStage<Subject> {
            let stage = ContractStage(self, permitsOut)
            let pipeline = stage.pipeline
            let observation = observe.map { observe in pipeline.observers.add { _ in observe(pipeline) } }
            defer { observation?.cancel() }
            // An error is ignored here: the trials report calls that do not end.
            try? stage.clock.run(seed: seed, maxSteps: 50_000) {
                for round in 0..<UInt64(3) {
                    await stage.crowd(calls: 60, seed: seed &+ round)
                    await stage.sleep(.seconds(60))
                }
            }
            return stage
        }
        let unobserved = (0..<3).map { _ in played(nil) }
        let observed = (0..<2).map { _ in played { _ in } }
        let asked = (0..<2).map { _ in played { _ = $0.forecast() } }
        complain(observed, than: unobserved, "observed", "unobserved")
        complain(asked, than: observed, "asked for forecasts", "unasked")
        return [("with and without an observer", observed[0]), ("with and without forecasts", asked[0])]
    }

    private func complain(
        _ stages: [ContractStage<Subject>], than others: [ContractStage<Subject>], _ word: String, _ other: String
    ) {
        let (one, without) = (stages[0].tally.happenings, others[0].tally.happenings)
        // A policy with its own random numbers never repeats a history, and can't be compared.
        guard stages.allSatisfy({ $0.tally.happenings == one }),
            others.allSatisfy({ $0.tally.happenings == without }), one != without
        else { return }
        let index = zip(one, without).prefix { $0 == $1 }.underestimatedCount
        func happening(_ history: [ContractStage<Subject>.Happening]) -> String {
            history.dropFirst(index).first.map { "\($0)" } ?? "the end"
        }
        stages[0].complain("\(word) it decides differently: \(happening(one)), and \(other) \(happening(without))")
    }
}
