import Synchronization

/// Limits the retries of many calls together, so that they do not make an outage worse.
///
/// ```swift
/// let budget = RetryBudget.tokens()
/// let reads = Pipeline { Retry(maxRetries: 3, budget: budget) }
/// let writes = Pipeline { Retry(maxRetries: 1, budget: budget) }
/// ```
///
/// A budget is a reference, shared by all callers of the same service. When it is exhausted, a call still makes its
/// first attempt; if that fails, its error is thrown at once.
///
/// See <doc:RetryGuide>.
public final class RetryBudget: Sendable, CustomStringConvertible {
    /// The budget's time base; nil for budgets that do not measure time.
    package let timeBase: (any TimeBase)?

    private let machine: Locked<any RetryBudgetStateMachine>
    /// Whether the success of a first attempt changes nothing, so that it needs no lock.
    private let isFull: Atomic<Bool>
    public let description: String
    /// The source of tokens that several processes share; nil if this process has its own tokens.
    private let supply: (any PermitSupply)?
    static let checks = SettingChecks("RetryBudget")

    package init(
        _ machine: some RetryBudgetStateMachine, timeBase: (any TimeBase)? = nil, supply: (any PermitSupply)? = nil
    ) {
        self.timeBase = timeBase
        self.supply = supply
        self.machine = Locked(machine)
        isFull = Atomic(machine.isFull)
        description = "\(machine)"
    }

    /// A budget of tokens: each retry costs tokens, and successes bring tokens back.
    ///
    /// The success of a first attempt restores 1 token; the success of a retry restores its cost. The AWS SDKs'
    /// standard retry mode has the same defaults.
    /// - Parameters:
    ///   - capacity: The number of tokens at the start, which is also the most that the budget can have; 0 or more.
    ///   - cost: The tokens for a retry after any failure but a 429; 1 or more.
    ///   - throttledCost: The tokens for a retry after a 429; 1 or more.
    public static func tokens(capacity: Int = 500, cost: Int = 14, throttledCost: Int = 5) -> RetryBudget {
        RetryBudget(
            TokenBudget(
                capacity: checks.atLeast(0, capacity, "capacity"), cost: checks.atLeast(1, cost, "cost"),
                throttledCost: checks.atLeast(1, throttledCost, "throttledCost")))
    }

    /// A budget that allows retries as a share of the calls that ended within a window, as Finagle does.
    ///
    /// The budget measures time, so a ``Retry`` that uses it has the same time base.
    /// - Parameters:
    ///   - share: Retries per call, 0…1000, exact to a millionth.
    ///   - reserve: Retries per second that are always allowed; 0…1 000 000.
    ///   - window: How far back calls and retries count, in steps of a tenth of the window; 1 ms to 1 hour.
    ///   - timeBase: The time base; it must be the pipelines'.
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

    /// A token budget: failures cost tokens, and retries are allowed only while more than half of the tokens are left,
    /// as in gRPC.
    ///
    /// Each failure of a retryable kind costs one token, even if it is not retried. Retries cost nothing. So failures
    /// of other calls that share the budget can stop a call's retries.
    /// - Parameters:
    ///   - maxTokens: The number of tokens at the start, which is also the most that the budget can have; 1…1000.
    ///   - ratio: The tokens that a success brings back, 0.001…1000, rounded to thousandths.
    public static func throttling(maxTokens: Int = 10, ratio: Double = 0.1) -> RetryBudget {
        let ratio = checks.require(
            (0.001...1000).contains(ratio), ratio, "ratio", "must lie in 0.001...1000", else: 1)
        return RetryBudget(ThrottlingBudget(maxTokens: checks.within(1...1000, maxTokens, "maxTokens"), ratio: ratio))
    }

    /// Whether the budget now allows no retry after a failure other than a 429.
    public var isExhausted: Bool {
        ask { $0.isExhausted(at: $1) }
    }

