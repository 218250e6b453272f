import Resilience

/// A server that admits a limited number of requests: a value type that is given the time.
protocol LimitedServer: Sendable {
    /// The earliest instant from `now` on at which it admits a request, if none comes earlier.
    func nextAdmission(from now: MonotonicInstant) -> MonotonicInstant

    /// A request arrives.
    /// - Returns: Whether it is admitted.
    mutating func admits(at now: MonotonicInstant) -> Bool

    /// An admitted request leaves.
    mutating func answered(at now: MonotonicInstant)
}

extension LimitedServer {
    mutating func answered(at now: MonotonicInstant) {}

    /// The shortest time in which the server can admit this many requests, from time zero on.
    func best(for requests: Int) -> Duration {
        var server = self
        let start = MonotonicInstant(nanoseconds: 0)
        var now = start
        for _ in 0..<requests {
            now = server.nextAdmission(from: now)
            _ = server.admits(at: now)
        }
        return start.duration(to: now)
    }
}

/// How a 429's Retry-After states the time until the next admission.
enum RetryAfter: Sendable {
    /// Rounded up, and at least 1.
    case wholeSeconds
    case exact
    case twiceTheWholeSeconds
    case missing
    case always(Int64)

    func named(for wait: Duration) -> Duration? {
        let seconds = max(1, wait.wholeSecondsRoundedUp)
        return switch self {
        case .wholeSeconds: .seconds(seconds)
        case .exact: wait
        case .twiceTheWholeSeconds: .seconds(2 * seconds)
        case .missing: nil
        case .always(let seconds): .seconds(seconds)
        }
    }
}

struct UnlimitedServer: LimitedServer {
    func nextAdmission(from now: MonotonicInstant) -> MonotonicInstant { now }
    func admits(at now: MonotonicInstant) -> Bool { true }
}

/// A token bucket. It counts tokens in nanoseconds, so that it rounds nothing.
struct TokenBucketServer: LimitedServer {
    /// Nanoseconds for one token.
    private var interval: Int64
    /// The bucket's tokens, in nanoseconds.
    private var level: Int64
    private var updated = MonotonicInstant(nanoseconds: 0)
    private var admitted = 0
    /// The meaning of a quota's reset: when the bucket is full, or when it has one more token.
    var tellsWhenFull = false
    private let burst: Int64
    private let rejectionsCost: Bool
    private let change: (after: Int, factor: Double)?

    /// - Parameters:
    ///   - interval: The time for one token.
    ///   - rejectionsCost: Whether a rejected request also takes a token, down to `-burst`.
    ///   - change: After this many admissions the rate is multiplied by the factor.
    init(
        oneIn interval: Duration, burst: Int64, rejectionsCost: Bool = false,
        change: (after: Int, factor: Double)? = nil
    ) {
        self.interval = interval.saturatedNanoseconds
        self.burst = burst
        self.rejectionsCost = rejectionsCost
        self.change = change
        level = burst * self.interval
    }

    private func level(at now: MonotonicInstant) -> Int64 {
        min(burst * interval, level + updated.duration(to: now).saturatedNanoseconds)
    }

    func nextAdmission(from now: MonotonicInstant) -> MonotonicInstant {
        now + .nanoseconds(max(0, interval - level(at: now)))
    }

    mutating func admits(at now: MonotonicInstant) -> Bool {
        (level, updated) = (level(at: now), now)
        guard level >= interval else {
            if rejectionsCost { level = max(-burst * interval, level - interval) }
            return false
        }
        level -= interval
        admitted += 1
        if let change, admitted == change.after {
            let tokens = Double(level) / Double(interval)
            interval = Int64(saturating: Double(interval) / change.factor)
            level = Int64(saturating: tokens * Double(interval))
        }
        return true
    }
}

/// A server that admits a number of requests in each window of the clock.
struct FixedWindowServer: LimitedServer {
    private let limit: Int
    private let length: Int64
    private var window: Int64 = 0
    private var count = 0

