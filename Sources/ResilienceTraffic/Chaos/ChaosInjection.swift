public import Resilience

/// An injection of a ``Chaos`` policy, and its share of calls.
///
/// ```swift
/// let injections: [ChaosInjection] = [
///     .fault(.throttled(retryAfter: .seconds(5)), at: 0.1),
///     .delay(.milliseconds(200)...(.seconds(2)), at: 0.2),
/// ]
/// ```
///
/// A call has at most one injection. Its rate is a share of **all** calls of the policy: with the two above, a tenth
/// fail, a fifth are slow, and seven tenths are left alone.
public struct ChaosInjection: Sendable, CustomStringConvertible {
    /// The kinds of injections.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// The call fails, and its operation does not run.
        case fault
        /// The operation runs, with all its effects.
        ///
        /// The call fails even if the operation succeeded.
        case lostAnswer
        /// The call waits before its operation runs.
        case delay
        /// A closure runs before the operation.
        case behavior
        /// The call ends as if its task had been cancelled, and its operation does not run.
        case cancellation
    }

    /// The kind of injection.
    public let kind: Kind
    /// The share of all calls, 0…1.
    public let rate: Double
    /// How long the call waits first, in nanoseconds.
    let delay: ClosedRange<Int64>
    /// The verdict of an ``/Resilience/InjectedFault``.
    let verdict: Verdict
    /// The error that is thrown; nil for an ``/Resilience/InjectedFault``.
    let error: (any Error)?
    let behavior: (name: String, body: @Sendable () -> Void)?

    private static let checks = SettingChecks("ChaosInjection")

    private init(
        _ kind: Kind, at rate: Double, delay: ClosedRange<Duration> = .zero ... .zero, _ verdict: Verdict = .transient,
        throwing error: (any Error)? = nil, behavior: (name: String, body: @Sendable () -> Void)? = nil
    ) {
        self.kind = kind
        self.rate = Self.checks.share(rate, "rate")
        let shortest = Self.checks.notNegative(delay.lowerBound, "delay").saturatedNanoseconds
        self.delay = shortest...max(shortest, delay.upperBound.saturatedNanoseconds)
        self.verdict = Self.checks.require(
            !verdict.saysNothing && verdict.kind != .success, verdict, "verdict",
            "must be transient, throttled, permanent or uncertain", else: .transient)
        self.error = error
        self.behavior = behavior
    }

    /// The call fails with an ``/Resilience/InjectedFault``, and its operation does not run.
    ///
    /// - Parameters:
    ///   - verdict: The meaning of the failure: transient, throttled, permanent or uncertain. Transient by default.
    ///   - rate: The share of all calls, 0…1. 1 by default.
    ///   - delay: How long the call waits first, 0 or more. 0 by default.
    public static func fault(
        _ verdict: Verdict = .transient, at rate: Double = 1, after delay: Duration = .zero
    ) -> ChaosInjection { ChaosInjection(.fault, at: rate, delay: delay...delay, verdict) }

    /// The call fails with an error of your own, and its operation does not run.
    ///
    /// The pipeline's classifier decides the verdict.
    ///
    /// - Parameters:
    ///   - error: The error that the call throws, as it is.
    ///   - rate: The share of all calls, 0…1. 1 by default.
    ///   - delay: How long the call waits first, 0 or more. 0 by default.
    public static func fault(
        throwing error: any Error, at rate: Double = 1, after delay: Duration = .zero
    ) -> ChaosInjection { ChaosInjection(.fault, at: rate, delay: delay...delay, throwing: error) }

    /// The operation runs, with all its effects.
    ///
    /// If it succeeds, its answer is lost: the call fails with an ``/Resilience/InjectedFault``. A failure of the
    /// operation stays as it is.
    ///
    /// - Parameters:
    ///   - verdict: The meaning of the failure: transient, throttled, permanent or uncertain. Uncertain by default: the
    ///     effects have taken place, so repeating the call may cause them twice.
    ///   - rate: The share of all calls, 0…1. 1 by default.
    public static func lostAnswer(_ verdict: Verdict = .uncertain, at rate: Double = 1) -> ChaosInjection {
        ChaosInjection(.lostAnswer, at: rate, verdict)
    }

    /// The operation runs, with all its effects.
    ///
    /// If it succeeds, its answer is lost: the call fails with an error of your own, whose verdict comes from the
    /// pipeline's classifier.
    ///
    /// - Parameters:
    ///   - error: The error that the call throws, as it is.
    ///   - rate: The share of all calls, 0…1. 1 by default.
    public static func lostAnswer(throwing error: any Error, at rate: Double = 1) -> ChaosInjection {
        ChaosInjection(.lostAnswer, at: rate, throwing: error)
    }

    /// The call waits before its operation runs.
    ///
    /// - Parameters:
    ///   - duration: How long, 0 or more.
    ///   - rate: The share of all calls, 0…1. 1 by default.
    public static func delay(_ duration: Duration, at rate: Double = 1) -> ChaosInjection {
        ChaosInjection(.delay, at: rate, delay: duration...duration)
    }

    /// The call waits before its operation runs, for a random time.
    ///
    /// - Parameters:
    ///   - durations: The shortest and the longest wait, 0 or more.
    ///   - rate: The share of all calls, 0…1. 1 by default.
    public static func delay(_ durations: ClosedRange<Duration>, at rate: Double = 1) -> ChaosInjection {
        ChaosInjection(.delay, at: rate, delay: durations)
    }

    /// A closure runs before the operation, for example to clear a cache or open a circuit.
    ///
    /// - Parameters:
    ///   - name: What the closure does, for events. "behavior" by default.
    ///   - rate: The share of all calls, 0…1. 1 by default.
    ///   - body: The closure. It runs in the call's task, outside of every lock, and must not block.
    public static func behavior(
        _ name: String = "behavior", at rate: Double = 1, _ body: @escaping @Sendable () -> Void
    ) -> ChaosInjection { ChaosInjection(.behavior, at: rate, behavior: (name, body)) }

    /// The call ends as if its task had been cancelled: it throws `CancellationError`, and no policy of its pipeline
    /// counts or retries it.
    ///
    /// Its operation does not run. The task itself is not cancelled, so code around the pipeline sees an ordinary
    /// failure.
    ///
    /// - Parameters:
    ///   - rate: The share of all calls, 0…1. 1 by default.
    ///   - delay: How long the call waits first, 0 or more. 0 by default.
    public static func cancellation(at rate: Double = 1, after delay: Duration = .zero) -> ChaosInjection {
        ChaosInjection(.cancellation, at: rate, delay: delay...delay)
    }

    var plan: ChaosStateMachine.Plan { ChaosStateMachine.Plan(kind: kind, rate: rate, delay: delay) }

    /// The error that replaces the operation's.
    func failure(of policy: String) -> any Error {
        error ?? InjectedFault(policy: policy, verdict: verdict, hasRun: kind == .lostAnswer)
    }

    /// The kind and its details, and the percentage of calls: "fault (transient), 10 %".
    public var description: String {
        let shortest = Duration.nanoseconds(delay.lowerBound).text
        let wait =
            delay.lowerBound == delay.upperBound
            ? shortest : "\(shortest)…\(Duration.nanoseconds(delay.upperBound).text)"
        let after = delay.upperBound > 0 ? " after \(wait)" : ""
        let what =
            switch kind {
            case .fault: "fault (\(error.map { "\($0)" } ?? "\(verdict)"))\(after)"
            case .lostAnswer: "lost answer (\(error.map { "\($0)" } ?? "\(verdict)"))"
            case .delay: "delay of \(wait)"
            case .behavior: behavior?.name ?? "behavior"
            case .cancellation: "cancellation\(after)"
            }
        let hundredths = (rate * 10_000).rounded() / 100
        return rate == 1
            ? what : "\(what), \(hundredths == hundredths.rounded() ? "\(Int(hundredths))" : "\(hundredths)") %"
    }
}
