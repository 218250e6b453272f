import Resilience

/// When the circuit opens in all processes of a fleet.
///
/// It opens if more than a given share of the processes have opened their own circuits, or if enough of all calls
/// failed and more than that share of the processes see it. A process whose network is broken opens its own circuit,
/// not the others'. Processes with few calls each detect an outage together.
public struct FleetTripRule: Sendable, Hashable, CustomStringConvertible {
    /// The share of failed calls, over all processes, at which the circuit opens.
    public let ratio: Double
    /// The time over which calls count.
    public let window: Duration
    /// How many calls the window must have, over all processes, before the circuit can open.
    public let minimumCalls: Int
    /// Of the processes with calls in the window, more than this share must see the ratio themselves.
    public let share: Double

    /// Creates a rule.
    ///
    /// - Parameters:
    ///   - ratio: The share of failed calls; above 0, at most 1.
    ///   - window: The time over which calls count; 1 s to 1 h.
    ///   - minimumCalls: How many calls the window must have before the circuit can open; 1 or more.
    ///   - share: The share of processes; more than this share must see the ratio themselves; 0 to less than 1.
    public init(
        ratio: Double = 0.5, window: Duration = .seconds(10), minimumCalls: Int = 20, share: Double = 0.5
    ) {
        let checks = SettingChecks("FleetTripRule")
        self.ratio = checks.require(
            ratio > 0 && ratio <= 1, ratio, "ratio", "must be above 0 and at most 1", else: 1)
        self.window = checks.require(
            (.seconds(1) ... .seconds(3600)).contains(window), window, "window", "must lie between 1 s and 1 h",
            else: .seconds(10))
        self.minimumCalls = checks.atLeast(1, minimumCalls, "minimumCalls")
        self.share = checks.require(
            share >= 0 && share < 1, share, "share", "must be 0 or more and less than 1", else: 0.5)
    }

    public var description: String {
        "for all, if \(ratio) of at least \(minimumCalls) calls in \(window.text) fail, in more than \(share) of the processes"
    }
}
