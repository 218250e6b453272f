/// A retry's withdrawal from a budget.
package enum Withdrawal: UInt8, Sendable, Hashable {
    case none
    /// The price of a retry after the other side asked for fewer calls.
    case throttled
    /// The price of a retry after any other failure.
    case usual
}

/// Decides whether one more retry is allowed: a pure value, called under the lock of a ``RetryBudget``.
package protocol RetryBudgetStateMachine: Sendable, CustomStringConvertible {
    /// An attempt succeeded.
    /// - Parameter last: The payment for the attempt; ``Withdrawal/none`` for the first attempt of a call.
    mutating func succeeded(after last: Withdrawal, at now: MonotonicInstant)

    /// An attempt failed.
    /// - Parameters:
    ///   - last: The payment for the attempt; ``Withdrawal/none`` for the first attempt of a call.
    ///   - mayPass: Whether the reporting policy repeats failures of this kind.
    mutating func failed(after last: Withdrawal, mayPass: Bool, at now: MonotonicInstant)

    /// Asks for one retry.
    /// - Returns: Whether the retry is allowed; if so, it has been paid for.
    mutating func withdraw(_ withdrawal: Withdrawal, at now: MonotonicInstant) -> Bool

    /// The paid retry did not happen, or a policy rejected it.
    mutating func giveBack(_ withdrawal: Withdrawal)

    /// Whether a retry at the price ``Withdrawal/usual`` would not be allowed now.
    func isExhausted(at now: MonotonicInstant) -> Bool

    /// How many retries at the price ``Withdrawal/usual`` would be allowed now, one after another.
    func retriesLeft(at now: MonotonicInstant) -> Int

    /// Whether the success of a first attempt changes nothing.
    var isFull: Bool { get }

    /// Whether this budget allows at least as many retries as a new one.
    func isAtRest(at now: MonotonicInstant) -> Bool
}

extension RetryBudgetStateMachine {
    package func isAtRest(at now: MonotonicInstant) -> Bool { isFull }
}

/// The costs of retries, in tokens.
package protocol TokenPrices {
    var cost: Int { get }
    /// The cost of a retry after a 429.
    var throttledCost: Int { get }
}

extension TokenPrices {
    package func price(_ withdrawal: Withdrawal) -> Int {
        switch withdrawal {
        case .none: 0
        case .throttled: throttledCost
        case .usual: cost
        }
    }
}

/// Retries cost tokens, and successes restore tokens. Source: the standard retry mode of the AWS SDKs.
struct TokenBudget: RetryBudgetStateMachine, TokenPrices, Hashable {
    let capacity: Int
    let cost: Int
    let throttledCost: Int
    private(set) var tokens: Int

    init(capacity: Int, cost: Int, throttledCost: Int) {
        self.capacity = capacity
        self.cost = cost
        self.throttledCost = throttledCost
        tokens = capacity
    }

    mutating func succeeded(after last: Withdrawal, at now: MonotonicInstant) {
        deposit(last == .none ? 1 : price(last))
    }

    mutating func failed(after last: Withdrawal, mayPass: Bool, at now: MonotonicInstant) {}

    mutating func withdraw(_ withdrawal: Withdrawal, at now: MonotonicInstant) -> Bool {
        guard tokens >= price(withdrawal) else { return false }
        tokens -= price(withdrawal)
        return true
    }

    mutating func giveBack(_ withdrawal: Withdrawal) { deposit(price(withdrawal)) }

    func isExhausted(at now: MonotonicInstant) -> Bool { tokens < cost }

    func retriesLeft(at now: MonotonicInstant) -> Int { tokens / cost }

    var isFull: Bool { tokens == capacity }

    private mutating func deposit(_ amount: Int) { tokens += min(amount, capacity - tokens) }

    var description: String { "\(capacity) tokens, \(cost) per retry, \(throttledCost) after a 429" }
}

/// Retries as a share of the calls in a window, plus a reserve. Source: Finagle's `RetryBudget`.
///
/// The window advances in steps of a tenth of its length. Shares are kept in millionths, so that a share of 0.29 pays
/// for exactly 29 retries in 100 calls.
struct RatioBudget: RetryBudgetStateMachine, Hashable {
    static let whole: Int64 = 1_000_000