    init(_ limit: Int, per length: Duration) {
        self.limit = limit
        self.length = length.saturatedNanoseconds
    }

    func nextAdmission(from now: MonotonicInstant) -> MonotonicInstant {
        let current = now.nanoseconds / length
        return current > window || count < limit ? now : MonotonicInstant(nanoseconds: (current + 1) * length)
    }

    mutating func admits(at now: MonotonicInstant) -> Bool {
        let current = now.nanoseconds / length
        if current > window { (window, count) = (current, 0) }
        guard count < limit else { return false }
        count += 1
        return true
    }
}

/// A server that reports its remaining quota.
protocol QuotingServer: LimitedServer {
    func quota(at now: MonotonicInstant) -> ServerQuota
}

extension TokenBucketServer: QuotingServer {
    /// The window is the time to fill the bucket. The reset is when the bucket holds one more token, or is full.
    func quota(at now: MonotonicInstant) -> ServerQuota {
        let (level, whole) = (level(at: now), burst * interval)
        return ServerQuota(
            name: "default", limit: Int(burst), remaining: Int(max(0, level) / interval),
            resetsAfter: .nanoseconds(tellsWhenFull ? whole - level : interval - level % interval),
            window: .nanoseconds(whole))
    }
}

extension FixedWindowServer: QuotingServer {
    func quota(at now: MonotonicInstant) -> ServerQuota {
        ServerQuota(
            name: "default", limit: limit, remaining: now.nanoseconds / length > window ? limit : limit - count,
            resetsAfter: .nanoseconds(length - now.nanoseconds % length), window: .nanoseconds(length))
    }
}

/// A server that admits a number of requests in any period of this length; rejected requests also count.
struct SlidingLogServer: LimitedServer {
    private let limit: Int
    private let length: Duration
    private var latest: [MonotonicInstant] = []

    init(_ limit: Int, per length: Duration) {
        self.limit = limit
        self.length = length
    }

    func nextAdmission(from now: MonotonicInstant) -> MonotonicInstant {
        latest.count < limit ? now : max(now, latest[latest.count - limit] + length)
    }

    mutating func admits(at now: MonotonicInstant) -> Bool {
        let isAdmitted = nextAdmission(from: now) <= now
        if latest.count == limit { latest.removeFirst() }
        latest.append(now)
        return isAdmitted
    }
}

/// A server that admits a number of concurrent requests, and after a number of admissions has no limit.
struct ConcurrencyServer: LimitedServer {
    let limit: Int
    private let untilAdmitted: Int
    private var admitted = 0
    private var inside = 0

    init(_ limit: Int, untilAdmitted: Int = .max) { (self.limit, self.untilAdmitted) = (limit, untilAdmitted) }

    /// Nobody knows when a request leaves.
    func nextAdmission(from now: MonotonicInstant) -> MonotonicInstant { now }

    mutating func admits(at now: MonotonicInstant) -> Bool {
        guard inside < limit || admitted >= untilAdmitted else { return false }
        inside += 1
        admitted += 1
        return true
    }

    mutating func answered(at now: MonotonicInstant) { inside -= 1 }
}

/// Closed for a time, then open for a few requests, then closed until twice that time has passed, then unlimited.
struct ClosedTwiceServer: LimitedServer {
    private let open: MonotonicInstant
    private let openForGood: MonotonicInstant
    private let few: Int
    private var admitted = 0

    init(for length: Duration, andOpenFor few: Int) {
        open = MonotonicInstant(nanoseconds: 0) + length
        openForGood = open + length
        self.few = few
    }

    func nextAdmission(from now: MonotonicInstant) -> MonotonicInstant { max(now, admitted < few ? open : openForGood) }

    mutating func admits(at now: MonotonicInstant) -> Bool {
        guard nextAdmission(from: now) <= now else { return false }
        admitted += 1
        return true
    }
}
