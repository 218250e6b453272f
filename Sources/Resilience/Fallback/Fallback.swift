/// A pipeline that returns a substitute when its call fails: cached data, a constant, another service's answer.
///
/// ```swift
/// let activities = pipeline.withFallback { failure in await cache.page }
/// let page = try await activities.run { try await client.activities() }
/// ```
///
/// A fallback is not one of the policies of a pipeline, since it has to know the type of the result. So it is always
/// outermost: when the substitute is asked for, retries are over and breakers have counted. Nothing guards the
/// substitute: neither the call's deadline nor a timeout of the pipeline. It runs in the caller's isolation.
///
/// A caller that was cancelled gets no substitute.
///
/// See <doc:FallbackGuide>.
public struct Fallback<Value>: Sendable, CustomStringConvertible {
    /// Returns the value to hand back instead of the failure; nil lets the failure stand.
    public typealias Substitute = nonisolated(nonsending) @Sendable (Failure) async throws -> Value?

    /// How the pipeline's call failed.
    public struct Failure {
        /// The meaning of the failure.
        public let verdict: Verdict
        /// The error that the pipeline threw, or the result that was judged a failure.
        public let outcome: Result<Value, any Error>

        /// The error that the pipeline threw; nil if it returned a result that was judged a failure.
        public var error: (any Error)? {
            if case .failure(let error) = outcome { error } else { nil }
        }

        @usableFromInline init(_ verdict: Verdict, _ outcome: Result<Value, any Error>) {
            self.verdict = verdict
            self.outcome = outcome
        }
    }

    /// The name in events.
    public let name: String
    /// The pipeline that calls run through.
    public let pipeline: Pipeline
    /// The failures that get a substitute.
    public let verdicts: VerdictSet
    private let substitute: Substitute
    /// Called with every success.
    @usableFromInline let keep: (@Sendable (Value) -> Void)?

    init(
        _ name: String, around pipeline: Pipeline, on verdicts: VerdictSet, keep: (@Sendable (Value) -> Void)? = nil,
        _ substitute: @escaping Substitute
    ) {
        self.name = name
        self.pipeline = pipeline
        self.verdicts = SettingChecks("Fallback").failures(verdicts, "verdicts")
        self.keep = keep
        self.substitute = substitute
    }

    /// Runs the operation through the pipeline.
    ///
    /// A last result that means failure is replaced by a substitute, as an error is; without a substitute it is
    /// returned.
    /// - Parameters:
    ///   - options: Options of this call, such as its deadline, cost and priority.
    ///   - judge: Returns what a result means, such as a response with status 503. By default each result is a success.
    ///   - operation: The work of each attempt.
    /// - Returns: The operation's result, or the substitute.
    /// - Throws: The pipeline's error if there is no substitute, else the substitute's error.
    @_alwaysEmitIntoClient public nonisolated(nonsending) func run(
        options: RunOptions = RunOptions(), judging judge: (Value) -> Verdict = { _ in .success },
        _ operation: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        try await run(options, judging: judge, { _ in try await operation() })
    }

    /// Runs an operation that needs its attempt's number or deadline.
    ///
    /// - Parameters:
    ///   - options: Options of this call, such as its deadline, cost and priority.
    ///   - judge: Returns what a result means. By default each result is a success.
    ///   - operation: The work of each attempt; it receives the attempt.
    /// - Returns: The operation's result, or the substitute.
    /// - Throws: As ``run(options:judging:_:)-(_,_,()->Value)``.
    @_alwaysEmitIntoClient public nonisolated(nonsending) func run(
        options: RunOptions = RunOptions(), judging judge: (Value) -> Verdict = { _ in .success },
        _ operation: nonisolated(nonsending) (CallAttempt) async throws -> Value
    ) async throws -> Value {
        try await run(options, judging: judge, { try await operation(CallAttempt($0)) })
    }

    @_alwaysEmitIntoClient @inline(__always) nonisolated(nonsending) func run(
        _ options: RunOptions, judging judge: (Value) -> Verdict,
        _ body: nonisolated(nonsending) (inout PolicyCall) async throws -> Value
    ) async throws -> Value {
        let core = pipeline.core
        defer { withExtendedLifetime(core) {} }
        var call = PolicyCall(core, options)
        var verdict = Verdict.success
        let outcome: Result<Value, any Error>
        do {
            let result = try await core.run(
                &call,
                judging: { result in
                    verdict = judge(result)
                    return verdict
                }, body)
            if verdict.kind == .success {
                keep?(result)
                return result
            }
            outcome = .success(result)
        } catch {
            verdict = call.settled ?? pipeline.verdict(for: error)
            outcome = .failure(error)
        }
        return try await fallBack(from: Failure(verdict, outcome), &call)
    }

    @usableFromInline nonisolated(nonsending) func fallBack(
        from failure: Failure, _ call: inout PolicyCall
    ) async throws -> Value {
        guard !Task.isCancelled, verdicts.contains(failure.verdict) else { return try failure.outcome.get() }
        let value: Value?
        do {
            value = try await substitute(failure)
        } catch {
            if !Task.isCancelled {
                tell(.failed(failure.verdict, error: "\(FailureDetail(of: error))"), of: failure, &call)
            }
            throw error
        }
        guard let value else { return try failure.outcome.get() }
        tell(.fellBack(failure.verdict), of: failure, &call)
        return value
    }

    private func tell(_ event: FallbackEvent, of failure: Failure, _ call: inout PolicyCall) {
        guard call.isObserved() else { return }
        call.reading = nil
        let detail =
            switch failure.outcome {
            case .success(let result): FailureDetail(ofResult: result)
            case .failure(let error): FailureDetail(of: error)
            }
        call.send(event, from: name, failure: detail)
    }

    /// The name and the verdicts in one line, then the pipeline's lines.
    public var description: String { "\(name): on \(verdicts)\n\(pipeline)" }
}

extension Fallback.Failure: Sendable where Value: Sendable {}
