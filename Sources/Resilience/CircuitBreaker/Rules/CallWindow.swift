/// The calls that a rule looks back on.
public struct CallWindow: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        case calls(Int)
        case time(nanoseconds: Int64, buckets: Int)
    }

    let kind: Kind
    private static let checks = SettingChecks("CallWindow")

    /// The last `count` calls, however long ago.
    /// - Parameter count: 1…10 000 000. One bit per call is kept.
    public static func calls(_ count: Int) -> CallWindow {
        CallWindow(kind: .calls(checks.within(1...10_000_000, count, "calls")))
    }

    /// The calls of the last `length`. The window advances by one bucket at a time, so it covers between `length` minus
    /// one bucket and `length`.
    /// - Parameters:
    ///   - length: Above 0; rounded up to a whole number of nanoseconds per bucket.
    ///   - buckets: 1…100 000. Two counts per bucket are kept, however many calls there are.
    public static func time(_ length: Duration, buckets: Int = 10) -> CallWindow {
        CallWindow(
            kind: .time(
                nanoseconds: checks.aboveZero(length, "length").saturatedNanoseconds,
                buckets: checks.within(1...100_000, buckets, "buckets")))
    }

    public var description: String {
        switch kind {
        case .calls(let count): "the last \(count) calls"
        case .time(let nanoseconds, _): "the last \(Duration.nanoseconds(nanoseconds).text)"
        }
    }
}
