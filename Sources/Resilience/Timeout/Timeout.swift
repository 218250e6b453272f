/// Ends what takes too long, by cancelling it.
///
/// ```swift
/// Pipeline { Timeout(.seconds(30)); Retry(); Timeout(.seconds(5)) }     // the whole call, and each attempt
/// ```
///
/// Cooperative: at the limit the inside is cancelled, and the call returns when the inside does. What ignores cancellation
/// is waited for; an ``AbandoningTimeout`` waits no longer. An inside that succeeds all the same has succeeded: its result
/// is returned. The limit is also the inside's deadline, so no policy in there waits longer than that.
///
/// A policy further in sees what the timeout cancels as cancelled, and does not count it; one further out sees
/// ``TimedOut``, a transient failure. So put a breaker around the timeout of the attempt.
///
/// The inside runs in one child task that keeps the caller's isolation, task-local values and priority.
public struct Timeout: AroundPolicy {
    public let name: String
    /// nil if it differs by attempt.
    public let limit: Duration?
    private let limitForAttempt: (@Sendable (_ attempt: Int) -> Duration)?
    /// Worked out once: `Duration` is 128 bits wide.
    private let nanoseconds: Int64

    /// - Parameter limit: above zero.
    public init(_ name: String = "timeout", _ limit: Duration) {
        precondition(limit > .zero, "Timeout: limit is \(limit), and must be above zero")
        self.name = name
        self.limit = limit
        limitForAttempt = nil
        nanoseconds = limit.saturatedNanoseconds
    }

    /// - Parameter limit: above zero.
    public init(_ limit: Duration) { self.init("timeout", limit) }

    /// A limit for each attempt of the retry around it: `Timeout { attempt in .seconds(min(attempt, 5)) }`.
    ///
    /// - Parameter limitForAttempt: given the attempt's number, from 1. A limit of zero or less is over at once.
    public init(_ name: String = "timeout", limitForAttempt: @escaping @Sendable (_ attempt: Int) -> Duration) {
        self.name = name
        self.limitForAttempt = limitForAttempt
        limit = nil
        nanoseconds = 0
    }

    public func around(
        _ call: inout Call, isolation: isolated (any Actor)?,
        _ inside: nonisolated(nonsending) (_ deadline: Instant) async throws -> Verdict
    ) async throws -> Verdict {
        let wait = limitForAttempt?(call.attempt).saturatedNanoseconds ?? nanoseconds
        let expiry = Instant(nanoseconds: call.now.nanoseconds.saturatingAdding(wait))
        let deadline = min(call.deadline, expiry)
        let timeBase = call.timeBase
        let race = TimeoutRace()
        // Both before the inside begins: its first step may be all of it, and take for ever.
        let alarm = timeBase.schedule(at: expiry) { race.limitPassed() }
        defer { timeBase.cancel(alarm) }
        do {
            return try await withoutActuallyEscaping(inside) { inside in
                // Safe: the child runs in the caller's isolation, and the caller does nothing until the child has ended;
                // the two never touch at the same time what the closure captured.
                nonisolated(unsafe) let inside = inside
                return try await withTaskCancellationHandler {
                    let child = Task<Verdict, any Error>.startingHere(on: timeBase.taskExecutor) {
                        _ = isolation
                        race.insideBegan()
                        defer { race.insideEnded() }
                        return try await inside(deadline)
                    }
                    race.keep(child)
                    return try await child.value
                } onCancel: {
                    race.callerCancelled()
                }
            }
        } catch let error where race.machine == .expired {
            let error = TimedOut(timeout: name, limit: limit ?? .nanoseconds(wait), underlying: error)
            call.reading = nil
            call.emit(Event.timedOut(error.limit), from: name)
            throw error
        }
    }

    public var description: String { "\(name): \(limit.map { "\($0)" } ?? "by attempt")" }

    public enum Event: PolicyEvent, Equatable {
        /// A call is over for its limit.
        case timedOut(Duration)
        /// An operation that an ``AbandoningTimeout`` no longer waited for has ended, so long after its call.
        case endedLate(by: Duration)

        public var kind: String {
            switch self {
            case .timedOut: "timedOut"
            case .endedLate: "endedLate"
            }
        }

        public var description: String {
            switch self {
            case .timedOut(let limit): "timed out after \(limit)"
            case .endedLate(let delay): "abandoned operation ended, \(delay) after its call"
            }
        }
    }
}

/// It took longer than its ``Timeout`` allows. It may or may not have had its effect.
public struct TimedOut: Error, VerdictConvertible, CustomStringConvertible {
    /// The timeout's name.
    public let timeout: String
    public let limit: Duration
    /// What the cancelled inside threw; nil if it was abandoned, and may still run.
    public let underlying: (any Error)?

    public init(timeout: String, limit: Duration, underlying: (any Error)?) {
        self.timeout = timeout
        self.limit = limit
        self.underlying = underlying
    }

    public var verdict: Verdict { .transient }
    public var description: String { "Timed out after \(limit) (\(timeout))" }
}

extension Task where Failure == any Error {
    /// A task that runs right here up to its first suspension, where the system can do that: what never suspends has ended
    /// when this returns. Elsewhere an ordinary task.
    ///
    /// The attribute lets the closure keep its caller's isolation, as it would if it were handed to `Task` itself.
    @inline(__always) fileprivate static func startingHere(
        on executor: (any TaskExecutor)?,
        @_inheritActorContext _ operation: sending @escaping @isolated(any) () async throws -> Success
    ) -> Task {
        if #available(macOS 26, macCatalyst 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            Task.immediate(executorPreference: executor, operation: operation)
        } else {
            Task(executorPreference: executor, operation: operation)
        }
    }
}
