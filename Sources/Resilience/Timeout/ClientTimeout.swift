/// Limits how long a call may take, for an operation that ends itself at its deadline: most HTTP and RPC clients accept
/// a deadline.
///
/// ```swift
/// let pipeline = Pipeline("catalog", isIdempotent: true) {
///     Retry(maxRetries: 2)
///     ClientTimeout(limit: .seconds(2))       // each attempt
/// }
/// let page = try await pipeline.run { attempt in
///     try await client.page(timeout: attempt.remaining())
/// }
/// ```
///
/// It makes the call's deadline earlier. If the operation throws at the deadline or later, the error becomes
/// ``TimedOut``. It cancels nothing, so it costs some 40 ns, where a ``Timeout`` costs a child task. If the operation
/// does not end itself, nothing ends it: use ``Timeout`` for such operations.
///
/// Inner policies wait no longer than the deadline. A late result is returned, and a late error that asks for fewer
/// calls (a 429) is thrown as it is.
public struct ClientTimeout: Policy {
    public let name: String
    /// How long a call may take.
    public let limit: Duration
    /// Computed once, since `Duration` is 128 bits wide.
    private let nanoseconds: Int64

    /// Creates a timeout.
    ///
    /// - Parameters:
    ///   - name: The name in events and errors.
    ///   - limit: How long a call may take; above 0. Beyond 292 years there is no limit.
    public init(_ name: String = "timeout", limit: Duration) {
        let limit = Timeout.Settings(limit: limit).valid().limit
        self.name = name
        self.limit = limit
        nanoseconds = limit.saturatedNanoseconds
    }

    public func enter(_ call: inout PolicyCall, _ slot: inout PolicySlot) -> PolicyEntry {
        let (outer, own) = (
            call.deadline, MonotonicInstant(nanoseconds: call.now.nanoseconds.saturatingAdding(nanoseconds))
        )
        (slot.first, slot.second) = (outer.word, own.word)
        call.deadline = min(outer, own)
        return .proceed
    }

    public func exit(_ call: inout PolicyCall, _ slot: inout PolicySlot, _ outcome: PolicyOutcome) -> PolicyExit {
        call.deadline = MonotonicInstant(word: slot.first)
        // A server that asks for fewer calls has answered, and its wait must reach the outer policies.
        guard let error = outcome.error, outcome.verdict.kind != .rejected, outcome.verdict.kind != .throttled,
            !call.isCancelled
        else { return .pass }
        guard call.now >= MonotonicInstant(word: slot.second) else {
            // An outer deadline ended the operation. As if that deadline had cancelled it, the end says nothing about
            // the service.
            return call.isOver ? .replace(error, as: .cancelled) : .pass
        }
        call.emit(Timeout.Event.timedOut(limit), from: name)
        let timedOut = TimedOut(policy: name, limit: limit, underlying: error)
        // The classifier may decide that the call must not be repeated. If both verdicts are failures that may pass,
        // the operation's own verdict decides whether it may have had its effect.
        let verdict = call.core.classifier.verdict(for: timedOut)
        let mayPass: VerdictSet = [.transient, .uncertain]
        let kind = mayPass.contains(verdict) && mayPass.contains(outcome.verdict) ? outcome.verdict.kind : verdict.kind
        // An attempt that can't be repeated stays so, even though it timed out.
        let isFinal = outcome.verdict.shouldRetry == false
        return .replace(
            timedOut,
            as: Verdict(
                kind, retryAfter: verdict.retryAfter ?? outcome.verdict.retryAfter,
                shouldRetry: isFinal ? false : verdict.shouldRetry))
    }

    public func forecast(_ call: inout PolicyCall) -> PolicyForecast {
        call.deadline = min(call.deadline, call.now + .nanoseconds(nanoseconds))
        return .proceeds
    }

    public var description: String { "\(name): \(limit.text), ended by the client" }
}
