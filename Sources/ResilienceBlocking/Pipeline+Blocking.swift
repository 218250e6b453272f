public import Resilience

extension Pipeline {
    /// Runs a synchronous operation through the pipeline.
    ///
    /// The calling thread runs the operation itself, and is blocked while a policy makes the call wait.
    ///
    /// ```swift
    /// let rows = try pipeline.runBlocking { try database.query(sql) }
    /// ```
    ///
    /// Blocking and asynchronous calls share the same policies, which count both.
    ///
    /// - Important: A thread of Swift's concurrency pool must not be blocked: the pool has only as many threads as the
    ///   machine has cores, and the task that ends the wait may need one. In a task this throws ``BlockingInTask``
    ///   without running anything; use `run` there. Do not block the main thread of an app either.
    ///
    /// No policy can end an operation that blocks. `Timeout` and a deadline end waits, and no attempt begins after
    /// them; but an operation that runs longer is not ended, and its result counts. So pass the remaining time of the
    /// attempt to the operation's own timeout: see ``runBlocking(options:judging:_:)-(_,_,(CallAttempt)->R)``, and
    /// ``/Resilience/ClientTimeout``, which needs no task.
    /// - Parameters:
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns the verdict of a result. By default every result is a success.
    ///   - operation: The work, which runs on this thread. It is not kept after the call.
    /// - Returns: The operation's result, even if it means failure.
    /// - Throws: The errors of `run`; ``BlockingInTask`` if called in a task.
    public func runBlocking<R>(
        options: RunOptions = RunOptions(), judging judge: (R) -> Verdict = { _ in .success },
        _ operation: () throws -> R
    ) throws -> R {
        try runBlocking(options: options, judging: judge, { _ in try operation() })
    }

    /// Runs a synchronous operation that receives its attempt.
    ///
    /// ```swift
    /// let status = try pipeline.runBlocking(judging: { $0 < 500 ? .success : .transient }) { attempt in
    ///     try connection.request(path, timeout: attempt.remaining())
    /// }
    /// ```
    /// - Parameters:
    ///   - options: Options of this call, such as a deadline.
    ///   - judge: Returns the verdict of a result. By default every result is a success.
    ///   - operation: The work, which runs on this thread. It is not kept after the call.
    /// - Returns: The operation's result, even if it means failure.
    /// - Throws: The errors of `run`; ``BlockingInTask`` if called in a task.
    public func runBlocking<R>(
        options: RunOptions = RunOptions(), judging judge: (R) -> Verdict = { _ in .success },
        _ operation: (CallAttempt) throws -> R
    ) throws -> R {
        try CallingThread.run {
            try await self.run(options: options, judging: judge) { attempt in
                try await CallingThread.runOperation { try operation(attempt) }
            }
        }
    }
}

/// `runBlocking` was called in a task, whose thread must not be blocked.
///
/// The operation did not run.
public struct BlockingInTask: Error, Hashable, CustomStringConvertible {
    /// Creates the error, for tests.
    public init() {}

    public var description: String {
        "runBlocking was called in a task: use run there, which does not block the thread."
    }
}
