/// What one attempt's end means, for every policy alike. One ``Classifier`` makes it, at the innermost edge.
public enum Verdict: Sendable, Hashable, CustomStringConvertible {
    /// It worked.
    case success
    /// It failed in a way that may pass: a lost connection, a 503.
    case transient
    /// The other side asked for fewer calls; `retryAfter` is the wait it named, if it named one.
    case throttled(retryAfter: Duration?)
    /// It failed in a way that may pass, and may have had its effect all the same; doing it again could do it twice. For
    /// a breaker a failure like ``transient``; a retry leaves it alone unless told otherwise.
    case uncertain
    /// It failed in a way that will not pass by itself: the other side answered, and the answer is no.
    case permanent
    /// A policy of ours refused the call; it never reached the other side.
    case rejected
    /// The caller no longer wants it. Neither a success nor a failure.
    case cancelled

    public static var throttled: Verdict { .throttled(retryAfter: nil) }

    public var description: String {
        switch self {
        case .success: "success"
        case .transient: "transient"
        case .throttled(let wait?): "throttled (retry in \(wait.text))"
        case .throttled(nil): "throttled"
        case .uncertain: "uncertain"
        case .permanent: "permanent"
        case .rejected: "rejected"
        case .cancelled: "cancelled"
        }
    }

    /// The wait the other side named; nil unless throttled.
    public var retryAfter: Duration? {
        if case .throttled(let retryAfter) = self { retryAfter } else { nil }
    }

    /// ``retryAfter``, if it is any time at all: a wait of nothing is none.
    package var namedWait: Duration? { retryAfter.flatMap { $0 > .zero ? $0 : nil } }

    /// Whether it says nothing of the other side's health: the call did not reach it, or nobody waited for its end.
    package var saysNothing: Bool { self == .cancelled || self == .rejected }
}

/// A set of kinds of ``Verdict``: which a policy acts on.
public struct VerdictSet: OptionSet, Sendable, Hashable, CustomStringConvertible {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let success = VerdictSet(rawValue: 1 << 0)
    public static let transient = VerdictSet(rawValue: 1 << 1)
    public static let throttled = VerdictSet(rawValue: 1 << 2)
    public static let permanent = VerdictSet(rawValue: 1 << 3)
    public static let rejected = VerdictSet(rawValue: 1 << 4)
    public static let cancelled = VerdictSet(rawValue: 1 << 5)
    public static let uncertain = VerdictSet(rawValue: 1 << 6)

    public func contains(_ verdict: Verdict) -> Bool {
        let kind: VerdictSet =
            switch verdict {
            case .success: .success
            case .transient: .transient
            case .throttled: .throttled
            case .permanent: .permanent
            case .rejected: .rejected
            case .cancelled: .cancelled
            case .uncertain: .uncertain
            }
        return isSuperset(of: kind)
    }

    public var description: String {
        let names: [(VerdictSet, String)] = [
            (.success, "success"), (.transient, "transient"), (.uncertain, "uncertain"), (.throttled, "throttled"),
            (.permanent, "permanent"), (.rejected, "rejected"), (.cancelled, "cancelled"),
        ]
        return names.filter { isSuperset(of: $0.0) }.map(\.1).joined(separator: "+")
    }
}
