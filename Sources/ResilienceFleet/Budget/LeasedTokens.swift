import Resilience

/// This process's part of the tokens of a budget that several processes share.
///
/// Tokens restored by successes go to all processes. While the engine is unavailable, they stay here.
struct LeasedTokens: RetryBudgetStateMachine, TokenPrices, Hashable {
    let capacity: Int
    let cost: Int
    let throttledCost: Int
    private(set) var tokens = 0
    /// The restored tokens, to be given to all processes.
    private var earned = 0
    private var missed = 0
    private var hasSpent = false
    /// The largest number of tokens that stays here while the engine is unavailable; else nil.
    private var share: Int?
    /// Whether the shared tokens are at the capacity.
    private var areAllFull = false
    /// Whether all retries are allowed.
    private var isOpen = false

    init(capacity: Int, cost: Int, throttledCost: Int) {
        self.capacity = capacity
        self.cost = cost
        self.throttledCost = throttledCost
    }

    mutating func succeeded(after last: Withdrawal, at now: MonotonicInstant) {
        deposit(last == .none ? 1 : price(last))
    }

    mutating func failed(after last: Withdrawal, mayPass: Bool, at now: MonotonicInstant) {}

    mutating func withdraw(_ withdrawal: Withdrawal, at now: MonotonicInstant) -> Bool {
        areAllFull = false
        if isOpen { return true }
        guard tokens >= price(withdrawal) else {
            missed = missed.saturatingAdding(price(withdrawal))
            return false
        }
        tokens -= price(withdrawal)
        hasSpent = true
        return true
    }

    mutating func giveBack(_ withdrawal: Withdrawal) {
        if !isOpen { tokens = min(capacity, tokens.saturatingAdding(price(withdrawal))) }
    }

    private mutating func deposit(_ amount: Int) {
        if let share {
            tokens = max(tokens, min(share, tokens.saturatingAdding(amount)))
        } else if !areAllFull {
            earned = min(capacity, earned.saturatingAdding(amount))
        }
    }

    func isExhausted(at now: MonotonicInstant) -> Bool { !isOpen && tokens < cost }
    func retriesLeft(at now: MonotonicInstant) -> Int { isOpen ? .max : tokens / cost }
    var isFull: Bool { share == nil && areAllFull }
    func isAtRest(at now: MonotonicInstant) -> Bool { true }

    mutating func takeReport() -> TokenReport {
        defer { (earned, missed, hasSpent) = (0, 0, false) }
        return TokenReport(tokens: tokens, earned: earned, missed: missed, hasSpent: hasSpent)
    }

    mutating func grant(_ count: Int, areAllFull: Bool) {
        (share, isOpen) = (nil, false)
        tokens = min(capacity, tokens.saturatingAdding(max(0, count)))
        self.areAllFull = areAllFull && missed == 0
    }

    /// Gives up a number of tokens.
    mutating func drop(_ count: Int) { tokens -= min(tokens, max(0, count)) }

    /// The engine is unavailable: it takes no tokens, and grants none.
    /// - Parameter share: The largest number of tokens that stays here, but at least enough for one retry; nil if all
    ///   retries are allowed.
    mutating func standAlone(share: Int?) {
        self.share = share.map { min(capacity, max($0, cost, throttledCost)) }
        (areAllFull, isOpen) = (false, share == nil)
    }

    /// Lets successes count again.
    mutating func forgetFull() { areAllFull = false }

    var description: String { "\(capacity) tokens for all, \(cost) per retry, \(throttledCost) after a 429" }
}

/// The changes of a part of a budget since the last report, and its remaining tokens.
struct TokenReport: Sendable, Equatable {
    var tokens: Int
    var earned: Int
    /// The price of the unpaid retries.
    var missed: Int
    var hasSpent: Bool
}

extension RetryBudget {
    /// - Returns: The result of the change; nil if it is not a budget of leased tokens.
    @discardableResult func changeLeased<R: Sendable>(_ body: (inout LeasedTokens) -> R) -> R? {
        change { machine in
            guard var leased = machine as? LeasedTokens else { return nil }
            defer { machine = leased }
            return body(&leased)
        }
    }
}
