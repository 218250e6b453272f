/// A number of calls in a period.
public struct ThrottleRate: Sendable, Hashable, CustomStringConvertible {
    public let calls: Int
    public let period: Duration

    /// - Parameters:
    ///   - calls: 1 or more.
    ///   - period: above zero.
    public init(_ calls: Int, per period: Duration) {
        let checks = SettingChecks("Rate")
        self.calls = checks.atLeast(1, calls, "calls")
        self.period = checks.aboveZero(period, "period")
    }

    public static func perSecond(_ calls: Int) -> ThrottleRate { ThrottleRate(calls, per: .seconds(1)) }
    public static func perMinute(_ calls: Int) -> ThrottleRate { ThrottleRate(calls, per: .seconds(60)) }

    public var description: String { "\(calls) per \(period.text)" }
}
