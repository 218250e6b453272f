/// Ends what takes too long, by cancelling it.
///
/// ```swift
/// Pipeline { Timeout(.seconds(30)); Retry(); Timeout(.seconds(5)) }     // the whole call, and each attempt
/// ```
///
/// Cooperative: at the limit the inside is cancelled, and the call returns when the inside does. What ignores cancellation
/// is waited for. An inside that succeeds all the same has succeeded: its result is returned. The limit is also the
/// inside's deadline, so no policy in there waits longer than that.
///
/// A policy further in sees what the timeout cancels as cancelled, and does not count it; one further out sees
/// ``TimedOut``, a transient failure. So put a breaker around the timeout of the attempt.
///
/// The inside runs in one child task that keeps the caller's isolation, task-local values and priority.
public struct Timeout: AroundPolicy {
    public let name: String
    public let limit: Duration

    /// - Parameter limit: above zero.
    public init(_ name: String = "timeout", _ limit: Duration) {
        precondition(limit > .zero, "Timeout: limit is \(limit), and must be above zero")
        self.name = name
        self.limit = limit
    }

    /// - Parameter limit: above zero.
    public init(_ limit: Duration) { self.init("timeout", limit) }

    public nonisolated(nonsending) func around(
        _ call: inout Call, _ inside: nonisolated(nonsending) (_ deadline: Instant) async throws -> Verdict
    ) async throws -> Verdict {
        let expiry = call.now + limit
        let race = TimeoutRace(expiry: expiry, deadline: min(call.deadline, expiry), timeBase: call.timeBase)
        do {
            return try await race.run(inside, isolation: #isolation)
        } catch  where race.timedOut {
            let error = TimedOut(timeout: name, limit: limit, underlying: error)
            call.reading = nil
            call.emit(Event.timedOut(limit), from: name)
            throw error
        }
    }

    public var description: String { "\(name): \(limit)" }

    public enum Event: PolicyEvent, Equatable {
        case timedOut(Duration)

        public var description: String {
            switch self {
            case .timedOut(let limit): "timed out after \(limit)"
            }
        }
    }
}

/// It took longer than its ``Timeout`` allows. It may or may not have had its effect.
public struct TimedOut: Error, VerdictConvertible, CustomStringConvertible {
    /// The timeout's name.
    public let timeout: String
    public let limit: Duration
    /// What the cancelled inside threw.
    public let underlying: any Error

    public init(timeout: String, limit: Duration, underlying: any Error) {
        self.timeout = timeout
        self.limit = limit
        self.underlying = underlying
    }

    public var verdict: Verdict { .transient }
    public var description: String { "Timed out after \(limit) (\(timeout))" }
}
