public import Resilience

extension EndpointPool {
    /// Runs one attempt of a call on an endpoint that the call has not tried, and counts how it ends.
    ///
    /// If a policy of this process, such as the endpoint's own breaker, rejects the attempt, nothing was sent. Then the
    /// attempt continues on the next endpoint at once.
    /// - Parameters:
    ///   - call: The call.
    ///   - tried: The endpoints that the call has tried.
    ///   - verdict: Receives the verdict of the result.
    @inlinable nonisolated(nonsending) func attempt<R>(
        _ call: inout PolicyCall, _ tried: inout TriedEndpoints, _ verdict: inout Verdict,
        judging judge: (R) -> Verdict,
        _ operation: nonisolated(nonsending) (Endpoint, CallAttempt) async throws -> R
    ) async throws -> R {
        var chosen = try core.first(&tried, &call)
        while true {
            do {
                let result = try await operation(list(chosen.list).endpoints[chosen.pick.place], CallAttempt(call))
                verdict = judge(result)
                core.returned(verdict, chosen.pick, &call)
                return result
            } catch {
                guard let next = core.threw(error, chosen.pick, &tried, &call) else { throw error }
                chosen = next
            }
        }
    }

    /// Runs an operation on one endpoint, once, without a pipeline.
    ///
    /// For retries and other policies, use ``Resilience/Pipeline/run(over:options:judging:_:)-(_,_,_,(Endpoint)->R)``.
    ///
    /// - Parameters:
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns the verdict of a result. By default every result is a success.
    ///   - operation: The operation, which is given the endpoint. It runs in the caller's isolation.
    /// - Returns: The operation's result.
    /// - Throws: The operation's error; ``NoEndpoint`` if there is no endpoint.
    @inlinable public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), judging judge: (R) -> Verdict = { _ in .success },
        _ operation: nonisolated(nonsending) (Endpoint) async throws -> R
    ) async throws -> R {
        try await PipelineCore.bare(on: timeBase).run(over: self, options, judging: judge) { endpoint, _ in
            try await operation(endpoint)
        }
    }
}

extension EndpointPoolCore {
    /// Chooses the first endpoint of an attempt.
    @usableFromInline func first(_ tried: inout TriedEndpoints, _ call: inout PolicyCall) throws -> Chosen {
        let now = now(of: &call)
        tried.rejected = []
        let (chosen, told) = choose(&tried, at: now)
        if let told { tell(told, &call) }
        if let chosen { return chosen }
        call.hasRun = false
        throw noEndpoint(at: now)
    }

    @usableFromInline func returned(_ verdict: Verdict, _ pick: EndpointPick, _ call: inout PolicyCall) {
        let meaning = verdict.kind == .success ? verdict : meaning(of: verdict, &call)
        end(pick, meaning, &call)
    }

    /// If this many endpoints in a row reject an attempt, the others would probably reject it as well.
    private static let mostRejections = 10

    /// Whether an attempt continues on another endpoint: not after an error that would be the same there.
    /// - Parameters:
    ///   - meaning: The verdict of the error for the endpoint.
    ///   - rejected: The endpoints that have rejected the attempt, including the last one.
    static func goesOn(after error: any Error, _ meaning: Verdict, rejected: [Int]) -> Bool {
        meaning.kind == .rejected && error is any Rejection && !(error is DeadlinePassed)
            && rejected.count < mostRejections
    }

    /// - Returns: The next endpoint; nil if the attempt ends with this error.
    @usableFromInline func threw(
        _ error: any Error, _ pick: EndpointPick, _ tried: inout TriedEndpoints, _ call: inout PolicyCall
    ) -> Chosen? {
        let verdict = call.core.classifier.verdict(for: error)
        let meaning = meaning(of: verdict, &call)
        end(pick, meaning, &call)
        guard !Task.isCancelled else { return nil }
        // Keeps the verdict, so that the classifier is not called again.
        call.settled = verdict
        tried.rejected.append(pick.id)
        guard Self.goesOn(after: error, meaning, rejected: tried.rejected), !call.isOver else { return nil }
        let (next, told) = choose(&tried, rejected: tried.rejected, at: now(of: &call))
        if let told { tell(told, &call) }
        if next != nil { call.settled = nil }
        return next
    }

