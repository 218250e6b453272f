/// Which calls a rule looks back on.
public struct CallWindow: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        case calls(Int)
        case time(nanoseconds: Int64, buckets: Int)
    }

    let kind: Kind

    /// The latest `count` calls, however long ago.
    /// - Parameter count: 1 or more. A bit each is kept.
    public static func calls(_ count: Int) -> CallWindow {
        precondition(count >= 1, "CallWindow: count is \(count), and must be at least 1")
        return CallWindow(kind: .calls(count))
    }

    /// The calls of the latest `length`. It moves on by a bucket at a time, so it reaches back between
    /// `length` and one bucket less.
    /// - Parameters:
    ///   - length: above zero; rounded up to a whole number of nanoseconds a bucket.
    ///   - buckets: 1 or more. Two counts each are kept, however many calls there are.
    public static func time(_ length: Duration, buckets: Int = 10) -> CallWindow {
        precondition(length > .zero, "CallWindow: length is \(length), and must be above zero")
        precondition(buckets >= 1, "CallWindow: buckets is \(buckets), and must be at least 1")
        return CallWindow(kind: .time(nanoseconds: length.saturatedNanoseconds, buckets: buckets))
    }

    public var description: String {
        switch kind {
        case .calls(let count): "the last \(count) calls"
        case .time(let nanoseconds, _): "the last \(Duration.nanoseconds(nanoseconds))"
        }
    }
}
