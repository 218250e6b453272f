/// The forecast for a call made now: for a screen, a load balancer, or a queue, before any work begins.
///
/// ```swift
/// switch catalog.forecast().outcome {
/// case .begins: button.isEnabled = true
/// case .waits(let time): show("Busy, about \(time ?? .seconds(1))")
/// case .isRejected(let retryAfter): show("Not available", for: retryAfter)
/// }
/// ```
///
/// It predicts the policies' answers from their **present** state. Behind a wait, it predicts the answers at the end of
/// the wait. Other calls may come first. To decide whether a call may go, run it.
public struct CallForecast: Sendable, Hashable, CustomStringConvertible {
    /// The forecast for the call's first attempt.
    public enum Outcome: Sendable, Hashable {
        /// The operation would begin at once.
        case begins
        /// The operation would begin after about this wait; nil if it is not known.
        ///
        /// If the call's deadline comes first, the operation does not begin.
        case waits(Duration?)
        /// A policy would reject the call.
        ///
        /// Another call may get through after this time; nil if the time is not known.
        case isRejected(retryAfter: Duration?)
    }

    /// The forecast for the call's first attempt.
    public let outcome: Outcome
    /// The deciding policy: the one with the longest rejection or the longest wait.
    ///
    /// nil if the operation would begin at once, or if the call's deadline has passed.
    public let policy: String?
    /// The probability that the policies admit the call, 0 to 1: 0 for a rejected call, and otherwise 1 unless an
    /// `AdaptiveThrottle` rejects a share of the calls at random.
    public let chance: Double

    /// Creates a forecast, for tests and previews.
    ///
    /// - Parameters:
    ///   - outcome: The forecast for the call.
    ///   - policy: The deciding policy; nil if there is none.
    ///   - chance: The probability that the policies admit the call, 0 to 1. 1 by default.
    public init(_ outcome: Outcome, by policy: String? = nil, chance: Double = 1) {
        self.outcome = outcome
        self.policy = policy
        self.chance = chance
    }

    /// Whether the operation would begin at once.
    public var begins: Bool { outcome == .begins }

    public var description: String {
        let by = policy.map { " (\($0))" } ?? ""
        let chance = chance < 1 ? ", with a chance of \(chance)" : ""
        return switch outcome {
        case .begins: "begins at once\(chance)"
        case .waits(let time): "waits\(time.map { " for about \($0.text)" } ?? "")\(by)\(chance)"
        case .isRejected(let time): "is rejected\(time.map { " for \($0.text)" } ?? "")\(by)"
        }
    }
}

/// A policy's answer to a call made now.
public enum PolicyForecast: Sendable, Hashable {
    /// It would admit the call.
    case proceeds
    /// It would admit the call with this chance, above 0 and below 1, and reject it otherwise.
    case mayProceed(chance: Double)
    /// It would make the call wait for about this time, above zero; nil if it is not known.
    case waits(Duration?)
    /// It would reject the call, and for about this time other calls too; nil if the time is not known.
    ///
    /// `.nanoseconds(Int64.max)` if waiting does not help: an isolated circuit, or a call that costs more than a burst.
    case rejects(retryAfter: Duration?)
}

extension Policy {
    public func forecast(_ call: inout PolicyCall) -> PolicyForecast { .proceeds }

    /// Returns what would happen to a call of this policy alone, made now.
    ///
    /// Changes nothing.
    ///
    /// - Parameter options: The options of the call.
    public func forecast(options: RunOptions = RunOptions()) -> CallForecast {
        let core = PipelineCore.bare(on: timeBase)
        defer { withExtendedLifetime(core) {} }
        var forecaster = Forecaster()
        var call = PolicyCall(core, options)
        forecaster.begin(&call)
        forecaster.add(forecast(&call), of: name)
        return forecaster.forecast
    }
}

extension StatusReporting where Self: Policy {
    /// The forecast: the call proceeds if the status allows a call, and is rejected otherwise.
    ///
    /// - Parameter call: A hypothetical call.
    public func forecast(_ call: inout PolicyCall) -> PolicyForecast {
        status.isAllowed ? .proceeds : .rejects(retryAfter: nil)
    }
}

extension AroundPolicy {
    public func forecast(_ call: inout PolicyCall) {}
}

