/// When a closed circuit opens. A pure value: it counts, and knows no clock and no lock.
///
/// A rule of your own is called under the breaker's lock: no waiting, no calling back.
public protocol TripRule: Sendable, CustomStringConvertible {
    /// What a verdict says about the endpoint. Never asked about rejections and cancellations: they say nothing.
    func evidence(of verdict: Verdict) -> Evidence

    /// Counts one piece of evidence; true means: open now.
    mutating func record(_ evidence: Evidence, at now: Instant) -> Bool

    /// Forgets everything counted.
    mutating func reset()

    /// The failures that count now, for people to read.
    var failureCount: Int { get }

    /// The count that opens the circuit, if it is as simple as that.
    var failureLimit: Int? { get }

    /// Whether one more success would change nothing. While it is true, calls that succeed need no lock.
    var isAtRest: Bool { get }
}

/// What the end of a call says about an endpoint's health.
public enum Evidence: Sendable, Hashable {
    case healthy
    case failing
    /// Nothing either way.
    case none
}

/// Opens on the nth failure in a row.
public struct ConsecutiveFailures: TripRule, Hashable {
    public let limit: Int
    public let failing: VerdictSet
    public let healthy: VerdictSet
    public private(set) var failureCount = 0

    /// - Parameters:
    ///   - limit: the failure in a row that opens the circuit; 1 or more.
    ///   - failing: what counts.
    ///   - healthy: what sets the count back to 0.
    public init(_ limit: Int, failing: VerdictSet, healthy: VerdictSet) {
        precondition(limit >= 1, "ConsecutiveFailures: limit is \(limit), and must be at least 1")
        precondition(
            failing.isDisjoint(with: healthy),
            "ConsecutiveFailures: \(failing.intersection(healthy)) can't be failing and healthy")
        self.limit = limit
        self.failing = failing
        self.healthy = healthy
    }

    public func evidence(of verdict: Verdict) -> Evidence {
        failing.contains(verdict) ? .failing : healthy.contains(verdict) ? .healthy : .none
    }

    public mutating func record(_ evidence: Evidence, at now: Instant) -> Bool {
        switch evidence {
        case .healthy: failureCount = 0
        case .failing: failureCount = failureCount.saturatingAdding(1)
        case .none: break
        }
        return failureCount >= limit
    }

    public mutating func reset() { failureCount = 0 }
    public var failureLimit: Int? { limit }
    public var isAtRest: Bool { failureCount == 0 }
    public var description: String { "opens on \(limit) in a row of \(failing)" }
}

extension TripRule where Self == ConsecutiveFailures {
    /// Opens on the nth transient or uncertain failure in a row. An endpoint that answers is healthy, even if it answers "not found";
    /// 429 neither trips nor heals.
    public static func consecutiveFailures(_ limit: Int) -> Self {
        ConsecutiveFailures(limit, failing: [.transient, .uncertain], healthy: [.success, .permanent])
    }

    /// Opens on the nth 429 in a row; nothing else counts, and only a success sets the count back.
    public static func consecutiveThrottles(_ limit: Int) -> Self {
        ConsecutiveFailures(limit, failing: .throttled, healthy: .success)
    }
}
