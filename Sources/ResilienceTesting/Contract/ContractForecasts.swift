import Resilience

extension PolicyContract {
    /// Trials of the policy's forecasts.
    static var forecasts: [ContractTrial<Subject>] {
        [
            ContractTrial(name: "forecasts of calls that come one after another, and stay") { stage in
                let gate = Gate()
                var calls: [Caller<ContractStage<Subject>.End>] = []
                for _ in 0..<50 {
                    calls.append(await stage.callAsForecast { _ in await gate.pass() })
                }
                gate.open()
                for call in calls { _ = await call.end() }
            },
            ContractTrial(name: "forecasts of calls that fail") { stage in
                for verdict in everyFailure {
                    for wait in [0, 1, 60, 3_600] {
                        await stage.sleep(.seconds(wait))
                        let call = await stage.callAsForecast { _ in throw Failure(verdict: verdict) }
                        _ = await call.end()
                    }
                }
            },
        ]
    }
}

extension ContractStage {
    /// Makes a call, whose forecast must be right.
    /// - Returns: The call, which has gone as far as it can at this time.
    func callAsForecast(_ operation: @escaping @Sendable (CallAttempt) async throws -> Void) async -> Caller<End> {
        let forecast = pipeline.forecast()
        require(pipeline.forecast() == forecast, "it gives one call two different forecasts")
        let call = Caller(on: clock) { [self] begun in
            await self.call { attempt in
                begun.set()
                try await operation(attempt)
            }
        }
        await clock.runUntilIdle()
        let became = call.hasBegun ? "begins" : call.hasEnded ? "is rejected" : "waits"
        let isRight =
            switch forecast.outcome {
            case .begins: call.hasBegun || forecast.chance < 1
            case .waits: !call.hasBegun && (!call.hasEnded || forecast.chance < 1)
            case .isRejected: !call.hasBegun && call.hasEnded
            }
        // The effects of fault injectors can't be foreseen.
        let isForeseen = !pipeline.policies(of: (any Policy).self).contains { $0.traits.injectsFaults }
        require(isRight || !isForeseen, "it forecasts that a call \(forecast.outcome.word), and the call \(became)")
        return call
    }
}

extension CallForecast.Outcome {
    fileprivate var word: String {
        switch self {
        case .begins: "begins"
        case .waits: "waits"
        case .isRejected: "is rejected"
        }
    }
}
