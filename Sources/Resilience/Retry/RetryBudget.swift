import Synchronization

/// Keeps the retries of many calls to what the other side can bear, so that an outage is not made worse by them.
///
/// ```swift
/// let budget = RetryBudget.tokens()
/// let reads = Pipeline { Retry(maxRetries: 3, budget: budget) }
/// let writes = Pipeline { Retry(maxRetries: 1, budget: budget) }
/// ```
///
/// It is a reference, shared by all who call the same service. When it is exhausted a call still has its first attempt; if
/// that fails, its error comes out at once.
public final class RetryBudget: Sendable, CustomStringConvertible {
    /// Where its readings come from; nil for the kinds that keep none.
    public let timeBase: (any TimeBase)?

    private let machine: Locked<any RetryBudgetStateMachine>
    /// Whether the success of a first attempt changes nothing, so that it need not take the lock.
    private let isFull: Atomic<Bool>
    public let description: String
    private static let checks = SettingChecks("RetryBudget")

    private init(_ machine: some RetryBudgetStateMachine, timeBase: (any TimeBase)? = nil) {
        self.timeBase = timeBase
        self.machine = Locked(machine)
        isFull = Atomic(machine.isFull)
        description = "\(machine)"
    }

    /// Tokens that each retry costs. A success brings back 1, or after a retry what the last one had cost. The defaults are
    /// those of the AWS SDKs' standard mode.
    /// - Parameters:
    ///   - capacity: the tokens at the start, and the most there are; 0 or more.
    ///   - cost: of a retry after a failure that may pass; 1 or more.
    ///   - throttledCost: of a retry after the other side asked for fewer calls; 1 or more.
    public static func tokens(capacity: Int = 500, cost: Int = 14, throttledCost: Int = 5) -> RetryBudget {
        RetryBudget(
            TokenBudget(
                capacity: checks.atLeast(0, capacity, "capacity"), cost: checks.atLeast(1, cost, "cost"),
                throttledCost: checks.atLeast(1, throttledCost, "throttledCost")))
    }

    /// Retries as a share of the calls that ended within the window, as Finagle has them. It lives in a time base, and so
    /// does each ``Retry`` that draws on it.
    /// - Parameters:
    ///   - share: retries for each call, 0…1000, exact to a millionth.
    ///   - reserve: retries a second that no call need pay for; 0…1 000 000.
    ///   - window: how far back calls and retries count, to a tenth of it; from 1 ms to an hour.
    public static func ratio(
        _ share: Double = 0.2, reserve: Int = 10, window: Duration = .seconds(10), timeBase: any TimeBase = .system
    ) -> RetryBudget {
        let share = checks.require((0...1000).contains(share), share, "share", "must lie in 0...1000", else: 0)
        let reserve = checks.within(0...1_000_000, reserve, "reserve")
        let window = checks.require(
            (.milliseconds(1) ... .seconds(3600)).contains(window), window, "window",
            "must lie between 1 ms and 3600 s",
            else: .seconds(10))
        let nanoseconds = window.saturatedNanoseconds
        return RetryBudget(
            RatioBudget(share: share, reserve: Int64(reserve) * nanoseconds / 1_000_000_000, window: nanoseconds),
            timeBase: timeBase)
    }

    /// Tokens that each failure costs, retried or not, and retries only as long as more than half are left, as gRPC throttles
    /// them. It needs no failed calls of its own to refuse a retry: those of all who share it count.
    /// - Parameters:
    ///   - maxTokens: the tokens at the start, and the most there are; 1…1000. A failure costs one.
    ///   - ratio: what a success brings back, 0.001…1000, in thousandths.
    public static func throttling(maxTokens: Int = 10, ratio: Double = 0.1) -> RetryBudget {
        let ratio = checks.require(
            (0.001...1000).contains(ratio), ratio, "ratio", "must lie in 0.001...1000", else: 1)
        return RetryBudget(ThrottlingBudget(maxTokens: checks.within(1...1000, maxTokens, "maxTokens"), ratio: ratio))
    }

    /// Whether a retry would be refused now.
    public var isExhausted: Bool {
        let now = timeBase?.now ?? .distantPast
        return machine.withLock { $0.isExhausted(at: now) }
    }

    func succeeded(after last: Withdrawal, _ call: inout PolicyCall) {
        if last == .none, isFull.load(ordering: .relaxed) { return }
        let now = now(call: &call)
        change { $0.succeeded(after: last, at: now) }
    }

    func failed(after last: Withdrawal, mayPass: Bool, _ call: inout PolicyCall) {
        let now = now(call: &call)
        change { $0.failed(after: last, mayPass: mayPass, at: now) }
    }

    func withdraw(_ withdrawal: Withdrawal, _ call: inout PolicyCall) -> Bool {
        let now = now(call: &call)
        return change { $0.withdraw(withdrawal, at: now) }
    }

    func giveBack(_ withdrawal: Withdrawal) { change { $0.giveBack(withdrawal) } }

    /// Read only by the kind that keeps readings.
    private func now(call: inout PolicyCall) -> MonotonicInstant { timeBase == nil ? .distantPast : call.now }

    private func change<R: Sendable>(_ body: (inout any RetryBudgetStateMachine) -> R) -> R {
        machine.withLock { machine in
            defer { isFull.store(machine.isFull, ordering: .relaxed) }
            return body(&machine)
        }
    }
}
