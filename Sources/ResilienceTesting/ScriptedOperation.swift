import Resilience

/// Stands in for the network: plays results call by call, and remembers every call.
///
/// ```swift
/// let fetch = ScriptedOperation<String, Int>([.failure(Unavailable()), .success(7)])
/// try await pipeline.run { try await fetch("/activities") }
/// #expect(fetch.inputs == ["/activities", "/activities"])
/// ```
public final class ScriptedOperation<Input: Sendable, Output: Sendable>: Sendable {
    private struct State {
        var results: [Result<Output, any Error>]
        var fallback: Result<Output, any Error>?
        var inputs: [Input] = []
        var running = 0
        var mostRunning = 0
        var holds = false
        var held: [Waiter] = []
        var watchers = Watchers()
    }

    private let state: Locked<State>

    /// - Parameters:
    ///   - results: played one a call.
    ///   - fallback: played when `results` are used up; without one such a call throws ``ScriptEnded``.
    public init(_ results: [Result<Output, any Error>] = [], fallback: Result<Output, any Error>? = nil) {
        state = Locked(State(results: results, fallback: fallback))
    }

    /// Adds results to the end of the queue.
    public func enqueue(_ results: Result<Output, any Error>...) {
        state.withLock { $0.results.append(contentsOf: results) }
    }

    /// Played when the queue is used up; without one such a call throws ``ScriptEnded``.
    public var fallback: Result<Output, any Error>? {
        get { state.withLock { $0.fallback } }
        set { state.withLock { $0.fallback = newValue } }
    }

    /// Plays the next result.
    public nonisolated(nonsending) func callAsFunction(_ input: Input) async throws -> Output {
        try await callAsFunction(input) { _ in }
    }

    /// Plays the next result; the call stays inside until `body`, which is given an output, has returned.
    package nonisolated(nonsending) func callAsFunction(
        _ input: Input, _ body: nonisolated(nonsending) (Output) async throws -> Void
    ) async throws -> Output {
        let (result, number, watchers) = state.withLock { state in
            state.inputs.append(input)
            state.running += 1
            state.mostRunning = max(state.mostRunning, state.running)
            let number = state.inputs.count
            let result = state.results.isEmpty ? state.fallback : state.results.removeFirst()
            return (result, number, state.watchers.remove(reached: number))
        }
        for watcher in watchers { watcher.resume() }
        defer { state.withLock { $0.running -= 1 } }
        try await waitWhileHeld()
        guard let output = try result?.get() else { throw ScriptEnded(call: number) }
        try await body(output)
        return output
    }

    private nonisolated(nonsending) func waitWhileHeld() async throws {
        let waiter: Waiter? = state.withLock { state in
            guard state.holds else { return nil }
            let waiter = Waiter()
            state.held.append(waiter)
            return waiter
        }
        if let waiter, await waiter.wait(until: .distantFuture, on: .system) == .cancelled {
            state.withLock { $0.held.removeAll { $0 === waiter } }
            throw CancellationError()
        }
    }

    /// From now on calls stay inside until ``release(_:)``; one that is cancelled throws `CancellationError`.
    public func hold() { state.withLock { $0.holds = true } }

    /// Lets held calls go: the oldest `count`, or all, after which calls are no longer held.
    public func release(_ count: Int? = nil) {
        let released = state.withLock { state in
            if count == nil { state.holds = false }
            let released = state.held.prefix(count ?? .max)
            state.held.removeFirst(released.count)
            return released
        }
        for waiter in released { waiter.resume() }
    }

    /// Returns once at least `count` calls have begun, or the task is cancelled.
    public nonisolated(nonsending) func waitForCalls(_ count: Int) async {
        let waiter = state.withLock { $0.watchers.add(until: count, present: $0.inputs.count) }
        guard let waiter else { return }
        _ = await waiter.wait(until: .distantFuture, on: .system)
        state.withLock { $0.watchers.remove(waiter) }
    }

    /// The argument of every call, in order.
    public var inputs: [Input] { state.withLock { $0.inputs } }
    public var callCount: Int { state.withLock { $0.inputs.count } }
    /// Calls inside now.
    public var running: Int { state.withLock { $0.running } }
    /// The most calls that were ever inside at the same time.
    public var mostRunning: Int { state.withLock { $0.mostRunning } }

    /// Forgets calls and results, and lets held calls go.
    public func reset() {
        release()
        state.withLock { state in
            state.results = []
            state.fallback = nil
            state.inputs = []
            state.mostRunning = state.running
        }
    }
}

extension ScriptedOperation where Input == Void {
    public nonisolated(nonsending) func callAsFunction() async throws -> Output { try await callAsFunction(()) }
}

/// A ``ScriptedOperation`` was called more often than it has results.
public struct ScriptEnded: Error, Equatable {
    /// Which call, from 1.
    public let call: Int

    public init(call: Int) { self.call = call }
}