    /// The verdict of an attempt's end for its endpoint. A cancelled task is no evidence, except at the attempt's
    /// deadline.
    private func meaning(of verdict: Verdict, _ call: inout PolicyCall) -> Verdict {
        call.reading = nil
        guard Task.isCancelled else { return verdict }
        return call.isOver ? .transient : .cancelled
    }

    private func end(_ pick: EndpointPick, _ verdict: Verdict, _ call: inout PolicyCall) {
        if let told = ended(pick, verdict, at: { now(of: &call) }) { tell(told, &call) }
    }

    private func now(of call: inout PolicyCall) -> MonotonicInstant {
        call.core.timeBase === timeBase ? call.now : timeBase.now
    }

    private func tell(_ told: Told, _ call: inout PolicyCall) {
        guard call.isObserved(by: lazyObservers.known) else { return }
        for event in told.events { call.emit(event, from: name, to: lazyObservers.known) }
    }
}

extension PipelineCore {
    @inlinable nonisolated(nonsending) func run<Endpoint, R>(
        over pool: EndpointPool<Endpoint>, _ options: RunOptions, judging judge: (R) -> Verdict,
        _ operation: nonisolated(nonsending) (Endpoint, CallAttempt) async throws -> R
    ) async throws -> R {
        var tried = TriedEndpoints()
        var verdict = Verdict.success
        return try await run(
            options, judging: { _ in verdict },
            { call in try await pool.attempt(&call, &tried, &verdict, judging: judge, operation) })
    }
}

extension Pipeline {
    /// Runs the operation through the policies, each attempt on an endpoint that the pool chooses, if possible an
    /// endpoint that this call has not tried.
    ///
    /// If the operation throws a ``/Resilience/Rejection``, as a breaker or a bulkhead of the endpoint does, nothing
    /// has reached that endpoint. Then the attempt continues at once on another endpoint, if possible an endpoint that
    /// the call has not tried. After ten endpoints it fails with the last rejection.
    ///
    /// - Parameters:
    ///   - pool: The endpoints. A pool whose time base is not the pipeline's reads its own time base for each call.
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns the verdict of a result. It is called once for each attempt that returns. By default every
    ///     result is a success.
    ///   - operation: The operation, which is given the endpoint. It runs in the caller's isolation.
    /// - Returns: The result of the operation's last attempt.
    /// - Throws: The error of the operation's last attempt; ``NoEndpoint`` if there is no endpoint for the first one;
    ///   or an error of a policy or of the pipeline: see the ErrorsGuide of `Resilience`.
    @inlinable public nonisolated(nonsending) func run<Endpoint, R>(
        over pool: EndpointPool<Endpoint>, options: RunOptions = RunOptions(),
        judging judge: (R) -> Verdict = { _ in .success },
        _ operation: nonisolated(nonsending) (Endpoint) async throws -> R
    ) async throws -> R {
        try await core.run(over: pool, options, judging: judge) { endpoint, _ in try await operation(endpoint) }
    }

    /// Runs the operation as ``run(over:options:judging:_:)-(_,_,_,(Endpoint)->R)``, and passes it the number and the
    /// deadline of each attempt.
    ///
    /// - Parameters:
    ///   - pool: The endpoints.
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns the verdict of a result. By default every result is a success.
    ///   - operation: The operation, which is given the endpoint and its attempt. It runs in the caller's isolation.
    /// - Returns: The result of the operation's last attempt.
    /// - Throws: As ``run(over:options:judging:_:)-(_,_,_,(Endpoint)->R)``.
    @inlinable public nonisolated(nonsending) func run<Endpoint, R>(
        over pool: EndpointPool<Endpoint>, options: RunOptions = RunOptions(),
        judging judge: (R) -> Verdict = { _ in .success },
        _ operation: nonisolated(nonsending) (Endpoint, CallAttempt) async throws -> R
    ) async throws -> R {
        try await core.run(over: pool, options, judging: judge, operation)
    }
}