extension Pipeline {
    /// Returns what would happen to a call made now: whether a policy would reject it or make it wait, and for how
    /// long.
    ///
    /// Changes nothing.
    ///
    /// It covers the call's first attempt, up to the operation. A ``Retry`` may repeat a rejected attempt, and a
    /// ``Fallback`` around the pipeline may replace it.
    /// - Parameter options: The options of the call: its deadline, cost and priority.
    public func forecast(options: RunOptions = RunOptions()) -> CallForecast {
        var forecaster = Forecaster()
        var call = PolicyCall(core, options)
        forecaster.begin(&call)
        core.outermost.forEach { element in
            switch element.kind {
            case .policy(let policy): forecaster.ask(policy, &call)
            case .around(let policy): forecaster.ask(policy, &call)
            }
        }
        return forecaster.forecast
    }
}

/// Combines the answers of the policies, outermost first.
///
/// Policies inside of a rejecting policy are also asked: the call gets through only when all admit it. Each policy is
/// asked about the instant at which the call would reach it. If that answer equals the policy's answer for now, the
/// policy is assumed to predict only the present: behind a wait, its rejection counts only if it lasts longer than the
/// wait.
struct Forecaster {
    private var isOver = false
    private var rejection: (policy: String, retryAfter: Duration?)?
    private var wait: (policy: String, time: Duration?)?
    private var chance = 1.0
    /// The expected time until a call reaches the next policy: this call, or the first later call that no policy so far
    /// rejects.
    private var delay = Duration.zero
    private var longestWait = Duration.zero
    /// Whether a wait is of unknown length.
    private var isUnknown = false

    mutating func begin(_ call: inout PolicyCall) { isOver = call.isOver }

    mutating func ask(_ policy: any Policy, _ call: inout PolicyCall) {
        guard delay > .zero else { return add(keepingTime(&call, policy.forecast), of: policy.name) }
        let deadline = call.deadline
        let answer = policy.forecast(&call)
        call.deadline = deadline
        let later = asOfThen(&call) { call in keepingTime(&call, policy.forecast) }
        add(later, of: policy.name, after: later == answer ? .zero : delay)
    }

    mutating func ask(_ policy: any AroundPolicy, _ call: inout PolicyCall) {
        asOfThen(&call) { call in keepingTime(&call, policy.forecast) }
        isOver = isOver || call.isOver
    }

    /// After a wait of unknown length, restores the deadline: an inner policy may give the call less time, but it is
    /// unknown when that time begins.
    private func keepingTime<Answer>(_ call: inout PolicyCall, _ ask: (inout PolicyCall) -> Answer) -> Answer {
        let deadline = call.deadline
        defer { if isUnknown { call.deadline = deadline } }
        return ask(&call)
    }

    /// Asks about the instant at which the call would arrive. If this call is rejected, the question is about a later
    /// call with the same time until its deadline.
    private func asOfThen<Answer>(_ call: inout PolicyCall, _ ask: (inout PolicyCall) -> Answer) -> Answer {
        let now = call.now
        call.reading = now + delay
        defer { call.reading = now }
        guard rejection != nil, call.deadline != .distantFuture else { return ask(&call) }
        call.deadline = call.deadline + delay
        defer { call.deadline = call.deadline.advanced(by: .zero - delay) }
        return ask(&call)
    }

    /// - Parameter base: The time from now to the instant that the answer is about.
    mutating func add(_ answer: PolicyForecast, of policy: String, after base: Duration = .zero) {
        switch answer {
        case .proceeds: break
        case .mayProceed(let share): chance *= min(1, max(0, share))
        case .waits(let time):
            if rejection == nil, wait == nil || time.map({ $0 > longestWait }) ?? false {
                wait = (policy, nil)
                longestWait = time ?? .zero
            }
            guard let time else {
                isUnknown = true
                break
            }
            delay = max(delay, base + time)
            if rejection == nil { wait?.time = delay }
        case .rejects(let time):
            // The answer may differ when the call arrives.
            if wait != nil, time.map({ $0 < .infinite }) ?? true {
                guard !isUnknown, let time, base > .zero || time > delay else { break }
            }
            let end = time.map { base + max(.zero, $0) }
            if rejection == nil || end.map({ $0 > rejection?.retryAfter ?? .zero }) ?? false {
                rejection = (policy, end)
            }
            if let end, end < .infinite { delay = max(delay, end) }
        }
    }

    var forecast: CallForecast {
        if isOver { return CallForecast(.isRejected(retryAfter: nil), chance: 0) }
        if let rejection {
            let retryAfter = rejection.retryAfter.flatMap { $0 < .infinite ? $0 : nil }
            return CallForecast(.isRejected(retryAfter: retryAfter), by: rejection.policy, chance: 0)
        }
        if let wait { return CallForecast(.waits(wait.time), by: wait.policy, chance: chance) }
        return CallForecast(.begins, chance: chance)
    }
}
