public import Resilience

extension Chaos {
    /// Runs the operation guarded by this policy alone.
    ///
    /// Instead of an injected failure it returns a result that represents the failure, such as a response with status
    /// 503.
    ///
    /// ```swift
    /// let response = try await pipeline.run(judging: { $0.verdict }) {
    ///     try await chaos.run(
    ///         answering: { _ in Response(status: 503) }
    ///     ) {
    ///         try await client.search()
    ///     }
    /// }
    /// ```
    ///
    /// A policy in a pipeline does not know the type of the result, so it can only throw. Here the policy is inside the
    /// operation, not in the pipeline's list.
    /// - Parameters:
    ///   - options: Options of this call, such as a deadline.
    ///   - answer: Returns the result that represents an injected failure; nil to throw the failure. It is not called
    ///     for an injection with an error of its own.
    ///   - operation: The operation. It runs in the caller's isolation.
    /// - Returns: The result of the operation or of `answer`.
    /// - Throws: The error of the operation, or an injected error without an answer.
    public nonisolated(nonsending) func run<R>(
        options: RunOptions = RunOptions(), answering answer: (InjectedFault) throws -> R?,
        _ operation: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        do {
            return try await run(options: options, operation)
        } catch let fault as InjectedFault where fault.policy == name {
            guard let result = try answer(fault) else { throw fault }
            return result
        }
    }
}