    /// Retries per call, in millionths.
    let share: Int64
    let reserve: Int64
    private let window: Int64
    /// The calls and the retries in the window; the retries are stored as failures.
    private var latest: LatestTime

    /// - Parameters:
    ///   - share: Retries per call.
    ///   - reserve: Retries per window that are always allowed.
    ///   - window: In nanoseconds, at least 10.
    init(share: Double, reserve: Int64, window: Int64) {
        self.share = Int64(saturating: share * Double(Self.whole))
        self.reserve = reserve
        self.window = window
        latest = LatestTime(window, buckets: 10)
    }

    mutating func succeeded(after last: Withdrawal, at now: MonotonicInstant) { ended(after: last, at: now) }

    mutating func failed(after last: Withdrawal, mayPass: Bool, at now: MonotonicInstant) {
        ended(after: last, at: now)
    }

    /// Only first attempts count. Otherwise retries would pay for further retries.
    private mutating func ended(after last: Withdrawal, at now: MonotonicInstant) {
        if last == .none { latest.add(OutcomeCounts(calls: 1), at: now) }
    }

    mutating func withdraw(_ withdrawal: Withdrawal, at now: MonotonicInstant) -> Bool {
        let isGranted = !isExhausted(at: now)
        latest.add(OutcomeCounts(failures: isGranted ? 1 : 0), at: now)
        return isGranted
    }

    /// Gives nothing back: the retry soon leaves the window.
    mutating func giveBack(_ withdrawal: Withdrawal) {}

    func isExhausted(at now: MonotonicInstant) -> Bool {
        let (calls, retries) = counts(at: now)
        let paidFor = calls.saturatingMultiplied(by: share)
        let allowed = paidFor.saturatingAdding(reserve.saturatingMultiplied(by: Self.whole))
        return allowed < (retries + 1).saturatingMultiplied(by: Self.whole)
    }

    func retriesLeft(at now: MonotonicInstant) -> Int {
        let (calls, retries) = counts(at: now)
        let allowed = calls.saturatingMultiplied(by: share) / Self.whole
        return Int(clamping: max(0, allowed.saturatingAdding(reserve).saturatingSubtracting(retries)))
    }

    private func counts(at now: MonotonicInstant) -> (calls: Int64, retries: Int64) {
        let counts = latest.counts(at: now)
        return (Int64(counts.calls), Int64(counts.failures))
    }

    var isFull: Bool { false }

    func isAtRest(at now: MonotonicInstant) -> Bool { latest.counts(at: now).failures == 0 }

    var description: String {
        "\(Double(share) / Double(Self.whole)) of the calls plus \(reserve), in \(Duration.nanoseconds(window).text)"
    }
}

/// Failures cost tokens, and successes bring tokens back. Retries are allowed only while more than half of the tokens
/// are left. Source: gRPC proposal A6, "Client Retries", section on throttling retry attempts.
struct ThrottlingBudget: RetryBudgetStateMachine, Hashable {
    static let whole = 1_000

    /// In thousandths, as in the proposal.
    let maxTokens: Int
    let ratio: Int
    private(set) var tokens: Int

    init(maxTokens: Int, ratio: Double) {
        self.maxTokens = maxTokens * Self.whole
        self.ratio = Int((ratio * Double(Self.whole)).rounded())
        tokens = self.maxTokens
    }

    mutating func succeeded(after last: Withdrawal, at now: MonotonicInstant) {
        tokens = min(maxTokens, tokens + ratio)
    }

    mutating func failed(after last: Withdrawal, mayPass: Bool, at now: MonotonicInstant) {
        if mayPass { tokens = max(0, tokens - Self.whole) }
    }

    func withdraw(_ withdrawal: Withdrawal, at now: MonotonicInstant) -> Bool { !isExhausted(at: now) }

    mutating func giveBack(_ withdrawal: Withdrawal) {}

    func isExhausted(at now: MonotonicInstant) -> Bool { tokens <= maxTokens / 2 }

    func retriesLeft(at now: MonotonicInstant) -> Int {
        // Each failure costs a whole token; at half of the tokens or below, no retry is allowed.
        max(0, (tokens - maxTokens / 2 + Self.whole - 1) / Self.whole)
    }

    var isFull: Bool { tokens == maxTokens }

    var description: String {
        let whole = Double(Self.whole)
        return "above half of \(maxTokens / Self.whole) tokens, \(Double(ratio) / whole) back per success"
    }
}