    /// The number of retries that the budget would allow now, for display: after failures other than a 429, without a
    /// success in between.
    ///
    /// With ``throttling(maxTokens:ratio:)``, retries cost nothing, so this is the number of further failures after
    /// which no retry is allowed.
    public var retriesLeft: Int { ask { $0.retriesLeft(at: $1) } }

    /// Whether this budget allows at least as many retries as a new one.
    package var isAtRest: Bool {
        ask { $0.isAtRest(at: $1) }
    }

    private func ask<R: Sendable>(_ body: (any RetryBudgetStateMachine, _ now: MonotonicInstant) -> R) -> R {
        let now = timeBase?.now ?? .distantPast
        return machine.withLock { body($0, now) }
    }

    /// Counts an attempt that succeeded: once, however many policies report it.
    /// - Parameter own: The reporting policy's payment for the attempt.
    package func succeeded(after own: Withdrawal, _ call: inout PolicyCall) {
        if own == .none, call.account.budget == nil, isFull.load(ordering: .relaxed) { return }
        guard let last = payment(own, mayPass: false, &call) else { return }
        let now = now(call: &call)
        change { $0.succeeded(after: last, at: now) }
        supply?.isWanted(isUrgent: false)
    }

    /// Counts an attempt that failed: once, however many policies report it.
    /// - Parameters:
    ///   - own: The reporting policy's payment for the attempt.
    ///   - mayPass: Whether the policy repeats failures of this kind.
    package func failed(after own: Withdrawal, mayPass: Bool, _ call: inout PolicyCall) {
        let isNew = mayPass && !call.account.mayPass
        // An inner policy that does not repeat such failures may have reported this failure before. Then the budget has
        // not counted the failure as one that may pass.
        guard let last = payment(own, mayPass: mayPass, &call) ?? (isNew ? .usual : nil) else { return }
        let now = now(call: &call)
        change { $0.failed(after: last, mayPass: mayPass, at: now) }
    }

    /// A policy, such as a retry or a hedge, begins a further attempt of a call.
    /// - Parameter payment: The policy's payment for the attempt.
    package func begins(after payment: Withdrawal, _ call: inout PolicyCall) {
        call.account = AttemptAccount(budget: ObjectIdentifier(self), payment: payment.rawValue)
    }

    /// A hedge's copies of the attempt have already reported its end.
    package func wasTold(mayPass: Bool, _ call: inout PolicyCall) { _ = payment(.none, mayPass: mayPass, &call) }

    /// Returns the payment for the attempt, whichever policy has paid; nil if an inner policy has already reported the
    /// attempt's end.
    private func payment(_ own: Withdrawal, mayPass: Bool, _ call: inout PolicyCall) -> Withdrawal? {
        let known = call.account
        guard known.budget == ObjectIdentifier(self) else {
            call.account = AttemptAccount(
                budget: ObjectIdentifier(self), payment: own.rawValue, isTold: true, mayPass: mayPass)
            return own
        }
        if own != .none { call.account.payment = own.rawValue }
        call.account.isTold = true
        call.account.mayPass = mayPass || known.mayPass
        return known.isTold ? nil : Withdrawal(rawValue: call.account.payment)
    }

    package func withdraw(_ withdrawal: Withdrawal, _ call: inout PolicyCall) -> Bool {
        let now = now(call: &call)
        let isGranted = change { $0.withdraw(withdrawal, at: now) }
        supply?.isWanted(isUrgent: !isGranted)
        return isGranted
    }

    package func giveBack(_ withdrawal: Withdrawal) { change { $0.giveBack(withdrawal) } }

    /// The clock is read only for budgets that measure time.
    private func now(call: inout PolicyCall) -> MonotonicInstant { timeBase == nil ? .distantPast : call.now }

    package func change<R: Sendable>(_ body: (inout any RetryBudgetStateMachine) -> R) -> R {
        machine.withLock { machine in
            defer { isFull.store(machine.isFull, ordering: .relaxed) }
            return body(&machine)
        }
    }
}
