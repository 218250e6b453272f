/// A pipeline with something to hand back when it fails: cached data, a constant, another service's answer.
///
/// ```swift
/// let activities = pipeline.withFallback { failure in await cache.page }
/// let page = try await activities.run { try await client.activities() }
/// ```
///
/// It is apart from the list of policies, since it has to know the type of the result, and always outermost: retries are
/// over, and breakers have counted, when the substitute is asked for. Nothing guards the substitute: not the call's
/// deadline, nor a timeout of the pipeline. It runs where the call was made.
///
/// A caller that was cancelled gets no substitute.
public struct Fallback<Value>: Sendable, CustomStringConvertible {
    /// Given what happened, returns what to hand back instead; nil if it has nothing, and the failure is to stand.
    public typealias Substitute = nonisolated(nonsending) @Sendable (Failure) async throws -> Value?

    /// How the pipeline's call ended.
    public struct Failure {
        /// What it means.
        public let verdict: Verdict
        /// What the pipeline threw, or the result that was judged a failure.
        public let outcome: Result<Value, any Error>

        /// What the pipeline threw; nil if it returned a result that was judged a failure.
        public var error: (any Error)? {
            if case .failure(let error) = outcome { error } else { nil }
        }

        @usableFromInline init(_ verdict: Verdict, _ outcome: Result<Value, any Error>) {
            self.verdict = verdict
            self.outcome = outcome
        }
    }

    public let name: String
    public let pipeline: Pipeline
    /// Which failures have a substitute.
    public let verdicts: VerdictSet
    private let substitute: Substitute
    /// Told of every success.
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

    /// Runs `operation` through the pipeline.
    ///
    /// - Returns: what the operation returned, or the substitute.
    /// - Throws: what the pipeline threw, if there is no substitute; else what the substitute threw.
    @inlinable public nonisolated(nonsending) func run(
        options: RunOptions = RunOptions(), _ operation: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        try await run(options, judging: { _ in .success }, { _ in try await operation() })
    }

    /// As the plain `run`, for an operation that wants to know its attempt or deadline.
    @inlinable public nonisolated(nonsending) func run(
        options: RunOptions = RunOptions(), _ operation: nonisolated(nonsending) (CallAttempt) async throws -> Value
    ) async throws -> Value {
        try await run(options, judging: { _ in .success }, { try await operation(CallAttempt($0)) })
    }

    /// As the plain `run`, for results that may mean failure, such as a response with status 503. The last of them has
    /// a substitute like an error, and is returned if there is none.
    /// - Parameter judge: what a result means.
    @inlinable public nonisolated(nonsending) func run(
        options: RunOptions = RunOptions(), judging judge: (Value) -> Verdict,
        _ operation: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        try await run(options, judging: judge, { _ in try await operation() })
    }

    /// As the other, for an operation that wants to know its attempt or deadline.
    /// - Parameter judge: what a result means.
    @inlinable public nonisolated(nonsending) func run(
        options: RunOptions = RunOptions(), judging judge: (Value) -> Verdict,
        _ operation: nonisolated(nonsending) (CallAttempt) async throws -> Value
    ) async throws -> Value {
        try await run(options, judging: judge, { try await operation(CallAttempt($0)) })
    }

    @inlinable @inline(__always) nonisolated(nonsending) func run(
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
            if case .success = verdict {
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
            if !Task.isCancelled { tell(.failed(failure.verdict, error: "\(error)"), &call) }
            throw error
        }
        guard let value else { return try failure.outcome.get() }
        tell(.fellBack(failure.verdict), &call)
        return value
    }

    private func tell(_ event: FallbackEvent, _ call: inout PolicyCall) {
        call.reading = nil
        call.emit(event, from: name)
    }

    /// The name and the verdicts, then the pipeline's lines.
    public var description: String { "\(name): on \(verdicts)\n\(pipeline)" }
}

extension Fallback.Failure: Sendable where Value: Sendable {}
