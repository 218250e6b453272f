/// Ends calls that take too long, by cancelling them.
///
/// ```swift
/// Pipeline {
///     Timeout(limit: .seconds(30))        // the whole call
///     Retry()
///     Timeout(limit: .seconds(5))         // each attempt
/// }
/// ```
///
/// The inside of a timeout is all that it runs: the policies after it in the pipeline, and the operation. At the limit
/// the inside is cancelled, and the call returns when the inside does. The call waits even for an inside that ignores
/// cancellation; an ``AbandoningTimeout`` does not wait. If the inside still succeeds, its result is returned. The
/// limit is also the deadline of the inside, so no inner policy waits longer. An inside that throws its own error at
/// that deadline has timed out as well.
///
/// An inner policy sees the cancelled call as cancelled, and does not count it. An outer policy sees ``TimedOut``, an
/// uncertain failure. So put a breaker around the timeout of the attempt.
///
/// The inside runs in one child task that keeps the caller's isolation, task-local values and priority. Where the
/// system supports it (Swift 6.3 on Linux, macOS 26.4), it also keeps the executor that the caller's task prefers.
///
/// See <doc:TimeoutGuide>.
public struct Timeout: AroundPolicy {
    /// The name in events and errors.
    public let name: String
    /// How long a call may take; nil if that differs by attempt.
    public let limit: Duration?
    private let limitForAttempt: (@Sendable (_ attempt: Int) -> Duration)?
    /// Computed once, since `Duration` is 128 bits wide.
    private let nanoseconds: Int64

    /// Creates a timeout.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - limit: How long a call may take; above 0. Beyond 292 years there is no limit.
    public init(_ name: String = "timeout", limit: Duration) { self.init(name, settings: Settings(limit: limit)) }

    /// Creates a timeout.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - settings: The settings.
    public init(_ name: String = "timeout", settings: Settings) {
        let limit = settings.valid().limit
        self.name = name
        self.limit = limit
        limitForAttempt = nil
        nanoseconds = limit.saturatedNanoseconds
    }

    /// Creates a timeout with a limit that differs by attempt: `Timeout { attempt in .seconds(min(attempt, 5)) }`.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - limitForAttempt: Returns the limit of an attempt of the retry around it, given its number, from 1. With a
    ///     limit of 0 or less, the attempt times out at once, and nothing inside begins.
    public init(_ name: String = "timeout", limitForAttempt: @escaping @Sendable (_ attempt: Int) -> Duration) {
        self.name = name
        self.limitForAttempt = limitForAttempt
        limit = nil
        nanoseconds = 0
    }

    /// Runs the inside in a child task, and cancels it at the limit.
    ///
    /// - Parameters:
    ///   - call: The call.
    ///   - isolation: The caller's isolation.
    ///   - inside: Runs the inside.
    /// - Returns: The verdict of the inside.
    /// - Throws: ``TimedOut`` at the limit; ``DeadlinePassed`` if the call's deadline has passed before the inside
    ///   begins; the error of the inside.
    public func around(
        _ call: inout PolicyCall, isolation: isolated (any Actor)?,
        _ inside: nonisolated(nonsending) (_ deadline: MonotonicInstant) async throws -> Verdict
    ) async throws -> Verdict {
        let limit = try begin(&call)
        do {
            return try await TimeoutRace.run(
                until: limit.expiry, deadline: min(call.deadline, limit.expiry), sharing: &call.sharedLimit,
                on: call.timeBase, isolation: isolation, inside)
        } catch let expired as TimeoutRace.Expired {
            call.reading = nil
            throw timedOut(after: limit.length, expired.underlying, &call)
        }
    }

    public func forecast(_ call: inout PolicyCall) {
        call.deadline = min(call.deadline, call.now + .nanoseconds(limit(of: call.attempt)))
    }

    /// In nanoseconds.
    private func limit(of attempt: Int) -> Int64 {
        limitForAttempt?(attempt).saturatedNanoseconds ?? nanoseconds
    }

    public var description: String { "\(name): \(limit?.text ?? "by attempt")" }
}

extension Timeout: SharingTimeLimit {
    func begin(_ call: inout PolicyCall) throws -> (expiry: MonotonicInstant, length: Int64) {
        let length = limit(of: call.attempt)
        switch TimeoutStateMachine.enter(at: call.now, limit: length, deadline: call.deadline) {
        case .timedOut: throw timedOut(after: length, DeadlinePassed(), &call)
        case .deadlinePassed: throw DeadlinePassed()
        case .begin(let expiry): return (expiry, length)
        }
    }

    func share(_ call: inout PolicyCall) throws -> (expiry: MonotonicInstant, length: Int64)? {
        // A limit that differs by attempt comes from user code, which must be called only once.
        guard limit != nil else { return nil }
        let begun = try begin(&call)
        // If two limits end at the same instant, only alarms keep the order in which the limits were set.
        return begun.expiry == call.deadline || begun.expiry == call.sharedLimit?.expiry ? nil : begun
    }

    func timedOut(after length: Int64, _ underlying: any Error, _ call: inout PolicyCall) -> any Error {
        let error = TimedOut(policy: name, limit: limit ?? .nanoseconds(length), underlying: underlying)
        call.emit(Event.timedOut(error.limit), from: name)
        return error
    }
}
