import Resilience

/// A stand-in for a function that the code under test calls: plays results in order, and records every call.
///
/// An `async` function calls the script itself, a synchronous function its ``call(_:)``; both with `try` unless
/// `Failure` is `Never`.
///
/// ```swift
/// struct TestAccount: Account {
///     let balances = ScriptedOperation<Void, Int>(
///         [.failure(Offline())], fallback: .success(7))
///     let known = ScriptedCall<String, Bool, Never>(
///         returning: [true, false])
///
///     func balance() async throws -> Int { try await balances() }
///     func isKnown(_ name: String) -> Bool { known.call(name) }
/// }
///
/// let account = TestAccount()
/// try await pipeline.run { try await account.balance() }
/// #expect(account.balances.callCount == 2)
/// ```
public final class ScriptedCall<Input: Sendable, Output: Sendable, Failure: Error>: Sendable {
    struct State: Counted {
        var results: ArraySlice<Result<Output, Failure>>
        var fallback: Result<Output, Failure>?
        var inputs: [Input] = []
        var running = 0
        var mostRunning = 0
        var holds = false
        var held: [PolicyWaiter] = []
        var watchers = CountWaiters()

        var count: Int { inputs.count }
    }

    let state: Locked<State>

    /// Creates a script of results.
    ///
    /// - Parameters:
    ///   - results: The results, one per call.
    ///   - fallback: The result when `results` are used up; nil by default. See ``fallback``.
    public init(_ results: [Result<Output, Failure>] = [], fallback: Result<Output, Failure>? = nil) {
        state = Locked(State(results: results[...], fallback: fallback))
    }

    /// Creates a script of returned values.
    ///
    /// - Parameters:
    ///   - outputs: The returned values, one per call.
    ///   - fallback: The value when `outputs` are used up; nil by default. See ``fallback``.
    public convenience init(returning outputs: [Output], fallback: Output? = nil) {
        self.init(outputs.map { .success($0) }, fallback: fallback.map { .success($0) })
    }

    // MARK: The script

    /// Adds results to the end of the script.
    ///
    /// - Parameter results: The results, one per call.
    public func enqueue(_ results: Result<Output, Failure>...) {
        state.withLock { $0.results.append(contentsOf: results) }
    }

    /// The result that is played when the script is used up.
    ///
    /// Without it, such a call throws ``ScriptEnded``, or traps if it can't throw that.
    public var fallback: Result<Output, Failure>? {
        get { state.withLock { $0.fallback } }
        set { state.withLock { $0.fallback = newValue } }
    }

    /// Holds calls from now on: each stays inside until ``release(_:)``.
    ///
    /// Synchronous calls are never held.
    ///
    /// A call takes its result when it begins, so results enqueued while it is held are for later calls.
    ///
    /// A held call that is cancelled ends at once. It throws `CancellationError`, or plays its result if it can't throw
    /// that.
    public func hold() { state.withLock { $0.holds = true } }

    /// Releases held calls.
    ///
    /// - Parameter count: The number of calls to release, the oldest first; none if 0 or less. Later calls are still
    ///   held. If nil, the default, all are released, and later calls are not held.
    public func release(_ count: Int? = nil) {
        let released = state.withLock { state in
            if count == nil { state.holds = false }
            let released = state.held.prefix(max(0, count ?? .max))
            state.held.removeFirst(released.count)
            return released
        }
        for waiter in released { waiter.resume() }
    }

    /// Removes calls, results and the fallback, and releases held calls.
    public func reset() {
        let released = state.withLock { state in
            state.results = []
            state.fallback = nil
            state.inputs = []
            state.mostRunning = state.running
            state.holds = false
            defer { state.held = [] }
            return state.held
        }
        for waiter in released { waiter.resume() }
    }

    // MARK: Calling

    /// Plays the next result.
    ///
    /// - Parameter input: The argument to remember.
    /// - Returns: The result's value.
    /// - Throws: The result's error; ``ScriptEnded`` if the script is used up and has no fallback; `CancellationError`
    ///   if the call is cancelled while it is held.
    public nonisolated(nonsending) func callAsFunction(_ input: Input) async throws(Failure) -> Output {
        let (result, waiter) = begin(input, canBeHeld: true)
        defer { end() }
        if let waiter { try await wait(waiter) }
        return try result.get()
    }

    /// Plays the next result, for a synchronous function.
    ///
    /// It is never held.
    ///
    /// - Parameter input: The argument to remember.
    /// - Returns: The result's value.
    /// - Throws: The result's error; ``ScriptEnded`` if the script is used up and has no fallback.
    public func call(_ input: Input) throws(Failure) -> Output {
        defer { end() }
        return try begin(input).result.get()
    }

