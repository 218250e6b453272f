/// Tries again after failures that may pass, with growing, jittered waits.
///
/// ```swift
/// let retry = Retry(maxRetries: 3, backoff: .exponential(from: .milliseconds(200), cap: .seconds(20)))
/// ```
///
/// It retries ``Verdict/transient`` and ``Verdict/throttled(retryAfter:)``. It does not retry what will not pass by
/// itself, what a policy of ours refused (an open circuit would be asked in a loop), or what was cancelled. A wait that
/// the other side named is a floor under the backoff; one beyond `retryAfterCeiling` is not waited for. It never waits
/// past the call's deadline: it gives up at once with the error it has.
///
/// When retries run out the last error is thrown, or the last result returned, as it is.
public struct Retry: Policy {
    public let name: String
    let configuration: RetryConfiguration

    /// - Parameters:
    ///   - maxRetries: attempts after the first; 0 or more.
    ///   - backoff: the wait after a transient failure.
    ///   - throttledBackoff: the least wait after the other side asked for fewer calls.
    ///   - verdicts: what is tried again.
    ///   - retryAfterCeiling: a wait named by the other side above this is not waited for: the call fails at once.
    ///   - generator: where jitter comes from; pass a seeded one to repeat a run.
    public init(
        _ name: String = "retry",
        maxRetries: Int = 3,
        backoff: Backoff = .exponential(from: .milliseconds(50), cap: .seconds(20)),
        throttledBackoff: Backoff = .exponential(from: .seconds(1), cap: .seconds(20)),
        on verdicts: VerdictSet = [.transient, .throttled],
        retryAfterCeiling: Duration = .seconds(120),
        generator: SplitMix64 = .shared
    ) {
        self.name = name
        configuration = RetryConfiguration(
            maxRetries: maxRetries, backoff: backoff, throttledBackoff: throttledBackoff, verdicts: verdicts,
            retryAfterCeiling: retryAfterCeiling, generator: generator)
    }

    /// Three retries of what was throttled, after 1, 2 and 4 seconds, and of nothing else.
    public static var throttledOnly: Retry {
        Retry(
            maxRetries: 3, throttledBackoff: .exponential(from: .seconds(1), cap: .seconds(4), jitter: .none),
            on: .throttled)
    }

    public func enter(_ call: inout Call, _ slot: inout Slot) -> Entry {
        slot.first &+= 1
        call.attempt = Int(slot.first)
        return .proceed
    }

    public func exit(_ call: inout Call, _ slot: inout Slot, _ outcome: Outcome) -> Exit {
        if case .success = outcome.verdict {
            slot.first = 0
            slot.second = 0
            return .pass
        }
        return failed(&call, &slot, outcome)
    }

    @inline(never) private func failed(_ call: inout Call, _ slot: inout Slot, _ outcome: Outcome) -> Exit {
        var machine = RetryStateMachine(attempts: Int(slot.first), previousDelay: Int64(slot.second))
        var generator = configuration.generator
        let decision = machine.failed(
            outcome.verdict, at: call.now, deadline: call.deadline, configuration, using: &generator)
        switch decision {
        case .retry(let instant):
            slot.second = UInt64(machine.previousDelay)
            let wait = call.now.duration(to: instant)
            call.emit(
                Event.retrying(
                    attempt: machine.attempts, of: configuration.maxAttempts, after: wait, outcome.verdict),
                from: name)
            return .again(at: instant)
        case .giveUp(let reason):
            call.emit(Event.gaveUp(attempt: machine.attempts, reason), from: name)
        case .notMine:
            break
        }
        // A policy further out may go round, and then this retry begins anew.
        slot = Slot()
        return .pass
    }

    public var description: String { "\(name): \(configuration)" }
}

extension Retry {
    public enum Event: PolicyEvent, Equatable {
        /// Attempt `attempt` failed; the next comes after this wait.
        case retrying(attempt: Int, of: Int, after: Duration, Verdict)
        /// Attempt `attempt` failed and was the last.
        case gaveUp(attempt: Int, GivingUp)

        public var description: String {
            switch self {
            case .retrying(let attempt, let limit, let wait, let verdict):
                "attempt \(attempt) of \(limit) failed (\(verdict)), trying again in \(wait)"
            case .gaveUp(let attempt, let reason): "gave up after attempt \(attempt): \(reason)"
            }
        }
    }

    /// Why no further attempt is made.
    public enum GivingUp: Sendable, Hashable {
        case attemptsExhausted
        /// The next attempt would begin after the call's deadline.
        case deadlineTooNear
        /// The other side named a wait above the ceiling.
        case retryAfterTooLong
    }
}
