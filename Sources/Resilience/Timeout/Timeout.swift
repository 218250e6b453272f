/// Ends what takes too long, by cancelling it.
///
/// ```swift
/// Pipeline { Timeout(limit: .seconds(30)); Retry(); Timeout(limit: .seconds(5)) }     // the whole call, and each attempt
/// ```
///
/// Cooperative: at the limit the inside is cancelled, and the call returns when the inside does. What ignores cancellation
/// is waited for; an ``AbandoningTimeout`` waits no longer. An inside that succeeds all the same has succeeded: its result
/// is returned. The limit is also the inside's deadline, so no policy in there waits longer than that.
///
/// A policy further in sees what the timeout cancels as cancelled, and does not count it; one further out sees
/// ``TimedOut``, a transient failure. So put a breaker around the timeout of the attempt.
///
/// The inside runs in one child task that keeps the caller's isolation, task-local values and priority, and, where the system
/// can tell (Swift 6.3 on Linux, macOS 26.4), the executor that the caller's task prefers.
public struct Timeout: AroundPolicy {
    public let name: String
    /// nil if it differs by attempt.
    public let limit: Duration?
    private let limitForAttempt: (@Sendable (_ attempt: Int) -> Duration)?
    /// Worked out once: `Duration` is 128 bits wide.
    private let nanoseconds: Int64

    /// Creates a timeout with one limit for every attempt.
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - limit: How long the inside may take; above zero.
    public init(_ name: String = "timeout", limit: Duration) {
        let limit = SettingChecks("Timeout").aboveZero(limit, "limit")
        self.name = name
        self.limit = limit
        limitForAttempt = nil
        nanoseconds = limit.saturatedNanoseconds
    }

    /// A limit for each attempt of the retry around it: `Timeout { attempt in .seconds(min(attempt, 5)) }`.
    ///
    /// - Parameter limitForAttempt: given the attempt's number, from 1. A limit of zero or less is over at once: nothing
    ///   inside begins.
    public init(_ name: String = "timeout", limitForAttempt: @escaping @Sendable (_ attempt: Int) -> Duration) {
        self.name = name
        self.limitForAttempt = limitForAttempt
        limit = nil
        nanoseconds = 0
    }

    public func around(
        _ call: inout PolicyCall, isolation: isolated (any Actor)?,
        _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
    ) async throws -> Verdict {
        let wait = limitForAttempt?(call.attempt).saturatedNanoseconds ?? nanoseconds
        let now = call.now
        let expiry = MonotonicInstant(nanoseconds: now.nanoseconds.saturatingAdding(wait))
        guard expiry > now else { throw timedOut(after: wait, DeadlinePassed(), &call) }
        guard call.deadline > now else { throw DeadlinePassed() }
        let deadline = min(call.deadline, expiry)
        do {
            return try await TimeoutRace.run(until: expiry, on: call.timeBase, isolation: isolation) {
                try await inside(deadline)
            }
        } catch let expired as TimeoutRace.Expired {
            call.reading = nil
            throw timedOut(after: wait, expired.underlying, &call)
        }
    }

    private func timedOut(after wait: Int64, _ underlying: any Error, _ call: inout PolicyCall) -> TimedOut {
        let error = TimedOut(timeout: name, limit: limit ?? .nanoseconds(wait), underlying: underlying)
        call.emit(Event.timedOut(error.limit), from: name)
        return error
    }

    public var description: String { "\(name): \(limit?.text ?? "by attempt")" }
}