    /// - Parameter otherwise: Played if the script is used up and has no fallback.
    func call(_ input: Input, otherwise: @autoclosure () -> Output) throws(Failure) -> Output {
        defer { end() }
        return try begin(input, otherwise: otherwise()).result.get()
    }

    /// - Returns: The result, and the waiter if the call is held. The call is held from here on, so that a test that
    ///   has waited for it can release it.
    private func begin(
        _ input: Input, canBeHeld: Bool = false, otherwise: @autoclosure () -> Output? = nil
    ) -> (result: Result<Output, Failure>, held: PolicyWaiter?) {
        let (result, number, held, watchers) = state.withLock { state in
            state.inputs.append(input)
            state.running += 1
            state.mostRunning = max(state.mostRunning, state.running)
            let held = canBeHeld && state.holds ? PolicyWaiter() : nil
            if let held { state.held.append(held) }
            return (state.results.popFirst() ?? state.fallback, state.count, held, state.takeReached())
        }
        for watcher in watchers { watcher.resume() }
        if let result = result ?? otherwise().map({ .success($0) }) { return (result, held) }
        let error = ScriptEnded(call: number)
        guard let failure = error as? Failure else {
            preconditionFailure("\(error) A call that throws \(Failure.self) can't throw this error.")
        }
        return (.failure(failure), held)
    }

    private func end() { state.withLock { $0.running -= 1 } }

    private nonisolated(nonsending) func wait(_ waiter: PolicyWaiter) async throws(Failure) {
        let wake = await withTaskCancellationHandler {
            await waiter.wait(until: .distantFuture, on: .system)
        } onCancel: {
            // The call is removed before the task continues, so that a following release goes to another call.
            state.withLock { $0.held.removeAll { $0 === waiter } }
        }
        if wake == .cancelled, let failure = CancellationError() as? Failure { throw failure }
    }

    // MARK: Recorded calls

    /// Waits until at least a number of calls have begun, or the task is cancelled.
    ///
    /// - Parameter count: The number of calls to wait for, counted from the beginning or the last ``reset()``.
    public nonisolated(nonsending) func waitForCalls(_ count: Int) async { await state.wait(until: count) }

    /// The argument of every call, in order.
    public var inputs: [Input] { state.withLock { $0.inputs } }
    /// The number of calls.
    public var callCount: Int { state.withLock { $0.count } }
    /// The number of calls inside now.
    public var running: Int { state.withLock { $0.running } }
    /// The largest number of calls that were inside at the same time.
    public var mostRunning: Int { state.withLock { $0.mostRunning } }
}

extension ScriptedCall where Input == Void {
    /// Plays the next result.
    ///
    /// - Returns: The result's value.
    /// - Throws: As ``callAsFunction(_:)``.
    public nonisolated(nonsending) func callAsFunction() async throws(Failure) -> Output {
        try await callAsFunction(())
    }

    /// Plays the next result, for a synchronous function.
    ///
    /// It is never held.
    ///
    /// - Returns: The result's value.
    /// - Throws: As ``call(_:)``.
    public func call() throws(Failure) -> Output { try call(()) }
}

/// A stand-in for an operation that is `async throws`, such as a request: a ``ScriptedCall`` that may throw any error.
///
/// ```swift
/// let fetch = ScriptedOperation<String, Int>([
///     .failure(Unavailable()), .success(7),
/// ])
/// try await pipeline.run { try await fetch("/activities") }
/// #expect(fetch.inputs == ["/activities", "/activities"])
/// ```
public typealias ScriptedOperation<Input: Sendable, Output: Sendable> = ScriptedCall<Input, Output, any Error>

extension ScriptedCall where Failure == any Error {
    /// Plays the next result; the call stays inside until `body`, which receives the output, has returned.
    package nonisolated(nonsending) func callAsFunction(
        _ input: Input, _ body: nonisolated(nonsending) (Output) async throws -> Void
    ) async throws -> Output {
        let (result, waiter) = begin(input, canBeHeld: true)
        defer { end() }
        if let waiter { try await wait(waiter) }
        let output = try result.get()
        try await body(output)
        return output
    }
}

/// A ``ScriptedCall`` was called more often than it has results.
public struct ScriptEnded: Error, Equatable, CustomStringConvertible {
    /// The number of the call, from 1.
    public let call: Int

    /// Creates the error.
    ///
    /// - Parameter call: The number of the call, from 1.
    public init(call: Int) { self.call = call }

    public var description: String { "Call \(call) has no result: the script is used up, and there is no fallback." }
}
