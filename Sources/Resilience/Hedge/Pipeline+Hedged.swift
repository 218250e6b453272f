extension Pipeline {
    /// Runs the operation through the policies, and lets the pipeline's ``Hedge`` run copies of it at the same time.
    ///
    /// So the operation is `@Sendable`, and runs away from the caller's actor. A pipeline without a hedge runs it once for
    /// each attempt. Of several hedges in a pipeline, only the outermost makes copies.
    ///
    /// A hedge makes copies only of a call that may be repeated: of a pipeline or with options that say `isIdempotent: true`.
    /// Of any other call it makes one only after a failure that had no effect, and none with `isIdempotent: false`.
    ///
    /// - Parameters:
    ///   - options: What the caller tells the policies about this call, such as a deadline.
    ///   - operation: The operation. It is cancelled if another copy is faster, and waited for.
    /// - Returns: What the operation returned, in the copy that decides the call.
    /// - Throws: What the operation threw in its last attempt, or an error of a policy or of the pipeline: see
    ///   <doc:ErrorsGuide>. If no copy succeeded, the error tells most: what the other side asked for comes before any
    ///   other failure, a failure before a rejection, and the later of two.
    public nonisolated(nonsending) func runHedged<R: Sendable>(
        options: RunOptions = RunOptions(), _ operation: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        try await core.runHedged(options, judging: { _ in .success }, { _ in try await operation() })
    }

    /// Runs the operation as ``runHedged(options:_:)-(_,()->R)``, and tells it which attempt and which copy it is.
    ///
    /// - Parameters:
    ///   - options: What the caller tells the policies about this call, such as a deadline.
    ///   - operation: The operation, which is given its attempt: see ``CallAttempt/hedge``.
    /// - Returns: What the operation returned, in the copy that decides the call.
    /// - Throws: As ``runHedged(options:_:)-(_,()->R)``.
    public nonisolated(nonsending) func runHedged<R: Sendable>(
        options: RunOptions = RunOptions(), _ operation: @escaping @Sendable (CallAttempt) async throws -> R
    ) async throws -> R {
        try await core.runHedged(options, judging: { _ in .success }, operation)
    }

    /// Runs an operation whose result may mean failure, such as a response with status 503, as
    /// ``runHedged(options:_:)-(_,()->R)``.
    ///
    /// - Parameters:
    ///   - options: What the caller tells the policies about this call, such as a deadline.
    ///   - judge: Returns what a result means. It is called once for each attempt of a copy that returns.
    ///   - operation: The operation.
    /// - Returns: What the operation returned, in the copy that decides the call: a success, if there is one.
    /// - Throws: As ``runHedged(options:_:)-(_,()->R)``.
    public nonisolated(nonsending) func runHedged<R: Sendable>(
        options: RunOptions = RunOptions(), judging judge: @escaping @Sendable (R) -> Verdict,
        _ operation: @escaping @Sendable () async throws -> R
    ) async throws -> R {
        try await core.runHedged(options, judging: judge, { _ in try await operation() })
    }

    /// Runs an operation whose result may mean failure as ``runHedged(options:_:)-(_,()->R)``, and tells it which attempt
    /// and which copy it is.
    ///
    /// - Parameters:
    ///   - options: What the caller tells the policies about this call, such as a deadline.
    ///   - judge: Returns what a result means. It is called once for each attempt of a copy that returns.
    ///   - operation: The operation, which is given its attempt: see ``CallAttempt/hedge``.
    /// - Returns: What the operation returned, in the copy that decides the call: a success, if there is one.
    /// - Throws: As ``runHedged(options:_:)-(_,()->R)``.
    public nonisolated(nonsending) func runHedged<R: Sendable>(
        options: RunOptions = RunOptions(), judging judge: @escaping @Sendable (R) -> Verdict,
        _ operation: @escaping @Sendable (CallAttempt) async throws -> R
    ) async throws -> R {
        try await core.runHedged(options, judging: judge, operation)
    }
}

/// A pipeline that is cut in two at its hedge.
struct HedgedHalves: Sendable {
    let outer: PipelineCore
    let hedge: Hedge
    let inner: PipelineCore

    init?(
        _ name: String?, _ timeBase: any TimeBase, _ classifier: Classifier, _ repetition: Repetition,
        _ observers: PolicyObservers, _ elements: [Pipeline.Element]
    ) {
        guard let place = elements.firstIndex(where: { $0.policy is Hedge }),
            let hedge = elements[place].policy as? Hedge
        else { return nil }
        func half(_ elements: ArraySlice<Pipeline.Element>) -> PipelineCore {
            PipelineCore(
                name: name, timeBase: timeBase, classifier: classifier, repetition: repetition, observers: observers,
                elements: Array(elements))
        }
        self.hedge = hedge
        outer = half(elements[..<place])
        inner = half(elements[(place + 1)...])
    }

    init(_ halves: HedgedHalves, classifier: Classifier) {
        hedge = halves.hedge
        outer = PipelineCore(halves.outer, classifier: classifier)
        inner = PipelineCore(halves.inner, classifier: classifier)
    }
}

extension PipelineCore {
    nonisolated(nonsending) func runHedged<R: Sendable>(
        _ options: RunOptions, judging judge: @escaping @Sendable (R) -> Verdict,
        _ operation: @escaping @Sendable (CallAttempt) async throws -> R
    ) async throws -> R {
        guard let halves else {
            return try await run(options, judging: judge, { try await Self.apart(operation, CallAttempt($0)) })
        }
        var verdict = Verdict.success
        return try await halves.outer.run(
            options, judging: { _ in verdict },
            { call in
                let (result, meaning) = try await halves.hedge.race(
                    &call, inside: halves.inner, judging: judge, operation)
                verdict = meaning
                return result
            })
    }

    /// Runs an operation away from the caller's actor, as a copy would.
    @concurrent private static func apart<R: Sendable>(
        _ operation: @Sendable (CallAttempt) async throws -> R, _ attempt: CallAttempt
    ) async throws -> R {
        try await operation(attempt)
    }
}
