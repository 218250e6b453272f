/// A number of calls per period.
public struct ThrottleRate: Sendable, Hashable, CustomStringConvertible {
    /// The number of calls.
    public let calls: Int
    /// The time in which they may go.
    public let period: Duration

    /// Creates a rate.
    ///
    /// - Parameters:
    ///   - calls: The number of calls; 1 or more.
    ///   - period: The time in which they may go; above 0.
    public init(_ calls: Int, per period: Duration) {
        let checks = SettingChecks("ThrottleRate")
        self.calls = checks.atLeast(1, calls, "calls")
        self.period = checks.aboveZero(period, "period")
    }

    init(valid calls: Int, per period: Duration) { (self.calls, self.period) = (calls, period) }

    /// A number of calls per second.
    ///
    /// - Parameter calls: 1 or more.
    public static func perSecond(_ calls: Int) -> ThrottleRate { ThrottleRate(calls, per: .seconds(1)) }
    /// A number of calls per minute.
    ///
    /// - Parameter calls: 1 or more.
    public static func perMinute(_ calls: Int) -> ThrottleRate { ThrottleRate(calls, per: .seconds(60)) }

    public var description: String { "\(calls) per \(period.text)" }
}
