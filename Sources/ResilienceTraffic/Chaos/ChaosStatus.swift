public import Resilience

/// The state of a ``Chaos`` policy at one moment.
public struct ChaosStatus: PolicyStatusDetail {
    /// Whether calls are touched now.
    public let isOn: Bool
    /// The time until the policy turns itself off; zero while it is off.
    public let timeLeft: Duration
    /// The number of calls that failed without running their operation, since the policy was made or reset.
    public let faults: Int
    /// The number of lost answers.
    public let lostAnswers: Int
    /// The number of delayed calls.
    public let delays: Int
    /// The number of runs of a closure.
    public let behaviors: Int
    /// The number of calls ended as if they had been cancelled.
    public let cancellations: Int
    /// The number of calls not delayed because enough others were delayed.
    public let leftOut: Int
    /// The number of calls in an injected delay now.
    public let delayed: Int
    /// The number of steps left in the script.
    public let scriptLeft: Int

    /// Creates a status, for tests and previews.
    ///
    /// - Parameters:
    ///   - isOn: Whether calls are touched now.
    ///   - timeLeft: The time until the policy turns itself off; zero while it is off.
    ///   - faults: The number of calls that failed without running their operation.
    ///   - lostAnswers: The number of lost answers.
    ///   - delays: The number of delayed calls.
    ///   - behaviors: The number of runs of a closure.
    ///   - cancellations: The number of calls ended as if they had been cancelled.
    ///   - leftOut: The number of calls not delayed because enough others were delayed.
    ///   - delayed: The number of calls in an injected delay now.
    ///   - scriptLeft: The number of steps left in the script.
    public init(
        isOn: Bool, timeLeft: Duration = .zero, faults: Int = 0, lostAnswers: Int = 0, delays: Int = 0,
        behaviors: Int = 0, cancellations: Int = 0, leftOut: Int = 0, delayed: Int = 0, scriptLeft: Int = 0
    ) {
        self.isOn = isOn
        self.timeLeft = timeLeft
        self.faults = faults
        self.lostAnswers = lostAnswers
        self.delays = delays
        self.behaviors = behaviors
        self.cancellations = cancellations
        self.leftOut = leftOut
        self.delayed = delayed
        self.scriptLeft = scriptLeft
    }

    /// The number of calls touched, by any injection.
    public var touched: Int { faults + lostAnswers + delays + behaviors + cancellations }

    /// Always true: the policy rejects no call.
    ///
    /// An injected failure counts as the operation's.
    public var isAllowed: Bool { true }

    public static var kind: String { "chaos" }

    public func condition(at now: MonotonicInstant) -> PolicyCondition {
        isOn ? PolicyCondition("on", .degraded, timeLeft: timeLeft) : PolicyCondition("off", .off)
    }

    public func readings(at now: MonotonicInstant) -> [StatusReading] {
        [
            StatusReading("chaos_on", "Whether a chaos policy is on.", isOn),
            StatusReading("chaos_touched", "Calls that a chaos policy has touched.", title: "touched", touched),
            StatusReading("chaos_delayed", "Calls that are delayed by chaos now.", title: "delayed now", delayed),
        ]
    }

    private enum CodingKeys: String, CodingKey {
        case isOn, faults, lostAnswers, delays, behaviors, cancellations, leftOut, delayed, scriptLeft
        case timeLeft = "timeLeftSeconds"
    }
}

extension ChaosStateMachine {
    func status(at now: MonotonicInstant) -> ChaosStatus {
        let isOn = isOn(at: now)
        return ChaosStatus(
            isOn: isOn, timeLeft: isOn ? ends.map { now.duration(to: $0) } ?? .zero : .zero, faults: counts.faults,
            lostAnswers: counts.lostAnswers, delays: counts.delays, behaviors: counts.behaviors,
            cancellations: counts.cancellations, leftOut: counts.leftOut, delayed: delayed, scriptLeft: scriptLeft)
    }
}
