public import Resilience

/// The endpoints of all copies of one call.
private final class EndpointTrail: Sendable {
    private struct State {
        var tried = TriedEndpoints()
        /// The endpoints with copies in flight.
        var inFlight: [Int] = []
    }

    private let pool: EndpointPoolCore
    private let core: PipelineCore
    private let state = Locked(State())

    init(_ pool: EndpointPoolCore, in core: PipelineCore) {
        self.pool = pool
        self.core = core
    }

    func choose(rejected: [Int] = []) -> (EndpointPoolCore.Chosen?, MonotonicInstant) {
        let now = pool.timeBase.now
        let (chosen, told) = state.withLock { state in
            let (chosen, told) = pool.choose(
                &state.tried, inFlight: state.inFlight, rejected: rejected, at: now)
            if let chosen { state.inFlight.append(chosen.pick.id) }
            return (chosen, told)
        }
        if let told { pool.tell(told, at: now, in: core) }
        return (chosen, now)
    }

    func ended(_ pick: EndpointPick, _ verdict: Verdict) {
        state.withLock { state in
            if let place = state.inFlight.firstIndex(of: pick.id) { state.inFlight.remove(at: place) }
        }
        pool.ended(pick, verdict, in: core)
    }
}

/// A result and its verdict, so that the caller's `judge` is asked once.
private struct Judged<R: Sendable>: Sendable {
    let result: R
    let verdict: Verdict
}

extension Pipeline {
    /// Runs the operation as ``/Resilience/Pipeline/runHedged(options:judging:_:)-(_,_,()->R)``, each copy on an
    /// endpoint that the pool chooses: if possible an endpoint that no copy of this call has tried, else if possible an
    /// endpoint without a copy in flight.
    ///
    /// A losing copy does not count for or against its endpoint.
    ///
    /// - Parameters:
    ///   - pool: The endpoints.
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns the verdict of a result. It is called once for each attempt of a copy that returns. By
    ///     default every result is a success.
    ///   - operation: The operation, which is given the endpoint.
    /// - Returns: The operation's result in the copy that decides the call.
    /// - Throws: As ``/Resilience/Pipeline/runHedged(options:judging:_:)-(_,_,()->R)``; ``NoEndpoint`` if there is no
    ///   endpoint.
    public nonisolated(nonsending) func runHedged<Endpoint, R: Sendable>(
        over pool: EndpointPool<Endpoint>, options: RunOptions = RunOptions(),
        judging judge: @escaping @Sendable (R) -> Verdict = { _ in .success },
        _ operation: @escaping @Sendable (Endpoint) async throws -> R
    ) async throws -> R {
        try await runHedged(over: pool, options: options, judging: judge) { endpoint, _ in
            try await operation(endpoint)
        }
    }

    /// Runs the operation as ``runHedged(over:options:judging:_:)-(_,_,_,(Endpoint)->R)``, and passes it the attempt
    /// and the copy.
    ///
    /// - Parameters:
    ///   - pool: The endpoints.
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns the verdict of a result. By default every result is a success.
    ///   - operation: The operation, which is given the endpoint and its attempt: see
    ///     ``/Resilience/CallAttempt/hedge``.
    /// - Returns: The operation's result in the copy that decides the call.
    /// - Throws: As ``runHedged(over:options:judging:_:)-(_,_,_,(Endpoint)->R)``.
    public nonisolated(nonsending) func runHedged<Endpoint, R: Sendable>(
        over pool: EndpointPool<Endpoint>, options: RunOptions = RunOptions(),
        judging judge: @escaping @Sendable (R) -> Verdict = { _ in .success },
        _ operation: @escaping @Sendable (Endpoint, CallAttempt) async throws -> R
    ) async throws -> R {
        let (trail, core) = (EndpointTrail(pool.core, in: core), core)
        let judged = try await core.runHedged(
            options, judging: { $0.verdict },
            { attempt, _ in
                var (chosen, now) = trail.choose()
                var rejected: [Int] = []
                while let present = chosen {
                    do {
                        let result = try await operation(pool.list(present.list).endpoints[present.pick.place], attempt)
                        let verdict = judge(result)
                        let meaning =
                            verdict.kind == .success ? verdict : core.meaning(of: verdict, before: attempt.deadline)
                        trail.ended(present.pick, meaning)
                        return Judged(result: result, verdict: verdict)
                    } catch {
                        let meaning = core.meaning(of: core.classifier.verdict(for: error), before: attempt.deadline)
                        trail.ended(present.pick, meaning)
                        rejected.append(present.pick.id)
                        guard EndpointPoolCore.goesOn(after: error, meaning, rejected: rejected), !Task.isCancelled
                        else { throw error }
                        (chosen, now) = trail.choose(rejected: rejected)
                        if chosen == nil { throw error }
                    }
                }
                throw pool.core.noEndpoint(at: now)
            })
        return judged.result
    }
}

extension PipelineCore {
    /// The verdict of a copy's end for its endpoint, as for an attempt.
    fileprivate func meaning(of verdict: Verdict, before deadline: MonotonicInstant) -> Verdict {
        guard Task.isCancelled else { return verdict }
        return deadline != .distantFuture && deadline <= timeBase.now ? .transient : .cancelled
    }
}
